"""The verb: starts, readings, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError
from partita.nmf import _compress, _hals, factorize_ranks
from partita.nmf._compress import coarsen, merge
from partita.nmf._readings import normalized
from partita.nmf._starts import nndsvd
from partita.nmf._target import as_target, of_array


def test_a_planted_factorisation_is_found_again():
    """π̂_ij = Σ_k p_ik p_jk: balancing gives back p."""
    p = np.random.default_rng(1).dirichlet([0.15] * 3, size=50)
    p[:3] = np.eye(3)
    fit = pt.factorize(p @ p.T, model="ls", rank=3, n_init=10, rng=0)
    assert fit.objective < 1e-3
    order = fit.memberships[:3].argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    assert np.abs(fit.memberships[:, order] - p).max() < 0.1


def test_against_scikit_learn(psm):
    """Least squares and divergence at a start of ours, to convergence."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    rng = np.random.default_rng(0)
    W, H = rng.random((60, 3)), rng.random((3, 60))
    for model, solver, loss in (("ls", "cd", "frobenius"), ("kl", "mu", "kullback-leibler")):
        peer = decomposition.NMF(
            3, init="custom", solver=solver, beta_loss=loss, tol=1e-12, max_iter=5000
        )
        theirs = peer.fit_transform(psm, W=W.copy(), H=H.copy())
        ours = pt.factorize(psm, model=model, rank=3, init=(W, H))
        fitted = theirs @ peer.components_
        if model == "ls":
            value = 0.5 * ((psm - fitted) ** 2).sum()
        else:
            value = (psm * np.log(psm / fitted) - psm + fitted).sum()
        assert ours.objective <= value * (1 + 1e-5)


def test_offset_never_fits_worse_than_ls(psm):
    for rank in range(1, 9):
        ls, offset = (
            pt.factorize(psm, model=m, rank=rank, n_init=4, rng=0).objective
            for m in ("ls", "offset")
        )
        assert offset <= ls * (1 + 1e-12)


def test_more_items_than_a_compressed_start_needs():
    """Large enough for the eigenfactor; the polish makes the objective that of π̂ itself."""
    draws = pt.datasets.simulate_draws(220, 80, n_clusters=5, noise=0.3, rng=2)
    psm = pt.posterior_similarity(draws).to_dense()
    for model in ("ls", "offset", "symmetric", "kl"):
        fit = pt.factorize(psm, model=model, rank=5, n_init=4, rng=0)
        slow = pt.factorize(psm, model=model, rank=5, n_init=4, rng=0, solver="mu")
        assert fit.objective <= slow.objective * (1 + 1e-6)
        fitted = fit.W @ fit.H + (0 if fit.offset is None else fit.offset[:, None])
        if model == "kl":
            value = (np.where(psm > 0, psm * np.log(np.where(psm > 0, psm, 1) / fitted), 0)
                     - psm + fitted).sum()  # fmt: skip
        else:
            value = 0.5 * ((psm - fitted) ** 2).sum()
        assert_allclose(fit.objective, value, rtol=1e-9)


@pytest.mark.parametrize("model", ["ls", "offset"])
@pytest.mark.parametrize("rank", [5, 9])
def test_compression_ends_where_the_whole_matrix_does(rank, model, monkeypatch):
    """With a gap in the spectrum after the rank (5 clusters), and beyond it."""
    draws = pt.datasets.simulate_draws(220, 80, n_clusters=5, noise=0.3, rng=2)
    psm = pt.posterior_similarity(draws).to_dense().copy()
    small = _hals.compressed(as_target(psm, dense_only=True), rank)
    assert small.gap_after(rank) == (rank == 5)
    quick = pt.factorize(psm, model=model, rank=rank, n_init=4, rng=0)
    monkeypatch.setattr(_hals, "SMALL", 1000)
    plain = pt.factorize(psm, model=model, rank=rank, n_init=4, rng=0)
    assert quick.objective <= plain.objective * 1.002
    assert_allclose(np.sort(quick.restart_objectives), np.sort(plain.restart_objectives), rtol=0.01)
    fitted = quick.W @ quick.H + (0 if quick.offset is None else quick.offset[:, None])
    assert_allclose(quick.objective, 0.5 * ((psm - fitted) ** 2).sum(), rtol=1e-9)


