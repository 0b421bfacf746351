"""Triangle inequalities of clique partitioning: which are violated, what they bound."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def violated(x, d, start, stop, tolerance, best, via):
    """For middles j in ``start .. stop - 1``, the worst of x_ij + x_jk - x_ik ≤ 1 for each (i, k).

    A triangle whose two joining pairs both cost something to join cannot bind and is passed over.
    ``best[i, k]`` and ``via[i, k]`` hold the largest violation so far and its j, for i < k.
    """
    n = x.shape[0]
    near = np.empty(n, dtype=np.int64)
    for j in range(start, stop):
        found = 0
        for i in range(n):
            if i != j and x[j, i] > tolerance:
                near[found] = i
                found += 1
        for a in range(found):
            i = near[a]
            xij, dij = x[j, i], d[j, i]
            for b in range(a + 1, found):
                k = near[b]
                violation = xij + x[j, k] - x[i, k] - 1.0
                if violation > tolerance and violation > best[i, k] and (dij < 0 or d[j, k] < 0):
                    best[i, k] = violation
                    via[i, k] = j


@jit
def reduced(d, triangles, y, out):
    """``out`` becomes d plus what the triangles (i, j, k), x_ij + x_jk - x_ik ≤ 1, charge."""
    n = d.shape[0]
    for i in range(n):
        for k in range(n):
            out[i, k] = d[i, k]
    for a in range(triangles.shape[0]):
        i, j, k = triangles[a]
        charge = y[a]
        out[min(i, j), max(i, j)] += charge
        out[min(j, k), max(j, k)] += charge
        out[min(i, k), max(i, k)] -= charge
