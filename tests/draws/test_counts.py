"""Tables of counts without their empty cells say what whole ones say."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita.draws import (
    DenseCounts,
    SparseCounts,
    _blocks,
    _counts,
    contingency,
    joint_counts,
    offsets_of,
    own_sums,
)
from partita.parallel import items as _items


@pytest.fixture
def draws(monkeypatch):
    """Draws of many clusters, some of one item, gone over in blocks of 32 items."""
    monkeypatch.setattr(_items, "_LEAST", 32)
    monkeypatch.setattr(_blocks, "_LARGE", 0)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 40, (25, 150)) * (rng.random((25, 150)) < 0.8)
    labels[3] = 0
    labels[7] = np.arange(150)
    return pt.Draws(labels, weights=np.linspace(1, 2, 25))


@pytest.fixture
def partition():
    return np.random.default_rng(1).integers(0, 60, 150)


def sparse(draws, partition, monkeypatch):
    monkeypatch.setattr(_counts, "_CELLS", 0)
    (found,) = contingency(draws, [partition], n_jobs=2)
    assert isinstance(found, SparseCounts)
    return found


def test_cells_that_are_not_empty_are_those_of_the_whole_table(draws, partition, monkeypatch):
    (whole,) = joint_counts(draws, [partition])
    offsets, cell, alpha = offsets_of(draws), np.arange(151.0) ** 1.5, draws.probabilities
    dense, few = DenseCounts(whole), sparse(draws, partition, monkeypatch)
    np.testing.assert_array_equal(few.rows(0, whole.shape[0]), whole)
    assert few.columns.size == np.count_nonzero(whole)
    assert (
        np.diff(few.columns)[np.setdiff1d(np.arange(few.columns.size - 1), few.starts - 1)] > 0
    ).all()
    for one in (dense, few):
        np.testing.assert_array_equal(one.row_sizes(), whole.sum(axis=1))
        np.testing.assert_array_equal(one.column_sizes(offsets), np.bincount(partition))
        np.testing.assert_allclose(
            one.joint(offsets, cell), np.add.reduceat(cell[whole].sum(axis=1), offsets[:-1])
        )
        weights = np.repeat(alpha, np.diff(offsets))
        np.testing.assert_allclose(one.by_column(offsets, alpha, cell), weights @ cell[whole])
    again = dense.without_empty()
    for name in ("starts", "columns", "counts"):
        np.testing.assert_array_equal(getattr(again, name), getattr(few, name))


def test_sums_over_an_items_own_cells_are_those_of_the_similarity(draws, partition, monkeypatch):
    matrix = pt.posterior_similarity(draws, kind="dense").to_dense()
    expected = (matrix * (partition[:, None] == partition)).sum(axis=1)
    np.testing.assert_allclose(own_sums(draws, partition), expected)
    monkeypatch.setattr(_counts, "_CELLS", 0)
    np.testing.assert_allclose(own_sums(draws, partition), expected)


@pytest.mark.parametrize("name", sorted(pt.losses.NAMES))
def test_expected_losses_and_balls_of_many_clusters_are_those_of_draws_held(
    draws, partition, monkeypatch, name
):
    several = np.stack([partition, partition // 3, np.arange(150), partition * 0, partition % 7])
    monkeypatch.setattr(_counts, "_CELLS", 30_000)  # some tables whole, some not
    found = pt.expected_loss(several, draws, loss=name)
    shares = pt.item_uncertainty(partition, draws)
    monkeypatch.setattr(_blocks, "_LARGE", 10**9)
    np.testing.assert_allclose(found, pt.expected_loss(several, draws, loss=name), rtol=1e-12)
    if name == "vi":
        held = pt.item_uncertainty(partition, draws)
        np.testing.assert_allclose(shares.astype(float), held.astype(float), equal_nan=True)


def test_a_table_too_large_for_the_memory_says_what_to_do(draws, partition, monkeypatch):
    monkeypatch.setattr(_counts, "_CELLS", 0)
    monkeypatch.setattr(pt.validate, "free_memory", lambda: 100)
    with pytest.raises(pt.errors.OutOfMemoryError, match=r"cells .* thin the draws"):
        list(contingency(draws, [partition]))
