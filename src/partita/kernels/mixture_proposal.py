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
from partita.kernels._compile import inner, jit


@jit
def set_proxy(proxy, covariance, matrix, inverse, log_det):
    """The inverse of the proxy's scale matrix and its log determinant.

    The scale matrix has ``covariance`` as the expected covariance of a cluster.
    """
    p, q = covariance.shape
    if q == p:
        for i in range(p):
            for j in range(q):
                matrix[i, j] = (proxy.df - p - 1.0) * covariance[i, j]
        log_det[0] = linalg.invert(matrix, inverse)
        return
    log_det[0] = 0.0
    for i in range(p):
        inverse[i, 0] = 1.0 / ((proxy.df - 2.0) * covariance[i, 0])
        log_det[0] -= math.log(inverse[i, 0])


@inner
def _look(x, item, share, mean, inverse, away, pull):
    """1 + delta, delta = k/(k+1) (x - m)' L^-1 (x - m); for the diagonal proxy the product of that
    over coordinates. Leaves x - m in ``away`` and L^-1 (x - m), or 1 + delta_j, in ``pull``.
    """
    p = mean.size
    for i in range(p):
        away[i] = x[item, i] - mean[i]
    if inverse.shape[1] == p:
        delta = 0.0
        for i in range(p):
            s = 0.0
            for j in range(p):
                s += inverse[i, j] * away[j]
            pull[i] = s
            delta += s * away[i]
        return 1.0 + share * delta
    product = 1.0
    for i in range(p):
        pull[i] = 1.0 + share * inverse[i, 0] * away[i] * away[i]
        product *= pull[i]
    # A proposal may be cut short where it would overflow, the way back is cut alike.
    return min(product, 1e300)


@inner
def _take(share, fit, mean, inverse, away, pull):
    """Take in the item that ``_look`` looked at."""
    p = mean.size
    for i in range(p):
        mean[i] += (1.0 - share) * away[i]
    if inverse.shape[1] == p:
        c = share / fit
        for i in range(p):
            for j in range(p):
                inverse[i, j] -= c * pull[i] * pull[j]
    else:
        for i in range(p):
            inverse[i, 0] /= pull[i]


@inner
def _log_odds(proxy, n0, n1, det0, det1, log0, log1):
    """Log odds of side 1 for the item that both sides looked at."""
    value = proxy.const[n1] - 0.5 * det1 - 0.5 * (proxy.df + n1 + 1.0) * log1
    value -= proxy.const[n0] - 0.5 * det0 - 0.5 * (proxy.df + n0 + 1.0) * log0
    return min(max(value, -300.0), 300.0)


@inner
def allocate(x, proxy, scale, members, m, seeds, side, free, floor, work, rng):
    """Send every member to the side of a seed (0 or 1), in the order they stand.

    Parameters
    ----------
    scale : (inverse (p, q), log_det)
        Of the proxy's scale matrix.
    members, m
        The queue and its length.
    seeds : tuple of two items
    side : (n,) int8
        By item. Written if ``free``, else followed.
    floor : float
        Stop now and then if the log probability is no higher.
    work : (side_matrix, side_vector)

    Returns
    -------
    tuple
        log probability of the allocation, size of side 0 (its seed included).
    """
    p, q = scale[0].shape
    if p == 2 and q == 2:
        return _planar(x, proxy, scale, members, m, seeds, side, free, floor, rng)
    # Views are made once: in the loop they would cost as much as the arithmetic.
    inverse0, inverse1 = work[0][0], work[0][1]
    mean0, away0, pull0 = work[1][0, 0], work[1][0, 1], work[1][0, 2]
    mean1, away1, pull1 = work[1][1, 0], work[1][1, 1], work[1][1, 2]
    for i in range(p):
        mean0[i], mean1[i] = 0.0, 0.0
        for j in range(q):
            inverse0[i, j], inverse1[i, j] = scale[0][i, j], scale[0][i, j]
    n0, n1, det0, det1 = 0, 0, scale[1], scale[1]
    log_q, product = 0.0, 1.0
    for a in range(-2, m):
        item = seeds[a + 2] if a < 0 else members[a]
        share0, share1 = _share(proxy, n0), _share(proxy, n1)
        fit0 = _look(x, item, share0, mean0, inverse0, away0, pull0)
        fit1 = _look(x, item, share1, mean1, inverse1, away1, pull1)
        log0, log1 = math.log(fit0), math.log(fit1)
        to = a == -1
        if a >= 0:
            to, part, total = _choose(
                _log_odds(proxy, n0, n1, det0, det1, log0, log1), side, item, free, rng
            )
            log_q, product = _gather(log_q + part, product * total, a)
            if log_q <= floor:
                break
        if to:
            _take(share1, fit1, mean1, inverse1, away1, pull1)
            n1, det1 = n1 + 1, det1 + log1
        else:
            _take(share0, fit0, mean0, inverse0, away0, pull0)
            n0, det0 = n0 + 1, det0 + log0
    return log_q - math.log(product), n0


