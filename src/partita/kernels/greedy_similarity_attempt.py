"""Changing a few clusters, and going back where that does not pay; see ``greedy_similarity``."""

from __future__ import annotations

import numpy as np

from partita.kernels import greedy_proposals as proposals
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_proposals import ASKED, BETTER, ENDED, PAUSED
from partita.kernels.greedy_similarity import allocate, joint, loss, move, sweep
from partita.kernels.mixture_random import uniform

WORSE, FULL = 0, 2  # besides BETTER


@inner
def total(weight, labels, own, sizes, cell, shape, grid, totals):
    """Recompute the totals from sizes and sums."""
    totals[0] = 0.0
    for k in range(sizes.shape[0]):
        totals[0] += cell[sizes[k]]
    totals[1] = joint(weight, labels, own, shape, grid)


@inner
def attempt(
    items, targets, order, n_sweeps, bar, P, weight, labels, sums, own, sizes, cell, shape, grid,
    alpha, slope, t, num, den, limit, totals, gains, logs, quiet,
):  # fmt: skip
    """Move items to their targets, allocate those with none, sweep over ``order``, look, go back.

    ``order`` holds the items that may move, those of ``items`` among them. Returns BETTER if the
    loss is below ``bar`` now, WORSE if not and all is as it was, or the clusters are the same
    again, FULL if no free column was left and all is as it was.
    """
    n = cell.shape[0] - 1
    w, old, e, j = cell[n], labels[order], totals[0], totals[1]
    before = loss(t, e, j, num, den, w, n)
    least, value, status = 1e-11 * max(1.0, abs(before)), before, WORSE
    start = np.int64(0)  # of the type that Python gives, or all is compiled for a literal 0 again
    move(items, targets, P, weight, labels, sums, own, sizes)
    rest = order[labels[order] < 0]
    if allocate(
        rest, start, P, weight, labels, sums, own, sizes, cell, shape, grid, alpha, slope, limit,
        totals, gains, logs,
    ) < rest.shape[0]:  # fmt: skip
        status = FULL
    total(weight, labels, own, sizes, cell, shape, grid, totals)
    quiet[0], quiet[1] = 0, order.shape[0]
    for _ in range(n_sweeps if status != FULL else 0):
        last = loss(t, totals[0], totals[1], num, den, w, n)
        if abs(last - before) <= least:
            return WORSE
        done = sweep(
            order, start, order.shape[0], P, weight, labels, sums, own, sizes, cell, shape, grid,
            t, num, den, limit, totals, gains, logs, quiet,
        )  # fmt: skip
        if done < order.shape[0]:
            status = FULL
            break
        value = loss(t, totals[0], totals[1], num, den, w, n)
        if quiet[0] >= quiet[1] or value - bar > last - value:
            break
    if status != FULL and abs(value - before) <= least:
        return WORSE
    if status != FULL and value < bar:
        return BETTER
    move(order, old, P, weight, labels, sums, own, sizes)
    totals[0], totals[1] = e, j
    return status


@inner
def _neighbour(i, labels, sizes, at):
    """The cluster, other than its own, that the item is most like; -1 if there is none."""
    _, sums = at
    best, most = -1, -np.inf
    for k in range(sizes.shape[0]):
        if k != labels[i] and sizes[k] > 0 and sums[k, i] > most * sizes[k]:
            best, most = k, sums[k, i] / sizes[k]
    return best


@inner
def _company(seed, i, inside, at):
    """Mark the items that are more similar to this one than some number."""
    P, _ = at
    bar = 0.1 + 0.8 * uniform(seed)
    for k in range(inside.shape[0]):
        inside[k] = P[i, k] > bar
    inside[i] = True


_propose = proposals.proposing(_neighbour, _company)


@jit
def shake(
    seed, cursor, columns, items, targets, order, others, kinds, patience, most_visits, n_sweeps,
    bar, P, weight, labels, sums, own, sizes, cell, shape, grid, guide, guide_slope, alpha, slope,
    t, num, den, limit, totals, gains, logs, quiet,
):  # fmt: skip
    """Propose changes and attempt them until the loss is below ``bar``.

    Returns BETTER; ENDED when too many proposals in a row have failed; PAUSED after about
    ``most_visits`` to items; ASKED if the last proposal is too long for this call, or no free
    column was left. If there are no ``kinds`` the proposal is the one given. ``alpha`` and
    ``slope`` are those of the loss made linear here, ``guide`` and ``guide_slope`` at the draws.
    """
    chosen, inside = np.empty(sizes.shape[0], np.bool_), np.empty(labels.shape[0], np.bool_)
    spent = 0
    while spent <= most_visits:
        if kinds > 0 and not _propose(
            (P, sums), seed, cursor, columns, items, targets, order, others,
            kinds, patience, False, labels, sizes, limit, chosen, inside,
        ):  # fmt: skip
            return ENDED
        n_items, n_order = cursor[proposals.N_ITEMS], cursor[proposals.N_ORDER]
        spent += 1 + (n_sweeps + 2) * n_order // 2
        if n_order == 0:
            continue
        if (n_sweeps + 2) * n_order > most_visits:
            return ASKED
        by, by_slope = alpha, slope
        if 2 * n_order > labels.shape[0]:
            by, by_slope = guide, guide_slope
        status = attempt(
            items[:n_items], targets[:n_items], order[:n_order], n_sweeps, bar, P, weight, labels,
            sums, own, sizes, cell, shape, grid, by, by_slope, t, num, den, limit, totals, gains,
            logs, quiet,
        )  # fmt: skip
        if status == BETTER:
            return BETTER
        if status == FULL:
            return ASKED
        if kinds == 0:
            return ENDED
    return PAUSED
