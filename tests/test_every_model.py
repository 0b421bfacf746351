"""What must hold for every NMF model there is, found in the namespace."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.nmf import NAMES, READINGS
from partita.nmf.starts import starts
from partita.partitions import canonical

MODELS = sorted(NAMES)


def begun(name, rank=4, n_init=2, seed=0, n=60):
    return starts(NAMES[name], rank, n_init, "random", seed, n, lambda: None)


def residual(name, psm, fit):
    """The objective written out from W, H and offset, by nobody's solver."""
    W, H = fit.W, fit.H
    if name == "ns":
        K = H.shape[0]
        W = W @ (0.5 * np.eye(K) + 0.5 / K)
    fitted = W @ H
    if fit.offset is not None:
        fitted = fitted + fit.offset[:, None]
    if name not in ("kl", "ns"):
        return 0.5 * ((psm - fitted) ** 2).sum()
    seen = psm > 0
    logs = (psm[seen] * np.log(psm[seen] / fitted[seen])).sum()
    return logs + (fitted - psm).sum()


@pytest.mark.parametrize("solver", ["fast", "mu"])
@pytest.mark.parametrize("name", MODELS)
def test_what_is_reported_is_what_was_fitted(name, solver, psm):
    fit = pt.factorize(psm, model=name, rank=4, n_init=3, solver=solver, rng=1)
    n = psm.shape[0]
    assert fit.W.shape == (n, 4)
    assert fit.H.shape == (4, n)
    assert (fit.offset is not None) == (name == "offset")
    assert (fit.W >= 0).all()
    assert (fit.H >= 0).all()
    assert_allclose(fit.objective, residual(name, psm, fit), rtol=1e-9)
    assert fit.objective in fit.restart_objectives
    assert_allclose(fit.objective, fit.restart_objectives.min(), rtol=1e-7)  # of ties the clearest
    assert fit.restart_objectives.shape == (3,)
    assert fit.restart_labels.shape == (3, n)
    assert fit.n_iter > 0
    if name == "symmetric":
        assert_allclose(fit.W, fit.H.T)


@pytest.mark.parametrize("name", MODELS)
def test_memberships_belong_to_the_labels(name, psm):
    """They are those of balanced factors, whatever the labels are read by."""
    fit = pt.factorize(psm, model=name, rank=6, n_init=2, rng=0)
    balanced = fit.read("balance")
    assert np.array_equal(balanced.labels, balanced.memberships.argmax(axis=1))
    for how in READINGS:
        reading = fit.read(how)
        assert reading.memberships.shape == (psm.shape[0], 6)
        assert_allclose(reading.memberships.sum(axis=1), 1.0)
        assert_allclose(np.sort(reading.memberships), np.sort(balanced.memberships))
        agree = np.mean(reading.labels == reading.memberships.argmax(axis=1))
        assert agree >= np.mean(reading.labels == balanced.memberships.argmax(axis=1))
        assert not reading.undecided.any()
    assert np.array_equal(fit.labels, canonical(fit.labels))


