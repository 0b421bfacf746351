"""Proofs about Binder's loss, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.partitions import enumerate_partitions
from partita.search import Exact


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
