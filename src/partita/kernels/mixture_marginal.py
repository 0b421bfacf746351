"""A cluster seen through its size, sum and sum of products: log marginal, draws of (mu, T).

Three shapes of covariance times two priors. For full covariances the data enter through
A = R0^-1 + scatter, for diagonal ones through its diagonal, for spherical ones through its trace;
``q`` in array shapes is p for the first and 1 for the others.
"""

from __future__ import annotations

import math

from partita.kernels import mixture_linalg as linalg
from partita.kernels import mixture_random as random
from partita.kernels import mixture_scale as scale
from partita.kernels._compile import inner, jit
from partita.kernels.mixture_types import CONJUGATE, FULL, INDEPENDENT, NO_DATA, SPHERICAL


@inner
def log_marginal(prior, n, total, cross, scratch):
    """Log m(S): the density of the cluster's items with (mu, T) integrated out.

    Parameters
    ----------
    n
        Size of the cluster.
    total : (p,)
        Sum of its items.
    cross : (p, q)
        Sum of their products; squares alone for diagonal and spherical covariances.
    """
    if prior.kind == NO_DATA:
        return 0.0
    a = scratch.matrix[0]
    _posterior_scale(prior, n, total, cross, a)
    value = prior.log_const[n]
    if prior.kind == CONJUGATE:
        return value - 0.5 * _freedom(prior, n) * _log_det(prior, a)
    nu = 0.5 * _freedom(prior, n)
    p = total.size
    if prior.shape == FULL:
        log_det = _eigenbasis(n, total, a, scratch)
        value -= nu * log_det
        return value + scale.log_integral(nu, scratch.vector[0], scratch.vector[1], p, scratch)
    if prior.shape == SPHERICAL:
        _spherical_basis(prior, n, total, a[0, 0], scratch)
        value -= nu * math.log(a[0, 0])
        return value + scale.log_integral(nu, scratch.vector[0], scratch.vector[1], p, scratch)
    for j in range(p):
        scratch.vector[0, 0] = 2.0 * n / a[j, 0]
        scratch.vector[1, 0] = (total[j] / n) ** 2
        value -= nu * math.log(a[j, 0])
        value += scale.log_integral(nu, scratch.vector[0], scratch.vector[1], a.shape[1], scratch)
    return value


@inner
def draw(prior, n, total, cross, mean, root, scratch, state):
    """Draw (mu, T) of a cluster given its items; return log m(S).

    Writes mu to ``mean`` (p,) and the lower R with T = R'R to ``root`` (p, q).
    """
    if prior.kind == NO_DATA:
        return 0.0
    a = scratch.matrix[0]
    _posterior_scale(prior, n, total, cross, a)
    if prior.kind == INDEPENDENT:
        value = _draw_mean(prior, n, total, cross, a, mean, scratch, state)
        _draw_precision(prior, n, a, root, scratch, state)
        return value
    value = prior.log_const[n] - 0.5 * _freedom(prior, n) * _log_det(prior, a)
    _posterior_scale(prior, n, total, cross, a)
    _draw_precision(prior, n, a, root, scratch, state)
    _draw_conjugate_mean(prior, n, total, root, mean, scratch, state)
    return value


@inner
def _freedom(prior, n):
    """Degrees of freedom of T given n items."""
    if prior.shape == SPHERICAL:
        return prior.df + n * prior.mean_var.size
    return prior.df + n


@inner
def _posterior_scale(prior, n, total, cross, a):
    """R0^-1 + scatter, with the prior mean's pull added for the conjugate prior."""
    p = total.size
    pull = 1.0 / n
    if prior.kind == CONJUGATE:
        pull = 1.0 / (n + prior.mean_weight)
    if prior.shape == FULL:
        for i in range(p):
            for j in range(i + 1):
                a[i, j] = prior.scale[i, j] + cross[i, j] - pull * total[i] * total[j]
                a[j, i] = a[i, j]
    elif prior.shape == SPHERICAL:
        s = prior.scale[0, 0]
        for i in range(p):
            s += max(cross[i, 0] - pull * total[i] * total[i], 0.0)
        a[0, 0] = s
    else:
        for i in range(p):
            a[i, 0] = prior.scale[i, 0] + max(cross[i, 0] - pull * total[i] * total[i], 0.0)


@inner
def _log_det(prior, a):
    if prior.shape == FULL:
        return linalg.cholesky(a)
    if prior.shape == SPHERICAL:
        return math.log(a[0, 0])
    value = 0.0
    for i in range(a.shape[0]):
        value += math.log(a[i, 0])
    return value


@inner
def _eigenbasis(n, total, a, scratch):
    """Rates a_j and squared means z_j^2 of the scale integral; returns log det A.

    Leaves eigenvectors in matrix[1], eigenvalues in vector[2], z in vector[3].
    """
    p = total.size
    vectors = scratch.matrix[1]
    values = scratch.vector[2]
    linalg.eigen(a, vectors, values)
    log_det = 0.0
    for j in range(p):
        z = 0.0
        for i in range(p):
            z += vectors[i, j] * total[i]
        z /= n
        scratch.vector[3, j] = z
        scratch.vector[0, j] = 2.0 * n / values[j]
        scratch.vector[1, j] = z * z
        log_det += math.log(values[j])
    return log_det


