"""Moving items where a loss bends in e, its bends rounded off; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit
from partita.kernels.greedy_draws import _free, _shift, slopes
from partita.kernels.greedy_memo import is_old, is_own_old, look, place, renew, renew_own

_BLIND = 8  # items that are put in before their loss says anything


@jit
def soften(
    items, begin, end, rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks,
    alpha32, alpha, slope, limit, memo, is_curved, t, p, num, den, w_total, n_total,
    widths,
):  # fmt: skip
    """Reassign items one at a time, sweep after sweep, each to the best cluster.

    The cost is linear in j and quadratic in e, with a slope and a rise of it. If the loss
    ``is_curved`` it is so only about the present state, min(t, e) rounded off within ``widths[s]``,
    and is taken anew after every move. Visits ``begin`` to ``end`` are made, going round the
    items. Returns how far it came; it stops short when no free column is left.
    """
    known, near, stamps, last, block = memo
    n, at, rise = items.shape[0], -1, 0.0
    for v in range(begin, end):
        if v // n != at:
            at = v // n
            if is_curved:
                slope, rise = slopes(
                    t, p, j, totals[0], widths[at], num, den, w_total, n_total, alpha32, alpha
                )
            look(alpha32, marks, last)
        i = items[v % n]
        w, old = weight[i], labels[i]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return v
        if sizes[old] == w:
            fresh = -1
        x = place(i, stamps)
        if is_old(x, marks, stamps):
            renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block)
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        if is_own_old(x, old, marks, stamps):
            renew_own(x, i, rows, old, w, cell, step, counts, alpha32, marks, near, stamps)
        most = near[x]
        best, most = old, most + 1e-6 * abs(most)  # all this is to single precision
        for k in range(sizes.shape[0]):
            if k != old and (sizes[k] > 0 or k == fresh):
                de = cell[sizes[k] + w] - cell[sizes[k]] - freed
                score = known[x, k] - (slope + 0.5 * rise * de) * de
                if score > most:
                    best, most = k, score
        if best == old:
            continue
        _shift(rows[i], old, best, w, cell, step, counts, table, sizes, j, totals, marks)
        labels[i] = best
        if is_curved:
            slope, rise = slopes(
                t, p, j, totals[0], widths[at], num, den, w_total, n_total, alpha32, alpha
            )
            look(alpha32, marks, last)
    return end


@jit
def sequence(
    items, begin, rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks, alpha32,
    alpha, slope, limit, memo, p, num, den, t, seen,
):  # fmt: skip
    """Put items that are in no cluster into the best, one after another, from nothing.

    The loss is that of the items put in so far: ``t`` (one a draw) and ``seen`` (one a draw
    cluster, the items of it put in) begin at zero. Returns how far it came; it stops short when no
    free column is left.
    """
    known, _, stamps, last, block = memo
    rise, done = 0.0, sizes.sum()
    for a in range(begin, items.shape[0]):
        i = items[a]
        row, w = rows[i], weight[i]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return a
        for m in range(row.shape[0]):
            before = seen[row[m]]
            seen[row[m]] = before + w
            t[m] += cell[before + w] - cell[before]
        done += w
        widest = 0.0
        for k in range(sizes.shape[0]):
            if sizes[k] > 0 or k == fresh:
                widest = max(widest, cell[sizes[k] + w] - cell[sizes[k]])
        if a >= _BLIND:
            slope, rise = slopes(
                t, p, j, totals[0], widest, num, den, cell[done], done, alpha32, alpha
            )
        look(alpha32, marks, last)
        x = place(i, stamps)
        if is_old(x, marks, stamps):
            renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block)
        best, most = -1, -np.inf
        for k in range(sizes.shape[0]):
            if sizes[k] > 0 or k == fresh:
                de = cell[sizes[k] + w] - cell[sizes[k]]
                score = known[x, k] - (slope + 0.5 * rise * de) * de
                if score > most:
                    best, most = k, score
        _shift(row, labels[i], best, w, cell, step, counts, table, sizes, j, totals, marks)
        labels[i] = best
    return items.shape[0]
