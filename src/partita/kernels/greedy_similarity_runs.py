"""Whole runs from many starts in one call, where items are few; see ``greedy_similarity``.

Tables have a column for every cluster there could be; a run looks at the first ``width``, which it
makes more of when none is free.
"""

from __future__ import annotations

import numpy as np

from partita.kernels import greedy_proposals as proposals
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_proposals import ASKED, BETTER, ENDED
from partita.kernels.greedy_similarity import allocate, load, loss, merge, merged, sweep
from partita.kernels.greedy_similarity_attempt import FULL, attempt, shake, total
from partita.kernels.mixture_random import shuffle

_SPARE = 8  # columns beyond those that a start has
_LONG = np.int64(1 << 40)  # visits to items, more than there will be
_STEP = 1e-6  # relative, of differences that give slopes


@inner
def _value(t, totals, num, den, cell):
    """The loss at the running totals."""
    n = cell.shape[0] - 1
    return loss(t, totals[0], totals[1], num, den, cell[n], n)


@inner
def _begin(
    seed, order, P, weight, labels, sums, own, sizes, cell, shape, grid, alpha, slope, limit,
    totals, gains, logs,
):  # fmt: skip
    """Fill the tables from labels or, where there are none, put in items in random order."""
    n, most = labels.shape[0], -1
    for i in range(n):
        order[i] = i
        most = max(most, labels[i])
    width = min(most + 1 + _SPARE, n + 1)
    load(P, weight, labels, sums[:width], own, sizes[:width])
    total(weight, labels, own, sizes[:width], cell, shape, grid, totals)
    if most >= 0:
        return width
    shuffle(seed, order, n)
    done = np.int64(0)  # of the type that Python gives, or all is compiled for a literal 0 again
    while done < n:
        done = allocate(
            order, done, P, weight, labels, sums[:width], own, sizes[:width], cell, shape, grid,
            alpha, slope, limit, totals, gains[:width], logs[:width],
        )  # fmt: skip
        if done < n:
            width = _wider(width, sums, sizes)
    return width


@inner
def _wider(width, sums, sizes):
    """Twice as many columns."""
    more = min(2 * width, sizes.shape[0])
    sums[width:more] = 0.0
    sizes[width:more] = 0
    return more


@inner
def _settle(
    seed, order, n_sweeps, width, P, weight, labels, sums, own, sizes, cell, shape, grid, t, num,
    den, limit, totals, gains, logs, quiet,
):  # fmt: skip
    """Sweep over all items in a new order until each was seen since the last move."""
    n = order.shape[0]
    shuffle(seed, order, n)
    quiet[0], quiet[1] = 0, n
    done, last = np.int64(0), n_sweeps * n
    while done < last and quiet[0] < quiet[1]:
        done = sweep(
            order, done, last, P, weight, labels, sums[:width], own, sizes[:width], cell, shape,
            grid, t, num, den, limit, totals, gains[:width], logs[:width], quiet,
        )  # fmt: skip
        if done < last:
            width = _wider(width, sums, sizes)
    return width


