"""Merging clusters of an estimate, scored against every draw; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import expected
from partita.kernels.greedy_memo import touch


@jit
def merge_gains(counts, offsets, begin, end, alpha, cell, gains):
    """Add to ``gains[a, b]``, a > b, what Σ alpha j over some draws gains if a and b were one."""
    width = counts.shape[1]
    some = np.empty(width + 1, dtype=np.int64)
    for m in range(begin, end):
        for r in range(offsets[m], offsets[m + 1]):
            found = 0
            for k in range(width):  # no branch: it would be guessed wrong half the time
                some[found] = k
                found += counts[r, k] > 0
            for a in range(1, found):
                x = np.uint64(counts[r, some[a]])
                for b in range(a):
                    y = np.uint64(counts[r, some[b]])
                    change = cell[x + y] - cell[x] - cell[y]
                    gains[some[a], some[b]] += alpha[m] * change


@jit
def best_mergers(gains, slope, sizes, cell, pairs, costs):
    """Fill ``pairs`` with those of clusters that lose least by merging, and ``costs``.

    ``gains`` is what :func:`merge_gains` gives. Returns how many were found.
    """
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
        total = j[m]
        for r in range(offsets[m], offsets[m + 1]):
            x, y = np.uint64(counts[r, first]), np.uint64(counts[r, second])
            if x > 0 and y > 0:
                total += cell[x + y] - cell[x] - cell[y]
        trial[m] = total


@jit
def merged(counts, offsets, pairs, sizes, cell, t, p, j, e, num, den, w, n, trial, values):
    """``values[q]`` becomes the loss if the clusters of ``pairs[q]`` were one."""
    for q in range(pairs.shape[0]):
        a, b = pairs[q, 0], pairs[q, 1]
        _merged(a, b, counts, offsets, cell, j, trial)
        risen = e + cell[sizes[a] + sizes[b]] - cell[sizes[a]] - cell[sizes[b]]
        values[q] = expected(t, p, trial, risen, num, den, w, n)


@jit
def merge(
    pairs, value, offsets, counts, table, cell, step, labels, sizes, j, totals, marks, t, p,
    num, den, w_total, n_total, trial,
):  # fmt: skip
    """Merge the clusters of each pair, or what they have become, if that lowers the loss.

    Returns the loss.
    """
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
        value, totals[0] = found, e
        j[:] = trial
        for k in range(became.shape[0]):
            if became[k] == a:
                became[k] = b
        sizes[b] += sizes[a]
        sizes[a] = 0
        touch(a, marks)
        touch(b, marks)
        for r in range(counts.shape[0]):
            counts[r, b] += counts[r, a]
            counts[r, a] = 0
            table[r, b], table[r, a] = step[counts[r, b]], step[0]
        for i in range(labels.shape[0]):
            if labels[i] == a:
                labels[i] = b
    return value
