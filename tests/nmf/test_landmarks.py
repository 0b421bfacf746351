"""Many items: landmarks, one regression on them, and the same from wherever the similarity is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import partita as pt
from partita.draws import _blocks
from partita.nmf.representatives import LANDMARKS
from partita.nmf.target import MANY
from partita.search import NMF

N = 1_700
SIZES = (510, 425, 340, 255, 170)


class Held:
    """A store whose blocks are parts of an array."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def read(self, draws, items):
        return self.array[draws, items]


@pytest.fixture(scope="module")
def truth():
    """Five clusters in no order."""
    return np.random.default_rng(3).permutation(np.repeat(np.arange(5), SIZES))


@pytest.fixture(scope="module")
def labels(truth):
    """One label in ten replaced in each of 60 draws."""
    rng = np.random.default_rng(4)
    return np.where(rng.random((60, N)) < 0.1, rng.integers(0, 5, (60, N)), truth).astype(np.uint8)


@pytest.fixture(scope="module")
def psm(labels):
    return pt.posterior_similarity(labels)


def residual(model, psm, fit):
    """The objective written out."""
    V, K = psm.to_dense(), fit.rank
    W = fit.W @ (0.5 * np.eye(K) + 0.5 / K) if model == "ns" else fit.W
    fitted = W @ fit.H + (0 if fit.offset is None else fit.offset[:, None])
    if model in ("kl", "ns"):
        seen = V > 0
        return (V[seen] * np.log(V[seen] / fitted[seen])).sum() + (fitted - V).sum()
    return 0.5 * ((V - fitted) ** 2).sum()


@pytest.mark.parametrize("model", sorted(pt.nmf.NAMES))
def test_every_source_gives_one_answer(labels, psm, model, monkeypatch):
    """A matrix, the draws, a store gone over in blocks, and an array of Dask."""
    da = pytest.importorskip("dask.array")
    words = {"model": model, "rank": 3, "n_init": 2, "rng": 0}
    fit = pt.factorize(psm, **words)
    assert_allclose(fit.objective, residual(model, psm, fit), rtol=1e-5)
    assert fit.landmarks.size == LANDMARKS
    assert fit.restart_labels.shape == (2, LANDMARKS)
    assert np.isnan(fit.membership_spread).sum() >= N - LANDMARKS
    monkeypatch.setattr(_blocks, "_LARGE", 1_000)
    stored, distributed = pt.Draws(Held(labels)), pt.Draws(da.from_array(labels, chunks=(-1, 500)))
    for draws in (pt.Draws(labels), stored, distributed):
        other = pt.factorize(pt.Similarity.from_draws(draws), **words)
        assert_allclose(other.objective, fit.objective, rtol=1e-6)
        assert_array_equal(other.labels, fit.labels)


@pytest.mark.parametrize("model", ["kl", "offset"])
def test_a_device_takes_the_same_way(psm, model):
    torch = pytest.importorskip("torch")
    words = {"model": model, "rank": 5, "n_init": 1, "rng": 0}
    ours = pt.factorize(psm, **words)
    theirs = pt.factorize(psm, **words, device="torch:cpu")
    assert theirs.W.dtype == torch.float32
    assert_allclose(theirs.objective, ours.objective, rtol=1e-3)
    assert_array_equal(theirs.labels, ours.labels)


@pytest.mark.slow
@pytest.mark.parametrize("model", sorted(pt.nmf.NAMES))
@pytest.mark.parametrize("rank", [3, 5])
def test_landmarks_end_where_all_items_do(psm, model, rank, monkeypatch):
    """Within 1% of what restarts on all items find."""
    fit = pt.factorize(psm, model=model, rank=rank, n_init=4, rng=0)
    for name in ("target", "representatives", "factorization"):
        monkeypatch.setattr(f"partita.nmf.{name}.MANY", N)
    full = pt.factorize(psm, model=model, rank=rank, n_init=4, rng=0)
    assert full.landmarks is None
    assert fit.objective <= 1.01 * full.objective


def test_an_estimate_says_that_it_used_landmarks(labels):
    best = pt.estimate(labels, search=NMF("ls", ranks=(4, 5), n_init=3), rng=0)
    assert best.info["landmarks"] == LANDMARKS
    few = pt.estimate(labels[:, :200], search=NMF("kl", ranks=(4,), n_init=1), rng=0)
    assert MANY > 200
    assert "landmarks" not in few.info


def test_given_starts_are_those_of_the_landmarks(psm):
    W = np.random.default_rng(0).random((N, 3))
    fit = pt.factorize(psm, model="ls", rank=3, init=(W, W.T.copy()), rng=0)
    assert fit.restart_objectives.size == 1


def test_an_operator_is_never_formed(labels, monkeypatch):
    implicit = pt.posterior_similarity(labels, kind="implicit")
    monkeypatch.setattr(pt.Similarity, "to_dense", lambda *_, **__: pytest.fail("formed"))
    for model in ("ls", "kl"):
        assert pt.factorize(implicit, model=model, rank=3, n_init=2, rng=0).labels.size == N
