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
_TARGETS = 3  # clusters that a block is tried in together with another
_SPREAD = -7046029254386353131  # odd, and its bits are mixed


@inner
def _slot(cluster, keys):
    """Where in the table a cluster is, or would be put."""
    at = ((cluster * _SPREAD) >> 40) & (_SLOTS - 1)
    while keys[at] != 0 and keys[at] != cluster:
        at = (at + 1) & (_SLOTS - 1)
    return at


@inner
def _known(cluster, keys, scores):
    """The score of a cluster if it is in the table, else NaN; of none 0.

    It is asked for before ``_score``, which takes so many arrays that a call costs more than this.
    """
    if cluster == 0:
        return 0.0
    at = _slot(cluster, keys)
    return scores[at] if keys[at] == cluster else np.nan


@inner
def _score(cluster, parts, alpha, cell, keys, scores, counts, computed):
    """Σ_r alpha_r cell[items of the cluster in r], of one that is not in the table, and put it in.

    ``computed`` counts them.
    """
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
        at = _slot(cluster, keys)
        keys[at], scores[at] = cluster, x + y
    return x + y


@jit
def count(rows, blocks, parts):
    """Count the items of every block in every draw cluster."""
    for i in range(rows.shape[0]):
        for m in range(rows.shape[1]):
            parts[blocks[i], rows[i, m]] += 1


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
def _descend(order, labels, limit, mass, clusters, sizes, held, level, table):
    """Move each block to its best cluster, or a new one, until none gains; return the cost.

    ``level`` and ``table`` are what :func:`_level` and :func:`_score` take further.
    """
    cell, keys, scores = table[2], table[3], table[4]
    clusters[:], sizes[:], held[:] = 0, 0, 0.0
    for a in range(mass.shape[0]):
        clusters[labels[a]] |= 1 << a
        sizes[labels[a]] += mass[a]
    e, total, active = 0.0, 0.0, 0
    for k in range(clusters.shape[0]):
        held[k] = _known(clusters[k], keys, scores)
        if np.isnan(held[k]):
            held[k] = _score(clusters[k], *table)
        e, total = e + cell[sizes[k]], total + held[k]
        active += clusters[k] != 0
    value, quiet, at = _level(e, *level) - total, 0, 0
    while quiet < order.shape[0]:
        a = order[at % order.shape[0]]
        at, quiet = at + 1, quiet + 1
        k, w, bit = labels[a], mass[a], 1 << a
        rest = _known(clusters[k] ^ bit, keys, scores)
        if np.isnan(rest):
            rest = _score(clusters[k] ^ bit, *table)
        is_alone = clusters[k] == bit
        has_fresh = is_alone or active >= limit
        best, least, best_score = -1, value - 1e-12 * max(1.0, abs(value)), 0.0
        for x in range(clusters.shape[0]):
            if x == k or (clusters[x] == 0 and has_fresh):
                continue
            has_fresh |= clusters[x] == 0
            there = _known(clusters[x] | bit, keys, scores)
            if np.isnan(there):
                there = _score(clusters[x] | bit, *table)
            e_there = e - cell[sizes[k]] + cell[sizes[k] - w] - cell[sizes[x]] + cell[sizes[x] + w]
            found = _level(e_there, *level) - (total - held[k] - held[x] + rest + there)
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


