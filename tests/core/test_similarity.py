"""The loops of the similarity against NumPy's own comparisons, at every edge their blocks have."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import partita as pt
from partita import _core

DTYPES = (np.uint8, np.uint16, np.uint32)
# One draw more or less than a word, or than words that are added up at once; items about panels.
N_DRAWS = (1, 2, 63, 64, 65, 255, 31 * 64, 31 * 64 + 1)
N_ITEMS = (1, 2, 15, 16, 17, 63, 64, 65, 80, 130, 609)


def random_labels(n_draws, n_items, dtype=np.uint8, n_clusters=4, seed=0):
    return np.random.default_rng(seed).integers(0, n_clusters, (n_draws, n_items)).astype(dtype)


def naive_counts(labels):
    """The number of draws in which two items agree, one row of the result at a time."""
    return np.array([(labels == labels[:, [i]]).sum(axis=0) for i in range(labels.shape[1])])


def naive_weighted(labels, weights):
    """Sums of weights in the order of the draws, over the sum of all in that order."""
    n = labels.shape[1]
    sums = np.zeros((n, n))
    for draw, weight in zip(labels, weights, strict=True):
        sums += np.where(draw[:, None] == draw, weight, 0.0)
    return sums / np.cumsum(weights)[-1]


def dense(labels, weights=None, dtype=np.float64, n_jobs=1):
    out = np.empty((labels.shape[1], labels.shape[1]), dtype=dtype)
    _core.shares(labels, None, weights, out, n_jobs, _core.Stop())
    return out


@pytest.mark.parametrize("n_draws", N_DRAWS)
@pytest.mark.parametrize("n_items", N_ITEMS)
def test_counts_are_exact(n_draws, n_items):
    labels = random_labels(n_draws, n_items)
    assert np.array_equal(dense(labels), naive_counts(labels) / n_draws)


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 16, 17, 200])
def test_labels_of_as_many_bits_as_it_takes(n_clusters):
    labels = random_labels(100, 70, n_clusters=n_clusters)
    assert np.array_equal(dense(labels), naive_counts(labels) / 100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n_draws", "n_items"), [(1, 3), (255, 64), (300, 17), (600, 201)])
def test_every_label_width(dtype, n_draws, n_items):
    top = np.iinfo(dtype).max
    labels = random_labels(n_draws, n_items, dtype, n_clusters=3)
    # Labels that differ in one byte only: the low, the high, the one beyond the next width.
    for far in (top, top - 1, top // 2 + 1):
        shifted = np.where(labels == 2, dtype(far), labels)
        assert np.array_equal(dense(shifted), naive_counts(labels) / n_draws)


def test_counters_do_not_overflow():
    labels = np.zeros((70_000, 8), np.uint8)
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
    ("n_draws", "n_items"), [(1, 1), (127, 9), (128, 64), (129, 97), (513, 600)]
)
def test_weights(dtype, n_draws, n_items):
    labels = random_labels(n_draws, n_items, dtype)
    weights = np.random.default_rng(2).dirichlet(np.ones(n_draws))
    assert np.array_equal(dense(labels, weights), naive_weighted(labels, weights))


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
def test_threads_change_nothing(weighted):
    labels = random_labels(300, 1_100)
    weights = np.random.default_rng(5).random(300) if weighted else None
    whole = dense(labels, weights)
    for n_jobs in (2, 5):
        assert np.array_equal(dense(labels, weights, n_jobs=n_jobs), whole)


def test_a_stop_ends_it():
    stop = _core.Stop()
    stop.set()
    labels, out = random_labels(300, 700), np.full((700, 700), -1.0)
    _core.shares(labels, None, None, out, 2, stop)
    assert (out == -1.0).any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_are_parts_of_the_whole(dtype, weighted):
    labels = random_labels(260, 150, n_clusters=4)
    if dtype != np.uint8:  # one draw of as many clusters as that takes
        width = 300 if dtype == np.uint16 else 70_000
        labels = np.pad(labels, ((0, 0), (0, width - 150)), mode="edge").astype(np.uint32)
        labels[0] = np.arange(width)
    weights = np.random.default_rng(6).random(260) if weighted else None
    draws = pt.Draws(labels, weights=weights)
    assert draws.labels.dtype == dtype
    similarity = pt.Similarity.from_draws(draws)
    few = np.ascontiguousarray(draws.labels[:, :150])
    whole = dense(few, None if weights is None else draws.probabilities)
    rng = np.random.default_rng(7)
    picks = [
        rng.integers(0, 150, 33),
        rng.permutation(150),
        np.arange(150),
        np.arange(20, 110),
        np.array([149]),
        np.array([], dtype=np.int64),
    ]
    for rows in picks:
        for cols in picks:
            assert np.array_equal(similarity.block(rows, cols), whole[np.ix_(rows, cols)])


@pytest.mark.parametrize("layout", ["columns", "slices"])
def test_layout_and_write_protection_of_labels_do_not_matter(layout):
    labels = random_labels(200, 100)
    other = np.asfortranarray(labels)
    other.setflags(write=False)
    if layout == "slices":
        other = np.repeat(labels, 2, axis=1)[:, ::2]
    assert np.array_equal(pt.posterior_similarity(pt.Draws(other)).to_dense(), dense(labels))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_rectangle_wider_than_a_strip(weighted):
    labels = random_labels(70, 1_200)
    weights = np.random.default_rng(5).random(70) if weighted else None
    rows, cols = np.ascontiguousarray(labels[:, 100:230]), np.ascontiguousarray(labels[:, 20:])
    out = np.empty((130, 1_180))
    _core.shares(rows, cols, weights, out, 3, _core.Stop())
    assert np.array_equal(out, dense(labels, weights)[100:230, 20:])


def test_what_does_not_belong_together_is_refused():
    labels, out, stop = random_labels(70, 20), np.zeros((20, 20)), _core.Stop()
    for error, args in (
        (ValueError, (labels, labels[:60], None, out)),
        (ValueError, (labels, None, np.ones(69), out)),
        (ValueError, (labels, labels[:, 1:], None, out)),
        (ValueError, (labels[:0], None, None, out)),
        (ValueError, (labels, None, None, out[:, :19].copy())),
        (TypeError, (labels, labels.astype(np.uint16), None, out)),
        (TypeError, (labels + 0.0, None, None, out)),
        (TypeError, (labels, None, None, out.astype(int))),
        (TypeError, (labels, None, None, out[:, ::-1])),
    ):
        with pytest.raises(error):
            _core.shares(*args, 1, stop)


BITS = """if True:
    import hashlib
    import numpy as np
    import partita as pt
    from partita import _core, losses
    from partita.partitions import Tree

    found = hashlib.sha256()
    rng = np.random.default_rng(0)
    for n_clusters in (3, 20, 300):
        draws = pt.Draws(rng.integers(0, n_clusters, (333, 401)), weights=rng.random(333))
        plain = pt.Draws(draws.labels)
        children = np.column_stack([np.r_[0, np.arange(401, 800)], np.arange(1, 401)])
        tree = Tree(children, np.arange(400.0))
        for given in (draws, plain):
            for dtype in ("float64", "float32"):
                found.update(pt.posterior_similarity(given, dtype=dtype).to_dense(dtype=None))
            implicit = pt.posterior_similarity(given, kind="implicit")
            found.update(implicit @ rng.random((401, 3)))
            found.update(implicit.own_sums(draws.labels[0]))
            for name in losses.NAMES:
                found.update(pt.expected_loss(draws.labels[:7], given, loss=name))
        for name in ("vi", "nid", "omari"):
            found.update(losses.distances(losses.NAMES[name], draws.labels[:5], draws))
            evidence = pt.evidence.as_evidence(draws)
            found.update(losses.NAMES[name].expected_along(tree, evidence))
    print(_core.isa, found.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    names = ["baseline", "avx2", "avx512"]
    found = {}
    for name in names[: names.index(_core.isa) + 1]:
        run = subprocess.run(
            [sys.executable, "-c", BITS],
            env=os.environ | {"PARTITA_ISA": name},
            check=True,
            capture_output=True,
            text=True,
        )
        isa, digest = run.stdout.split()
        assert isa == name
        found[name] = digest
    assert len(set(found.values())) == 1, found
