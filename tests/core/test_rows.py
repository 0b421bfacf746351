"""Sums over blocks of draws against NumPy, and what the core refuses."""

from __future__ import annotations

import numpy as np
import pytest

from partita import _core

RNG = np.random.default_rng(0)
BLOCK = RNG.integers(0, 3, (7, 300)).astype(np.uint8)
OFFSETS = 3 * np.arange(8)
WEIGHTS = RNG.random(7)
Z = (OFFSETS[:-1, None] + BLOCK)[:, :, None] == np.arange(21)  # (draws, items, rows)
LABELS = RNG.integers(0, 4, 300).astype(np.uint32)


def counted(block=BLOCK, offsets=OFFSETS, labels=LABELS, shape=(21, 4)):
    out = np.zeros(shape, dtype=np.int32)
    _core.count(block, offsets, labels, out)
    return out


def sparse(table):
    starts = np.concatenate([[0], np.cumsum((table > 0).sum(axis=1))])
    row, column = np.nonzero(table)
    return starts, column.astype(np.int32), table[row, column].astype(np.int32)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_counts(dtype):
    assert np.array_equal(counted(BLOCK.astype(dtype)), Z.sum(axis=0).T @ np.eye(4)[LABELS])


@pytest.mark.parametrize("width", [1, 2, 11, 12, 20])
def test_sums_of_rows_narrow_and_wide(width):
    x, table = RNG.random((300, width)), RNG.random((21, width))
    out = np.zeros((21, width))
    _core.gather(BLOCK, OFFSETS, x, out)
    np.testing.assert_allclose(out, Z.sum(axis=0).T @ x, rtol=1e-12)
    out = np.zeros((300, width))
    for start, stop in ((0, 17), (17, 280), (280, 300)):
        _core.spread(BLOCK, OFFSETS, WEIGHTS, table, start, stop, out)
    np.testing.assert_allclose(out, np.einsum("m,mir,rk->ik", WEIGHTS, Z, table), rtol=1e-12)


def test_moves_from_a_table_and_from_its_cells_are_the_same():
    table = counted()
    step = np.append(np.diff(np.arange(302.0) ** 1.5), 0.0)
    wide = np.zeros((2, 21, 8), dtype=np.float32)
    wide[0, :, :4], wide[1, :, :4] = step[table], step[np.maximum(table - 1, 0)]
    wide[0, :, 4:] = step[0]
    places = LABELS.astype(np.int64)
    leaves, enters = RNG.random((2, 8))
    enters[6:] = np.inf
    alpha = WEIGHTS.astype(np.float32)
    best, gains = _core.best_moves(BLOCK, OFFSETS, alpha, *wide, places, leaves, enters)
    cheapest = 4 + int(np.argmin(enters[4:]))
    few = np.ascontiguousarray(BLOCK.T)
    found = _core.best_moves_sparsely(
        few, OFFSETS, WEIGHTS, sparse(table), step, places, leaves, enters, cheapest
    )
    assert np.array_equal(found[0], best)
    np.testing.assert_allclose(found[1], gains, rtol=1e-4, atol=1e-4)
    own = np.zeros(300)
    starts, columns, counts = sparse(table)
    _core.own_sparsely(BLOCK, OFFSETS, WEIGHTS, places, starts, columns, counts.astype(float), own)
    other = np.zeros(300)
    _core.own(BLOCK, OFFSETS, WEIGHTS, LABELS, table.astype(float), other)
    assert np.array_equal(own, other)


def test_what_leads_beyond_the_rows_is_refused():
    far, places = BLOCK + np.uint8(9), LABELS.astype(np.int64)
    x, out, own = np.zeros((300, 2)), np.zeros((21, 2)), np.zeros(300)
    shares, table = np.zeros((300, 2)), np.zeros((21, 8), dtype=np.float32)
    zero, enters = np.zeros(300, dtype=np.int64), np.zeros(8)
    cells = sparse(counted())
    alpha, step = WEIGHTS.astype(np.float32), np.zeros(301)
    few, across, low = np.ascontiguousarray(BLOCK.T), np.ascontiguousarray(far.T), OFFSETS - 1
    for call in (
        lambda: counted(far),
        lambda: counted(offsets=low),
        lambda: counted(labels=LABELS + np.uint32(1)),
        lambda: _core.gather(far, OFFSETS, x, out),
        lambda: _core.spread(far, OFFSETS, WEIGHTS, out, 0, 300, shares),
        lambda: _core.own(far, OFFSETS, WEIGHTS, LABELS, np.zeros((21, 4)), own),
        lambda: _core.own(BLOCK, OFFSETS, WEIGHTS, LABELS, out, own),
        lambda: _core.deal(far, WEIGHTS, np.zeros((7, 3), dtype=np.int64), shares),
        lambda: _core.deal(BLOCK, WEIGHTS, np.full((7, 3), 2), shares),
        lambda: _core.best_moves(far, OFFSETS, alpha, table, table, zero, enters, enters),
        lambda: _core.best_moves(BLOCK, OFFSETS, alpha, table, table, zero - 1, enters, enters),
        lambda: _core.best_moves_sparsely(
            across, OFFSETS, WEIGHTS, cells, step, zero, enters, enters, 0
        ),
        lambda: _core.best_moves_sparsely(
            few, OFFSETS, WEIGHTS, cells, step[:9], zero, enters, enters, 0
        ),
        lambda: _core.nearest(across, OFFSETS, WEIGHTS, cells, np.ones(4)),
        lambda: _core.nearest(few, OFFSETS, WEIGHTS, cells, np.ones(2)),
        lambda: _core.cell_sums(np.array([9], dtype=np.int32), np.array([0, 1]), np.zeros(9)),
        lambda: _core.intact(BLOCK, WEIGHTS, places, np.ones(3, dtype=np.int64), np.zeros(3)),
        lambda: _core.cell_pairs(BLOCK, alpha, zero, places, np.zeros((4, 4), dtype=np.float32)),
        lambda: _core.merged(
            cells, OFFSETS, WEIGHTS, np.zeros(9), np.full(4, -1), np.zeros(4)
        ),
    ):  # fmt: skip
        with pytest.raises(IndexError):
            call()
