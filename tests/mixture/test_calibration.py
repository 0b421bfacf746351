"""Simulation-based calibration and Geweke's joint-distribution test, on a whole prior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from partita.mixture import (
    Conjugate,
    Independent,
    component_parameters,
    sample_mixture,
)

PRIORS = {
    "independent": Independent(np.zeros(2), np.diag([9.0, 4.0]), np.eye(2), 4.0),
    "conjugate": Conjugate(np.zeros(2), 0.2, np.eye(2), 4.0),
}


def seat(rng, n, concentration):
    labels, sizes = [], []
    for i in range(n):
        p = np.array([*sizes, concentration]) / (i + concentration)
        k = rng.choice(len(p), p=p)
        labels.append(k)
        if k == len(sizes):
            sizes.append(0)
        sizes[k] += 1
    return np.array(labels)


def simulate(rng, n, prior, concentration=None):
    """Concentration, partition and data from the model."""
    if concentration is None:
        concentration = rng.gamma(2.0)
    labels = seat(rng, n, concentration)
    X = np.empty((n, 2))
    for k in range(labels.max() + 1):
        T = stats.wishart.rvs(prior.df, prior.scale, random_state=rng)
        cov = np.linalg.inv(T)
        if isinstance(prior, Conjugate):
            mean = rng.multivariate_normal(prior.mean, cov / prior.mean_weight)
        else:
            mean = rng.multivariate_normal(prior.mean, prior.mean_covariance)
        own = labels == k
        X[own] = rng.multivariate_normal(mean, cov, own.sum())
    return concentration, labels, X


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_ranks_are_uniform(name):
    """Ranks of the truth among draws; ties (of counts) broken at random; 20 bins, 400 data sets."""
    rng = np.random.default_rng(11)
    n, n_draws, replicates, bins = 12, 99, 400, 20
    ranks = np.empty((replicates, 3), int)
    for r in range(replicates):
        concentration, labels, X = simulate(rng, n, PRIORS[name])
        draws = sample_mixture(X, prior=PRIORS[name], n_draws=n_draws, n_burn=200, thin=10, rng=r)
        truth = (labels.max() + 1, concentration, labels[0] == labels[1])
        found = (
            draws.n_clusters,
            draws.traces["concentration"],
            draws.labels[:, 0] == draws.labels[:, 1],
        )
        for j, (true, values) in enumerate(zip(truth, found, strict=True)):
            ties = int((values == true).sum())
            ranks[r, j] = (values < true).sum() + rng.integers(ties + 1)
    for j in range(3):
        counts = np.bincount(ranks[:, j] * bins // (n_draws + 1), minlength=bins)
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_geweke(name):
    """Data redrawn given parameters, then a scan: the chain must stay in the prior."""
    prior, n, rounds, concentration = PRIORS[name], 6, 6000, 1.3
    rng = np.random.default_rng(5)
    _, labels, X = simulate(rng, n, prior, concentration)
    words = {"prior": prior, "concentration": concentration, "n_draws": 1, "n_burn": 0}
    seen = []
    for r in range(rounds):
        draws = sample_mixture(X, start=labels, rng=r, **words)
        labels = draws.labels[0].astype(int)
        means, covariances = component_parameters(draws, X, prior=prior, rng=r).of_draw(0)
        X = np.array([rng.multivariate_normal(means[k], covariances[k]) for k in labels])
        seen.append((labels.max() + 1, labels[0] == labels[1], abs(X[0, 0]) < 2))
    seen = np.array(seen, float)
    forward = []
    for _ in range(4000):
        _, c, Y = simulate(rng, n, prior, concentration)
        forward.append((c.max() + 1, c[0] == c[1], abs(Y[0, 0]) < 2))
    forward = np.array(forward, float)
    batches = seen.reshape(30, -1, seen.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 30 + forward.var(axis=0) / len(forward))
    z = (seen.mean(axis=0) - forward.mean(axis=0)) / error
    assert np.abs(z).max() < 3.5
