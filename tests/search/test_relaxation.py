"""The relaxed problem: its bound is one, is that of a solver, and proves what can be proved."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import partita as pt
from partita.partitions import enumerate_partitions
from partita.search import _cliques, _program, _relaxation

N = 8
PARTITIONS = enumerate_partitions(N)


def costs(seed, n=N):
    """Symmetric costs without a diagonal."""
    d = np.triu(np.random.default_rng(seed).normal(0.1, 0.3, (n, n)), 1)
    return d + d.T


def programmed(d):
    """The optimum over all triangles, by another's linear program."""
    n = len(d)
    place = {pair: a for a, pair in enumerate(zip(*np.triu_indices(n, 1), strict=True))}
    rows = []
    for j, i, k in permutations(range(n), 3):
        if i < k:
            row = np.zeros(len(place))
            for a, b, sign in ((i, j, 1), (j, k, 1), (i, k, -1)):
                row[place[min(a, b), max(a, b)]] = sign
            rows.append(row)
    return linprog(d[np.triu_indices(n, 1)], np.array(rows), np.ones(len(rows)), bounds=(0, 1)).fun


def relaxed(d, labels, target=np.inf, deadline=np.inf):
    """The bound of the multipliers that are found, recomputed."""
    none = np.empty((0, 3), dtype=np.int64)
    rows, y = _relaxation.relax(d, labels, none, np.empty(0), target, deadline)
    assert (y >= 0).all()
    return _program.prove(d, rows.ravel(), 3 * np.arange(len(y) + 1), y)[0]


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_goes_to_that_of_the_program(seed, monkeypatch):
    d = costs(seed)
    monkeypatch.setattr(_relaxation, "_RISE", -np.inf)
    monkeypatch.setattr(_relaxation, "_VIOLATION", 1e-7)
    best = programmed(d)
    bound = relaxed(d, np.zeros(N, dtype=np.int64), target=best - 1e-6)
    assert best - 1e-6 <= bound <= best + 1e-9
    assert bound <= min(_cliques.joined(labels, d) for labels in PARTITIONS)


def test_it_ends_where_the_bound_hardly_rises():
    d = costs(1, 30)
    labels = np.arange(30) % 5
    bound = relaxed(d, labels, target=_cliques.joined(labels, d))
    assert programmed(d) == pytest.approx(bound, rel=0.02)


def test_no_time_is_no_harm():
    d, labels = costs(2, 30), np.arange(30) % 5
    bound = relaxed(d, labels, deadline=time.monotonic() - 1)
    assert bound == pytest.approx(np.minimum(d, 0).sum() / 2, rel=1e-12)


def test_without_time_nothing_is_set_up(monkeypatch):
    monkeypatch.setattr(_cliques, "relax", lambda *_: pytest.fail("it relaxes"))
    part = _cliques.Part(costs(4, 30), np.arange(30) % 5, time.monotonic() - 1, 1e-9)
    assert not part.is_proved


@pytest.mark.parametrize("short", ["climb", "move_on", "extend"])
def test_time_that_ends_in_between_leaves_the_best_bound(short, monkeypatch):
    d, labels, done = costs(3, 30), np.arange(30) % 5, []
    plain = getattr(_relaxation._Point, short)

    def late(self, deadline):
        done.append(short)
        return plain(self, deadline if len(done) < 5 else -np.inf)

    monkeypatch.setattr(_relaxation._Point, short, late)
    start = np.minimum(d, 0).sum() / 2
    assert start < relaxed(d, labels) <= programmed(d) + 1e-9
    assert len(done) == 5


def tessellated(n, n_draws, seed):
    """Draws that put each item to the nearest of some points, made anew in every draw."""
    rng = np.random.default_rng(seed)
    items = rng.random((n, 2))
    draws = np.empty((n_draws, n), dtype=np.int64)
    for draw in draws:
        draw[:] = ((items[:, None] - rng.random((8, 2))) ** 2).sum(axis=2).argmin(axis=1)
    return draws


def test_a_certificate_without_a_solver_is_as_good_as_the_program_over_triangles(monkeypatch):
    draws = tessellated(40, 100, 0)
    monkeypatch.setattr(_cliques, "_MOST_ROWS", 0)  # no program
    psm = pt.posterior_similarity(draws)
    best = pt.estimate(draws, loss="binder", rng=0)
    proof = pt.certify(best, psm)
    matrix = psm.to_dense()
    least = (matrix.sum() - 40) / 1600 + 4 / 1600 * programmed(_cliques.costs(matrix, 1.0))
    assert proof.method == "triangles"
    assert not proof.cut_short
    assert least >= proof.lower_bound >= least - 1e-3 * best.expected_loss


@pytest.mark.parametrize("where", ["_cliques.settle", "_cliques.relax", "_program.Program.cut"])
def test_an_interrupt_leaves_the_bound_so_far(where, monkeypatch):
    """That of a set of items it came in is the least there is; the others are as they were."""
    pytest.importorskip("highspy")
    matrix = np.random.default_rng(5).random((30, 30))
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1.0)
    labels = pt.estimate(pt.Similarity(matrix), loss="binder", rng=0).labels
    whole, came = pt.certify(labels, matrix), []

    def stopped(*args, **kwargs):
        came.append(where)
        if len(came) > 1:
            return plain(*args, **kwargs)
        raise KeyboardInterrupt

    name = where.rpartition(".")[2]
    owner = _program.Program if name == "cut" else _cliques
    plain = getattr(owner, name)
    monkeypatch.setattr(owner, name, stopped)
    with pytest.warns(pt.errors.PartitaWarning, match="Interrupted: the bound"):
        proof = pt.certify(labels, matrix)
    assert came[0] == where
    assert proof.cut_short
    assert 0 <= proof.lower_bound <= whole.expected_loss
    assert proof.expected_loss == whole.expected_loss
    if name == "cut":  # after the relaxed problem, which is not lost
        assert proof.lower_bound > 0.9 * whole.lower_bound
