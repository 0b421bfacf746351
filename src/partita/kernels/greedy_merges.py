"""Merging clusters of an estimate, scored against every draw; see ``greedy_draws``.

What all pairs of clusters gain is summed over some of the draws; all draws are looked at for the
pairs that come near to paying.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import ACTIVE, HIGH, pour
from partita.kernels.greedy_draws import expected

_SAMPLED = 64  # draws at least that say which pairs to look at, if there are twice as many
_DOUBT = 0.2  # share of what a merger adds by which these may be wrong: three errors or more


@jit
def n_mergers(held):
    """How many pairs of clusters to look at: some more of many clusters, as ranking takes long."""
    return max(16, held[5][ACTIVE] // 8)


@jit
def merge_gains(counts, sizes, offsets, stride, alpha, cell, gains):
    """``gains[a, b]``, a > b, become what Σ alpha j gains if a and b were one.

    By every so many of the draws, as if they were all.
    """
    counts, sizes, offsets, alpha, cell, gains = bare((counts, sizes, offsets, alpha, cell, gains))
    active = np.flatnonzero(sizes)
    most, seen, total = np.int64(0), 0.0, 0.0
    for m in range(alpha.shape[0]):
        most = max(most, np.int64(offsets[m + 1] - offsets[m]))
        total += alpha[m]
        seen += alpha[m] if m % stride == 0 else 0.0
    found = np.zeros(most, dtype=np.int64)
    some = np.empty((most, active.shape[0] + 1), dtype=np.int64)
    shared = np.empty((most, active.shape[0] + 1), dtype=np.int64)
    gains[:] = 0.0
    for m in range(0, alpha.shape[0], stride):
        first, n_rows = offsets[m], offsets[m + 1] - offsets[m]
        found[:n_rows] = 0
        for a in active:
            for r in range(n_rows):  # no branch: it would be guessed wrong half the time
                count = np.int64(counts[a, first + r])
                some[r, found[r]], shared[r, found[r]] = a, count
                found[r] += count > 0
        by = alpha[m] * (total / seen if seen > 0.0 else 0.0)
        for r in range(n_rows):
            for a in range(1, found[r]):
                x = np.uint64(shared[r, a])
                for b in range(a):
                    y = np.uint64(shared[r, b])
                    change = cell[x + y] - cell[x] - cell[y]
                    gains[some[r, a], some[r, b]] += by * change


@jit
def best_mergers(gains, slope, sizes, cell, pairs, costs):
    """Fill ``pairs`` with those of clusters that lose least by merging, and ``costs``.

    ``gains`` is what :func:`merge_gains` gives. Returns how many were found.
    """
    gains, sizes, cell, pairs, costs = bare((gains, sizes, cell, pairs, costs))
    found, n_best = 0, pairs.shape[0]
    for a in range(sizes.shape[0]):
        if sizes[a] == 0:
            continue
        for b in range(a):
            if sizes[b] == 0:
                continue
            rise = cell[sizes[a] + sizes[b]] - cell[sizes[a]] - cell[sizes[b]]
            cost = slope * rise - gains[a, b]
            if found == n_best and cost >= costs[found - 1]:
                continue
            at = min(found, n_best - 1)
            while at > 0 and costs[at - 1] > cost:
                costs[at], pairs[at, 0], pairs[at, 1] = (
                    costs[at - 1],
                    pairs[at - 1, 0],
                    pairs[at - 1, 1],
                )
                at -= 1
            costs[at], pairs[at, 0], pairs[at, 1] = cost, a, b
            found = min(found + 1, n_best)
    return found


@inner
def _merged(a, b, counts, offsets, cell, j, trial):
    """``trial`` becomes j with clusters a and b as one."""
    first, second = np.uint64(a), np.uint64(b)
    for m in range(j.shape[0]):
        total = 0.0
        for r in range(offsets[m], offsets[m + 1]):
            x, y = np.uint64(counts[first, r]), np.uint64(counts[second, r])
            total += cell[x + y] - cell[x] - cell[y]
        trial[m] = j[m] + total


@jit
def mergers(slope, offsets, given, held, alpha, shape, trial, pairs, values):
    """Fill ``pairs`` with clusters that lose least by merging, and ``values`` with the loss then.

    Those that by some of the draws lose too much are left out. Returns how many were found.
    """
    offsets, given, held, alpha, shape, trial, pairs, values = bare(
        (offsets, given, held, alpha, shape, trial, pairs, values)
    )
    cell, counts, sizes, j, totals = given[3], held[0], held[2][: held[5][HIGH]], held[3], held[4]
    t, p, num, den, w_total, n_total = shape
    width, stride = sizes.shape[0], max(1, j.shape[0] // _SAMPLED)
    gains = np.empty((width, width))
    merge_gains(counts, sizes, offsets, stride, alpha, cell, gains)
    found, weight = 0, alpha.sum()
    for q in range(best_mergers(gains, slope, sizes, cell, pairs, values)):
        a, b = pairs[q, 0], pairs[q, 1]
        rise = cell[sizes[a] + sizes[b]] - cell[sizes[a]] - cell[sizes[b]]
        if values[q] > _DOUBT * weight * rise:
            continue
        _merged(a, b, counts, offsets, cell, j, trial)
        pairs[found, 0], pairs[found, 1] = a, b
        values[found] = expected(t, p, trial, totals[0] + rise, num, den, w_total, n_total)
        found += 1
    return found


@jit
def merge(pairs, value, offsets, given, held, shape, trial):
    """Merge the clusters of each pair, or what they have become, if that lowers the loss.

    Returns the loss.
    """
    pairs, offsets, given, held, shape, trial = bare((pairs, offsets, given, held, shape, trial))
    cell, counts, sizes, j, totals = given[3], held[0], held[2], held[3], held[4]
    t, p, num, den, w_total, n_total = shape
    became = np.arange(sizes.shape[0])
    for q in range(pairs.shape[0]):
        a, b = became[pairs[q, 0]], became[pairs[q, 1]]
        if a == b:
            continue
        _merged(a, b, counts, offsets, cell, j, trial)
        e = totals[0] + cell[sizes[a] + sizes[b]] - cell[sizes[a]] - cell[sizes[b]]
        found = expected(t, p, trial, e, num, den, w_total, n_total)
        if found >= value - 1e-11 * max(1.0, abs(value)):
            continue
        pour(a, b, given, held)
        value, totals[0] = found, e
        j[:] = trial
        for k in range(became.shape[0]):
            if became[k] == a:
                became[k] = b
    return value
