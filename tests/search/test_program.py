"""The program of clique partitioning: any multipliers bound, and the best ones are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partita as pt
from partita.partitions import enumerate_partitions
from partita.search import _cliques, _program

PARTITIONS = enumerate_partitions(6)


def costs(seed, n=6):
    """Symmetric costs without a diagonal."""
    d = np.triu(np.random.default_rng(seed).normal(size=(n, n)), 1)
    return d + d.T


def least(d):
    """The least cost of all partitions."""
    return min(_cliques.joined(labels, d) for labels in PARTITIONS)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 1000),
    st.lists(st.tuples(st.permutations(range(6)), st.integers(2, 5), st.floats(0, 5)), max_size=12),
)
def test_any_multipliers_give_a_bound(seed, stars):
    d = costs(seed)
    rows = [order[: 1 + leaves] for order, leaves, _ in stars]
    members = np.array([item for row in rows for item in row], dtype=np.int64)
    starts = np.cumsum([0, *map(len, rows)])
    bound, charged = _program.prove(d, members, starts, np.array([y for *_, y in stars]))
    assert bound <= least(d)
    assert charged.shape == d.shape


def test_the_bound_of_nothing_is_that_of_every_pair_alone():
    d = costs(0)
    bound, charged = _program.prove(d, np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0))
    assert bound == pytest.approx(np.minimum(d, 0).sum() / 2, rel=1e-12)
    assert bound < np.minimum(np.triu(d), 0).sum()
    assert np.array_equal(charged, d)


@pytest.mark.parametrize("seed", range(12))
def test_six_items_need_no_branching(seed):
    """Stars describe the convex hull of few items well enough for these costs."""
    pytest.importorskip("highspy")
    d = costs(seed)
    program = _program.Program(d)
    bound = program.cut(np.inf, np.inf)
    assert bound <= least(d)
    assert bound == pytest.approx(least(d), abs=1e-6)
    assert _cliques.joined(program.partition(), d) == pytest.approx(least(d), abs=1e-9)


def test_a_star_closes_what_triangles_leave_open():
    """One item drawn to three that repel each other, more than it is drawn to any two."""
    pytest.importorskip("highspy")
    d = np.ones((4, 4))
    d[0, 1:] = d[1:, 0] = -1.0
    np.fill_diagonal(d, 0.0)
    program = _program.Program(d)
    while triangles := program.triangles(100, np.inf):
        program.add(triangles)
        program.solve(np.inf)
    assert program.bound() == pytest.approx(-1.5)
    assert program.cut(-1.0, np.inf) == pytest.approx(-1.0)


def test_solving_in_slices_changes_nothing(monkeypatch):
    """Between slices Ctrl-C is looked at."""
    pytest.importorskip("highspy")
    d, bounds = costs(5, 12), []
    triangles = [
        (j, i, k) for i in range(12) for k in range(i) for j in range(12) if j not in (i, k)
    ]
    for slices in (1000, 3):
        monkeypatch.setattr(_program, "_SLICE", slices)
        program = _program.Program(d)
        program.add(triangles)
        program.solve(np.inf)
        bounds.append(program.bound())
    assert bounds[1] == pytest.approx(bounds[0], abs=1e-6)
    assert bounds[0] > np.minimum(d, 0).sum() / 2 + 0.1


def test_rows_that_there_is_no_time_for_are_not_added(monkeypatch):
    pytest.importorskip("highspy")
    d = costs(5, 12)
    triangles = [
        (j, i, k) for i in range(12) for k in range(i) for j in range(12) if j not in (i, k)
    ]
    program = _program.Program(d)
    assert program.add(triangles[:100], np.inf)
    program.solve(np.inf)
    before = program.bound(), dict(program.columns), list(program.starts), list(program.members)
    monkeypatch.setattr(_program, "_AT_A_TIME", 50)
    assert not program.add(triangles[100:], 0.0)
    after = program.bound(), program.columns, program.starts, program.members
    assert before == after
    assert program.add(triangles[100:], np.inf)
    program.solve(np.inf)
    assert program.bound() > before[0]


def test_a_program_that_cannot_be_set_up_in_time_is_not_begun(monkeypatch):
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(3).integers(0, 3, (9, 30)))
    proof = pt.certify(np.arange(30) % 3, draws, time_limit=600.0)
    assert proof.method == "linear program"
    monkeypatch.setattr(_program, "_PER_ROW", 1e6)
    with pytest.warns(pt.errors.PartitaWarning, match="time_limit"):
        late = pt.certify(np.arange(30) % 3, draws, time_limit=600.0)
    assert late.cut_short
    assert late.method == "triangles"
    assert late.lower_bound < proof.lower_bound
    with pytest.warns(pt.errors.PartitaWarning, match="time_limit"):
        best = pt.estimate(draws, loss="binder", search=pt.search.Exact(time_limit=600.0), rng=0)
    assert not best.info["is_optimal"]


def test_a_pair_that_is_fixed_counts():
    pytest.importorskip("highspy")
    d = costs(2)
    program = _program.Program(d)
    program.cut(np.inf, np.inf)
    pair = next(iter(program.columns))
    apart = PARTITIONS[:, pair[0]] != PARTITIONS[:, pair[1]]
    for value, rows in ((1.0, PARTITIONS[~apart]), (0.0, PARTITIONS[apart])):
        program.fix(0, value)
        program.solve(np.inf)
        bound = program.cut(np.inf, np.inf)
        wanted = min(_cliques.joined(labels, d) for labels in rows)
        assert bound <= wanted + 1e-12
        assert bound == pytest.approx(wanted, abs=0.3)
    program.fix(0, None)
    program.solve(np.inf)
    assert program.cut(np.inf, np.inf) == pytest.approx(least(d), abs=1e-6)
