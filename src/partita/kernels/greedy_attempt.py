"""Changing a few clusters, and going back at once where that does not pay; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels import greedy_proposals as proposals
from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import ALPHA, move, shift
from partita.kernels.greedy_draws import allocate, expected, slopes, sweep
from partita.kernels.greedy_near import best_column
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
def _settle(order, n_sweeps, bar, value, slope, limit, rest):
    """Sweep over some items until all is quiet or another sweep would not come below ``bar``.

    Returns (whether there were columns enough, slope, value); ``rest`` is what sweeps take.
    """
    given, held, near, slant, line, shape, trial, quiet = rest
    t, p, num, den, w_total, n_total = shape
    quiet[0], quiet[1], quiet[2] = 0, order.shape[0], 1
    for _ in range(n_sweeps):
        last = value
        done, slope, value = sweep(
            order, 0, order.shape[0], given, held, near, slant, slope, limit, line, shape, value,
            trial, quiet,
        )  # fmt: skip
        if done < order.shape[0]:
            return False, slope, value
        if line[0]:
            value = expected(t, p, held[3], held[4][0], num, den, w_total, n_total)
        if quiet[0] >= quiet[1] or value - bar > last - value:
            break
    return True, slope, value


@inner
def attempt(
    items, targets, order, n_sweeps, before, bar, guide, guide_slope, slope, limit, given, held,
    near, slant, line, shape, trial, quiet,
):  # fmt: skip
    """Move items to their targets, allocate those with none, sweep over ``order``, look, go back.

    ``order`` holds the items that may move, those of ``items`` among them. The allocation takes
    the loss as linear, slanted as ``guide`` and ``guide_slope``; ``slope`` is that of sweeps.
    Returns (what came of it, slope, value): BETTER if the loss is below ``bar`` now, WORSE if not
    and all is as it was, or the clusters are the same again, FULL if no free column was left and
    all is as it was. Sweeps end where another as good as the last would not do.
    """
    t, p, num, den, w_total, n_total = shape
    labels, j, totals, marks = held[1], held[3], held[4], held[6]
    old, old_j, old_e, old_marks = labels[order], j.copy(), totals[0], marks.copy()
    old_alpha, old_reach = slant[0].copy(), slant[1].copy()
    least, value, new_slope = 1e-11 * max(1.0, abs(before)), before, slope
    move(items, targets, given, held)
    rest = _outside(order, labels)
    is_whole = allocate(rest, 0, given, held, near, guide, guide_slope, limit) == rest.shape[0]
    if is_whole:
        value = expected(t, p, j, totals[0], num, den, w_total, n_total)
        if abs(value - before) > least:
            if not line[0]:
                new_slope = slopes(j, totals[0], 0.0, shape, slant, marks)[0]
            is_whole, new_slope, value = _settle(
                order, n_sweeps, bar, value, new_slope, limit,
                (given, held, near, slant, line, shape, trial, quiet),
            )  # fmt: skip
        if is_whole and abs(value - before) <= least:
            return WORSE, new_slope, value
        if is_whole and value < bar:
            return BETTER, new_slope, value
    for a in range(order.shape[0]):
        if labels[order[a]] != old[a]:
            shift(order[a], old[a], given, held)
    j[:], totals[0], slant[0][:], slant[1][:] = old_j, old_e, old_alpha, old_reach
    marks[ALPHA:] = old_marks[ALPHA:]
    return (WORSE if is_whole else FULL), slope, before


@inner
def _neighbour(i, labels, sizes, at):
    """The cluster, other than its own, where the item would be best; -1 if there is none."""
    slope, _, given, held, near, slant = at
    return best_column(
        i, labels[i], -1, slope, 0.0, 0.0, np.int64(-1), -np.inf, given, held, near, slant[0],
        slant[1],
    )[0]  # fmt: skip


@inner
def _company(seed, i, inside, at):
    """Mark the items that share a cluster with this one in some draw."""
    edges, rows = at[1], at[2][0]
    m, wanted = 0, uniform(seed) * edges[-1]
    while edges[m] < wanted:
        m += 1
    for k in range(rows.shape[0]):
        inside[k] = rows[k, m] == rows[i, m]


_propose = proposals.proposing(_neighbour, _company)


@jit
def shake(
    seed, cursor, columns, items, targets, order, others, kinds, patience, edges, is_rough,
    most_visits, near_slope, n_sweeps, before, bar, guide, guide_slope, slope, limit, given, held,
    near, slant, line, shape, trial, quiet,
):  # fmt: skip
    """Propose changes and attempt them until the loss is below ``bar``.

    Returns (what came of it, slope, value): BETTER; ENDED when too many proposals in a row have
    failed; PAUSED after about ``most_visits`` to items; ASKED if the last proposal is too long for
    this call, or no free column was left. If there are no ``kinds`` the proposal is the one given.
    ``near_slope`` is that of the loss in e here.
    """
    (
        seed,
        cursor,
        columns,
        items,
        targets,
        order,
        others,
        edges,
        guide,
        given,
        held,
        near,
        slant,
        line,
        shape,
        trial,
        quiet,
    ) = bare(
        (
            seed,
            cursor,
            columns,
            items,
            targets,
            order,
            others,
            edges,
            guide,
            given,
            held,
            near,
            slant,
            line,
            shape,
            trial,
            quiet,
        )
    )
    labels, sizes = held[1], held[2]
    chosen, inside = np.empty(sizes.shape[0], np.bool_), np.empty(labels.shape[0], np.bool_)
    spent = 0
    while spent <= most_visits:
        here = near_slope if line[0] else slope
        at = here, edges, given, held, near, slant
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
        by, by_slope = slant, here
        if 2 * n_order > labels.shape[0]:
            by, by_slope = guide, guide_slope
        status, slope, before = attempt(
            items[:n_items], targets[:n_items], order[:n_order], n_sweeps, before, bar, by,
            by_slope, slope, limit, given, held, near, slant, line, shape, trial, quiet,
        )  # fmt: skip
        if status == BETTER:
            return BETTER, slope, before
        if status == FULL:
            return ASKED, slope, before
        if kinds == 0:
            return ENDED, slope, before
    return PAUSED, slope, before
