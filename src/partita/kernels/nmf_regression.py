"""Non-negative regression under the generalised Kullback-Leibler divergence."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import fused_jit

LANES = 64  # items that are worked on side by side


@fused_jit
def divergence(V, W, H, n_steps, tolerance):
    """Minimise D(V || W H) over H >= 0 in place, by multiplicative steps, which only descend.

    Parameters
    ----------
    V : (g, n); W : (g, K); H : (K, n), the start, positive

    Stops for a run of items when no number of H changes by more than ``tolerance`` of the largest
    of its column.
    """
    g, n = V.shape
    K = W.shape[1]
    total = np.zeros(K)
    for k in range(K):
        for a in range(g):
            total[k] += W[a, k]
    h = np.empty((K, LANES))
    numerator = np.empty((K, LANES))
    ratio = np.empty(LANES)
    for start in range(0, n, LANES):
        width = min(LANES, n - start)
        h[:] = 0.0
        for k in range(K):
            for i in range(width):
                h[k, i] = H[k, start + i]
        for _ in range(n_steps):
            numerator[:] = 0.0
            for a in range(g):
                for i in range(LANES):
                    ratio[i] = 1e-300
                for k in range(K):
                    w = W[a, k]
                    for i in range(LANES):
                        ratio[i] += w * h[k, i]
                for i in range(width):
                    ratio[i] = V[a, start + i] / ratio[i]
                for i in range(width, LANES):
                    ratio[i] = 0.0
                for k in range(K):
                    w = W[a, k]
                    for i in range(LANES):
                        numerator[k, i] += w * ratio[i]
            moved = _update(h, numerator, total)
            if moved <= tolerance:
                break
        for k in range(K):
            for i in range(width):
                H[k, start + i] = h[k, i]


@fused_jit
def _update(h, numerator, total):
    """Scale h; return the largest change relative to the largest number of its column."""
    worst = 0.0
    for i in range(h.shape[1]):
        largest, change = 0.0, 0.0
        for k in range(h.shape[0]):
            new = h[k, i] * numerator[k, i] / total[k] if total[k] > 0.0 else 0.0
            change = max(change, abs(new - h[k, i]))
            largest = max(largest, new)
            h[k, i] = new
        if largest > 0.0:
            worst = max(worst, change / largest)
    return worst
