"""Marginals of clusters and draws of their parameters, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln
from tests.mixture import exact

from partita.draws import Draws
from partita.mixture import Conjugate, Independent, component_parameters, sample_mixture

B2 = np.array([[1.5, 0.4], [0.4, 0.8]])


def log_marginal(X, prior, covariance="full"):
    """Of one cluster of all rows: the log joint density of a chain that stays there."""
    a = 1e-250
    draws = sample_mixture(
        X, prior=prior, covariance=covariance, concentration=a, start="one", n_draws=1, n_burn=0
    )
    assert draws.labels.max() == 0
    n = len(X)
    return draws.traces["log_joint"][0] - (gammaln(n) + gammaln(a + 1) - gammaln(a + n))


@pytest.mark.parametrize("n", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("far", [0.0, 6.0])
def test_independent_plane(n, far):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2)) * [1, 2] + far
    mean, cov = np.array([0.3, -0.2]), np.array([[4.0, 1.0], [1.0, 2.0]])
    prior = Independent(mean, cov, np.linalg.inv(B2), 3.5)
    wanted = exact.log_marginal_independent(X, mean, cov, B2, 3.5, points=601)
    assert log_marginal(X, prior) == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("df", [0.7, 1.0, 3.0])
@pytest.mark.parametrize("n", [1, 2, 5, 50])
@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_independent_line(n, df, shift):
    """Also where the data are far out in the prior: the scale integral then has two modes."""
    X = np.random.default_rng(n).normal(size=(n, 1)) + shift
    prior = Independent([0.0], [[1.0]], [[2.0]], df)
    wanted = exact.log_marginal_independent(X, [0.0], np.eye(1), np.eye(1) / 2, df, points=20001)
    if shift:
        # The grid above is centred on the data; the prior's own mode needs one of its own.
        mu = np.linspace(-40, 60, 400001)
        logs = exact.log_given_mean(X, mu[:, None], np.eye(1) / 2, df) + stats.norm.logpdf(mu)
        wanted = logs.max() + np.log(np.trapezoid(np.exp(logs - logs.max()), mu))
    assert log_marginal(X, prior) == pytest.approx(wanted, abs=2e-6)


@pytest.mark.parametrize("n", [1, 4, 30])
def test_conjugate(n):
    X = np.random.default_rng(n).normal(size=(n, 2)) + 1
    prior = Conjugate([0.5, 0.0], 0.3, np.linalg.inv(B2), 3.5)
    wanted = exact.log_marginal_conjugate(X, [0.5, 0.0], 0.3, B2, 3.5)
    assert log_marginal(X, prior) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("prior", ["independent", "conjugate"])
def test_diagonal_is_a_product_of_lines(prior):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3)) * [1, 2, 5]
    scale, var = np.array([0.5, 1.0, 3.0]), np.array([2.0, 3.0, 4.0])

    def make(cols):
        R = np.diag(scale[cols])
        if prior == "conjugate":
            return Conjugate(np.zeros(len(cols)), 0.2, R, 2.5)
        return Independent(np.zeros(len(cols)), np.diag(var[cols]), R, 2.5)

    together = log_marginal(X, make([0, 1, 2]), "diagonal")
    apart = sum(log_marginal(X[:, [j]], make([j])) for j in range(3))
    assert together == pytest.approx(apart, abs=1e-8)


@pytest.mark.parametrize("prior", ["independent", "conjugate"])
def test_spherical_by_integration(prior):
    """tau ~ Gamma(df/2, rate b/2) and mu integrated by scipy, coordinate by coordinate."""
    from scipy.integrate import quad

    X = np.random.default_rng(1).normal(size=(4, 2)) + np.array([1.0, -2.0])
    var, b, df, k0 = np.array([2.0, 5.0]), 1.7, 3.0, 0.3

    def at(tau):
        value = stats.gamma.pdf(tau, df / 2, scale=2 / b)
        for j in range(2):
            cov = np.eye(4) / tau + (var[j] if prior == "independent" else 1 / (k0 * tau))
            value *= stats.multivariate_normal.pdf(X[:, j], np.zeros(4), cov)
        return value

    wanted = np.log(quad(at, 0, np.inf, epsabs=0, epsrel=1e-11, limit=200)[0])
    given = {
        "independent": Independent(np.zeros(2), np.diag(var), np.eye(2) / b, df),
        "conjugate": Conjugate(np.zeros(2), k0, np.eye(2) / b, df),
    }
    assert log_marginal(X, given[prior], "spherical") == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("n", [1, 3, 25])
def test_parameters_are_drawn_from_their_posterior(n):
    """Posterior moments by quadrature: E[mu], E[mu mu'], E[T] = (df + n) E[A(mu)^-1]."""
    X = np.random.default_rng(n).normal(size=(n, 2)) + np.array([2.0, 0.0])
    df = 4.0
    prior = Independent(np.zeros(2), np.eye(2), np.linalg.inv(B2), df)
    m = 40_000
    drawn = component_parameters(Draws(np.zeros((m, n), np.uint8)), X, prior=prior, rng=0)
    means, T = drawn.means, np.linalg.inv(drawn.covariances)
    axis = np.linspace(-6, 6, 401)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)
    logs = exact.log_given_mean(X, grid, B2, df) - 0.5 * (grid**2).sum(-1)
    w = np.exp(logs - logs.max())
    w /= w.sum()
    d = X - grid[..., None, :]
    A = B2 + np.einsum("...ni,...nj->...ij", d, d)
    wanted_mean = np.einsum("xy,xyi->i", w, grid)
    wanted_T = (df + n) * np.einsum("xy,xyij->ij", w, np.linalg.inv(A))
    assert np.abs(means.mean(0) - wanted_mean).max() < 5 * (means.std(0) / np.sqrt(m)).max()
    assert np.abs(T.mean(0) - wanted_T).max() < 5 * (T.std(0) / np.sqrt(m)).max()
    # The whole distribution of one coordinate, not its moments alone.
    marginal = np.cumsum(w.sum(axis=1))
    at = np.interp(means[:, 0], axis + (axis[1] - axis[0]) / 2, marginal)
    assert stats.kstest(at, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("df", [0.6, 3.0, 1e6])
def test_conjugate_parameters_on_the_line(n, df):
    """1/variance ~ Gamma((df + n)/2) and mu given it, in closed form."""
    X = np.random.default_rng(2).normal(size=(n, 1))
    k, m = 0.5 + n, X.sum() / (0.5 + n)
    prior = Conjugate([0.0], 0.5, [[1.0]], df)
    drawn = component_parameters(Draws(np.zeros((20_000, n), np.uint8)), X, prior=prior, rng=1)
    T, mu = 1 / drawn.covariances[:, 0, 0], drawn.means[:, 0]
    rate = (1 + (X**2).sum() - k * m**2) / 2
    assert stats.kstest(T * rate, stats.gamma((df + n) / 2).cdf).pvalue > 1e-3
    assert stats.kstest((mu - m) * np.sqrt(k * T), "norm").pvalue > 1e-3
