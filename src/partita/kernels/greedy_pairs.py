"""Moving two items at once where one alone would not pay; see ``greedy_draws``.

A loss that is convex in e, as ID and NID are, holds a partition at its e: an item that would gain
in j pays for the e that it changes, though another, moved too, would bring e back. With a slope of
the loss in e here, a pair can only gain if one of the two gains on the linearised loss; these are
few, and for each the best partner is found on the scores of all single moves.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import FREE, HIGH, fresh_column, shift
from partita.kernels.greedy_draws import expected, slopes
from partita.kernels.greedy_near import bounds, gain, own_gain

POINTS = 12  # of the grid for what e costs, on either side
_SPARE = 8  # columns for clusters that there are none of yet
_FIRSTS = 64  # single moves that gain on the linearised loss, at most


@inner
def _score(bar, most, slope, fresh, given, held, near, slant, scores):
    """Fill in the ``scores[i, k]``, what item i would gain in column k, that are above ``bar``.

    Those that are known, not -inf, stay. Returns the most of them, ``most`` if that is more.
    """
    weight, cell = given[1], given[3]
    counts, labels, sizes, book = held[0], held[1], held[2], held[5]
    alpha, reach = slant
    bound = near[3]
    for i in range(labels.shape[0]):
        w, old = weight[i], labels[i]
        lost = own_gain(i, given, held, near, alpha)
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        bounds(i, slope, 0.0, freed, reach, given, held, near)
        for k in range(book[HIGH]):
            if bound[k] > lost + bar and k != old and sizes[k] > 0 and scores[i, k] == -np.inf:
                rise = cell[sizes[k] + w] - cell[sizes[k]] - freed
                scores[i, k] = gain(i, k, given, counts, alpha) - lost - slope * rise
                most = max(most, scores[i, k])
        if fresh >= 0 and sizes[old] > w:
            scores[i, fresh] = reach[2] * cell[w] - lost - slope * (cell[w] - freed)
            most = max(most, scores[i, fresh])
    return most


@jit
def room(held):
    """Columns that scores are for: those in use, and some that may be."""
    book = held[5]
    return min(held[2].shape[0], max(book[HIGH], book[FREE] + 1) + _SPARE)


@inner
def _rise(i, k, weight, cell, labels, sizes):
    """What e gains where item i goes to column k."""
    w, s = weight[i], sizes[labels[i]]
    return cell[sizes[k] + w] - cell[sizes[k]] - cell[s] + cell[s - w]


@inner
def _cost(reach, slope, t, p, j, e, num, den, w_total, n_total, out):
    """What the loss rises above its slope if e changes, on a grid from -reach to reach."""
    value = expected(t, p, j, e, num, den, w_total, n_total)
    for g in range(out.shape[0]):
        d = reach * (g - POINTS) / POINTS
        found = expected(t, p, j, e + d, num, den, w_total, n_total) - value - slope * d
        out[g] = max(found, 0.0)


@inner
def _partners(firsts, seconds, scores, weight, cell, labels, sizes, cost, reach, pairs, values):
    """For each of ``firsts`` the partner in ``seconds``, best first, and what both would gain."""
    width = scores.shape[1]
    for a in range(firsts.shape[0]):
        i, k = firsts[a] // width, firsts[a] % width
        rise = _rise(i, k, weight, cell, labels, sizes)
        values[a] = -np.inf
        for b in range(seconds.shape[0]):
            i2, k2 = seconds[b] // width, seconds[b] % width
            both = scores[i, k] + scores[i2, k2]
            if both <= max(values[a], 0.0):
                break
            if i2 == i:
                continue
            at = (rise + _rise(i2, k2, weight, cell, labels, sizes)) / reach * POINTS + POINTS
            g = min(np.int64(at), 2 * POINTS - 1)
            both -= cost[g] + (at - g) * (cost[g + 1] - cost[g])
            if both > values[a]:
                values[a] = both
                pairs[a] = seconds[b]


@jit
def exchange(
    tries, n_rounds, given, held, near, slant, new, limit, is_linear, shape, value, scores, cost
):  # fmt: skip
    """Move pairs of items that together gain, again and again, ``tries`` of them at a time.

    Each pair is kept only if the loss is lower, exactly. Returns the loss afterwards, and whether
    there were rounds enough to find no more. Where the loss ``is_linear`` in j, alpha stays, and
    ``new`` is scratch; else that is the slant.
    """
    given, held, near, slant, new, shape, scores, cost = bare(
        (given, held, near, slant, new, shape, scores, cost)
    )
    weight, cell = given[1], given[3]
    labels, sizes, j, totals, book, marks = held[1], held[2], held[3], held[4], held[5], held[6]
    t, p, num, den, w_total, n_total = shape
    width, flat = scores.shape[1], scores.ravel()
    for _ in range(n_rounds):
        before, fresh = value, fresh_column(book, sizes, limit)
        fresh = fresh if fresh < width else -1
        slope = slopes(j, totals[0], 0.0, shape, new, marks if not is_linear else marks.copy())[0]
        least = 1e-12 * max(1.0, value)
        scores[:] = -np.inf
        most = _score(0.0, -np.inf, slope, fresh, given, held, near, slant, scores)
        if most <= least:
            return value, True
        _score(-most, most, slope, fresh, given, held, near, slant, scores)
        seconds = np.flatnonzero(flat > -most)
        seconds = seconds[np.argsort(-flat[seconds], kind="mergesort")]
        n_firsts = 0
        while n_firsts < min(_FIRSTS, seconds.size) and flat[seconds[n_firsts]] > least:
            n_firsts += 1
        firsts, reach = seconds[:n_firsts], 1e-300
        for one in seconds:
            reach = max(
                reach, 2.0 * abs(_rise(one // width, one % width, weight, cell, labels, sizes))
            )
        _cost(reach, slope, t, p, j, totals[0], num, den, w_total, n_total, cost)
        pairs, values = np.zeros(n_firsts, dtype=np.int64), np.empty(n_firsts)
        _partners(firsts, seconds, scores, weight, cell, labels, sizes, cost, reach, pairs, values)
        best = np.argsort(-values, kind="mergesort")
        for a in best[:tries]:
            if values[a] <= least:
                break
            i, k = firsts[a] // width, firsts[a] % width
            i2, k2 = pairs[a] // width, pairs[a] % width
            old, old2 = labels[i], labels[i2]
            if old == k or old2 == k2:
                continue
            shift(i, k, given, held)
            shift(i2, k2, given, held)
            found = expected(t, p, j, totals[0], num, den, w_total, n_total)
            if found < value - least:
                value = found
                continue
            shift(i2, old2, given, held)
            shift(i, old, given, held)
        if value == before or book[FREE] >= width:
            return value, value == before
    return value, False
