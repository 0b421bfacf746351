"""Gains that are remembered are those that would be computed anew."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import partita as pt
from partita.draws import Draws
from partita.kernels import greedy_memo
from partita.kernels.greedy_draws_runs import made
from partita.kernels.greedy_memo import ALPHA, BLOCKS, renew, renew_own
from partita.kernels.greedy_vector import LANES, weighted_rows
from partita.losses import ID, NVI, VI
from partita.search._greedy_clock import Clock
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_run import Run


@njit
def _anew(rows, weight, cell, step, counts, table, labels, alpha32, marks, known, near):
    """Fill ``known`` and ``near`` with nothing remembered."""
    stamps = np.empty((2, marks.shape[0]), np.int64)
    block, one, own = np.empty(known.shape[1], np.float32), known[:2].copy(), np.empty(2)
    for i in range(rows.shape[0]):
        stamps[:] = -1
        w = weight[i]
        renew(0, i, rows, w, cell, counts, table, alpha32, marks, one, stamps, block)
        known[i] = one[0]
        if labels[i] >= 0:
            renew_own(
                0, i, rows, labels[i], w, cell, step, counts, alpha32, marks, own, stamps
            )  # fmt: skip
            near[i] = own[0]


def _n_valid(state):
    """Compare all that claims to be valid with what it should be, and count it."""
    known, near, stamps, alpha32, _ = state.memo
    tables, marks = state._tables(), state.marks
    fresh, own = np.empty((state.problem.n, known.shape[1])), np.empty(state.problem.n)
    _anew(*tables[:7], alpha32, marks, fresh, own)
    is_same = (stamps[:, BLOCKS:] == marks[BLOCKS:]) & (stamps[:, [ALPHA]] == marks[ALPHA])
    columns = np.repeat(is_same, LANES, axis=1)
    np.testing.assert_array_equal(known[columns], fresh[columns])
    mine = np.flatnonzero((stamps[:, ALPHA] == marks[ALPHA]) & (state.labels >= 0))
    mine = mine[stamps[mine, 0] == marks[BLOCKS + state.labels[mine] // LANES]]
    np.testing.assert_array_equal(near[mine], own[mine])
    return int(is_same.sum())


def _problem(loss, seed, n=60, m=40):
    """Draws of about twelve clusters, with items that are always together."""
    rng = np.random.default_rng(seed)
    centre = rng.integers(0, 12, n)
    labels = np.where(rng.random((m, n)) < 0.7, centre, rng.integers(0, 20, (m, n)))
    labels[:, 1] = labels[:, 0]
    return DrawsProblem(Draws(labels), loss)


def _change(run, step, rng):
    """One of the ways that partitions change."""
    state, n = run.state, run.state.labels.size
    saved = state.save()
    if step == 0:
        run.settle()
    elif step == 1:
        items = np.flatnonzero(state.labels == state.labels[rng.integers(n)])
        run.attempt(items, np.full(items.size, -1), items)
    elif step == 2:
        run.merge()
    elif step == 3:
        run.exchange()
    elif step == 4:
        items = rng.choice(n, 5, replace=False)
        state.move(items, state.labels[rng.permutation(items)])
        run.settle(max_sweeps=1)
        _n_valid(state)
        state.restore(saved)
    elif step == 5:
        run.chain()
    elif step == 6:
        state.grow(state.sizes.size)
    elif step == 7:
        run.shake(1.0, ["rebuild", "split"])
    else:
        items = rng.choice(n, 9, replace=False)
        state.move(items, np.full(9, int(np.flatnonzero(state.sizes)[0])))


@pytest.mark.parametrize("loss", [VI(), ID(), NVI()], ids=["vi", "id", "nvi"])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_remembered_is_what_would_be_computed(loss, seed):
    problem, rng = _problem(loss, seed), np.random.default_rng(seed)
    state = problem.state()
    run = Run(state, rng, problem.n, Clock(None))
    run.grow()
    run.settle()
    n_valid = _n_valid(state)
    for step in rng.integers(0, 9, 40):
        _change(run, step, rng)
        n_valid += _n_valid(state)
    assert n_valid > 0


@pytest.mark.parametrize("loss", [VI(), ID(), NVI()], ids=["vi", "id", "nvi"])
def test_mergers_forget_both_blocks_of_columns(loss):
    problem = _problem(loss, 0)
    state = problem.state()
    state.load(np.arange(problem.n) % 12)
    run = Run(state, np.random.default_rng(0), problem.n, Clock(None))
    run.settle()
    b = int(state.sizes[:LANES].argmax())
    half = np.flatnonzero(state.labels == b)[::2]
    far = int(np.flatnonzero(state.sizes[LANES:] == 0)[0]) + LANES
    state.move(half, np.full(half.size, far))
    state.chain(problem.n, 1, 0, -np.inf)  # moves nothing, and looks at all items
    n_blocks = state.marks.size - BLOCKS
    assert _n_valid(state) == problem.n * n_blocks
    assert state.merge(np.array([[far, b]]))
    assert _n_valid(state) <= problem.n * (n_blocks - 2)


@pytest.mark.parametrize("loss", ["vi", "id", "nid"])
def test_an_answer_does_not_depend_on_what_is_remembered(loss, monkeypatch):
    rng = np.random.default_rng(5)
    centre = rng.integers(0, 10, 80)
    labels = np.where(rng.random((60, 80)) < 0.6, centre, rng.integers(0, 14, (60, 80)))
    answer = pt.estimate(labels, loss=loss, rng=1)
    monkeypatch.setattr(greedy_memo, "REMEMBERED", 0)
    again = pt.estimate(labels, loss=loss, rng=1)
    np.testing.assert_array_equal(answer.labels, again.labels)
    assert answer.expected_loss == again.expected_loss


def test_sums_do_not_depend_on_the_columns_summed_with_them():
    rng = np.random.default_rng(0)
    table = rng.random((50, 88)).astype(np.float32)
    rows = rng.integers(0, 50, 2503).astype(np.uint32)
    weights = rng.random(2503).astype(np.float32)
    whole = _summed(table, rows, weights)
    for end in (8, 16, 24, 32, 56):
        part = np.ascontiguousarray(table[:, -end:])
        np.testing.assert_array_equal(whole[-end:], _summed(part, rows, weights))
    np.testing.assert_allclose(whole, weights @ table[rows].astype(float), rtol=1e-4)


@njit
def _summed(table, rows, weights):
    width = table.shape[1]
    out = np.empty(width)
    weighted_rows(table, rows, weights, width, np.empty(width, np.float32), out)
    return out


@njit
def _kept(n, offsets, counts, alpha):
    """The items whose gains a quick run has room for."""
    memo = made(n, offsets, counts, alpha)[4][0]
    return memo[1].shape[0], memo[0].shape[0]


@pytest.mark.parametrize(("n", "kept"), [(800, 800), (3_000, 1)])
def test_quick_runs_of_many_items_remember_nothing(n, kept):
    """They have a column for every item, so that room for all gains would be quadratic."""
    offsets, counts = np.array([0, 2]), np.zeros(2 * n, dtype=np.uint16)
    assert _kept(n, offsets, counts, np.ones(1)) == (kept, kept * n)
