"""Two seeds and a queue: items allocated one after another by a conjugate proxy.

The proxy is a normal-inverse-Wishart model whose scale matrix is centred on the pooled covariance
within clusters. It proposes only; what is accepted is decided by the exact marginals. One side's
posterior is its size N, k = k0 + N, mean m and the inverse of its scale matrix, each brought up to
date with one item by a rank-one formula, so that a queue of length L costs O(L p^2).
"""

from __future__ import annotations

import math

from partita.kernels import mixture_linalg as linalg
from partita.kernels import mixture_random as random
from partita.kernels._compile import jit
from partita.kernels.mixture_types import FULL


@jit
def set_proxy(model, state, work):
    """The inverse of the proxy's scale matrix and its log determinant."""
    p, q = state.proxy.shape
    factor = proxy_factor(model, p)
    if model.shape == FULL:
        a = work.matrix[0]
        for i in range(p):
            for j in range(q):
                a[i, j] = factor * state.proxy[i, j]
        state.proxy_log_det[0] = linalg.invert(a, state.proxy_inverse)
        return
    value = 0.0
    for i in range(p):
        state.proxy_inverse[i, 0] = 1.0 / (factor * state.proxy[i, 0])
        value -= math.log(state.proxy_inverse[i, 0])
    state.proxy_log_det[0] = value


@jit
def proxy_factor(model, p):
    """Scale matrix over expected covariance: df - p - 1, or its p = 1 case by coordinate."""
    if model.shape == FULL:
        return model.proxy_df - p - 1.0
    return model.proxy_df - 2.0


@jit
def _begin(model, state, work, side, item):
    """A side that holds its seed alone; returns its log determinant."""
    inverse, mean = work.matrix[3 + side], work.vector[6 + side]
    p, q = state.proxy.shape
    for i in range(p):
        mean[i] = 0.0
        for j in range(q):
            inverse[i, j] = state.proxy_inverse[i, j]
    fit = _misfit(model, work, side, 0, item)
    return state.proxy_log_det[0] + _update(model, work, side, 0, fit)


@jit
def _misfit(model, work, side, n, item):
    """delta = k/(k+1) (x - m)' L^-1 (x - m); leaves x - m and L^-1 (x - m) behind.

    For the diagonal proxy: prod_j (1 + delta_j) - 1.
    """
    mean, inverse = work.vector[6 + side], work.matrix[3 + side]
    d, v = work.vector[8 + side], work.vector[10 + side]
    x = model.x[item]
    p = x.size
    k = model.proxy_weight + n
    c = k / (k + 1.0)
    for i in range(p):
        d[i] = x[i] - mean[i]
    if model.shape == FULL:
        fit = 0.0
        for i in range(p):
            s = 0.0
            for j in range(p):
                s += inverse[i, j] * d[j]
            v[i] = s
            fit += s * d[i]
        return c * fit
    log_fit = 0.0
    product = 1.0
    for i in range(p):
        v[i] = 1.0 + c * inverse[i, 0] * d[i] * d[i]
        product *= v[i]
        if product > 1e250:
            log_fit += math.log(product)
            product = 1.0
    return log_fit + math.log(product)


@jit
def _log_fit(model, fit):
    if model.shape == FULL:
        return math.log1p(fit)
    return fit


@jit
def _update(model, work, side, n, fit):
    """Take in the item that ``_misfit`` looked at; the growth of the log determinant."""
    mean, inverse = work.vector[6 + side], work.matrix[3 + side]
    d, v = work.vector[8 + side], work.vector[10 + side]
    p = mean.size
    k = model.proxy_weight + n
    for i in range(p):
        mean[i] += d[i] / (k + 1.0)
    if model.shape == FULL:
        c = k / (k + 1.0) / (1.0 + fit)
        for i in range(p):
            for j in range(p):
                inverse[i, j] -= c * v[i] * v[j]
    else:
        for i in range(p):
            inverse[i, 0] /= v[i]
    return _log_fit(model, fit)


@jit
def allocate(model, state, work, n_members, first, second, side, free):
    """Send every member to the side of ``first`` (0) or ``second`` (1), in the order they stand.

    Parameters
    ----------
    side : (n,) int8
        By item. Written if ``free``, else followed.

    Returns
    -------
    tuple
        log probability of the allocation, size of side 0 (its seed included).
    """
    p = model.x.shape[1]
    det0 = _begin(model, state, work, 0, first)
    det1 = _begin(model, state, work, 1, second)
    n0, n1 = 1, 1
    log_q = 0.0
    for a in range(n_members):
        item = work.members[a]
        fit0 = _misfit(model, work, 0, n0, item)
        fit1 = _misfit(model, work, 1, n1, item)
        log0 = model.proxy_const[n0] - 0.5 * det0
        log0 -= 0.5 * (model.proxy_df + n0 + 1.0) * _log_fit(model, fit0)
        log1 = model.proxy_const[n1] - 0.5 * det1
        log1 -= 0.5 * (model.proxy_df + n1 + 1.0) * _log_fit(model, fit1)
        odds = log1 - log0
        if free:
            side[item] = random.uniform(state.random) * (1.0 + math.exp(min(odds, 700.0))) >= 1.0
        if side[item] == 0:
            log_q -= _softplus(odds)
            det0 += _update(model, work, 0, n0, fit0)
            n0 += 1
        else:
            log_q -= _softplus(-odds)
            det1 += _update(model, work, 1, n1, fit1)
            n1 += 1
    return log_q, n0


@jit
def _softplus(x):
    if x > 35.0:
        return x
    return math.log1p(math.exp(x))