@inner
def _spherical_basis(prior, n, total, a, scratch):
    for j in range(total.size):
        scratch.vector[0, j] = 2.0 * n * prior.mean_var[j] / a
        scratch.vector[1, j] = (total[j] / n) ** 2 / prior.mean_var[j]


@inner
def _draw_mean(prior, n, total, cross, a, mean, scratch, state):
    """Mu given the items, T integrated out; leaves in ``a`` the scale of T given mu."""
    p = total.size
    nu = 0.5 * _freedom(prior, n)
    value = prior.log_const[n]
    if prior.shape == FULL:
        value -= nu * _eigenbasis(n, total, a, scratch)
        g, log_i = scale.draw_scale(nu, scratch.vector[0], scratch.vector[1], p, scratch, state)
        value += log_i
        _mean_in_eigenbasis(p, g, mean, scratch, state)
        _posterior_scale(prior, n, total, cross, a)
        for i in range(p):
            for j in range(p):
                a[i, j] += n * (mean[i] - total[i] / n) * (mean[j] - total[j] / n)
        return value
    if prior.shape == SPHERICAL:
        _spherical_basis(prior, n, total, a[0, 0], scratch)
        value -= nu * math.log(a[0, 0])
        g, log_i = scale.draw_scale(nu, scratch.vector[0], scratch.vector[1], p, scratch, state)
        value += log_i
        for j in range(p):
            mean[j] = _normal_mean(scratch.vector[0, j] * g, total[j] / n, prior.mean_var[j], state)
        for j in range(p):
            a[0, 0] += n * (mean[j] - total[j] / n) ** 2
        return value
    for j in range(p):
        scratch.vector[0, 0] = 2.0 * n / a[j, 0]
        scratch.vector[1, 0] = (total[j] / n) ** 2
        value -= nu * math.log(a[j, 0])
        g, log_i = scale.draw_scale(
            nu, scratch.vector[0], scratch.vector[1], a.shape[1], scratch, state
        )
        value += log_i
        mean[j] = _normal_mean(scratch.vector[0, 0] * g, total[j] / n, 1.0, state)
        a[j, 0] += n * (mean[j] - total[j] / n) ** 2
    return value


@inner
def _normal_mean(ag, center, variance, state):
    """N(0, v) times N(center, v / ag), drawn from."""
    shrink = ag / (1.0 + ag)
    return shrink * center + math.sqrt(variance / (1.0 + ag)) * random.normal(state)


@inner
def _mean_in_eigenbasis(p, g, mean, scratch, state):
    vectors = scratch.matrix[1]
    for j in range(p):
        mean[j] = 0.0
    for j in range(p):
        z = _normal_mean(scratch.vector[0, j] * g, scratch.vector[3, j], 1.0, state)
        for i in range(p):
            mean[i] += vectors[i, j] * z


@inner
def _draw_precision(prior, n, a, root, scratch, state):
    """T ~ Wishart(A^-1, df + n), as R: with A = LL' and Bartlett's C upper, R = C' L^-1."""
    p = prior.mean_var.size
    df = _freedom(prior, n)
    if prior.shape == SPHERICAL:
        r = math.sqrt(2.0 * random.gamma(state, 0.5 * df) / a[0, 0])
        for j in range(p):
            root[j, 0] = r
        return
    if prior.shape != FULL:
        for j in range(p):
            root[j, 0] = math.sqrt(2.0 * random.gamma(state, 0.5 * df) / a[j, 0])
        return
    linalg.cholesky(a)
    linalg.invert_lower(a)
    c = scratch.matrix[2]
    for j in range(p):
        c[j, j] = math.sqrt(2.0 * random.gamma(state, 0.5 * (df - (p - 1 - j))))
        for i in range(j):
            c[i, j] = random.normal(state)
    for i in range(p):
        for j in range(i + 1):
            s = 0.0
            for k in range(j, i + 1):
                s += c[k, i] * a[k, j]
            root[i, j] = s


@inner
def _draw_conjugate_mean(prior, n, total, root, mean, scratch, state):
    """Mu ~ N(total / k, (k T)^-1), k = k0 + n: solve R d = e / sqrt(k) with e standard normal."""
    p = total.size
    k = prior.mean_weight + n
    for i in range(p):
        d = random.normal(state) / math.sqrt(k)
        if prior.shape == FULL:
            for j in range(i):
                d -= root[i, j] * scratch.vector[4, j]
            d /= root[i, i]
        else:
            d /= root[i, 0]
        scratch.vector[4, i] = d
        mean[i] = total[i] / k + d


@jit
def log_marginals(prior, sizes, totals, crosses, scratch, out):
    """``log_marginal`` of many clusters."""
    for k in range(sizes.size):
        out[k] = log_marginal(prior, sizes[k], totals[k], crosses[k], scratch)


@jit
def draw_many(prior, n, total, cross, means, roots, scratch, state):
    """Many draws of one cluster's (mu, T)."""
    for k in range(means.shape[0]):
        draw(prior, n, total, cross, means[k], roots[k], scratch, state)
