"""The posterior over all partitions of a few items, by enumeration and numerical integration.

Nothing here uses partita's marginals: (mu, T) are integrated with scipy, T in closed form
(a Wishart normaliser, itself checked against scipy's t densities) and mu on a grid.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad, simpson
from scipy.special import gammaln, multigammaln


def partitions(n):
    """All partitions of n items as canonical label tuples."""
    rows = [(0,)]
    for _ in range(n - 1):
        rows = [(*r, k) for r in rows for k in range(max(r) + 2)]
    return rows


def log_given_mean(Y, mean, B, df):
    """log int prod_i N(y_i; mean, T^-1) Wishart(T; B^-1, df) dT; ``mean`` may be a grid."""
    N, p = Y.shape
    d = Y - np.asarray(mean)[..., None, :]
    A = B + np.einsum("...ni,...nj->...ij", d, d)
    value = -0.5 * N * p * np.log(np.pi) + multigammaln((df + N) / 2, p) - multigammaln(df / 2, p)
    value += 0.5 * df * np.linalg.slogdet(B)[1]
    return value - 0.5 * (df + N) * np.linalg.slogdet(A)[1]


def log_marginal_independent(Y, mean0, cov0, B, df, *, points=301):
    """mu integrated over a grid of ten prior standard deviations either side."""
    p = Y.shape[1]
    root = np.sqrt(np.diag(cov0))
    centre, width = Y.mean(axis=0), 10 * root
    # t = sinh spacing: dense where the data are, wide enough for the prior's tails.
    u = np.linspace(-1, 1, points)
    stretch = np.sinh(6 * u) / np.sinh(6)
    jacobian = 6 * np.cosh(6 * u) / np.sinh(6)
    axes = [centre[j] + width[j] * stretch for j in range(p)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    d = grid - mean0
    log_prior = -0.5 * np.einsum("...i,ij,...j->...", d, np.linalg.inv(cov0), d)
    log_prior -= 0.5 * (p * np.log(2 * np.pi) + np.linalg.slogdet(cov0)[1])
    logs = log_given_mean(Y, grid, B, df) + log_prior
    top = logs.max()
    values = np.exp(logs - top)
    for j in range(p):
        shape = [1] * values.ndim
        shape[0] = -1
        values = simpson(values * (jacobian * width[j]).reshape(shape), x=u, axis=0)
    return top + np.log(values)


def log_marginal_conjugate(Y, mean0, k0, B, df):
    """By the chain rule of Student predictive densities, one item after another."""
    from scipy.stats import multivariate_t

    p = Y.shape[1]
    m, k, nu, L = np.array(mean0, float), k0, df, B.copy()
    value = 0.0
    for y in Y:
        free = nu - p + 1
        value += multivariate_t.logpdf(y, m, L * (k + 1) / (k * free), free)
        L = L + k / (k + 1) * np.outer(y - m, y - m)
        m = (k * m + y) / (k + 1)
        k, nu = k + 1, nu + 1
    return float(value)


def log_partition_dirichlet(sizes, shape, rate):
    """log p(partition) with the concentration ~ Gamma(shape, rate) integrated out."""
    n, t = sum(sizes), len(sizes)

    def density(a):
        logs = t * np.log(a) + gammaln(a) - gammaln(a + n)
        logs += shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(a) - rate * a
        return np.exp(logs)

    return np.log(quad(density, 0, np.inf)[0]) + sum(gammaln(s) for s in sizes)


def posterior(X, log_marginal, log_partition):
    """Partitions and their exact probabilities."""
    n = X.shape[0]
    known = {}
    rows, logs = partitions(n), []
    for row in rows:
        row_array = np.array(row)
        sets = [tuple(np.flatnonzero(row_array == k)) for k in range(max(row) + 1)]
        for s in sets:
            if s not in known:
                known[s] = log_marginal(X[list(s)])
        sizes = tuple(sorted(len(s) for s in sets))
        if sizes not in known:
            known[sizes, "sizes"] = log_partition(sizes)
        logs.append(sum(known[s] for s in sets) + known[sizes, "sizes"])
    logs = np.array(logs)
    p = np.exp(logs - logs.max())
    return rows, p / p.sum()


def total_variation(labels, rows, probabilities):
    """Between draws and exact probabilities."""
    index = {row: i for i, row in enumerate(rows)}
    found, counts = np.unique(labels, axis=0, return_counts=True)
    seen = np.zeros(len(rows))
    for row, count in zip(found, counts, strict=True):
        seen[index[tuple(int(x) for x in row)]] = count
    return 0.5 * np.abs(seen / seen.sum() - probabilities).sum()
