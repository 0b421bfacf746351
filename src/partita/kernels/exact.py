"""Every partition of a few items, one change at a time."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit
from partita.kernels.greedy_draws import expected
from partita.kernels.greedy_similarity import h, loss


@jit
def _shift(row, k, sign, cell, counts, j):
    """Put an item into cluster k (sign 1) or take it out (-1)."""
    for m in range(row.shape[0]):
        before = np.int64(counts[row[m], k])
        after = before + sign
        counts[row[m], k] = after
        j[m] += cell[after] - cell[before]


@jit
def next_labels(labels, highest):
    """Go to the next partition in lexicographic order; return the first item that changed, or 0.

    ``highest[i]`` is the largest label before item i.
    """
    n = labels.shape[0]
    for i in range(n - 1, 0, -1):
        if labels[i] <= highest[i]:
            labels[i] += 1
            for a in range(i + 1, n):
                labels[a] = 0
                highest[a] = max(highest[a - 1], labels[a - 1])
            return i
    return 0


@jit
def search_draws(
    labels, highest, rows, cell, counts, sizes, j, t, p, num, den, limit, steps, best, best_labels
):
    """Visit the next ``steps`` partitions; return whether there are more.

    ``best[0]`` is the least loss so far, of ``best_labels``.
    """
    n = labels.shape[0]
    old = labels.copy()
    for _ in range(steps):
        old[:] = labels
        changed = next_labels(labels, highest)
        if changed == 0:
            return False
        for i in range(changed, n):
            if old[i] != labels[i]:
                _shift(rows[i], old[i], -1, cell, counts, j)
                sizes[old[i]] -= 1
        for i in range(changed, n):
            if old[i] != labels[i]:
                _shift(rows[i], labels[i], 1, cell, counts, j)
                sizes[labels[i]] += 1
        if max(highest[n - 1], labels[n - 1]) >= limit:
            continue
        e = 0.0
        for k in range(n):
            e += cell[sizes[k]]
        value = expected(t, p, j, e, num, den, cell[n], n)
        if value < best[0] - 1e-13 * max(1.0, abs(value)):
            best[0] = value
            best_labels[:] = labels
    return True


@jit
def search_similarity(
    labels, highest, P, cell, shape, grid, t, num, den, limit, steps, best, best_labels
):
    """Visit the next ``steps`` partitions; return whether there are more."""
    n = labels.shape[0]
    sizes = np.zeros(n, dtype=np.int64)
    for _ in range(steps):
        if next_labels(labels, highest) == 0:
            return False
        if max(highest[n - 1], labels[n - 1]) >= limit:
            continue
        sizes[:] = 0
        total = 0.0
        for i in range(n):
            sizes[labels[i]] += 1
            own = 0.0
            for a in range(n):
                if labels[a] == labels[i]:
                    own += P[i, a]
            total += h(own, shape, grid)
        e = 0.0
        for k in range(n):
            e += cell[sizes[k]]
        value = loss(t, e, total, num, den, cell[n], n)
        if value < best[0] - 1e-13 * max(1.0, abs(value)):
            best[0] = value
            best_labels[:] = labels
    return True
