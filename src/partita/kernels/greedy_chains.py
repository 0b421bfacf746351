"""Moving items into a cluster where only several of them together pay; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import _gain, _shift, expected
from partita.kernels.greedy_memo import is_own_old, place, renew_own
from partita.kernels.greedy_pairs import _score

_TARGETS = 24  # clusters that items are moved into, at most


@inner
def _nearest(target, scores, labels, chosen):
    """Fill ``chosen`` with the items that lose least in column ``target``; return their number."""
    found = 0
    for i in range(labels.shape[0]):
        score = scores[i, target]
        if labels[i] == target or score == -np.inf:
            continue
        if found == chosen.shape[0] and score <= scores[chosen[found - 1], target]:
            continue
        at = min(found, chosen.shape[0] - 1)
        while at > 0 and scores[chosen[at - 1], target] < score:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = i
        found = min(found + 1, chosen.shape[0])
    return found


@inner
def _near_gain(row, k, table, alpha32):
    """What an item of weight 1 would add to cell in column k, weighted, to single precision."""
    column = np.uint64(k)
    a, b = 0.0, 0.0
    whole = row.shape[0] // 2 * 2
    for m in range(0, whole, 2):
        a += alpha32[m] * table[row[m], column]
        b += alpha32[m + 1] * table[row[m + 1], column]
    if whole < row.shape[0]:
        a += alpha32[whole] * table[row[whole], column]
    return a + b


@inner
def _next(
    chosen, done, found, target, rows, weight, cell, step, counts, table, labels, sizes, marks,
    alpha32, alpha, slope, near, stamps,
):  # fmt: skip
    """Where in ``chosen``, from ``done`` on, the item stands that loses least in ``target`` now."""
    best, most = done, -np.inf
    for a in range(done, found):
        i = chosen[a]
        w, s = weight[i], sizes[labels[i]]
        de = cell[sizes[target] + w] - cell[sizes[target]] - cell[s] + cell[s - w]
        x, k = place(i, stamps), labels[i]
        if is_own_old(x, k, marks, stamps):
            renew_own(x, i, rows, k, w, cell, step, counts, alpha32, marks, near, stamps)
        gain = -slope * de - near[x]
        if w == 1:
            gain += _near_gain(rows[i], target, table, alpha32)
        else:
            gain += _gain(rows[i], target, w, cell, counts, alpha)
        if gain > most:
            best, most = a, gain
    return best


@jit
def chains(
    n_nearest, depth, hopeless, rows, weight, cell, step, counts, table, labels, sizes, j, totals,
    marks, alpha32, alpha, slope, fresh, memo, t, p, num, den, w_total, n_total, value, scores,
):  # fmt: skip
    """Move items into a cluster one after another, each time the one that loses least by it.

    This is tried with the clusters, and with ``fresh`` if that is not -1, that an item loses least
    by going to. Only the ``n_nearest`` items move, ``depth`` of them at most, as long as the loss
    is below ``hopeless``. The best partition on the way is kept if it is better than ``value``;
    that ends it. Returns the loss.
    """
    _score(
        rows, weight, cell, step, counts, table, labels, sizes, marks, alpha32, slope, fresh, memo,
        scores,
    )  # fmt: skip
    width, near, stamps = sizes.shape[0], memo[1], memo[2]
    tops, chosen = np.full(width, np.inf), np.empty(n_nearest, dtype=np.int64)
    for k in range(width):
        for i in range(labels.shape[0]):
            tops[k] = min(tops[k], -scores[i, k])
    homes, kept = np.empty(depth, dtype=np.int64), j.copy()
    e, bar = totals[0], value - 1e-11 * max(1.0, abs(value))
    for target in np.argsort(tops, kind="mergesort")[:_TARGETS]:
        if tops[target] == np.inf:
            break
        found = _nearest(target, scores, labels, chosen)
        best, least, moved = 0, bar, np.int64(0)
        while moved < min(found, depth):
            if moved > 0:
                a = _next(
                    chosen, moved, found, target, rows, weight, cell, step, counts, table, labels,
                    sizes, marks, alpha32, alpha, slope, near, stamps,
                )  # fmt: skip
                chosen[moved], chosen[a] = chosen[a], chosen[moved]
            i = chosen[moved]
            homes[moved] = labels[i]
            _shift(
                rows[i], labels[i], target, weight[i], cell, step, counts, table, sizes, j,
                totals, marks,
            )  # fmt: skip
            labels[i] = target
            moved += 1
            now = expected(t, p, j, totals[0], num, den, w_total, n_total)
            if now < least:
                best, least = moved, now
            if now > hopeless:
                break
        for a in range(moved - 1, best - 1, -1):
            i = chosen[a]
            _shift(
                rows[i], target, homes[a], weight[i], cell, step, counts, table, sizes, j,
                totals, marks,
            )  # fmt: skip
            labels[i] = homes[a]
        if best > 0:
            return least
        j[:], totals[0] = kept, e
    return value