@pytest.mark.parametrize("solver", ["fast", "mu"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_other_array_libraries_give_the_same_answer(library, name, solver, psm):
    xp = pytest.importorskip(library)
    ours = pt.factorize(psm, model=name, rank=3, n_init=3, solver=solver, rng=2)
    theirs = pt.factorize(xp.asarray(psm), model=name, rank=3, n_init=3, solver=solver, rng=2)
    assert type(theirs.W) is type(xp.asarray(psm))
    assert_allclose(theirs.objective, ours.objective, rtol=1e-4)
    assert np.array_equal(theirs.labels, ours.labels)


@pytest.mark.parametrize("name", MODELS)
def test_single_precision(name, psm):
    xp = pytest.importorskip("array_api_strict")
    double = pt.factorize(psm, model=name, rank=3, n_init=3, rng=2)
    single = pt.factorize(xp.asarray(psm, dtype=xp.float32), model=name, rank=3, n_init=3, rng=2)
    assert single.W.dtype == xp.float32
    assert_allclose(single.objective, double.objective, rtol=1e-3)
    assert np.array_equal(single.labels, double.labels)


@pytest.mark.parametrize("name", MODELS)
def test_workers_and_seeds(name, psm):
    one, two = (pt.factorize(psm, model=name, rank=5, n_init=4, rng=3, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one.H, two.H)
    assert np.array_equal(one.restart_objectives, two.restart_objectives)
    other = pt.factorize(psm, model=name, rank=5, n_init=4, rng=4)
    assert not np.array_equal(one.H, other.H)


def test_restarts_share_their_starts_across_models():
    reference = begun("ls")
    for name in MODELS:
        if name == "symmetric":
            continue
        for mine, theirs in zip(begun(name), reference, strict=True):
            assert np.array_equal(mine.W, theirs.W)
            assert np.array_equal(mine.H, theirs.H)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rank", [2, 4, 7])
def test_fast_is_no_worse_than_mu(name, rank, psm):
    """On the committed posterior, from the same starts."""
    fast = pt.factorize(psm, model=name, rank=rank, n_init=5, rng=0)
    slow = pt.factorize(psm, model=name, rank=rank, n_init=5, rng=0, solver="mu")
    assert fast.objective <= slow.objective * (1 + 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_stable_over_restarts_that_tie(name, psm):
    """Where restarts reach one objective, the balanced reading is one partition."""
    for rank in (3, 4):
        fit = pt.factorize(psm, model=name, rank=rank, n_init=10, rng=0)
        tied = fit.restart_objectives < fit.objective * (1 + 1e-6)
        assert tied.any()
        assert len(np.unique(fit.restart_labels[tied], axis=0)) == 1


@pytest.mark.parametrize("name", MODELS)
def test_equal_items_are_merged_without_loss(name):
    draws = pt.datasets.simulate_draws(40, 60, n_clusters=4, noise=0.2, rng=5).labels
    twice = np.repeat(draws, 3, axis=1)[:, :100]
    psm = pt.posterior_similarity(twice).to_dense()
    fit = pt.factorize(psm, model=name, rank=4, n_init=4, rng=0)
    assert_allclose(fit.objective, residual(name, psm, fit), rtol=1e-8)
    for rows in (fit.W, fit.H.T):
        assert_allclose(rows[0], rows[1])
    slow = pt.factorize(psm, model=name, rank=4, n_init=4, rng=0, solver="mu")
    assert fit.objective <= slow.objective * (1 + 1e-6)


@pytest.mark.parametrize("solver", ["fast", "mu"])
@pytest.mark.parametrize("name", MODELS)
class TestOddMatrices:
    def test_a_zero_row(self, name, solver):
        psm = np.kron(np.eye(2), np.ones((4, 4)))
        psm[3] = psm[:, 3] = 0.0
        fit = pt.factorize(psm, model=name, rank=2, n_init=3, solver=solver, rng=0)
        assert np.isfinite(fit.objective)
        assert_allclose(fit.memberships.sum(axis=1), 1.0)
        rest = np.delete(fit.labels, 3)
        assert np.array_equal(canonical(rest), [0, 0, 0, 1, 1, 1, 1])
        if fit.undecided[3]:
            assert_allclose(fit.memberships[3], 0.5)

    def test_all_ones(self, name, solver):
        fit = pt.factorize(np.ones((6, 6)), model=name, rank=3, n_init=3, solver=solver, rng=0)
        if not (name == "offset" and solver == "mu"):
            assert fit.objective < 1e-3
        assert np.isfinite(fit.memberships).all()

    def test_the_identity(self, name, solver):
        fit = pt.factorize(np.eye(5), model=name, rank=5, n_init=10, solver=solver, rng=0)
        assert np.isfinite(fit.objective)
        assert_allclose(fit.memberships.sum(axis=1), 1.0)
        if solver == "fast" and name in ("ls", "kl", "symmetric", "offset"):
            assert fit.objective < 1e-3
            assert np.array_equal(fit.labels, np.arange(5))

    def test_rank_one(self, name, solver):
        x = np.linspace(0.2, 1.0, 8)
        fit = pt.factorize(np.outer(x, x), model=name, rank=1, n_init=2, solver=solver, rng=0)
        assert (fit.labels == 0).all()
        assert_allclose(fit.memberships, 1.0)
        if not (name == "offset" and solver == "mu"):
            assert fit.objective < 1e-4

    def test_nothing_at_all(self, name, solver):
        fit = pt.factorize(np.zeros((4, 4)), model=name, rank=2, n_init=2, solver=solver, rng=0)
        assert np.isfinite(fit.objective)
        assert_allclose(fit.memberships.sum(axis=1), 1.0)

    def test_one_item(self, name, solver):
        fit = pt.factorize([[1.0]], model=name, rank=1, n_init=2, solver=solver, rng=0)
        assert fit.labels.tolist() == [0]
