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
