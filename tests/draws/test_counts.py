"""Draws of so many clusters that tables of counts are kept without their empty cells."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita.draws import SparseCounts, contingency

N, M = 2_600, 30


class InBlocks:
    """Labels that are read a block at a time, as those of a file are."""

    def __init__(self, labels):
        self.labels, self.shape, self.dtype = labels, labels.shape, labels.dtype

    def read(self, draws, items):
        return self.labels[draws, items]


@pytest.fixture(scope="module")
def labels():
    """Draws of some 1,700 clusters, some of one item, beside one cluster and all singletons."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3_000, (M, N)) * (rng.random((M, N)) < 0.8)
    labels[3], labels[7] = 0, np.arange(N)
    return labels.astype(np.int32)


@pytest.fixture(scope="module")
def partition():
    return np.random.default_rng(1).permutation(np.arange(N) % 1_300)


@pytest.fixture(scope="module")
def several(partition):
    return np.stack([partition, partition // 3, partition * 0, partition % 7])


WEIGHTS = np.linspace(1, 2, M)


def test_the_cells_are_those_that_are_not_empty(labels, partition):
    draws = pt.Draws(InBlocks(labels))
    (found,) = contingency(draws, [partition], n_jobs=2)
    assert isinstance(found, SparseCounts)
    start = 0
    for row, k in zip(np.asarray(draws.labels), draws.n_clusters, strict=True):
        whole = np.zeros((k, 1_300), int)
        np.add.at(whole, (row, partition), 1)
        np.testing.assert_array_equal(found.rows(start, start + k), whole)
        start += k
    np.testing.assert_array_equal(found.row_sizes()[-k:], whole.sum(axis=1))


@pytest.mark.parametrize("name", sorted(set(pt.losses.NAMES) - {"pear", "vi-lower-bound"}))
def test_expected_losses_are_those_of_draws_in_memory(labels, several, name):
    there, here = (pt.Draws(x, weights=WEIGHTS) for x in (InBlocks(labels), labels))
    found = pt.expected_loss(several, there, loss=name)
    np.testing.assert_allclose(found, pt.expected_loss(several, here, loss=name), rtol=1e-12)


def test_items_are_as_sure_as_the_similarity_and_the_loss_say(labels, partition):
    draws = pt.Draws(InBlocks(labels))
    matrix = pt.posterior_similarity(labels, kind="dense").to_dense()
    together = partition[:, None] == partition
    expected = (matrix * together).sum(axis=1)
    np.testing.assert_allclose(pt.draws.own_sums(draws, partition), expected)
    found = pt.item_uncertainty(partition, draws)
    others = (expected - 1) / (together.sum(axis=1) - 1)
    np.testing.assert_allclose(found["own_similarity"], others)
    assert found["expected_vi"].sum() == pytest.approx(pt.expected_loss(partition, labels))


def test_a_table_too_large_for_the_memory_says_what_to_do(labels, partition, monkeypatch):
    draws = pt.Draws(InBlocks(labels))
    monkeypatch.setattr(pt.validate, "free_memory", lambda: 1_000)
    with pytest.raises(pt.errors.OutOfMemoryError, match=r"cells .* thin the draws"):
        list(contingency(draws, [partition]))