def test_readings_leave_the_product_alone():
    rng = np.random.default_rng(0)
    W, H = rng.random((7, 3)), rng.random((3, 7))
    balanced = normalized(W, H, "balance")
    scale = balanced[:, 0] / H[:, 0]
    assert_allclose(np.linalg.norm(W / scale, axis=0), np.linalg.norm(balanced, axis=1))
    columns = normalized(W, H, "columns")
    assert_allclose((W / (columns[:, 0] / H[:, 0])).sum(axis=0), 1.0)
    assert normalized(W, H, "as-is") is not None
    for how in ("balance", "columns"):
        rescaled = normalized(W * [3.0, 0.1, 7.0], H / np.array([[3.0], [0.1], [7.0]]), how)
        assert_allclose(rescaled, normalized(W, H, how))
    with pytest.raises(InvalidValueError, match="normalize"):
        pt.factorize(np.eye(3), rank=2, normalize="rows")


def test_nndsvd_and_given_starts(psm):
    target = as_target(psm, dense_only=True)
    W, H = nndsvd(target, 4)
    assert (W > 0).all()
    assert_allclose(W, H.T)
    for model in ("ls", "kl", "symmetric"):
        fit = pt.factorize(psm, model=model, rank=4, init="nndsvd")
        assert fit.restart_objectives.shape == (1,)
        best = pt.factorize(psm, model=model, rank=4, rng=0)
        assert fit.objective <= 1.2 * best.objective
    given = pt.factorize(psm, model="ls", rank=4, init=(W, H), solver="mu")
    again = pt.factorize(psm, model="ls", rank=4, init="nndsvd", solver="mu")
    assert np.array_equal(given.H, again.H)
    o = np.full(60, 0.1)
    pt.factorize(psm, model="offset", rank=4, init=(W, H, o), solver="mu")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"rank": 61}, "`rank` must be at most 60; got 61"),
        ({"rank": 0}, "`rank` must be at least 1"),
        ({"rank": 2, "model": "nmf"}, "`model` must be one of"),
        ({"rank": 2, "solver": "cd"}, "`solver` must be one of"),
        ({"rank": 2, "init": "svd"}, "`init` must be one of"),
        ({"rank": 2, "init": (np.ones((60, 3)), np.ones((2, 60)))}, "W the shape"),
        ({"rank": 2, "init": (-np.ones((60, 2)), np.ones((2, 60)))}, "not negative"),
        ({"rank": 2, "n_init": 0}, "`n_init` must be at least 1"),
    ],
)
def test_refusals(given, match, psm):
    with pytest.raises(InvalidValueError, match=match):
        pt.factorize(psm, **given)


def test_matrices_that_are_none(psm):
    bad = psm.copy()
    bad[3, 4] = np.nan
    with pytest.raises(InvalidValueError, match="finite"):
        pt.factorize(bad, rank=2)
    bad[3, 4] = 0.9
    bad[4, 3] = 0.1
    with pytest.raises(InvalidValueError, match="symmetric"):
        pt.factorize(bad, rank=2)
    with pytest.raises(InvalidValueError, match="negative"):
        pt.factorize(-psm, rank=2)
    with pytest.raises(InvalidValueError, match="square"):
        pt.factorize(psm[:4], rank=2)
    with pytest.raises(InvalidTypeError, match="matrix of numbers"):
        pt.factorize("psm", rank=2)
    with pytest.raises(InvalidTypeError, match="init"):
        pt.factorize(psm, rank=2, init=psm)


def test_merging_finds_equal_items_and_nothing_else(psm):
    assert merge(psm) is None
    twice = np.repeat(np.repeat(psm, 2, axis=0), 2, axis=1)
    merged = merge(twice)
    assert merged.sizes.tolist() == [2] * 60
    assert np.array_equal(merged.group, np.repeat(np.arange(60), 2))


