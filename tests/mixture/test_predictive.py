"""New items: densities that integrate to one, against the exact answer where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mixture import exact

import partita as pt
from partita.errors import InvalidValueError
from partita.mixture import (
    Conjugate,
    component_parameters,
    join_probabilities,
    predictive_density,
)

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(-4, 1, 30), rng.normal(4, 0.5, 20)])
DRAWS = pt.sample_mixture(X, n_draws=500, n_burn=300, rng=1)


def test_density_integrates_to_one_and_follows_the_data():
    grid = np.linspace(-60, 60, 24_001)
    density = predictive_density(DRAWS, X, grid, rng=0)
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=0.01)
    at = np.interp([-4.0, 0.0, 4.0], grid, density)
    assert at[1] < 0.1 * min(at[0], at[2])


def test_density_of_one_partition_by_exact_predictives():
    """Conjugate prior: the mean over draws of (mu, T) is a Student density."""
    Y = rng.normal(size=(5, 2))
    prior, a = Conjugate(np.zeros(2), 0.3, np.eye(2), 4.0), 0.7
    labels = [0, 0, 0, 1, 1]
    points = np.array([[0.5, 0.5], [-1.0, 2.0]])
    draws = pt.Draws([labels] * 20_000)
    found = predictive_density(
        draws, Y, points, prior=prior, concentration=a, max_draws=20_000, rng=0
    )

    def log_m(rows):
        return exact.log_marginal_conjugate(rows, np.zeros(2), 0.3, np.eye(2), 4.0)

    for y, value in zip(points, found, strict=True):
        wanted = a / (5 + a) * np.exp(log_m(y[None]))
        for own in (Y[:3], Y[3:]):
            wanted += len(own) / (5 + a) * np.exp(log_m(np.vstack([own, y])) - log_m(own))
        assert value == pytest.approx(wanted, rel=0.02)


def test_joining_an_estimate():
    best = pt.estimate(DRAWS, loss="vi", rng=0)
    p = join_probabilities(DRAWS, X, [-4.0, 4.0, 0.0, 500.0], best.labels, rng=0)
    assert p.shape == (4, best.n_clusters + 1)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert p[0, best.labels[0]] > 0.9
    assert p[1, best.labels[-1]] > 0.9
    assert p[3, -1] > 0.9


def test_parameters_have_the_data_s_units():
    drawn = component_parameters(DRAWS, 1000 * X + 7, rng=0)
    means, _ = drawn.of_draw(0)
    assert means.shape == (DRAWS.n_clusters[0], 1)
    own = 1000 * X[DRAWS.labels[0] == 0] + 7
    of_first = np.array([drawn.of_draw(m)[0][0, 0] for m in range(100)])
    assert of_first.mean() == pytest.approx(own.mean(), abs=300)
    spread = np.median([drawn.of_draw(m)[1][0, 0, 0] ** 0.5 for m in range(100)])
    assert spread == pytest.approx(own.std(), rel=0.5)
    assert drawn.sizes.sum() == 50 * DRAWS.n_draws


def test_refusals():
    with pytest.raises(InvalidValueError, match="`concentration` must be given"):
        predictive_density(DRAWS.labels, X, [0.0])
    with pytest.raises(InvalidValueError, match="`points` must have the 1 columns"):
        predictive_density(DRAWS, X, [[0.0, 1.0]])
    with pytest.raises(InvalidValueError, match="`X` must have a row for each"):
        predictive_density(DRAWS, X[:5], [0.0])
    assert predictive_density(DRAWS.labels, X, [0.0], partition="mfm", rng=0).shape == (1,)
