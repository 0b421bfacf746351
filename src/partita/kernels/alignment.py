"""Draws held against one partition: overlaps, shares of the loss, clusters that reappear."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def overlaps(draws, labels, out):
    """``out[r, c, k]`` becomes the number of items in cluster c of draw r and cluster k."""
    m, n = draws.shape
    for r in range(m):
        for i in range(n):
            out[r, np.int64(draws[r, i]), labels[i]] += 1


@jit
def scores(draws, values, out):
    """``out[r, c, k]`` becomes the sum of ``values[i, k]`` over cluster c of draw r."""
    m, n = draws.shape
    for r in range(m):
        for i in range(n):
            c = np.int64(draws[r, i])
            for k in range(values.shape[1]):
                out[r, c, k] += values[i, k]


@jit
def deal(draws, weights, mapping, out):
    """Add to ``out[i, k]`` the weight of the draws whose cluster of item i is mapped to k."""
    m, n = draws.shape
    for r in range(m):
        for i in range(n):
            out[i, mapping[r, np.int64(draws[r, i])]] += weights[r]


@jit
def vi_shares(draws, weights, members, starts, logs, out):
    """Add to ``out[i]`` the weighted log₂ n_draw + log₂ n_own - 2 log₂ n_both of item i.

    ``members[starts[k] : starts[k + 1]]`` are the items of cluster k of the partition. One of its
    clusters is counted at a time, so memory does not grow with the product of the two numbers.
    """
    m, n = draws.shape
    most = np.int64(draws.max()) + 1
    in_draw = np.zeros(most, dtype=np.int64)
    in_both = np.zeros(most, dtype=np.int64)
    for r in range(m):
        for i in range(n):
            in_draw[np.int64(draws[r, i])] += 1
        for k in range(starts.size - 1):
            own = logs[starts[k + 1] - starts[k]]
            for a in range(starts[k], starts[k + 1]):
                in_both[np.int64(draws[r, members[a]])] += 1
            for a in range(starts[k], starts[k + 1]):
                c = np.int64(draws[r, members[a]])
                out[members[a]] += weights[r] * (logs[in_draw[c]] + own - 2.0 * logs[in_both[c]])
            for a in range(starts[k], starts[k + 1]):
                in_both[np.int64(draws[r, members[a]])] = 0
        in_draw[:] = 0


@jit
def intact(draws, weights, labels, sizes, out):
    """Add to ``out[k]`` the weight of the draws in which cluster k is a cluster as it is."""
    m, n = draws.shape
    most = np.int64(draws.max()) + 1
    own = np.zeros(most, dtype=np.int64)
    owner = np.full(most, -1, dtype=np.int64)
    for r in range(m):
        for i in range(n):
            c = np.int64(draws[r, i])
            own[c] += 1
            if owner[c] == -1:
                owner[c] = labels[i]
            elif owner[c] != labels[i]:
                owner[c] = -2  # items of two clusters are together here
        for c in range(most):
            if owner[c] >= 0 and own[c] == sizes[owner[c]]:
                out[owner[c]] += weights[r]
            own[c] = 0
            owner[c] = -1


@jit
def add_cell_pairs(draws, weights, order, cell_of, total):
    """Add to ``total[a, b]``, a <= b, the weighted pairs of items of cells a and b put together.

    ``cell_of`` are the cells of the items in ``order``, not decreasing. Of each cluster only the
    cells that it has items in are looked at.
    """
    m, n = draws.shape
    most = np.int64(draws.max()) + 1
    starts = np.zeros(most + 1, dtype=np.int64)
    filled = np.zeros(most, dtype=np.int64)
    cells = np.empty(n, dtype=np.int64)
    counts = np.empty(n, dtype=np.float32)
    for r in range(m):
        starts[:] = 0
        filled[:] = 0
        for i in range(n):
            starts[np.int64(draws[r, i]) + 1] += 1
        for c in range(most):
            starts[c + 1] += starts[c]
        for i in range(n):
            c = np.int64(draws[r, order[i]])
            end = starts[c] + filled[c]
            if filled[c] > 0 and cells[end - 1] == cell_of[i]:
                counts[end - 1] += np.float32(1.0)
            else:
                cells[end] = cell_of[i]
                counts[end] = np.float32(1.0)
                filled[c] += 1
        for c in range(most):
            for a in range(starts[c], starts[c] + filled[c]):
                own = weights[r] * counts[a]
                row = total[cells[a]]
                for b in range(a, starts[c] + filled[c]):
                    row[cells[b]] += own * counts[b]