@inner
def _share(proxy, n):
    """k / (k + 1), k = k0 + n."""
    return 1.0 - 1.0 / (proxy.weight + n + 1.0)


@inner
def _choose(log_odds, side, item, free, rng):
    """The side of an item, drawn or as it is; its log probability is ``part - log(total)``."""
    total = 1.0 + math.exp(log_odds)
    if free:
        side[item] = random.uniform(rng) * total >= 1.0
    to = side[item] == 1
    return to, log_odds if to else 0.0, total


@inner
def _gather(log_q, product, a):
    """One logarithm for many factors: move the product into the sum every 16th time."""
    if product > 1e100 or a % 16 == 15:
        return log_q - math.log(product), 1.0
    return log_q, product


@inner
def _planar(x, proxy, scale, members, m, seeds, side, free, floor, rng):
    """``allocate`` for full covariances in the plane, all in registers: three times as fast.

    A side's inverse scale matrix is [[a, b], [b, d]], its mean (x, y).
    """
    start = scale[0]
    a0, b0, d0, x0, y0 = start[0, 0], start[1, 0], start[1, 1], 0.0, 0.0
    a1, b1, d1, x1, y1 = a0, b0, d0, x0, y0
    n0, n1, det0, det1 = 0, 0, scale[1], scale[1]
    log_q, product = 0.0, 1.0
    for a in range(-2, m):
        item = seeds[a + 2] if a < 0 else members[a]
        share0, share1 = _share(proxy, n0), _share(proxy, n1)
        u0, v0, u1, v1 = x[item, 0] - x0, x[item, 1] - y0, x[item, 0] - x1, x[item, 1] - y1
        f0, g0, f1, g1 = a0 * u0 + b0 * v0, b0 * u0 + d0 * v0, a1 * u1 + b1 * v1, b1 * u1 + d1 * v1
        fit0, fit1 = 1.0 + share0 * (f0 * u0 + g0 * v0), 1.0 + share1 * (f1 * u1 + g1 * v1)
        log0, log1 = math.log(fit0), math.log(fit1)
        to = a == -1
        if a >= 0:
            to, part, total = _choose(
                _log_odds(proxy, n0, n1, det0, det1, log0, log1), side, item, free, rng
            )
            log_q, product = _gather(log_q + part, product * total, a)
            if log_q <= floor:
                break
        if to:
            c, r = share1 / fit1, 1.0 - share1
            a1, b1, d1, x1, y1 = _after(a1, b1, d1, x1, y1, f1, g1, u1, v1, c, r)
            n1, det1 = n1 + 1, det1 + log1
        else:
            c, r = share0 / fit0, 1.0 - share0
            a0, b0, d0, x0, y0 = _after(a0, b0, d0, x0, y0, f0, g0, u0, v0, c, r)
            n0, det0 = n0 + 1, det0 + log0
    return log_q - math.log(product), n0


@inner
def _after(a, b, d, x, y, f, g, u, v, c, r):
    """A side of ``_planar`` with one more item."""
    return a - c * f * f, b - c * f * g, d - c * g * g, x + r * u, y + r * v
