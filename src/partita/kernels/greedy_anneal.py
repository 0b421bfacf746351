"""Moving items between clusters at random, likelier where the loss is low; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import _free, _gains, _own, _shift, slopes
from partita.kernels.mixture_random import shuffle, uniform


@inner
def _pick(scores, sizes, fresh, heat, random):
    """A column, each with a chance of exp(score / heat); ``scores`` are overwritten.

    -1 if no score is a number.
    """
    most = -np.inf
    for k in range(sizes.shape[0]):
        if sizes[k] > 0 or k == fresh:
            most = max(most, scores[k])
    total, last = 0.0, -1
    for k in range(sizes.shape[0]):
        if sizes[k] > 0 or k == fresh:
            x = (scores[k] - most) / heat
            scores[k] = np.exp(x) if x > -30.0 else 0.0
            total += scores[k]
            last = k if scores[k] > 0.0 else last
    left = uniform(random) * total
    for k in range(last):
        if sizes[k] > 0 or k == fresh:
            left -= scores[k]
            if left < 0.0:
                return k
    return last


@jit
def anneal(
    items, begin, end, rows, weight, cell, step, counts, table, labels, sizes, j, totals,
    alpha32, alpha, slope, limit, block, gains, own, is_curved, t, p, num, den, w_total, n_total,
    heats, widths, random,
):  # fmt: skip
    """Reassign items one at a time at random, sweep after sweep: a Gibbs sampler at ``heats[s]``.

    The cost is linear in j and quadratic in e, with a slope and a rise of it. If the loss
    ``is_curved`` it is so only about the present state, min(t, e) rounded off within ``widths[s]``,
    and is taken anew after every move. Visits ``begin`` to ``end`` are made, each sweep in an order
    of its own. Returns how far it came; it stops short when no free column is left.
    """
    n, at, rise = items.shape[0], -1, 0.0
    for v in range(begin, end):
        if v % n == 0:
            shuffle(random, items, n)
        if v // n != at:
            at = v // n
            if is_curved:
                slope, rise = slopes(
                    t, p, j, totals[0], widths[at], num, den, w_total, n_total, alpha32, alpha
                )
        i = items[v % n]
        w, old = weight[i], labels[i]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return v
        if sizes[old] == w:
            fresh = -1
        _gains(rows[i], w, cell, counts, table, alpha32, block, gains)
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        for k in range(sizes.shape[0]):
            de = cell[min(sizes[k] + w, cell.shape[0] - 1)] - cell[sizes[k]] - freed
            gains[k] -= (slope + 0.5 * rise * de) * de
        gains[old] = _own(rows[i], old, w, cell, counts, alpha, own)
        best = _pick(gains, sizes, fresh, heats[at], random)
        if best < 0 or best == old:
            continue
        _shift(rows[i], old, best, w, cell, step, counts, table, sizes, j, totals)
        labels[i] = best
        if is_curved:
            slope, rise = slopes(
                t, p, j, totals[0], widths[at], num, den, w_total, n_total, alpha32, alpha
            )
    return end
