"""Every combination of moves reproduces the posterior over all partitions of a few items."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.mixture import exact

from partita.mixture import Conjugate, Independent, Moves, sample_mixture

# Where no pass over the items stirs a scan, more splits and merges do.
COMBINATIONS = [
    Moves(items, split_merge, reallocate)
    for items, split_merge, reallocate in [
        *itertools.product(("explicit", "collapsed"), (0, 2), (0, 2)),
        *itertools.product(["none"], [4], (0, 2)),
    ]
]


def problem(kind, p, n):
    """Two loose groups, so that many partitions have some probability."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p)) * 0.7 + 4.0 * (np.arange(n) >= n // 2)[:, None]
    mean, B, df = np.full(p, 0.5), np.eye(p) + 0.2, p + 1.0
    if kind == "conjugate":
        prior = Conjugate(mean, 0.3, np.linalg.inv(B), df)

        def log_marginal(Y):
            return exact.log_marginal_conjugate(Y, mean, 0.3, B, df)
    else:
        cov = np.diag(4.0 * np.arange(1, p + 1))
        prior = Independent(mean, cov, np.linalg.inv(B), df)

        def log_marginal(Y):
            return exact.log_marginal_independent(Y, mean, cov, B, df)

    rows, probabilities = exact.posterior(
        X, log_marginal, lambda sizes: exact.log_partition_dirichlet(sizes, 2.0, 1.0)
    )
    return X, prior, rows, probabilities


def distance(kind, p, n, moves, n_draws):
    X, prior, rows, probabilities = problem(kind, p, n)
    draws = sample_mixture(X, prior=prior, moves=moves, n_draws=n_draws, n_burn=1000, rng=5)
    return exact.total_variation(draws.labels, rows, probabilities)


@pytest.mark.parametrize("kind", ["independent", "conjugate"])
def test_default_moves(kind):
    assert distance(kind, 2, 5, Moves(), 50_000) < 0.02


def test_collapsed_items():
    assert distance("conjugate", 1, 5, Moves("collapsed", 0, 0), 50_000) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("moves", COMBINATIONS, ids=str)
@pytest.mark.parametrize(("p", "n"), [(1, 6), (2, 5)])
@pytest.mark.parametrize("kind", ["independent", "conjugate"])
def test_every_combination(kind, p, n, moves):
    assert distance(kind, p, n, moves, 400_000) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("p", [1, 2])
def test_six_items_in_the_plane(p):
    assert distance("independent", p, 6, Moves(), 400_000) < 0.01
