"""Every model and every combination of moves has the exact posterior over all partitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from tests.mixture import exact

from partita.mixture import (
    Conjugate,
    DirichletProcess,
    FiniteMixture,
    Independent,
    Moves,
    PitmanYor,
    sample_mixture,
)

COMBINATIONS = [Moves(*counts) for counts in itertools.product((0, 2), (0, 2))]


def problem(kind, p, n, log_partition=None):
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

    if log_partition is None:

        def log_partition(sizes):
            return exact.log_partition_dirichlet(sizes, 2.0, 1.0)

    return X, prior, *exact.posterior(X, log_marginal, log_partition)


def distance(kind, p, n, moves, n_draws):
    X, prior, rows, probabilities = problem(kind, p, n)
    draws = sample_mixture(X, prior=prior, moves=moves, n_draws=n_draws, n_burn=1000, rng=5)
    return exact.total_variation(draws.labels, rows, probabilities)


@pytest.mark.parametrize("kind", ["independent", "conjugate"])
def test_default_moves(kind):
    assert distance(kind, 2, 5, Moves(), 50_000) < 0.02


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


def log_seating(sizes, concentration, discount):
    """By the restaurant's sequential rule: the product does not depend on the order of arrival."""
    value, arrived = 0.0, 0
    for table, size in enumerate(sizes):
        for seated in range(size):
            share = seated - discount if seated else concentration + discount * table
            value += np.log(share / (concentration + arrived))
            arrived += 1
    return value


def log_finite(sizes, prior):
    """Sum over the number of components of multinomial-Dirichlet probabilities."""
    value, g = 0.0, prior.gamma
    law = (
        stats.geom(prior.rate) if prior.components == "geometric" else stats.poisson(prior.rate, 1)
    )
    for k in range(len(sizes), 500):
        alpha = np.repeat(g, k)
        own = np.zeros(k)
        own[: len(sizes)] = sizes
        ways = np.prod(np.arange(k, k - len(sizes), -1.0))
        inside = sum(np.log(np.arange(size) + g).sum() for size in sizes)
        inside -= np.log(np.arange(sum(sizes)) + alpha.sum()).sum()
        value += law.pmf(k) * ways * np.exp(inside)
    return np.log(value)


PARTITIONS = {
    "dirichlet": (DirichletProcess(), lambda sizes: log_seating(sizes, 1.3, 0.0)),
    "pitman-yor": (PitmanYor(0.4), lambda sizes: log_seating(sizes, 1.3, 0.4)),
    "mfm": (FiniteMixture(0.7), lambda sizes: log_finite(sizes, FiniteMixture(0.7))),
    "mfm-poisson": (
        FiniteMixture(1.0, "poisson", 2.0),
        lambda sizes: log_finite(sizes, FiniteMixture(1.0, "poisson", 2.0)),
    ),
}


@pytest.mark.parametrize("moves", [Moves(0, 0), Moves(2, 1)], ids=str)
@pytest.mark.parametrize("name", PARTITIONS)
def test_every_prior_of_the_partition(name, moves):
    partition, log_partition = PARTITIONS[name]
    X, prior, rows, probabilities = problem("conjugate", 1, 6, log_partition)
    settings = {"n_draws": 100_000, "n_burn": 1000, "rng": 2}
    draws = sample_mixture(
        X, prior=prior, partition=partition, concentration=1.3, moves=moves, **settings
    )
    assert exact.total_variation(draws.labels, rows, probabilities) < 0.02


@pytest.mark.parametrize("partition", [DirichletProcess(), PitmanYor(0.3), PitmanYor(0.0)])
def test_one_item_says_nothing_about_the_concentration(partition):
    """It must come out as its prior, Gamma(2, rate 1)."""
    prior = Independent([0.0], [[1.0]], [[1.0]], 2.0)
    draws = sample_mixture([0.3], prior=prior, partition=partition, n_draws=2000, thin=20, rng=0)
    assert stats.kstest(draws.traces["concentration"], stats.gamma(2.0).cdf).pvalue > 1e-3