@inner
def _pairs(bar, weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals):
    """The pairs of clusters that have a loss below ``bar`` if merged, the best first."""
    k, found = np.count_nonzero(sizes), 0
    pairs, values = np.empty((k * (k - 1) // 2, 2), np.int64), np.empty(k * (k - 1) // 2)
    merged(weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals, pairs, values)
    for q in range(values.shape[0]):
        value, a, b, at = values[q], pairs[q, 0], pairs[q, 1], found
        if value >= bar:
            continue
        while at > 0 and values[at - 1] > value:
            values[at], pairs[at, 0] = values[at - 1], pairs[at - 1, 0]
            pairs[at, 1] = pairs[at - 1, 1]
            at -= 1
        values[at], pairs[at, 0], pairs[at, 1] = value, a, b
        found += 1
    return pairs[:found]


@inner
def _merge_all(weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals):
    """Merge clusters, the best pairs first, as long as any gains; say whether any did."""
    any_merged = False
    while True:
        now = _value(t, totals, num, den, cell)
        bar = now - 1e-11 * max(1.0, abs(now))
        pairs = _pairs(
            bar, weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals,
        )  # fmt: skip
        if pairs.shape[0] == 0 or not merge(
            pairs, weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals
        ):
            return any_merged
        any_merged = True


@inner
def _slopes(t, totals, num, den, cell):
    """-∂/∂j and ∂/∂e of the loss, by differences."""
    n = cell.shape[0] - 1
    e, j, at = totals[0], totals[1], _value(t, totals, num, den, cell)
    de, dj = _STEP * max(abs(e), 1.0), _STEP * max(abs(j), 1.0)
    by_j = loss(t, e, j + dj, num, den, cell[n], n) - at
    return -by_j / dj, (loss(t, e + de, j, num, den, cell[n], n) - at) / de


@inner
def _attempt(
    items, targets, some, n_tried, bar, width, P, weight, labels, sums, own, sizes, cell, shape,
    grid, alpha, slope, t, num, den, limit, totals, gains, logs, quiet,
):  # fmt: skip
    """Attempt a proposal, with more columns if there are too few; say whether it is better."""
    while True:
        status = attempt(
            items, targets, some, n_tried, bar, P, weight, labels, sums[:width], own, sizes[:width],
            cell, shape, grid, alpha, slope, t, num, den, limit, totals, gains[:width],
            logs[:width], quiet,
        )  # fmt: skip
        if status != FULL:
            return status == BETTER, width
        width = _wider(width, sums, sizes)


@inner
def _shake(
    seed, order, others, kinds, patience, n_sweeps, n_tried, width, P, weight, labels, sums, own,
    sizes, cell, shape, grid, guide, guide_slope, is_linear, t, num, den, limit, totals, gains,
    logs, quiet,
):  # fmt: skip
    """Rebuild, split or graft clusters until too many proposals in a row have failed."""
    n = labels.shape[0]
    plan, cursor, status = np.zeros((4, n), np.int64), np.zeros(5, np.int64), BETTER
    columns, items, targets, some = plan[0], plan[1], plan[2], plan[3]
    while status != ENDED:
        now, alpha, slope = _value(t, totals, num, den, cell), guide, guide_slope
        bar = now - 1e-11 * max(1.0, abs(now))
        if not is_linear:
            alpha, slope = _slopes(t, totals, num, den, cell)
        status = shake(
            seed, cursor, columns, items, targets, some, others, kinds, patience, _LONG, n_tried,
            bar, P, weight, labels, sums[:width], own, sizes[:width], cell, shape, grid, guide,
            guide_slope, alpha, slope, t, num, den, limit, totals, gains[:width], logs[:width],
            quiet,
        )  # fmt: skip
        is_better = status == BETTER
        if status == ASKED:
            n_items, n_some = cursor[proposals.N_ITEMS], cursor[proposals.N_ORDER]
            if 2 * n_some > n:
                alpha, slope = guide, guide_slope
            is_better, width = _attempt(
                items[:n_items], targets[:n_items], some[:n_some], n_tried, bar, width, P, weight,
                labels, sums, own, sizes, cell, shape, grid, alpha, slope, t, num, den, limit,
                totals, gains, logs, quiet,
            )  # fmt: skip
        if is_better:
            width = _settle(
                seed, order, n_sweeps, width, P, weight, labels, sums, own, sizes, cell, shape,
                grid, t, num, den, limit, totals, gains, logs, quiet,
            )  # fmt: skip
            cursor[proposals.FAILED] = 0
    return width


@inner
def _join(
    seed, n_joined, share, n_tried, width, P, weight, labels, sums, own, sizes, cell, shape, grid,
    guide, guide_slope, t, num, den, limit, totals, gains, logs, quiet,
):  # fmt: skip
    """Merge two clusters that it costs little to merge, and let others follow; say if it paid."""
    n = labels.shape[0]
    now = _value(t, totals, num, den, cell)
    bar, near = now - 1e-11 * max(1.0, abs(now)), now + share / n * abs(now)
    pairs = _pairs(
        near, weight, labels, sums[:width], own, sizes[:width], cell, shape, grid, t, num, den,
        totals,
    )  # fmt: skip
    plan = np.empty((3, n), np.int64)
    items, targets, some = plan[0], plan[1], plan[2]
    for q in range(min(n_joined, pairs.shape[0])):
        moved = rest = 0
        for i in range(n):
            if labels[i] == pairs[q, 0]:
                items[moved], targets[moved] = i, pairs[q, 1]
                moved += 1
            elif labels[i] != pairs[q, 1]:
                some[rest] = i
                rest += 1
        shuffle(seed, some, rest)
        for a in range(moved):
            some[rest + a] = items[a]
        is_better, width = _attempt(
            items[:moved], targets[:moved], some[: rest + moved], n_tried, bar, width, P, weight,
            labels, sums, own, sizes, cell, shape, grid, guide, guide_slope, t, num, den, limit,
            totals, gains, logs, quiet,
        )  # fmt: skip
        if is_better:
            return True, width
    return False, width


@inner
def _end(P, weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals):
    """Number clusters by first appearance, and recompute the loss from the labels."""
    n, found = labels.shape[0], 0
    number = np.full(sizes.shape[0], -1, np.int64)
    for i in range(n):
        k = labels[i]
        if number[k] < 0:
            number[k] = found
            found += 1
        labels[i] = number[k]
    load(P, weight, labels, sums, own, sizes)
    total(weight, labels, own, sizes, cell, shape, grid, totals)
    return _value(t, totals, num, den, cell)


@jit
def quick(
    partitions, seeds, n_sweeps, P, weight, cell, shape, grid, alpha, slope, t, num, den, limit,
    values,
):  # fmt: skip
    """Sweep and merge from each row, all -1 for nothing yet, and write where that ends.

    ``values`` are the losses there, recomputed from the labels, and as the running totals have it.
    """
    n = partitions.shape[1]
    sums, sizes, own = np.empty((n + 1, n)), np.empty(n + 1, np.int64), np.ones(n)
    gains, logs, totals = np.empty(n + 1), np.empty(n + 1), np.zeros(2)
    quiet, order = np.zeros(2, np.int64), np.empty(n, np.int64)
    for r in range(partitions.shape[0]):
        labels, is_merged = partitions[r], True
        width = _begin(
            seeds[r], order, P, weight, labels, sums, own, sizes, cell, shape, grid, alpha, slope,
            limit, totals, gains, logs,
        )  # fmt: skip
        while is_merged:
            width = _settle(
                seeds[r], order, n_sweeps, width, P, weight, labels, sums, own, sizes, cell, shape,
                grid, t, num, den, limit, totals, gains, logs, quiet,
            )  # fmt: skip
            is_merged = _merge_all(
                weight,
                labels,
                sums[:width],
                own,
                sizes[:width],
                cell,
                shape,
                grid,
                t,
                num,
                den,
                totals,
            )
        values[1, r] = _value(t, totals, num, den, cell)
        values[0, r] = _end(
            P, weight, labels, sums[:width], own, sizes[:width], cell, shape, grid, t, num, den,
            totals,
        )  # fmt: skip


@jit
def thorough(
    partitions, seeds, others, kinds, patience, n_tried, n_joined, share, is_linear, n_sweeps, P,
    weight, cell, shape, grid, alpha, slope, t, num, den, limit, values,
):  # fmt: skip
    """Change clusters from where quick runs ended, each row, and write where that ends."""
    n = partitions.shape[1]
    sums, sizes, own = np.empty((n + 1, n)), np.empty(n + 1, np.int64), np.ones(n)
    gains, logs, totals = np.empty(n + 1), np.empty(n + 1), np.zeros(2)
    quiet, order = np.zeros(2, np.int64), np.empty(n, np.int64)
    for r in range(partitions.shape[0]):
        labels, is_joined = partitions[r], True
        width = _begin(
            seeds[r], order, P, weight, labels, sums, own, sizes, cell, shape, grid, alpha, slope,
            limit, totals, gains, logs,
        )  # fmt: skip
        width = _shake(
            seeds[r], order, others, kinds, patience, n_sweeps, n_tried, width, P, weight, labels,
            sums, own, sizes, cell, shape, grid, alpha, slope, is_linear, t, num, den, limit,
            totals, gains, logs, quiet,
        )  # fmt: skip
        while is_joined:
            is_joined, width = _join(
                seeds[r], n_joined, share, n_tried, width, P, weight, labels, sums, own, sizes,
                cell, shape, grid, alpha, slope, t, num, den, limit, totals, gains, logs, quiet,
            )  # fmt: skip
            if is_joined:
                width = _settle(
                    seeds[r], order, n_sweeps, width, P, weight, labels, sums, own, sizes, cell,
                    shape, grid, t, num, den, limit, totals, gains, logs, quiet,
                )  # fmt: skip
        values[1, r] = _value(t, totals, num, den, cell)
        values[0, r] = _end(
            P, weight, labels, sums[:width], own, sizes[:width], cell, shape, grid, t, num, den,
            totals,
        )  # fmt: skip
