"""The verb: starts, readings, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError
from partita.nmf import Factors


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


def test_the_objective_written_out():
    """The objective is that of the factors, and no worse than that of R's updates."""
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


def test_nndsvd_and_given_starts(psm):
    for model in ("ls", "kl", "symmetric"):
        fit = pt.factorize(psm, model=model, rank=4, init="nndsvd")
        assert fit.restart_objectives.shape == (1,)
        best = pt.factorize(psm, model=model, rank=4, rng=0)
        assert fit.objective <= 1.2 * best.objective
    done = pt.factorize(psm, model="offset", rank=4, n_init=1, solver="mu", rng=0)
    given = (done.W, done.H, done.offset)
    further = pt.factorize(psm, model="offset", rank=4, init=given, solver="mu")
    assert further.restart_objectives.shape == (1,)
    assert further.objective <= done.objective * (1 + 1e-9)


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
        ({"rank": 2, "normalize": "rows"}, "`normalize` must be one of"),
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
    assert max(ratios) <= 1.0


def uneven(n, clusters, ratio=0.85):
    """Sizes that fall by a ratio, the rest in the first."""
    share = ratio ** np.arange(clusters)
    sizes = np.maximum(1, np.round(share / share.sum() * n)).astype(int)
    sizes[0] += n - sizes.sum()
    return np.repeat(np.arange(clusters), sizes)


SHAPES = {  # posteriors of at least 150 items with more clusters than factors
    "even": (np.arange(200) % 12, 0.10),
    "uneven": (uneven(160, 15), 0.12),
    "many": (np.arange(150) % 25, 0.08),
    "noisy": (np.arange(240) % 10, 0.30),
    "large": (uneven(400, 20, 0.9), 0.15),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ls", "kl", "ns", "offset"])
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_fewer_factors_than_clusters(shape, model):
    """The default solver ends no higher than R's updates from the same starts."""
    truth, noise = SHAPES[shape]
    rng, n = np.random.default_rng(0), truth.size
    moved = rng.random((200, n)) < noise
    draws = np.where(moved, rng.integers(0, truth.max() + 1, (200, n)), truth)
    psm = pt.posterior_similarity(draws)
    most = 1.001 if model in ("ls", "offset") else 1.02
    for rank in (2, 3, 5):
        how = {"model": model, "rank": rank, "rng": 0, "n_init": 10}
        fast, slow = (pt.factorize(psm, solver=one, **how).objective for one in ("fast", "mu"))
        assert fast <= slow * most


def test_the_spread_of_memberships_is_that_of_restarts():
    """Factors matched, the largest range of a membership; nothing of two restarts."""
    rng = np.random.default_rng(0)
    H = rng.random((3, 20))
    other = H.copy()
    other[:, 4] = [0.2, 0.3, 0.5]
    H[:, 4] = [0.1, 0.3, 0.6]

    def one(H):
        return Factors(H.T.copy(), H)

    def fit(*restarts):
        n = len(restarts)
        told = ("ls", 3, "fast", "balance", *restarts[0], 1.0, 10, True, np.ones(n), restarts, 0)
        return pt.nmf.Factorization(*told)

    found = fit(one(H), one(H[[2, 0, 1]]), one(other)).membership_spread
    assert found[4] == pytest.approx(0.1, abs=0.02)
    assert np.delete(found, 4).max() < 0.02
    assert np.isnan(fit(one(H), one(other)).membership_spread).all()


@pytest.mark.parametrize("model", ["ls", "kl", "ns", "symmetric"])
def test_seeds_agree_where_the_spread_is_small(model):
    """Memberships of two seeds to 0.02, factors matched, where the spread is under 0.02."""
    from scipy.optimize import linear_sum_assignment

    draws = pt.datasets.simulate_draws(150, 300, n_clusters=5, noise=0.3, rng=1)
    psm = pt.posterior_similarity(draws)
    n_compared = 0
    for rank in (3, 5, 7):
        one, two = (pt.factorize(psm, model=model, rank=rank, rng=seed) for seed in (0, 1))
        if abs(one.objective / two.objective - 1) > 1e-6:
            continue
        P, Q = one.memberships, two.memberships
        Q = Q[:, linear_sum_assignment(-P.T @ Q)[1]]
        small = (one.membership_spread < 0.02) & (two.membership_spread < 0.02)
        n_compared += int(small.sum())
        assert np.abs(P - Q)[small].max(initial=0) < 0.02
    assert n_compared > 100


def test_open_memberships_are_said(draws, tmp_path):
    """An estimate warns of them, keeps them in its file, and its plot shows them."""
    pytest.importorskip("matplotlib")
    with pytest.warns(pt.errors.PartitaWarning, match="memberships of .* are not determined"):
        best = pt.estimate(draws, loss="vi", search="nmf-kl", rng=0)
    assert (best.membership_spread > pt.nmf.OPEN).any()
    best.save(tmp_path / "best.npz")
    again = pt.Estimate.load(tmp_path / "best.npz")
    assert np.array_equal(again.membership_spread, best.membership_spread)
    ax = pt.plots.memberships(again)
    assert "left open by the fit" in [text.get_text() for text in ax.get_legend().get_texts()]
