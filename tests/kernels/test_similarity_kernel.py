"""The counting kernel against NumPy's own comparisons, at every edge its blocks have."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.distributed import map_blocks
from partita.kernels import _bits, _pairs, similarity

DTYPES = (np.uint8, np.uint16, np.uint32)
# One byte counter more or less than full, one item more or less than a group, vector or block.
N_DRAWS = (1, 2, 254, 255, 256, 511)
N_ITEMS = (1, 2, 5, 6, 7, 8, 9, 63, 64, 65, 95, 96, 97, 130, 609)


def random_labels(n_draws, n_items, dtype=np.uint8, n_clusters=4, seed=0):
    return np.random.default_rng(seed).integers(0, n_clusters, (n_draws, n_items)).astype(dtype)


def naive_counts(labels):
    """The number of draws in which two items agree, one row of the result at a time."""
    return np.array([(labels == labels[:, [i]]).sum(axis=0) for i in range(labels.shape[1])])


def naive_weighted(labels, weights):
    n_items = labels.shape[1]
    return np.array([weights @ (labels == labels[:, [i]]) for i in range(n_items)])


def dense(labels, weights=None, dtype=np.float64, n_jobs=1):
    work = similarity.plan(labels, weights, dtype)
    work.out.fill(np.nan)
    for _ in map_blocks(work.fill, work.strips, n_jobs=n_jobs):
        pass
    return work.out


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize("n_items", N_ITEMS)
def test_counts_are_exact(n_draws, n_items):
    labels = random_labels(n_draws, n_items)
    assert np.array_equal(dense(labels), naive_counts(labels) / n_draws)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n_draws", "n_items"), [(256, 1), (257, 5), (511, 66), (600, 201)])
@pytest.mark.parametrize("n_clusters", [16, 17])
def test_bits_count_what_labels_count(n_draws, n_items, n_clusters, dtype, monkeypatch):
    labels = random_labels(n_draws, n_items, n_clusters=n_clusters)
    labels[-1, 0] = n_clusters - 1
    assert (similarity.plan(labels, None).planes is None) == (n_clusters > 16)
    found = dense(labels, dtype=dtype)
    monkeypatch.setattr(similarity, "_MANY", n_draws + 1)
    assert np.array_equal(found, dense(labels, dtype=dtype))


@pytest.mark.parametrize("n_items", [3, 130])
def test_labels_are_taken_apart_in_parts(n_items, monkeypatch):
    labels = random_labels(500, n_items, n_clusters=16)
    whole = _bits.planes(labels)
    monkeypatch.setattr(_bits, "_AT_ONCE", 100)
    assert np.array_equal(_bits.planes(labels), whole)
    ones = sum(int(word).bit_count() for word in whole[:, 2].ravel())
    assert ones == np.count_nonzero(labels & 4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_draws", "n_items"), [(1, 3), (255, 64), (300, 17), (600, 201)])
def test_every_label_width(dtype, n_draws, n_items):
    top = np.iinfo(dtype).max
    labels = random_labels(n_draws, n_items, dtype, n_clusters=3)
    # Labels that differ in one byte only: the low, the high, the one beyond the next width.
    for far in (top, top - 1, top // 2 + 1):
        shifted = np.where(labels == 2, dtype(far), labels)
        assert np.array_equal(dense(shifted), naive_counts(labels) / n_draws)


@pytest.mark.parametrize("dtype", DTYPES)
def test_counters_do_not_overflow_where_all_agree(dtype):
    labels = np.zeros((70_000, 8), dtype)
    assert np.array_equal(dense(labels), np.ones((8, 8)))
    labels[:, 3] = 1
    assert np.array_equal(dense(labels)[3], np.eye(8)[3])


def test_division_is_correctly_rounded():
    n_draws = 49  # 1/49 as a factor would round 49 * (1/49) to 1 - 1e-16
    labels = np.tril(np.ones((n_draws, n_draws + 1), np.uint8))
    values = dense(labels)
    counts = naive_counts(labels)
    for count, value in {*zip(counts.ravel().tolist(), values.ravel().tolist(), strict=True)}:
        exact = Fraction(count, n_draws)
        nearest = abs(Fraction(value) - exact)
        assert nearest <= abs(Fraction(np.nextafter(value, 2)) - exact)
        assert nearest <= abs(Fraction(np.nextafter(value, -1)) - exact)


def test_single_precision_is_the_double_rounded():
    labels = random_labels(333, 150)
    single = dense(labels, dtype=np.float32)
    assert single.dtype == np.float32
    assert np.array_equal(single, dense(labels).astype(np.float32))
    weights = np.random.default_rng(1).random(333)
    assert np.array_equal(
        dense(labels, weights, np.float32), dense(labels, weights).astype(np.float32)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n_draws", "n_items"), [(1, 1), (127, 9), (128, 96), (129, 97), (513, 210)]
)
def test_weights(dtype, n_draws, n_items):
    labels = random_labels(n_draws, n_items, dtype)
    weights = np.random.default_rng(2).dirichlet(np.ones(n_draws))
    values = dense(labels, weights)
    np.testing.assert_allclose(values, naive_weighted(labels, weights), rtol=0, atol=1e-14)
    assert np.array_equal(values, values.T)
    assert np.array_equal(np.diagonal(values), np.ones(n_items))


def test_weights_of_a_pair_always_together_sum_to_exactly_one():
    weights = np.random.default_rng(3).random(1000)  # neither equal nor normalised
    labels = random_labels(1000, 70)
    labels[:, 60] = labels[:, 5]
    values = dense(labels, weights)
    assert values[5, 60] == 1
    assert values.max() == 1
    assert values.min() >= 0


def test_integer_weights_are_repeated_draws():
    labels = random_labels(40, 80)
    times = np.random.default_rng(4).integers(1, 9, 40)
    repeated = dense(np.repeat(labels, times, axis=0))
    assert np.array_equal(dense(labels, times.astype(float)), repeated)


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_and_strips_change_nothing(weighted, monkeypatch):
    labels = random_labels(300, 700)
    weights = np.random.default_rng(5).random(300) if weighted else None
    whole = similarity.plan(labels, weights)
    whole.fill((0, 700, 0, 700))
    monkeypatch.setattr(similarity, "_LEAST", 1e6)
    assert len(similarity.plan(labels, weights).strips) > 40
    for n_jobs in (1, 2, 5):
        assert np.array_equal(dense(labels, weights, n_jobs=n_jobs), whole.out)


@given(
    n_items=st.integers(0, 3000),
    n_draws=st.sampled_from([1, 100, 10_000, 10**6, 10**8]),
    itemsize=st.sampled_from([1, 2, 4, 12]),
)
def test_strips_cover_each_pair_once(n_items, n_draws, itemsize):
    strips = similarity._triangle(n_items, n_draws * itemsize)
    cover = np.zeros((n_items, n_items), np.uint8)
    for top, bottom, start, stop in strips:
        cover[top:bottom, start:stop] += 1
    assert (cover[np.triu_indices(n_items)] == 1).all()


@given(
    n_rows=st.integers(0, 500),
    n_cols=st.integers(0, 3000),
    cost=st.sampled_from([1, 1000, 10**6, 10**8]),
)
def test_strips_of_a_block_cover_it_once(n_rows, n_cols, cost):
    cover = np.zeros((n_rows, n_cols), np.uint8)
    for top, bottom, start, stop in similarity._rectangle(n_rows, n_cols, cost):
        cover[top:bottom, start:stop] += 1
    assert (cover == 1).all()


@pytest.mark.parametrize("n_draws", [10, 1000, 100_000])
def test_strips_are_even_and_small(n_draws):
    cost = n_draws + 300
    strips = similarity._triangle(8000, cost)
    pairs = [(bottom - top) * (stop - start) for top, bottom, start, stop in strips]
    assert max(pairs) * cost < 2 * similarity._MOST
    assert len(strips) > 32


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_are_parts_of_the_whole(dtype, weighted):
    labels = random_labels(260, 150, dtype)
    weights = np.random.default_rng(6).random(260) if weighted else None
    whole = dense(labels, weights)
    rng = np.random.default_rng(7)
    picks = [
        rng.integers(0, 150, 33),
        rng.permutation(150),
        np.arange(150),
        np.arange(20, 110),
        np.array([149]),
        np.array([-1, 0]),
        np.array([], dtype=np.int64),
    ]
    for rows in picks:
        for cols in picks:
            assert np.array_equal(
                similarity.block(labels, weights, rows, cols), whole[np.ix_(rows, cols)]
            )


@pytest.mark.parametrize("items", [[0, 3], [2, 3], [-4, 0], [3]])
def test_a_block_beyond_the_items_is_an_index_error(items):
    labels = random_labels(5, 3)
    with pytest.raises(IndexError):
        similarity.block(labels, None, np.array(items), np.array([0]))


@pytest.mark.parametrize("n_draws", [200, 300])
def test_layout_and_write_protection_of_labels_do_not_matter(n_draws):
    labels = random_labels(n_draws, 100)
    expected = dense(labels)
    columns = np.asfortranarray(labels)
    columns.setflags(write=False)
    assert np.array_equal(dense(columns), expected)
    assert np.array_equal(dense(np.repeat(labels, 2, axis=1)[:, ::2]), expected)
    assert labels.flags.writeable
    compiled = {signature[0] for signature in _pairs.fill_blocks.signatures}
    assert all(not array.mutable and array.layout == "C" for array in compiled)


def test_the_reference_similarity(draws, reference_arrays):
    labels = draws.labels
    by_product = np.zeros((labels.shape[1],) * 2)
    for draw in labels:
        one_hot = np.eye(draw.max() + 1)[draw]
        by_product += one_hot @ one_hot.T
    assert np.array_equal(dense(labels), by_product / len(labels))


def test_a_second_process_compiles_nothing():
    script = """if True:
        import numpy as np
        from partita.kernels import _pairs, similarity
        for weights in (None, np.ones(2)):
            work = similarity.plan(np.zeros((2, 3), np.uint8), weights)
            work.fill(work.strips[0])
        stats = _pairs.fill_blocks.stats
        print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
    """
    for _ in range(2):
        run = [sys.executable, "-c", script]
        answer = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert answer.split() == ["2", "0"]
