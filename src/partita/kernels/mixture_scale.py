"""The one-dimensional integral that is left of the independent prior, and draws from it.

With mu ~ N(0, I) and T ~ Wishart(R0, kappa0) independent, integrating T out of a cluster of N
items leaves a multivariate t in mu; as a gamma mixture over a scale g, mu can then be integrated
in closed form, and what remains, in the eigenbasis (values lam_j) of A = R0^-1 + scatter and with
z the cluster mean there, is

    I = 1/Gamma(nu) int_0^inf g^(nu-1) e^-g prod_j (1 + a_j g)^(-1/2)
                              exp(-1/2 sum_j z_j^2 a_j g / (1 + a_j g)) dg,   a_j = 2N / lam_j.

In t = log g the integrand is analytic and falls off on both sides, so the trapezoid rule
converges exponentially: its error is about |Gamma(nu + 2 pi i / step)| / Gamma(nu), and the step
is chosen to keep that near 1e-9 for every nu.
"""

from __future__ import annotations

import math

from partita.kernels import mixture_random as random
from partita.kernels._compile import inner
from partita.kernels.mixture_types import MAX_NODES

_CUT = 25.0


@inner
def _decreasing(g, a, z2, m):
    """What multiplies the gamma density at g, in logs; it decreases from 0 as g grows."""
    product = 1.0
    quadratic = 0.0
    log_product = 0.0
    for j in range(m):
        s = 1.0 + a[j] * g
        product *= s
        quadratic += z2[j] * (1.0 - 1.0 / s)
        if product > 1e250:
            log_product += math.log(product)
            product = 1.0
    return -0.5 * (log_product + math.log(product) + quadratic)


@inner
def lay_nodes(nu, a, z2, m, scratch):
    """Evaluate the integrand at nodes from right to left; return how many, which is the mode
    of the gamma density alone, the step, and the largest log value.
    """
    step = 1.0 / math.sqrt(1.3 * nu + 5.0)
    right = 0
    while nu * (right * step - math.exp(right * step) + 1.0) > -_CUT:
        right += 1
    t = math.log(nu) + right * step
    g = math.exp(t)
    shrink = math.exp(-step)
    best = -math.inf
    n = 0
    while n < MAX_NODES:
        u = nu * t - g
        h = u + _decreasing(g, a, z2, m)
        scratch.node[0, n] = t
        scratch.node[1, n] = u
        scratch.node[2, n] = h
        best = max(best, h)
        n += 1
        # To the left u increases with t and bounds the rest, so nothing is missed further on.
        if n > right + 1 and u < best - _CUT:
            break
        t -= step
        g *= shrink
    return n, right, step, best


@inner
def log_integral(nu, a, z2, m, scratch):
    """Log I, less -log Gamma(nu), which the caller knows by size."""
    n, _, step, best = lay_nodes(nu, a, z2, m, scratch)
    total = 0.0
    for i in range(n):
        total += math.exp(scratch.node[2, i] - best)
    return best + math.log(step * total)


@inner
def draw_scale(nu, a, z2, m, scratch, state):
    """A draw of g, exact up to tails under e^-25, and what ``log_integral`` returns.

    Rejection from a step function: the gamma density has its mode on a node and the other factor
    decreases, so their maxima over a cell lie at known ends.
    """
    n, mode, step, best = lay_nodes(nu, a, z2, m, scratch)
    node = scratch.node
    total = 0.0
    ceilings = 0.0
    for i in range(n):
        total += math.exp(node[2, i] - best)
        if i < n - 1:
            # Upper bound of the log integrand between this node and the next to its left.
            top = node[1, i + 1] if i < mode else node[1, i]
            node[3, i] = math.exp(top + node[2, i + 1] - node[1, i + 1] - best)
            ceilings += node[3, i]
    while True:
        u = random.uniform(state) * ceilings
        cell = 0
        while cell < n - 2 and u >= node[3, cell]:
            u -= node[3, cell]
            cell += 1
        t = node[0, cell] - step * random.uniform(state)
        g = math.exp(t)
        h = nu * t - g + _decreasing(g, a, z2, m) - best
        if random.uniform(state) * node[3, cell] < math.exp(h):
            return g, best + math.log(step * total)
