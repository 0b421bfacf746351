"""Moving two items at once where one alone would not pay; see ``greedy_draws``.

A loss that is convex in e, as ID and NID are, holds a partition at its e: an item that would gain
in j pays for the e that it changes, though another, moved too, would bring e back. With a slope of
the loss in e here, a pair can only gain if one of the two gains on the linearised loss; these are
few, and for each the best partner is found on the scores of all single moves.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import _free, _shift, expected, slopes
from partita.kernels.greedy_memo import is_old, is_own_old, look, place, renew, renew_own

POINTS = 12  # of the grid for what e costs, on either side
_FIRSTS = 64  # single moves that gain on the linearised loss, at most


@inner
def _score(
    rows, weight, cell, step, counts, table, labels, sizes, marks, alpha32, slope, fresh, memo,
    scores,
):  # fmt: skip
    """Fill ``scores[i, k]`` with what item i would gain in column k; return most, and most of e."""
    known, near, stamps, last, block = memo
    look(alpha32, marks, last)
    most, widest = -np.inf, 0.0
    for i in range(labels.shape[0]):
        w, old = weight[i], labels[i]
        x = place(i, stamps)
        if is_old(x, marks, stamps):
            renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block)
        if is_own_old(x, old, marks, stamps):
            renew_own(x, i, rows, old, w, cell, step, counts, alpha32, marks, near, stamps)
        lost = near[x]
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        is_alone = sizes[old] == w
        for k in range(sizes.shape[0]):
            scores[i, k] = -np.inf
            if k != old and (sizes[k] > 0 or (k == fresh and not is_alone)):
                de = cell[sizes[k] + w] - cell[sizes[k]] - freed
                scores[i, k] = known[x, k] - lost - slope * de
                most = max(most, scores[i, k])
                widest = max(widest, abs(de))
    return most, widest


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
    tries, n_rounds, rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks,
    alpha32, alpha, limit, memo, is_linear, t, p, num, den, w_total, n_total, value, scores,
    cost,
):  # fmt: skip
    """Move pairs of items that together gain, again and again, ``tries`` of them at a time.

    Each pair is kept only if the loss is lower, exactly. Returns the loss afterwards, and whether
    there were rounds enough to find no more. Where the loss ``is_linear`` in j, alpha stays.
    """
    width = scores.shape[1]
    flat = scores.ravel()
    new32, new = (alpha32.copy(), alpha.copy()) if is_linear else (alpha32, alpha)
    for _ in range(n_rounds):
        before = value
        fresh = _free(sizes, limit)
        slope = slopes(t, p, j, totals[0], 0.0, num, den, w_total, n_total, new32, new)[0]
        most, widest = _score(
            rows, weight, cell, step, counts, table, labels, sizes, marks, alpha32, slope, fresh,
            memo, scores,
        )  # fmt: skip
        least = 1e-12 * max(1.0, value)
        if most <= least:
            return value, True
        seconds = np.flatnonzero(flat > -most)
        seconds = seconds[np.argsort(-flat[seconds], kind="mergesort")]
        n_firsts = 0
        while n_firsts < min(_FIRSTS, seconds.size) and flat[seconds[n_firsts]] > least:
            n_firsts += 1
        firsts = seconds[:n_firsts]
        reach = 2 * widest
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
            _shift(rows[i], old, k, weight[i], cell, step, counts, table, sizes, j, totals, marks)
            _shift(
                rows[i2], old2, k2, weight[i2], cell, step, counts, table, sizes, j, totals, marks
            )
            found = expected(t, p, j, totals[0], num, den, w_total, n_total)
            if found < value - least:
                value, labels[i], labels[i2] = found, k, k2
                continue
            _shift(
                rows[i2], k2, old2, weight[i2], cell, step, counts, table, sizes, j, totals, marks
            )
            _shift(rows[i], k, old, weight[i], cell, step, counts, table, sizes, j, totals, marks)
        if value == before or _free(sizes, sizes.shape[0] + 1) == -2:
            return value, value == before
    return value, False
