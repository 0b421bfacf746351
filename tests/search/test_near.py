"""What is remembered of gains is what would be computed anew, and bounds of them are bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from partita.draws import Draws
from partita.kernels.greedy_counts import ALPHA, ALWAYS, COLUMNS, WIDE
from partita.kernels.greedy_near import bounds
from partita.losses import ID, NID, NVI, OMARI, VI
from partita.search._greedy_clock import Clock
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_run import Run

LOSSES = [VI(), ID(), NVI(), NID(), OMARI()]


@njit
def _bounded(i, given, held, near, reach):
    """The bounds of what an item would gain."""
    bounds(i, 0.0, 0.0, 0.0, reach, given, held, near)
    return near[3].copy()


def _gains(state, i):
    """What an item would add in every column, and what it adds where it is."""
    p, (alpha, _), counts = state.problem, state.slant, state._tables.counts
    w, shared = p.weight[i], counts[:, p.rows[i]].astype(np.int64)
    own = state.labels[i]
    there = shared.copy()
    there[own] -= w
    return (p.cell[there + w] - p.cell[there]) @ alpha


def _check(state):
    """Compare all that claims to be valid with what it should be; count what was remembered."""
    p, tables = state.problem, state._tables
    own, stamps = state.near[:2]
    remembered = 0
    for i in range(p.n):
        gains, k = _gains(state, i), state.labels[i]
        if (stamps[i] == tables.marks[[COLUMNS + k, ALPHA]]).all():
            remembered += 1
            assert own[i] == pytest.approx(gains[k], rel=1e-12, abs=1e-12)
        bound = _bounded(i, p.given, state.held, state.near, state.slant[1])
        others = np.flatnonzero(tables.sizes)
        others = others[others != k]
        assert np.all(bound[others] >= gains[others])
    sums = np.zeros((len(tables.counts), p.n), dtype=np.int64)
    np.add.at(sums, state.labels, p.like * p.weight[:, None])
    np.testing.assert_array_equal(state.held[7], sums)
    return remembered


def _problem(loss, seed, n=60, m=40):
    """Draws of about twelve clusters, with items that are always together."""
    rng = np.random.default_rng(seed)
    centre = rng.integers(0, 12, n)
    labels = np.where(rng.random((m, n)) < 0.7, centre, rng.integers(0, 20, (m, n)))
    labels[:, 1] = labels[:, 0]
    labels[:, 2:10] = labels[:, [2]]
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
        _check(state)
        state.restore(saved)
    elif step == 5:
        run.soften()
    elif step == 6:
        run.chain()
    elif step == 7:
        state.fit(0.0)
    elif step == 8:
        run.cross(rng.integers(0, 5, n))
    else:
        run.shake(0.5, ("rebuild", "split", "graft"))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_remembered_is_what_would_be_computed_anew(loss, seed):
    rng = np.random.default_rng(seed)
    problem = _problem(loss, seed)
    assert problem.items.are_merged
    assert problem.like.size
    run = Run(problem.state(), rng, problem.n, Clock())
    run.grow()
    remembered = 0
    for step in rng.permutation(np.tile(np.arange(10), 3)):
        if step in (3, 5, 8) and not run.state.is_rough:
            continue
        _change(run, step, rng)
        remembered += _check(run.state)
    assert remembered > problem.n


def _uneven(loss, seed, n=60, m=60):
    """Draws of one cluster beside draws of many: their weights in the linear loss differ most."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 25, (m, n))
    labels[: m // 3] = rng.random((m // 3, n)) < 0.03
    return DrawsProblem(Draws(labels), loss, merge=False)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_bounds_hold_where_draws_weigh_unlike(loss):
    rng, highest = np.random.default_rng(3), 0.0
    state = _uneven(loss, 3).state()
    for share in (0.5, 0.8, 0.95, 1.0):
        labels = np.where(rng.random(60) < share, 0, rng.integers(1, 4, 60))
        labels[0], labels[1] = 0, 1
        state.load(np.unique(labels, return_inverse=True)[1])
        _check(state)
        highest = max(highest, float(state.slant[1][1]))
    assert highest > 0


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("make", [_problem, _uneven])
def test_sweeps_that_rule_clusters_out_end_as_those_that_look_at_all(loss, make):
    problem, ends = make(loss, 4), []
    start = np.random.default_rng(1).integers(0, 6, problem.n)
    for looks_at_all in (False, True):
        state = problem.state()
        state.load(np.unique(start, return_inverse=True)[1])
        if looks_at_all:
            state.held[5][WIDE] = ALWAYS
        Run(state, np.random.default_rng(2), problem.n, Clock()).settle()
        ends.append(state.labels.copy())
    np.testing.assert_array_equal(*ends)


def test_what_a_run_left_open_is_closed_for_the_next():
    state = _problem(VI(), 5).state()
    state.load(np.zeros(state.labels.size, dtype=np.int64))
    state.held[5][WIDE] = 1
    state.load(np.zeros(state.labels.size, dtype=np.int64))
    assert state.held[5][WIDE] == 0
