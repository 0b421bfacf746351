"""Partitions of few blocks of items, from many starts, each cluster scored once.

With the loss linear in j a partition costs level(e) - Σ_k score(cluster k), where the score of a
cluster depends on its blocks alone. A cluster is a number whose bits are its blocks; its score is
computed when first asked for and found in a table afterwards. ``parts[a, r]`` are the items that
block a shares with the draw cluster r, ``mass`` the sizes of the blocks, ``alpha`` the weights of
the rows; ``grid`` is the level at evenly spaced e, the first at ``low``, ``density`` of them to 1.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import expected

_SLOTS = 1 << 16  # of the table of scores
_SPREAD = -7046029254386353131  # odd, and its bits are mixed


@inner
def _score(cluster, parts, alpha, cell, keys, scores, counts, computed):
    """Σ_r alpha_r cell[items of the cluster in r]; ``computed`` counts those not in the table."""
    if cluster == 0:
        return 0.0
    at = ((cluster * _SPREAD) >> 40) & (_SLOTS - 1)
    while keys[at] != 0:
        if keys[at] == cluster:
            return scores[at]
        at = (at + 1) & (_SLOTS - 1)
    counts[:] = 0
    for a in range(parts.shape[0]):
        if (cluster >> a) & 1:
            part = parts[a]
            for r in range(counts.shape[0]):
                counts[r] += part[r]
    x, y, last = 0.0, 0.0, counts.shape[0] - 1
    for r in range(0, last, 2):  # two sums at once: one waits for itself
        x += alpha[r] * cell[counts[r]]
        y += alpha[r + 1] * cell[counts[r + 1]]
    if last % 2 == 0:
        x += alpha[last] * cell[counts[last]]
    computed[0] += 1
    if computed[0] < _SLOTS - _SLOTS // 4:
        keys[at], scores[at] = cluster, x + y
    return x + y


@jit
def levels(low, density, t, p, j, num, den, w, n, grid):
    """``grid`` becomes the loss at j and evenly spaced e."""
    for g in range(grid.shape[0]):
        grid[g] = expected(t, p, j, low + g / density, num, den, w, n)


@inner
def _level(e, grid, low, density):
    """The cost of e, along lines through the points of the grid."""
    at = (e - low) * density
    g = max(0, min(np.int64(at), grid.shape[0] - 2))
    return grid[g] + (at - g) * (grid[g + 1] - grid[g])


@inner
def _descend(
    order, labels, limit, parts, mass, alpha, cell, grid, low, density, clusters, sizes, held,
    keys, scores, counts, computed,
):  # fmt: skip
    """Move each block to its best cluster, or a new one, until none gains; return the cost."""
    table = (parts, alpha, cell, keys, scores, counts, computed)
    clusters[:], sizes[:], held[:] = 0, 0, 0.0
    for a in range(mass.shape[0]):
        clusters[labels[a]] |= 1 << a
        sizes[labels[a]] += mass[a]
    e, total, active = 0.0, 0.0, 0
    for k in range(clusters.shape[0]):
        held[k] = _score(clusters[k], *table)
        e, total = e + cell[sizes[k]], total + held[k]
        active += clusters[k] != 0
    value, quiet, at = _level(e, grid, low, density) - total, 0, 0
    while quiet < order.shape[0]:
        a = order[at % order.shape[0]]
        at, quiet = at + 1, quiet + 1
        k, w, bit = labels[a], mass[a], 1 << a
        rest = _score(clusters[k] ^ bit, *table)
        is_alone = clusters[k] == bit
        has_fresh = is_alone or active >= limit
        best, least, best_score = -1, value - 1e-12 * max(1.0, abs(value)), 0.0
        for x in range(clusters.shape[0]):
            if x == k or (clusters[x] == 0 and has_fresh):
                continue
            has_fresh |= clusters[x] == 0
            there = _score(clusters[x] | bit, *table)
            e_there = e - cell[sizes[k]] + cell[sizes[k] - w] - cell[sizes[x]] + cell[sizes[x] + w]
            found = _level(e_there, grid, low, density) - (total - held[k] - held[x] + rest + there)
            if found < least:
                best, least, best_score = x, found, there
        if best < 0:
            continue
        active += (clusters[best] == 0) - is_alone
        e += cell[sizes[k] - w] - cell[sizes[k]] + cell[sizes[best] + w] - cell[sizes[best]]
        total += rest + best_score - held[k] - held[best]
        clusters[k] ^= bit
        clusters[best] |= bit
        sizes[k] -= w
        sizes[best] += w
        held[k], held[best], labels[a], value, quiet = rest, best_score, best, least, 0
    return value


@jit
def restarts(
    starts, orders, kept, labels, limit, most, parts, mass, alpha, cell, grid, low, density,
    ends, values,
):  # fmt: skip
    """Descend from each start, the blocks of ``kept`` where the best so far has them.

    ``labels`` are the best at first. Begins no more once ``most`` scores were computed. Fills
    ``ends`` and ``values``, and returns how many it did.
    """
    keys, scores = np.zeros(_SLOTS, dtype=np.int64), np.empty(_SLOTS)
    counts = np.empty(parts.shape[1], dtype=parts.dtype)
    width = mass.shape[0]
    clusters, sizes = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    held, least, computed = np.zeros(width), np.inf, np.zeros(1, dtype=np.int64)
    most = min(most, _SLOTS // 2)
    for q in range(starts.shape[0]):
        for a in range(mass.shape[0]):
            ends[q, a] = labels[a] if kept[q, a] else starts[q, a]
        values[q] = _descend(
            orders[q], ends[q], limit, parts, mass, alpha, cell, grid, low, density, clusters,
            sizes, held, keys, scores, counts, computed,
        )  # fmt: skip
        if values[q] < least:
            least, labels[:] = values[q], ends[q]
        if computed[0] >= most:
            return q + 1
    return starts.shape[0]