@inner
def _best_moves(labels, limit, slope, moves, changes, mass, clusters, sizes, held, table):
    """The few best clusters for each block, what the scores gain by the move, and what e does.

    The best by the cost whose slope in e is as given. Returns how many moves these are.
    """
    cell, keys, scores = table[2], table[3], table[4]
    active, found = np.count_nonzero(clusters), 0
    for a in range(mass.shape[0]):
        k, w, bit, first = labels[a], mass[a], 1 << a, found
        rest = _known(clusters[k] ^ bit, keys, scores)
        if np.isnan(rest):
            rest = _score(clusters[k] ^ bit, *table)
        rest -= held[k]
        has_fresh = clusters[k] == bit or active >= limit
        for x in range(clusters.shape[0]):
            if x == k or (clusters[x] == 0 and has_fresh):
                continue
            has_fresh |= clusters[x] == 0
            there = _known(clusters[x] | bit, keys, scores)
            if np.isnan(there):
                there = _score(clusters[x] | bit, *table)
            score = rest + there - held[x]
            rise = cell[sizes[k] - w] - cell[sizes[k]] + cell[sizes[x] + w] - cell[sizes[x]]
            at = found
            while at > first and changes[at - 1, 0] - slope * changes[at - 1, 1] < (
                score - slope * rise
            ):
                if at < first + _TARGETS:
                    moves[at], changes[at] = moves[at - 1], changes[at - 1]
                at -= 1
            if at < first + _TARGETS:
                moves[at, 0], moves[at, 1] = a, x
                changes[at, 0], changes[at, 1] = score, rise
                found = min(found + 1, first + _TARGETS)
    return found


@inner
def _two_at_once(
    value, moves, changes, trial, order, labels, limit, mass, clusters, sizes, held, level, table
):  # fmt: skip
    """Move two blocks at once, and let the others follow, as long as that gains; return the cost.

    A loss that bends in e holds a block back that would be better elsewhere, unless another moves
    with it. Pairs are ranked as if none of the two changed what the other gains.
    """
    cell, step = table[2], 0.5 / level[2]
    while True:
        e, total = 0.0, 0.0
        for k in range(sizes.shape[0]):
            e, total = e + cell[sizes[k]], total + held[k]
        slope = (_level(e + step, *level) - _level(e - step, *level)) / (2.0 * step)
        found = _best_moves(
            labels, limit, slope, moves, changes, mass, clusters, sizes, held, table
        )
        best, first, second = value - 1e-12 * max(1.0, abs(value)), -1, -1
        for p in range(found):
            for q in range(p):
                if moves[p, 0] != moves[q, 0]:
                    cost = _level(e + changes[p, 1] + changes[q, 1], *level)
                    cost -= total + changes[p, 0] + changes[q, 0]
                    if cost < best:
                        best, first, second = cost, p, q
        if first < 0:
            return value
        trial[:] = labels
        trial[moves[first, 0]], trial[moves[second, 0]] = moves[first, 1], moves[second, 1]
        cost = _descend(order, trial, limit, mass, clusters, sizes, held, level, table)
        if cost >= value - 1e-12 * max(1.0, abs(value)):
            return value
        labels[:], value = trial, cost


@jit
def restarts(
    starts, orders, kept, labels, limit, most, parts, mass, alpha, cell, grid, low, density,
    ends, values,
):  # fmt: skip
    """Descend from each start, the blocks of ``kept`` where the best so far has them.

    Then two blocks at a time.

    ``labels`` are the best at first. Begins no more once ``most`` scores were computed. Fills
    ``ends`` and ``values``, and returns how many it did.
    """
    keys, scores = np.zeros(_SLOTS, dtype=np.int64), np.empty(_SLOTS)
    counts = np.empty(parts.shape[1], dtype=parts.dtype)
    width = mass.shape[0]
    clusters, sizes = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    held, least, computed = np.zeros(width), np.inf, np.zeros(1, dtype=np.int64)
    most, trial = min(most, _SLOTS // 2), np.empty_like(labels)
    n_moves = _TARGETS * width
    moves, changes = np.empty((n_moves + 1, 2), np.int64), np.empty((n_moves + 1, 2))
    table, level = (parts, alpha, cell, keys, scores, counts, computed), (grid, low, density)
    rest = (limit, mass, clusters, sizes, held, level, table)
    for q in range(starts.shape[0]):
        for a in range(mass.shape[0]):
            ends[q, a] = labels[a] if kept[q, a] else starts[q, a]
        value = _descend(orders[q], ends[q], *rest)
        values[q] = _two_at_once(value, moves, changes, trial, orders[q], ends[q], *rest)
        if values[q] < least:
            least, labels[:] = values[q], ends[q]
        if computed[0] >= most:
            return q + 1
    return starts.shape[0]