def test_galaxy_rank_three(galaxy_draws):
    """Where R's restarts of equal objective disagreed about item 78."""
    psm = pt.posterior_similarity(galaxy_draws)
    fit = pt.factorize(psm, model="kl", rank=3, n_init=10, rng=0)
    assert_allclose(fit.objective, 5.3477, atol=1e-3)
    tied = fit.restart_objectives < fit.objective * (1 + 1e-3)
    assert tied.sum() >= 5
    assert len(np.unique(fit.restart_labels[tied], axis=0)) == 1
    assert_allclose(pt.factorize(psm, model="ls", rank=3, rng=0).objective, 3.6314, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ls", "kl", "ns", "offset"])
def test_galaxy_fast_against_mu(galaxy_draws, model):
    psm = pt.posterior_similarity(galaxy_draws)
    ratios = []
    for rank in range(2, 13):
        fast, slow = (
            pt.factorize(psm, model=model, rank=rank, rng=0, solver=s).objective
            for s in ("fast", "mu")
        )
        ratios.append(fast / slow)
    assert max(ratios) <= 1.001
    assert np.mean(np.array(ratios) <= 1.0) >= 0.9


@pytest.mark.parametrize("model", ["kl", "ns"])
def test_skipping_zeros_changes_nothing(model, monkeypatch):
    from partita.nmf import _common

    draws = pt.datasets.simulate_draws(90, 40, n_clusters=5, noise=0.05, rng=2)
    psm = pt.posterior_similarity(draws).to_dense()
    assert 0.3 < np.mean(psm == 0) < 1
    skipped = pt.factorize(psm, model=model, rank=6, n_init=3, rng=0)
    monkeypatch.setattr(_common, "WORTH_SKIPPING", -1.0)
    whole = pt.factorize(psm, model=model, rank=6, n_init=3, rng=0)
    assert np.allclose(skipped.restart_objectives, whole.restart_objectives, rtol=1e-6)
    assert np.array_equal(skipped.labels, whole.labels)


@pytest.mark.parametrize(("whole", "linked"), [(300, 300), (100, 300), (100, 120)])
def test_groups_of_items_that_are_alike_hold_one_cluster_each(whole, linked, monkeypatch):
    monkeypatch.setattr(_compress, "WHOLE", whole)
    monkeypatch.setattr(_compress, "LINKED", linked)
    draws = pt.datasets.simulate_draws(300, 200, n_clusters=6, noise=0.05, rng=0)
    truth = pt.estimate(draws).labels
    found = coarsen(pt.posterior_similarity(draws).to_dense())
    assert found.sizes.size == pytest.approx(linked / _compress.COARSE, rel=0.1)
    assert np.array_equal(found.sizes, np.bincount(found.group))
    assert np.array_equal(found.first, np.unique(found.group, return_index=True)[1])
    assert np.array_equal(truth[found.first][found.group], truth)


@pytest.mark.parametrize("model", ["kl", "ns"])
def test_restarts_that_begin_in_two_ways_end_no_worse_than_rs(model):
    """Ten equal clusters and four factors, where a least-squares beginning alone is a poor one."""
    rng, rank = np.random.default_rng(1), 4
    planted = np.arange(120) % 10
    labels = np.where(rng.random((100, 120)) < 0.1, rng.integers(0, 10, (100, 120)), planted)
    psm = pt.posterior_similarity(labels).to_dense()
    rs = pt.factorize(psm, model=model, rank=rank, n_init=10, solver="mu", rng=0)
    target = replace(of_array(np.array(psm)), mixed=True)
    words = {"model": model, "ranks": [rank], "n_init": 10, "seed": 0, "n_jobs": 1}
    (fit,) = factorize_ranks(target, solver="fast", **words)
    assert fit.objective <= 1.02 * rs.objective
    (half,) = factorize_ranks(target, solver="fast", **(words | {"n_init": 1}))
    alone = pt.factorize(psm, model=model, rank=rank, n_init=1, rng=0)
    assert half.objective == alone.objective  # the first begins as ever
