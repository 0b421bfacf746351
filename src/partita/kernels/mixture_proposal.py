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
def _look(x, item, weight, mean, inverse, away, pull):
    """log(1 + delta), delta = k/(k+1) (x - m)' L^-1 (x - m); by coordinate and summed for the
    diagonal proxy. Leaves x - m in ``away`` and L^-1 (x - m), or 1 + delta_j, in ``pull``.
    """
    p = mean.size
    c = weight / (weight + 1.0)
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
        return math.log(1.0 + c * delta)
    value = 0.0
    product = 1.0
    for i in range(p):
        pull[i] = 1.0 + c * inverse[i, 0] * away[i] * away[i]
        product *= pull[i]
        if product > 1e250:
            value += math.log(product)
            product = 1.0
    return value + math.log(product)


@inner
def _take(weight, log_fit, mean, inverse, away, pull):
    """Take in the item that ``_look`` looked at."""
    p = mean.size
    for i in range(p):
        mean[i] += away[i] / (weight + 1.0)
    if inverse.shape[1] == p:
        c = weight / (weight + 1.0) * math.exp(-log_fit)
        for i in range(p):
            for j in range(p):
                inverse[i, j] -= c * pull[i] * pull[j]
    else:
        for i in range(p):
            inverse[i, 0] /= pull[i]


@inner
def allocate(x, proxy, start, start_log_det, members, n_members, seeds, side, free, work, rng):
    """Send every member to the side of a seed (0 or 1), in the order they stand.

    Parameters
    ----------
    start : (p, q)
        Inverse of the proxy's scale matrix; ``start_log_det`` the scale matrix's log determinant.
    seeds : tuple of two items
    side : (n,) int8
        By item. Written if ``free``, else followed.
    work : (side_matrix, side_vector)

    Returns
    -------
    tuple
        log probability of the allocation, size of side 0 (its seed included).
    """
    p, q = start.shape
    # Views are made once: in the loop they would cost as much as the arithmetic.
    inverse0, inverse1 = work[0][0], work[0][1]
    mean0, away0, pull0 = work[1][0, 0], work[1][0, 1], work[1][0, 2]
    mean1, away1, pull1 = work[1][1, 0], work[1][1, 1], work[1][1, 2]
    n0, n1 = 0, 0
    det0, det1 = start_log_det, start_log_det
    for i in range(p):
        mean0[i] = 0.0
        mean1[i] = 0.0
        for j in range(q):
            inverse0[i, j] = start[i, j]
            inverse1[i, j] = start[i, j]
    log_q = 0.0
    for a in range(-2, n_members):
        item = seeds[a + 2] if a < 0 else members[a]
        k0, k1 = proxy.weight + n0, proxy.weight + n1
        fit0 = _look(x, item, k0, mean0, inverse0, away0, pull0)
        fit1 = _look(x, item, k1, mean1, inverse1, away1, pull1)
        to = a == -1
        if a >= 0:
            log_odds = proxy.const[n1] - 0.5 * det1 - 0.5 * (proxy.df + n1 + 1.0) * fit1
            log_odds -= proxy.const[n0] - 0.5 * det0 - 0.5 * (proxy.df + n0 + 1.0) * fit0
            log_odds = min(max(log_odds, -700.0), 700.0)
            total = 1.0 + math.exp(log_odds)
            if free:
                side[item] = random.uniform(rng) * total >= 1.0
            to = side[item] == 1
            log_q -= math.log(total)
            if to:
                log_q += log_odds
        if to:
            _take(k1, fit1, mean1, inverse1, away1, pull1)
            det1 += fit1
            n1 += 1
        else:
            _take(k0, fit0, mean0, inverse0, away0, pull0)
            det0 += fit0
            n0 += 1
    return log_q, n0
