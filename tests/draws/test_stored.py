"""Labels in a store are what the same labels in memory are."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import partita as pt
from partita.draws import StoredLabels, cluster_sums, pick_items
from partita.parallel import item_blocks, map_items, sum_items

N = 2_500  # items of three blocks


class Held:
    """A store whose blocks are parts of an array, and that remembers what was read."""

    def __init__(self, array):
        self.array = np.asarray(array)
        self.shape, self.dtype = self.array.shape, self.array.dtype
        self.reads = []

    def read(self, draws, items):
        self.reads.append((draws, items))
        return self.array[draws, items]


@st.composite
def matrices(draw):
    """Labels of several blocks, some of which appear in the last alone."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from([np.int64, np.uint8, np.int8]))
    labels = rng.integers(0, draw(st.integers(1, 9)), (draw(st.integers(1, 12)), N))
    labels[:, 2_400:] += draw(st.integers(0, 3))
    return labels.astype(kind)


@settings(max_examples=30)
@given(labels=matrices(), low=st.integers(-5, 5))
def test_labels_are_numbered_as_in_memory(labels, low):
    shifted = labels.astype(np.int64) + low
    there, here = pt.Draws(Held(shifted)), pt.Draws(shifted)
    assert isinstance(there.labels, StoredLabels)
    np.testing.assert_array_equal(np.asarray(there.labels), here.labels)
    assert there.labels.dtype == here.labels.dtype
    np.testing.assert_array_equal(there.n_clusters, here.n_clusters)
    assert there == here


@settings(max_examples=30)
@given(labels=matrices(), data=st.data())
def test_draws_are_taken_as_in_memory(labels, data):
    there, here = pt.Draws(Held(labels)), pt.Draws(labels)
    m, n = labels.shape
    rows = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=6))
    columns = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6)))
    assert there.take(rows) == here.take(rows)
    assert there.take(rows).thin(2) == here.take(rows).thin(2)
    for index in (rows, rows[0], np.s_[:, n - 1], np.s_[1:3], np.s_[:, 5:9], np.s_[:, columns]):
        np.testing.assert_array_equal(there.labels[index], here.labels[index])
    np.testing.assert_array_equal(pick_items(there.labels, columns), here.labels[:, columns])
    once, same = there.unique(), here.unique()
    np.testing.assert_array_equal(np.asarray(once.labels), same.labels)
    np.testing.assert_array_equal(once.weights, same.weights)


def test_opening_reads_blocks_and_never_the_whole():
    store = Held(np.tile(np.arange(N) % 7, (4, 1)))
    draws = pt.Draws(store)
    assert len(store.reads) >= 6
    assert all(items.stop - items.start < N for _, items in store.reads)
    store.reads.clear()
    assert draws.burn(1).n_draws == 3
    assert store.reads == []


def test_labels_that_no_table_holds_are_refused():
    with pytest.raises(pt.errors.InvalidValueError, match="within a range of"):
        pt.Draws(Held([[0, 1 << 30]]))
    with pytest.raises(pt.errors.InvalidTypeError, match="must be integers"):
        pt.Draws(Held([[0.0, 1.0]]))


def test_blocks_depend_on_the_shape_alone_and_cover_the_items():
    for shape in ((1, 1), (7, 1023), (1000, 10**6), (10**5, 10**4), (200, 2 * 10**6)):
        parts = item_blocks(shape)
        assert parts[0].start == 0
        assert parts[-1].stop == shape[1]
        assert all(a.stop == b.start for a, b in itertools.pairwise(parts))
        assert max(p.stop - p.start for p in parts) * shape[0] <= max(1 << 25, shape[0])


def tally(block, items, weights, offset):
    return (block.sum(axis=0) * weights + offset, np.array([block.sum() * weights.sum()]))


def tally_all(block, items, weights, offset):
    return tally(block, items, weights, offset)[1]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_come_in_order_and_are_added_in_order(n_jobs):
    labels = np.arange(2 * N).reshape(2, N).astype(np.uint8) % 5
    weights = np.linspace(0, 1, N)
    given = {"along": (weights,), "shared": (0.5,)}
    parts = list(map_items(tally, labels, **given, n_jobs=n_jobs))
    found = np.concatenate([own for own, _ in parts])
    np.testing.assert_array_equal(found, labels.sum(axis=0) * weights + 0.5)
    one_by_one = sum(total for _, total in parts)
    total = sum_items(tally_all, labels, **given, n_jobs=n_jobs)
    np.testing.assert_array_equal(total, one_by_one)


@pytest.fixture
def decoded(monkeypatch):
    """The chunks that were read from a Zarr store and decoded."""
    seen, plain = [], zarr.Array.__getitem__

    def counted(self, box):
        sides = zip(box, self.chunks, strict=True)
        seen.extend(itertools.product(*(range(s.start // c, -(-s.stop // c)) for s, c in sides)))
        return plain(self, box)

    monkeypatch.setattr(zarr.Array, "__getitem__", counted)
    return seen


def in_chunks(path, chunks):
    labels = np.random.default_rng(1).integers(1, 4, (12, N))
    labels[:, :3] = [1, 2, 3]
    zarr.create_array(str(path), shape=labels.shape, dtype="i4", chunks=chunks)[:] = labels
    return labels, pt.read_draws(path, stored=True)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("chunks", [(12, 1500), (5, 1500), (12, 210), (12, N)])
def test_a_pass_decodes_a_chunk_once_however_blocks_cut_it(tmp_path, decoded, chunks, n_jobs):
    labels, draws = in_chunks(tmp_path / "a.zarr", chunks)
    n_chunks = -(-12 // chunks[0]) * -(-N // chunks[1])
    assert len(decoded) <= 2 * n_chunks  # opening it goes over it twice
    decoded.clear()
    x = np.random.default_rng(0).random((N, 2))
    sums = cluster_sums(draws, x, 2, n_jobs=n_jobs)
    most = n_chunks if n_jobs == 1 else 2 * n_chunks  # threads may be out of step
    assert len(decoded) <= most
    np.testing.assert_array_equal(sums, cluster_sums(pt.Draws(labels), x, 2))


def test_a_store_is_sent_without_what_it_keeps(tmp_path):
    labels, draws = in_chunks(tmp_path / "a.zarr", (12, 1500))
    blocks = draws.labels.source
    assert (blocks.read(slice(0, 12), slice(40, 50)) == labels[:, 40:50]).all()
    sent = pickle.dumps(blocks)
    assert len(sent) < 4000
    assert (pickle.loads(sent).read(slice(3, 7), slice(40, 50)) == labels[3:7, 40:50]).all()
