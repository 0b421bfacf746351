"""Normal densities of a block of items under one cluster, for vector units."""

from __future__ import annotations

import math

from partita.kernels._compile import inner

_LOG_2PI = math.log(2.0 * math.pi)


@inner
def log_ratios(xt, mean, root, alone, start, stop, out):
    """``out[i] = log N(x_i; mu, T) - log m({i})`` for the items start..stop, T = R'R.

    Parameters
    ----------
    xt : (p, n)
        The items, a column each.
    root : (p, p) or (p, 1)
        R, lower triangular, or its diagonal.
    """
    p = mean.size
    m = stop - start
    constant = -0.5 * p * _LOG_2PI
    full = root.shape[1] == p
    for a in range(p):
        constant += math.log(root[a, a if full else 0])
    if p == 2 and full:
        _planar(xt, mean, root, start, m, out)
    else:
        for i in range(m):
            out[i] = 0.0
        for a in range(p):
            _add_square(xt, mean, root, a, full, start, m, out)
    for i in range(m):
        out[i] = constant - 0.5 * out[i] - alone[start + i]


@inner
def _planar(xt, mean, root, start, m, out):
    first, second = xt[0], xt[1]
    r00, r10, r11 = root[0, 0], root[1, 0], root[1, 1]
    s0 = r00 * mean[0]
    s1 = r10 * mean[0] + r11 * mean[1]
    for i in range(m):
        x, y = first[start + i], second[start + i]
        d = r00 * x - s0
        e = r10 * x + r11 * y - s1
        out[i] = d * d + e * e


@inner
def _add_square(xt, mean, root, a, full, start, m, out):
    """Add the square of row ``a`` of R(x - mu)."""
    if not full or a == 0:
        r, centre, column = root[a, 0], mean[a], xt[a]
        for i in range(m):
            d = r * (column[start + i] - centre)
            out[i] += d * d
        return
    for i in range(m):
        d = 0.0
        for b in range(a + 1):
            d += root[a, b] * (xt[b, start + i] - mean[b])
        out[i] += d * d
