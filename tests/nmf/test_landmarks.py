"""Restarts on landmarks: their masses, and that a matrix and draws lead to the same minimum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import partita as pt
from partita.nmf import Streamed, _landmarks
from partita.nmf._compress import merge
from partita.search import NMF
from partita.similarity import landmark_items

SIZES = (90, 75, 60, 45, 30)


@pytest.fixture(scope="module")
def draws():
    """Five clusters of 300 items in no order, one label in ten replaced in each of 60 draws."""
    rng = np.random.default_rng(3)
    truth = rng.permutation(np.repeat(np.arange(5), SIZES))
    labels = np.where(rng.random((60, 300)) < 0.1, rng.integers(0, 5, (60, 300)), truth)
    return pt.Draws(labels), truth


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(_landmarks, "N_LANDMARKS", 100)


def test_a_cluster_is_as_large_among_weighted_landmarks_as_it_is(draws):
    psm = pt.posterior_similarity(draws[0]).to_dense()
    items = landmark_items(300, 100, 0)
    mass = _landmarks.masses(psm[np.ix_(items, items)], psm[items].sum(axis=1), 300)
    plain = np.bincount(draws[1][items]) * 3.0
    weighted = np.bincount(draws[1][items], mass) * 3.0
    assert np.abs(plain - SIZES).max() > 6
    assert np.abs(weighted - SIZES).max() < 2


def test_masses_of_all_items_are_one(draws):
    psm = pt.posterior_similarity(draws[0]).to_dense()
    assert_array_equal(_landmarks.masses(psm, psm.sum(axis=1), 300), np.ones(300))


@pytest.mark.parametrize("model", ["ls", "offset", "symmetric"])
@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_a_matrix_and_draws_lead_to_the_same_minimum(draws, few, model, rank):
    through = next(Streamed(draws[0].unique(), model, [rank], 5, 0, 1).fits())
    fit = pt.factorize(pt.posterior_similarity(draws[0]), model=model, rank=rank, n_init=5, rng=0)
    assert through.objective == pytest.approx(fit.objective, rel=1e-3)
    assert (through.labels("balance") != fit.labels).mean() <= 0.01
    assert fit.restart_labels.shape == (5, 300)
    assert fit.objective == fit.restart_objectives.min()


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_restarts_on_landmarks_end_where_those_on_all_items_do(draws, monkeypatch, rank):
    """With masses; without, which clusters get a factor is decided by the sample."""
    psm = pt.posterior_similarity(draws[0])
    full = pt.factorize(psm, model="ls", rank=rank, n_init=10, rng=0)
    monkeypatch.setattr(_landmarks, "N_LANDMARKS", 100)
    fit = pt.factorize(psm, model="ls", rank=rank, n_init=10, rng=0)
    assert fit.objective <= 1.001 * full.objective


def test_an_operator_and_a_matrix_have_the_same_fit(draws, few):
    kinds = pt.posterior_similarity(draws[0]), pt.Similarity.from_draws(draws[0])
    ours, theirs = (pt.factorize(x, model="ls", rank=3, n_init=4, rng=0) for x in kinds)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert_array_equal(ours.labels, theirs.labels)


def test_given_starts_are_iterated_on_all_items(draws, few):
    psm = pt.posterior_similarity(draws[0])
    rng = np.random.default_rng(0)
    W = rng.random((300, 3))
    fit = pt.factorize(psm, model="ls", rank=3, init=(W, W.T.copy()), rng=0)
    assert fit.restart_objectives.size == 1


def test_least_squares_of_more_items_than_landmarks_go_through_the_draws(draws, few):
    search = NMF("ls", ranks=(4, 5), n_init=3)
    through = pt.estimate(draws[0], search=search, rng=0)
    assert through.info["restarts_on"] == "landmarks"
    given = pt.estimate(pt.posterior_similarity(draws[0]), loss="vi", search=search, rng=0)
    assert "restarts_on" not in given.info
    assert through.expected_loss == pytest.approx(given.expected_loss, rel=1e-9)
    assert "restarts_on" not in pt.estimate(draws[0], search=NMF("kl", n_init=1), rng=0).info
    assert not Streamed.is_quicker("ls", 200, 1000)


def test_equal_landmarks_are_one_of_their_summed_mass(draws):
    psm = np.kron(np.eye(2), np.ones((3, 3)))
    found = merge(psm, np.array([1.0, 2.0, 3.0, 0.5, 0.5, 0.5]))
    assert_allclose(found.masses, [6.0, 1.5])
    assert_array_equal(merge(np.eye(4), np.arange(1.0, 5.0)).masses, np.arange(1.0, 5.0))
    assert merge(np.eye(4)) is None
    assert_allclose(found.spread(found.shrink(np.arange(6.0), 0.5), 0.5), [1.0] * 3 + [4.0] * 3)


@pytest.mark.parametrize("model", ["ls", "offset", "symmetric"])
def test_a_device_takes_the_same_way(draws, few, monkeypatch, model):
    pytest.importorskip("torch")
    psm = pt.posterior_similarity(draws[0]).to_dense()
    words = {"model": model, "rank": 3, "n_init": 4, "rng": 0}
    ours = pt.factorize(psm, **words)
    monkeypatch.setattr("partita.nmf._common.Target.is_for_host", lambda *_: False)
    theirs = pt.factorize(psm, **words, device="torch:cpu")
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-5)
    assert_array_equal(theirs.labels, ours.labels)
