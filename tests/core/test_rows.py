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


def counted(block=BLOCK, offsets=OFFSETS, labels=LABELS):
    out = np.zeros((21, 4), dtype=np.int32)
    _core.count(block, offsets, labels, out)
    return out


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_counts(dtype):
    assert np.array_equal(counted(BLOCK.astype(dtype)), Z.sum(axis=0).T @ np.eye(4)[LABELS])


@pytest.mark.parametrize("width", [1, 2, 20])
def test_sums_of_rows(width):
    x, table = RNG.random((300, width)), RNG.random((21, width))
    out = np.zeros((21, width))
    _core.gather(BLOCK, OFFSETS, x, out)
    np.testing.assert_allclose(out, Z.sum(axis=0).T @ x, rtol=1e-12)
    out, wanted = np.zeros((300, width)), np.einsum("m,mir,rk->ik", WEIGHTS, Z, table)
    for start, stop in ((0, 17), (17, 280), (280, 300)):
        _core.spread(BLOCK, OFFSETS, WEIGHTS, table, start, stop, out)
    np.testing.assert_allclose(out, wanted, rtol=1e-12)
    own, column = np.zeros(300), LABELS % width
    _core.own(BLOCK, OFFSETS, WEIGHTS, column, table, own)
    np.testing.assert_allclose(own, wanted[np.arange(300), column], rtol=1e-12)


def test_what_leads_beyond_the_rows_is_refused():
    far, out, own = BLOCK + np.uint8(9), np.zeros((21, 2)), np.zeros(300)
    x = np.zeros((300, 2))
    for call in (
        lambda: counted(far),
        lambda: counted(offsets=OFFSETS - 1),
        lambda: counted(labels=LABELS + np.uint32(1)),
        lambda: _core.gather(far, OFFSETS, x, out),
        lambda: _core.spread(far, OFFSETS, WEIGHTS, out, 0, 300, x),
        lambda: _core.own(far, OFFSETS, WEIGHTS, LABELS, np.zeros((21, 4)), own),
        lambda: _core.own(BLOCK, OFFSETS, WEIGHTS, LABELS, out, own),
    ):
        with pytest.raises(IndexError):
            call()
