"""Moving items where a loss bends in e, its bends rounded off; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import jit
from partita.kernels.greedy_counts import fresh_column, shift
from partita.kernels.greedy_draws import slopes
from partita.kernels.greedy_near import best_column, own_gain

_BLIND = 8  # items that are put in before their loss says anything


@jit
def soften(
    items, begin, end, given, held, near, slant, slope, limit, is_curved, shape, widths
):  # fmt: skip
    """Reassign items one at a time, sweep after sweep, each to the best cluster.

    The cost is linear in j and quadratic in e, with a slope and a rise of it. If the loss
    ``is_curved`` it is so only about the present state, min(t, e) rounded off within ``widths[s]``,
    and is taken anew after every move. Visits ``begin`` to ``end`` are made, going round the
    items. Returns how far it came; it stops short when no free column is left.
    """
    items, given, held, near, slant, shape, widths = bare(
        (items, given, held, near, slant, shape, widths)
    )
    weight, cell = given[1], given[3]
    labels, sizes, j, totals, book, marks = held[1], held[2], held[3], held[4], held[5], held[6]
    alpha, reach = slant
    n, at, rise = items.shape[0], -1, 0.0
    for v in range(begin, end):
        if v // n != at:
            at = v // n
            if is_curved:
                slope, rise = slopes(j, totals[0], widths[at], shape, slant, marks)
        i = items[v % n]
        w, old = weight[i], labels[i]
        fresh = fresh_column(book, sizes, limit)
        if fresh == -2:
            return v
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        best, _ = best_column(
            i, old, -1 if sizes[old] == w else fresh, slope, 0.5 * rise, freed, old,
            own_gain(i, given, held, near, alpha), given, held, near, alpha, reach,
        )  # fmt: skip
        if best == old:
            continue
        shift(i, best, given, held)
        if is_curved:
            slope, rise = slopes(j, totals[0], widths[at], shape, slant, marks)
    return end


@jit
def sequence(
    items, begin, given, held, near, slant, slope, limit, p, num, den, t, seen
):  # fmt: skip
    """Put items that are in no cluster into the best, one after another, from nothing.

    The loss is that of the items put in so far: ``t`` (one a draw) and ``seen`` (one a draw
    cluster, the items of it put in) begin at zero. Returns how far it came; it stops short when no
    free column is left.
    """
    items, given, held, near, slant, p, num, den, t, seen = bare(
        (items, given, held, near, slant, p, num, den, t, seen)
    )
    rows, weight, _, cell, _, _ = given
    sizes, j, totals, book, marks = held[2], held[3], held[4], held[5], held[6]
    alpha, reach = slant
    rise, done = 0.0, sizes.sum()
    for a in range(begin, items.shape[0]):
        i = items[a]
        w = weight[i]
        fresh = fresh_column(book, sizes, limit)
        if fresh == -2:
            return a
        for m in range(rows.shape[1]):
            before = seen[rows[i, m]]
            seen[rows[i, m]] = before + w
            t[m] += cell[before + w] - cell[before]
        done += w
        if a >= _BLIND:
            widest = cell[w]
            for k in range(sizes.shape[0]):
                if sizes[k] > 0:
                    widest = max(widest, cell[sizes[k] + w] - cell[sizes[k]])
            shape = t, p, num, den, cell[done], np.float64(done)
            slope, rise = slopes(j, totals[0], widest, shape, slant, marks)
        best, _ = best_column(
            i, -1, fresh, slope, 0.5 * rise, 0.0, np.int64(-1), -np.inf, given, held, near, alpha,
            reach,
        )  # fmt: skip
        shift(i, best, given, held)
    return items.shape[0]
