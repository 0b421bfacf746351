"""Contingency tables of draws against partitions, and what is summed over them.

``table`` is a loss's ``cell`` tabulated: ``table[x]`` is the contribution of a cell, or of a
cluster, of x items.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def marginal(labels, table):
    """Sum ``table[size]`` over the clusters of every row."""
    m, n = labels.shape
    counts = np.zeros(n, dtype=np.int64)
    out = np.zeros(m, dtype=np.float64)
    for r in range(m):
        k = 0
        for i in range(n):
            c = np.int64(labels[r, i])
            counts[c] += 1
            k = max(k, c + 1)
        total = 0.0
        for c in range(k):
            total += table[counts[c]]
            counts[c] = 0
        out[r] = total
    return out


@jit
def joint(draws, sizes, partitions, n_clusters, table):
    """Sum ``table[count]`` over the contingency table of every partition with every draw.

    Parameters
    ----------
    draws : (m, n) canonical labels; sizes : (m,) their numbers of clusters
    partitions : (p, n) canonical labels; n_clusters : (p,) their numbers of clusters

    Returns
    -------
    (p, m) float64
    """
    m, n = draws.shape
    p = partitions.shape[0]
    counts = np.zeros(sizes.max() * n_clusters.max(), dtype=np.int32)
    out = np.empty((p, m), dtype=np.float64)
    for q in range(p):
        k = np.int64(n_clusters[q])
        for r in range(m):
            cells = sizes[r] * k
            for i in range(n):
                counts[np.int64(draws[r, i]) * k + np.int64(partitions[q, i])] += 1
            total = 0.0
            if cells <= n:
                for c in range(cells):
                    total += table[counts[c]]
                    counts[c] = 0
            else:
                for i in range(n):
                    c = np.int64(draws[r, i]) * k + np.int64(partitions[q, i])
                    total += table[counts[c]]
                    counts[c] = 0
            out[q, r] = total
    return out


@jit
def own_cells(draws, sizes, weights, labels, n_clusters, out):
    """Add to ``out[i]`` the weighted number of items that share i's cluster in both partitions.

    Over all draws, with weights that sum to 1, that is Σ_j x_ij π̂_ij.
    """
    m, n = draws.shape
    k = np.int64(n_clusters)
    counts = np.zeros(sizes.max() * k, dtype=np.float64)
    for r in range(m):
        w = weights[r]
        for i in range(n):
            counts[np.int64(draws[r, i]) * k + np.int64(labels[i])] += w
        for i in range(n):
            out[i] += counts[np.int64(draws[r, i]) * k + np.int64(labels[i])]
        for i in range(n):
            counts[np.int64(draws[r, i]) * k + np.int64(labels[i])] = 0.0


@jit
def own_sums(matrix, members, starts, first, last, out):
    """Σ_j x_ij P_ij for the items of clusters ``first .. last - 1`` of a dense matrix P.

    ``members[starts[k] : starts[k + 1]]`` are the items of cluster k.
    """
    for k in range(first, last):
        for a in range(starts[k], starts[k + 1]):
            i = members[a]
            total = 0.0
            for b in range(starts[k], starts[k + 1]):
                total += matrix[i, members[b]]
            out[i] = total


@jit
def group_sums(draws, x, offsets, out):
    """``out[offsets[r] + c]`` becomes the sum of the rows of x that draw r puts in cluster c."""
    m, n = draws.shape
    width = x.shape[1]
    for r in range(m):
        base = offsets[r]
        for i in range(n):
            row = base + np.int64(draws[r, i])
            for j in range(width):
                out[row, j] += x[i, j]


@jit
def spread(draws, weights, groups, offsets, start, stop, out):
    """Rows ``start .. stop - 1`` of Σ_m w_m Z_m G_m, with G the group sums of each draw."""
    m = draws.shape[0]
    width = groups.shape[1]
    for r in range(m):
        w = weights[r]
        base = offsets[r]
        for i in range(start, stop):
            row = base + np.int64(draws[r, i])
            for j in range(width):
                out[i, j] += w * groups[row, j]
