"""Proofs about Binder's loss, against enumeration."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import partita as pt
from partita import _core
from partita.partitions import enumerate_partitions
from partita.search import Exact, _program


@pytest.mark.parametrize("a", [0.4, 1.0, 1.6])
@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_below_every_partition_and_the_gap_is_told_truly(a, seed):
    rng = np.random.default_rng(seed)
    draws = pt.Draws(rng.integers(0, 3, (7, 8)))
    psm, loss = pt.posterior_similarity(draws), pt.losses.Binder(a)
    partitions = enumerate_partitions(8)
    values = pt.expected_loss(partitions, draws, loss=loss)
    best, other = int(values.argmin()), int(rng.integers(values.size))
    proof = pt.certify(partitions[best], psm, loss=loss)
    assert proof.lower_bound <= values.min() + 1e-12
    assert_allclose(proof.expected_loss, values[best], atol=1e-12)
    worse = pt.certify(partitions[other], psm, loss=loss)
    assert worse.lower_bound <= values.min() + 1e-12
    assert worse.is_optimal <= (values[other] <= values.min() + 1e-9)


def test_a_transitive_threshold_is_recognised():
    truth = np.repeat([0, 1, 2], 20)
    psm = np.where(truth[:, None] == truth, 0.8, 0.3)
    np.fill_diagonal(psm, 1)
    proof = pt.certify(truth, psm)
    assert proof.method == "threshold"
    assert proof.is_optimal
    assert not pt.certify(np.zeros(60, dtype=int), psm).is_optimal


def test_the_reference_answer_is_proved(draws):
    best = pt.estimate(draws, loss="binder", rng=0)
    proof = pt.certify(best.labels, pt.posterior_similarity(draws))
    assert proof.is_optimal
    assert "optimal" in repr(proof)


def test_the_galaxy_answer_is_proved_by_the_threshold(galaxy_draws):
    best = pt.estimate(galaxy_draws, loss="binder", rng=0)
    proof = pt.certify(best.labels, galaxy_draws)
    assert proof.is_optimal
    assert proof.method == "threshold"


def test_a_program_closes_what_triangles_leave_open():
    pytest.importorskip("highspy")
    rng = np.random.default_rng(3)
    draws = pt.Draws(rng.integers(0, 3, (9, 30)))
    best = pt.estimate(draws, loss="binder", search=Exact(), rng=0)
    assert best.info["is_optimal"]
    proof = pt.certify(best.labels, draws)
    assert proof.method == "linear program"
    assert 0 <= proof.relative_gap < 0.01


def test_only_binder_can_be_certified():
    with pytest.raises(pt.errors.InvalidTypeError, match="Binder"):
        pt.certify([0, 0], np.ones((2, 2)), loss="vi")
    with pytest.raises(pt.errors.InvalidValueError, match="labels"):
        pt.certify([0, 0, 1], np.ones((2, 2)))


def test_an_estimate_is_a_partition_too():
    draws = pt.datasets.simulate_draws(20, 30, n_clusters=2, rng=0)
    best = pt.estimate(draws, loss="binder", rng=0)
    psm = pt.posterior_similarity(draws)
    assert pt.certify(best, psm) == pt.certify(best.labels, psm)


def hard(seed, n_items=60):
    """Draws of overlapping clusters, as many wrong pairs as right ones near the borders."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1.5, (n_items, 2))
    centres = rng.normal(0, 1.5, (4, 2)) + rng.normal(0, 0.4, (80, 4, 2))
    score = -((x[None, :, None] - centres[:, None]) ** 2).sum(-1)
    return pt.Draws((score + rng.gumbel(size=score.shape)).argmax(-1))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 7).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=1, max_size=6
        )
    ),
    st.sampled_from([0.5, 1.0, 1.7]),
    st.data(),
)
def test_no_bound_is_above_the_least_of_all_partitions(rows, a, data):
    draws, loss = pt.Draws(np.array(rows)), pt.losses.Binder(a)
    partitions = enumerate_partitions(draws.n_items)
    values = pt.expected_loss(partitions, draws, loss=loss)
    given_labels = partitions[data.draw(st.integers(0, len(partitions) - 1))]
    proof = pt.certify(given_labels, draws, loss=loss)
    assert proof.lower_bound <= values.min() + 1e-14
    assert proof.is_optimal <= (proof.expected_loss <= values.min() + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_hardly_depends_on_the_labels_and_not_on_the_run(seed):
    draws = hard(seed)
    best = pt.estimate(draws, loss="binder", rng=0)
    proof = pt.certify(best, draws)
    assert pt.certify(best, draws) == proof
    for labels in (np.zeros(60, dtype=int), np.arange(60), np.arange(60) % 5):
        other = pt.certify(labels, draws)
        assert other.lower_bound <= best.expected_loss + 1e-14
        assert other.lower_bound >= 0.995 * proof.lower_bound
        assert other.gap > proof.gap


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_what_branching_proves(seed):
    pytest.importorskip("highspy")
    draws = hard(seed, 25)
    best = pt.estimate(draws, loss="binder", search=Exact(), rng=0)
    assert best.info["is_optimal"]
    proof = pt.certify(best, draws)
    assert proof.lower_bound <= best.expected_loss + 1e-14
    assert proof.relative_gap < 0.02


def test_time_is_up_at_once():
    draws = hard(0)
    labels = pt.estimate(draws, loss="binder", rng=0).labels
    with pytest.warns(pt.errors.PartitaWarning, match="too short for the proof"):
        proof = pt.certify(labels, draws, time_limit=1e-9)
    whole = pt.certify(labels, draws, time_limit=600)
    assert proof.lower_bound < whole.lower_bound
    assert proof.method == "triangles"
    assert (proof.cut_short, whole.cut_short) == (True, False)


def test_without_a_solver_the_bound_is_given_with_a_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    draws = pt.Draws(np.random.default_rng(3).integers(0, 3, (9, 30)))
    best = pt.estimate(draws, loss="binder", rng=0)
    with pytest.warns(pt.errors.PartitaWarning, match=r"raised.*partita\[certify\]"):
        proof = pt.certify(best, draws)
    assert proof.method == "triangles"
    assert 0 < proof.relative_gap < 0.05


def test_no_rounding_puts_the_bound_above_the_least_loss():
    """Exact fractions of the matrix as it is stored, over all partitions of six items."""
    rng, partitions = np.random.default_rng(0), enumerate_partitions(6)
    together = [z[:, None] == z for z in partitions]
    for _ in range(40):
        matrix = np.round(rng.random((6, 6)), 1)
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T + np.eye(6)
        exact = [[Fraction(x) for x in row] for row in matrix.tolist()]
        least = min(
            sum(1 - exact[i][j] if z[i, j] else exact[i][j] for i in range(6) for j in range(6))
            for z in together
        )
        proof = pt.certify(partitions[0], matrix)
        assert Fraction(proof.lower_bound) <= least / 36
        assert proof.lower_bound >= float(least) / 36 - 1e-9


@pytest.mark.parametrize("where", ["settle", "cut"])
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

    owner = _program.Program if where == "cut" else _core
    plain = getattr(owner, where)
    monkeypatch.setattr(owner, where, stopped)
    with pytest.warns(pt.errors.PartitaWarning, match="Interrupted: the bound"):
        proof = pt.certify(labels, matrix)
    assert came[0] == where
    assert proof.cut_short
    assert 0 <= proof.lower_bound <= whole.expected_loss
    assert proof.expected_loss == whole.expected_loss
    if where == "cut":  # the triangles' bound is not lost
        assert proof.lower_bound > 0.9 * whole.lower_bound
