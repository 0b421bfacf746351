"""Changing a few clusters, and going back at once where that does not pay; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import _shift, allocate, expected, move, slopes, sweep

WORSE, BETTER, FULL = 0, 1, 2


@inner
def _outside(order, labels):
    """Those of the items that are in no cluster, in order."""
    out = np.empty_like(order)
    found = 0
    for a in range(order.shape[0]):
        if labels[order[a]] < 0:
            out[found] = order[a]
            found += 1
    return out[:found]


@jit
def attempt(
    items, targets, order, n_sweeps, before, bar, rows, weight, cell, step, counts, table, labels,
    sizes, j, totals, guide32, guide_slope, alpha32, alpha, slope, limit, block, gains, own, curve,
    bends, t, p, num, den, w_total, n_total, is_linear, doubt, trial, quiet,
):  # fmt: skip
    """Move items to their targets, allocate those with none, sweep over ``order``, look, go back.

    ``order`` holds the items that may move, those of ``items`` among them. The allocation takes
    the loss as linear, of slopes ``guide32`` and ``guide_slope``; ``slope`` is that of sweeps.
    Returns (what came of it, slope, value): BETTER if the loss is below ``bar`` now, WORSE if not
    and all is as it was, or the clusters are the same again, FULL if no free column was left and
    all is as it was. Sweeps end where another as good as the last would not do.
    """
    tables = (rows, weight, cell, step, counts, table, labels, sizes, j, totals)
    shape = (t, p, num, den, w_total, n_total)
    old, old_j, old_e = labels[order], j.copy(), totals[0]
    old_alpha, least = alpha.copy(), 1e-11 * max(1.0, abs(before))
    value, new_slope = before, slope
    move(items, targets, *tables)
    rest = _outside(order, labels)
    status = WORSE
    if allocate(rest, 0, *tables, guide32, guide_slope, limit, block, gains) < rest.shape[0]:
        status = FULL
    else:
        value = expected(t, p, j, totals[0], num, den, w_total, n_total)
        if abs(value - before) > least:
            if not is_linear:
                new_slope = slopes(
                    t, p, j, totals[0], 0.0, num, den, w_total, n_total, alpha32, alpha
                )[0]  # fmt: skip
            quiet[0], quiet[1] = 0, order.shape[0]
            for _ in range(n_sweeps):
                last_value = value
                done, new_slope, value = sweep(
                    order, 0, order.shape[0], *tables, alpha32, alpha, new_slope, limit, block,
                    gains, own, curve, bends, *shape, is_linear, value, doubt, trial, quiet,
                )  # fmt: skip
                if done < order.shape[0]:
                    status = FULL
                    break
                if is_linear:
                    value = expected(t, p, j, totals[0], num, den, w_total, n_total)
                if quiet[0] >= quiet[1] or value - bar > last_value - value:
                    break
        if status != FULL and abs(value - before) <= least:
            return WORSE, new_slope, value
        if status != FULL and value < bar:
            return BETTER, new_slope, value
    for a in range(order.shape[0]):
        i = order[a]
        if labels[i] != old[a]:
            _shift(
                rows[i], labels[i], old[a], weight[i], cell, step, counts, table, sizes, j, totals
            )
            labels[i] = old[a]
    j[:], totals[0], alpha[:], alpha32[:] = old_j, old_e, old_alpha, old_alpha
    return status, slope, before
