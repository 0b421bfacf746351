"""The searches that take the similarity as a graph."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.search import Community, Spectral


def test_spectral_gives_one_partition_a_rank():
    draws = pt.datasets.simulate_draws(40, 60, n_clusters=4, noise=0.1, rng=0)
    best = pt.estimate(draws, search=Spectral(range(2, 6)), rng=0)
    assert [step.rank for step in best.path] == [2, 3, 4, 5]
    assert best.n_clusters == 4


def test_ranks_are_checked():
    with pytest.raises(pt.errors.InvalidValueError, match="ranks"):
        Spectral([])
    assert Spectral(3).ranks == (3,)
    with pytest.raises(pt.errors.InvalidValueError, match=r"at most the number of items, 3; got 4"):
        pt.estimate([[0, 0, 1], [0, 1, 1]], search=Spectral(ranks=(4, 5)))


def test_leiden_at_one_minus_half_a_minimises_binder():
    pytest.importorskip("leidenalg")
    draws = pt.datasets.simulate_draws(60, 100, n_clusters=4, noise=0.2, rng=1)
    for a in (0.8, 1.0):
        loss = pt.losses.Binder(a)
        theirs = pt.estimate(draws, loss=loss, search=Community(), rng=0)
        assert theirs.info["resolution"] == 1 - a / 2
        ours = pt.estimate(draws, loss=loss, rng=0)
        assert ours.expected_loss <= theirs.expected_loss + 1e-12
        assert_allclose(theirs.expected_loss, ours.expected_loss, rtol=0.02)


def test_without_leidenalg_the_error_names_it(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name in ("leidenalg", "igraph"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(
        pt.errors.MissingDependencyError, match=r"pip install 'partita\[community\]'"
    ):
        pt.estimate(np.zeros((2, 3), dtype=int), search="community")


def test_resolutions_are_checked():
    with pytest.raises(pt.errors.InvalidValueError, match="resolution"):
        Community(1.5)
    assert Community([0.25]).resolution == 0.25


@pytest.mark.parametrize("search", ["spectral", "community"])
def test_matrices_that_do_not_fit_are_refused_before_they_are_made(search, monkeypatch):
    """One would fit, and the copies that are made of it would not."""
    draws = pt.datasets.simulate_draws(100, 20, n_clusters=3, rng=0)
    monkeypatch.setattr("partita.validate.free_memory", lambda: 2 * 8 * 100**2)
    with pytest.raises(pt.errors.OutOfMemoryError, match=rf"{search}.*matrices of 100 items.*auto"):
        pt.estimate(draws, search=search)
