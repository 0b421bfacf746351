"""Contingency tables of draws against partitions, and what is summed over them.

``table`` is a loss's ``cell`` tabulated: ``table[x]`` is the contribution of a cell, or of a
cluster, of x items.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit

_MOST_CELLS = 1 << 20


@jit
def marginal(labels, table):
    """Sum ``table[size]`` over the clusters of every row, four rows at a time like :func:`joint`.

    ``table[0]`` is 0, so that clusters which a row has not do not count.
    """
    m, n = labels.shape
    counts = np.zeros((4, n), dtype=np.int32)
    a, b, c, d = counts[0], counts[1], counts[2], counts[3]
    out = np.empty(m, dtype=np.float64)
    for first in range(0, m, 4):
        second, third, fourth = min(first + 1, m - 1), min(first + 2, m - 1), min(first + 3, m - 1)
        w, x, y, z = labels[first], labels[second], labels[third], labels[fourth]
        last = np.int64(0)
        for i in range(n):
            e, f, g, h = np.int64(w[i]), np.int64(x[i]), np.int64(y[i]), np.int64(z[i])
            a[e] += 1
            b[f] += 1
            c[g] += 1
            d[h] += 1
            last = max(max(last, e), max(max(f, g), h))
        sums = _take_all(a, b, c, d, last + 1, table)
        out[first], out[second], out[third], out[fourth] = sums
    return out


@jit
def joint(draws, sizes, partitions, n_clusters, table):
    """Sum ``table[count]`` over the contingency table of every partition with every draw.

    Four draws at a time: counting one is a chain of increments that wait for each other, and
    four chains fill the wait. Tables of more cells than `_MOST_CELLS` are counted a cluster of
    the partition at a time, in memory that does not grow with the product.

    Parameters
    ----------
    draws : (m, n) canonical labels; sizes : (m,) their numbers of clusters
    partitions : (p, n) canonical labels; n_clusters : (p,) their numbers of clusters

    Returns
    -------
    (p, m) float64
    """
    m = draws.shape[0]
    most = _largest(sizes)
    width = min(most * _largest(n_clusters), _MOST_CELLS)
    counts = np.zeros((4, width), dtype=np.int32)
    line = np.zeros(most, dtype=np.int32)
    out = np.empty((partitions.shape[0], m), dtype=np.float64)
    for q in range(partitions.shape[0]):
        wide = most * n_clusters[q] > _MOST_CELLS
        if wide:
            members, starts = by_cluster(partitions[q], n_clusters[q])
        for first in range(0, m, 4):
            x, y, z = min(first + 1, m - 1), min(first + 2, m - 1), min(first + 3, m - 1)
            k = max(max(sizes[first], sizes[x]), max(sizes[y], sizes[z]))
            if wide:
                for r in (first, x, y, z):
                    out[q, r] = _joint_by_cluster(draws[r], members, starts, line, table)
            else:
                four = (draws[first], draws[x], draws[y], draws[z])
                sums = _joint_of_four(four, partitions[q], k, n_clusters[q], counts, table)
                out[q, first], out[q, x], out[q, y], out[q, z] = sums
    return out


@inner
def _largest(numbers):
    """Return the largest of some counts: NumPy's own takes longer to compile than all the rest."""
    most = 0
    for number in numbers:
        most = max(most, number)
    return most


@inner
def _joint_of_four(draws, labels, k, n_clusters, counts, table):
    a, b, c, d = counts[0], counts[1], counts[2], counts[3]
    w, x, y, z = draws
    for i in range(labels.size):
        row = np.uint64(labels[i]) * np.uint64(k)
        a[row + np.uint64(w[i])] += 1
        b[row + np.uint64(x[i])] += 1
        c[row + np.uint64(y[i])] += 1
        d[row + np.uint64(z[i])] += 1
    if k * n_clusters <= labels.size:
        return _take_all(a, b, c, d, k * n_clusters, table)
    return (
        _take_touched(a, w, labels, k, table),
        _take_touched(b, x, labels, k, table),
        _take_touched(c, y, labels, k, table),
        _take_touched(d, z, labels, k, table),
    )


@inner
def _take_all(a, b, c, d, cells, table):
    """Sum ``table`` over four tables of counts and set them to zero again."""
    s = t = u = v = 0.0
    for cell in range(cells):
        s += table[np.uint64(a[cell])]
        t += table[np.uint64(b[cell])]
        u += table[np.uint64(c[cell])]
        v += table[np.uint64(d[cell])]
        a[cell] = b[cell] = c[cell] = d[cell] = 0
    return s, t, u, v


@inner
def _take_touched(counts, draw, labels, k, table):
    """The same for a table with more cells than items: visit only those that items are in."""
    total = 0.0
    for i in range(labels.size):
        cell = np.uint64(labels[i]) * np.uint64(k) + np.uint64(draw[i])
        total += table[np.uint64(counts[cell])]
        counts[cell] = 0
    return total


@jit
def by_cluster(labels, n_clusters):
    """The items in order of their cluster, and where each cluster starts among them."""
    starts = np.zeros(n_clusters + 1, dtype=np.int64)
    for i in range(labels.size):
        starts[np.int64(labels[i]) + 1] += 1
    for k in range(n_clusters):
        starts[k + 1] += starts[k]
    following = starts[:-1].copy()
    members = np.empty(labels.size, dtype=np.int64)
    for i in range(labels.size):
        k = np.int64(labels[i])
        members[following[k]] = i
        following[k] += 1
    return members, starts


@inner
def _joint_by_cluster(draw, members, starts, counts, table):
    total = 0.0
    for k in range(starts.size - 1):
        for a in range(starts[k], starts[k + 1]):
            counts[draw[members[a]]] += 1
        for a in range(starts[k], starts[k + 1]):
            c = np.int64(draw[members[a]])
            total += table[counts[c]]
            counts[c] = 0
    return total


@jit
def own_cells(draws, n_clusters, weights, members, starts, out):
    """Add to ``out[i]`` the weighted number of items that share i's cluster in both partitions.

    Over all draws, with weights that sum to 1, that is Σ_j x_ij π̂_ij. ``n_clusters`` is the most
    that a draw has; ``members`` and ``starts`` are the partition, :func:`by_cluster`.
    """
    counts = np.zeros(n_clusters, dtype=np.int64)
    for r in range(draws.shape[0]):
        draw = draws[r]
        w = weights[r]
        for k in range(starts.size - 1):
            for a in range(starts[k], starts[k + 1]):
                counts[draw[members[a]]] += 1
            for a in range(starts[k], starts[k + 1]):
                out[members[a]] += w * counts[draw[members[a]]]
            for a in range(starts[k], starts[k + 1]):
                counts[draw[members[a]]] = 0


@jit
def own_sums(matrix, members, starts, labels, first, last, out):
    """Σ_j x_ij P_ij for the items ``members[first:last]`` of a dense matrix P.

    ``members[starts[k] : starts[k + 1]]`` are the items of cluster k.
    """
    for a in range(first, last):
        i = members[a]
        k = labels[i]
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
