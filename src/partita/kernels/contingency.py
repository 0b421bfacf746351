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

    Four draws at a time: counting one is a chain of increments that wait for each other, and
    four chains fill the wait.

    Parameters
    ----------
    draws : (m, n) canonical labels; sizes : (m,) their numbers of clusters
    partitions : (p, n) canonical labels; n_clusters : (p,) their numbers of clusters

    Returns
    -------
    (p, m) float64
    """
    m, n = draws.shape
    width = sizes.max() * n_clusters.max()
    a = np.zeros(width, dtype=np.int32)
    b = np.zeros(width, dtype=np.int32)
    c = np.zeros(width, dtype=np.int32)
    d = np.zeros(width, dtype=np.int32)
    out = np.empty((partitions.shape[0], m), dtype=np.float64)
    for q in range(partitions.shape[0]):
        labels = partitions[q]
        for first in range(0, m, 4):
            x, y, z = min(first + 1, m - 1), min(first + 2, m - 1), min(first + 3, m - 1)
            k = max(max(sizes[first], sizes[x]), max(sizes[y], sizes[z]))
            for i in range(n):
                row = np.int64(labels[i]) * k
                a[row + np.int64(draws[first, i])] += 1
                b[row + np.int64(draws[x, i])] += 1
                c[row + np.int64(draws[y, i])] += 1
                d[row + np.int64(draws[z, i])] += 1
            cells = k * n_clusters[q]
            if cells <= n:
                sums = _take_all(a, b, c, d, cells, table)
            else:
                sums = (
                    _take_touched(a, draws[first], labels, k, table),
                    _take_touched(b, draws[x], labels, k, table),
                    _take_touched(c, draws[y], labels, k, table),
                    _take_touched(d, draws[z], labels, k, table),
                )
            out[q, first], out[q, x], out[q, y], out[q, z] = sums
    return out


@jit
def _take_all(a, b, c, d, cells, table):
    """Sum ``table`` over four tables of counts and set them to zero again."""
    s = t = u = v = 0.0
    for cell in range(cells):
        s += table[a[cell]]
        t += table[b[cell]]
        u += table[c[cell]]
        v += table[d[cell]]
        a[cell] = b[cell] = c[cell] = d[cell] = 0
    return s, t, u, v


@jit
def _take_touched(counts, draw, labels, k, table):
    """The same for a table with more cells than items: visit only those that items are in."""
    total = 0.0
    for i in range(labels.size):
        cell = np.int64(labels[i]) * k + np.int64(draw[i])
        total += table[counts[cell]]
        counts[cell] = 0
    return total


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
