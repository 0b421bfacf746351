"""Changing a few clusters, and going back at once where that does not pay; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels import greedy_proposals as proposals
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import _shift, allocate, expected, move, slopes, sweep
from partita.kernels.greedy_memo import is_old, look, place, put_back, renew
from partita.kernels.greedy_proposals import ASKED, BETTER, ENDED, PAUSED
from partita.kernels.mixture_random import uniform

WORSE, FULL = 0, 2  # besides BETTER


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


@inner
def attempt(
    items, targets, order, n_sweeps, before, bar, rows, weight, cell, step, counts, table, labels,
    sizes, j, totals, marks, guide32, guide_slope, alpha32, alpha, slope, limit, memo, own, curve,
    bends, t, p, num, den, w_total, n_total, is_linear, doubt, trial, quiet,
):  # fmt: skip
    """Move items to their targets, allocate those with none, sweep over ``order``, look, go back.

    ``order`` holds the items that may move, those of ``items`` among them. The allocation takes
    the loss as linear, of slopes ``guide32`` and ``guide_slope``; ``slope`` is that of sweeps.
    Returns (what came of it, slope, value): BETTER if the loss is below ``bar`` now, WORSE if not
    and all is as it was, or the clusters are the same again, FULL if no free column was left and
    all is as it was. Sweeps end where another as good as the last would not do.
    """
    tables = (rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks)
    shape = (t, p, num, den, w_total, n_total)
    old, old_j, old_e = labels[order], j.copy(), totals[0]
    old_alpha, least = alpha.copy(), 1e-11 * max(1.0, abs(before))
    value, new_slope = before, slope
    old_marks = marks.copy()
    move(items, targets, *tables)
    rest = _outside(order, labels)
    status = WORSE
    if allocate(rest, 0, *tables, guide32, guide_slope, limit, memo) < rest.shape[0]:
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
                    order, 0, order.shape[0], *tables, alpha32, alpha, new_slope, limit, memo,
                    own, curve, bends, *shape, is_linear, value, doubt, trial, quiet,
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
                rows[i], labels[i], old[a], weight[i], cell, step, counts, table, sizes, j,
                totals, marks,
            )  # fmt: skip
            labels[i] = old[a]
    j[:], totals[0], alpha[:], alpha32[:] = old_j, old_e, old_alpha, old_alpha
    put_back(old_marks, alpha32, marks, memo[3])
    return status, slope, before


@inner
def _neighbour(i, labels, sizes, at):
    """The cluster, other than its own, where the item would be best; -1 if there is none."""
    slope, _, rows, weight, cell, counts, table, alpha32, marks, (known, _, stamps, _, block) = at
    w = weight[i]
    x = place(i, stamps)
    if is_old(x, marks, stamps):
        renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block)
    best, most = -1, -np.inf
    for k in range(sizes.shape[0]):
        if k != labels[i] and sizes[k] > 0:
            score = known[x, k] - slope * (cell[sizes[k] + w] - cell[sizes[k]])
            if score > most:
                best, most = k, score
    return best


@inner
def _company(seed, i, inside, at):
    """Mark the items that share a cluster with this one in some draw."""
    edges, rows = at[1], at[2]
    m, wanted = 0, uniform(seed) * edges[-1]
    while edges[m] < wanted:
        m += 1
    for k in range(rows.shape[0]):
        inside[k] = rows[k, m] == rows[i, m]


_propose = proposals.proposing(_neighbour, _company)


@jit
def shake(
    seed, cursor, columns, items, targets, order, others, kinds, patience, edges, is_rough,
    most_visits, near_slope, n_sweeps, before, bar, rows, weight, cell, step, counts, table, labels,
    sizes, j, totals, marks, guide32, guide_slope, alpha32, alpha, slope, limit, memo, own, curve,
    bends, t, p, num, den, w_total, n_total, is_linear, doubt, trial, quiet,
):  # fmt: skip
    """Propose changes and attempt them until the loss is below ``bar``.

    Returns (what came of it, slope, value): BETTER; ENDED when too many proposals in a row have
    failed; PAUSED after about ``most_visits`` to items; ASKED if the last proposal is too long for
    this call, or no free column was left. If there are no ``kinds`` the proposal is the one given.
    ``near_slope`` is that of the loss in e here.
    """
    chosen, inside = np.empty(sizes.shape[0], np.bool_), np.empty(labels.shape[0], np.bool_)
    spent = 0
    while spent <= most_visits:
        here = near_slope if is_linear else slope
        look(alpha32, marks, memo[3])
        at = here, edges, rows, weight, cell, counts, table, alpha32, marks, memo
        if kinds > 0 and not _propose(
            at, seed, cursor, columns, items, targets, order, others, kinds, patience, is_rough,
            labels, sizes, limit, chosen, inside,
        ):  # fmt: skip
            return ENDED, slope, before
        n_items, n_order = cursor[proposals.N_ITEMS], cursor[proposals.N_ORDER]
        spent += 1 + (n_sweeps + 2) * n_order // 2
        if n_order == 0:
            continue
        if (n_sweeps + 2) * n_order > most_visits:
            return ASKED, slope, before
        by, by_slope = alpha32, here
        if 2 * n_order > labels.shape[0]:
            by, by_slope = guide32, guide_slope
        status, slope, before = attempt(
            items[:n_items], targets[:n_items], order[:n_order], n_sweeps, before, bar, rows,
            weight, cell, step, counts, table, labels, sizes, j, totals, marks, by, by_slope,
            alpha32, alpha, slope, limit, memo, own, curve, bends, t, p, num, den, w_total, n_total,
            is_linear, doubt, trial, quiet,
        )  # fmt: skip
        if status == BETTER:
            return BETTER, slope, before
        if status == FULL:
            return ASKED, slope, before
        if kinds == 0:
            return ENDED, slope, before
    return PAUSED, slope, before
