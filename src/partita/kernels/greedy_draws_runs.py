"""Quick runs from many starts in one call, where items and draws are few; see ``greedy_draws``.

Besides ``given``, ``held``, ``near``, ``slant``, ``shape`` and ``line`` a run has ``plain`` =
(alpha, reach, slope, bent_slope), the loss made linear at the draws and the slope of the part of
it that does not bend, ``scratch`` = (trial, quiet, order), anybody's, and ``at``, the loss and its
slope in e. There are as many columns as there could be clusters, and one.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_bend import knots_below
from partita.kernels.greedy_counts import ACTIVE, HIGH, clear, compact, load, slanted
from partita.kernels.greedy_draws import allocate, expected, slopes, sweep
from partita.kernels.greedy_merges import merge, mergers, n_mergers
from partita.kernels.mixture_random import shuffle

VALUE, SLOPE = 0, 1  # of ``at``


@inner
def _value(held, shape):
    """The loss at the running totals."""
    t, p, num, den, w_total, n_total = shape
    return expected(t, p, held[3], held[4][0], num, den, w_total, n_total)


@inner
def linearise(at, held, slant, shape, line, plain):
    """Recompute the loss and its slopes from the totals."""
    is_linear, curve, bends, _ = line
    e = held[4][0]
    at[SLOPE] = plain[2]
    if not is_linear:
        at[SLOPE] = slopes(held[3], e, 0.0, shape, slant, held[6])[0]
    elif bends:
        at[SLOPE] = plain[3] + curve[2, curve.shape[1] - 1] - curve[2, knots_below(e, curve)]
    at[VALUE] = _value(held, shape)


@inner
def straighten(held, slant, plain):
    """Take slopes as they are at the draws, which for some losses is everywhere."""
    slant[0][:] = plain[0]
    slant[1][:] = plain[1]
    slanted(held[6])


@inner
def reorder(seed, order):
    """All items in random order."""
    for i in range(order.shape[0]):
        order[i] = i
    shuffle(seed, order, order.shape[0])


@inner
def tidy(given, held):
    """Leave no free columns among those used, if they are many."""
    if held[5][HIGH] > 1.5 * held[5][ACTIVE] + 8:
        compact(given, held)


@inner
def effort(given, held):
    """About how many cells of tables a sweep over all items looks at."""
    rows = given[0]
    return rows.shape[0] * (2 * rows.shape[1] + held[5][HIGH])


@inner
def settle(
    seed, n_sweeps, budget, limit, at, given, held, near, slant, shape, line, plain, scratch
):
    """Sweep over all items in a new order until each was seen since the last move.

    Only as far as ``budget[0]``, in cells of tables, lasts, which becomes what is left of it.
    """
    trial, quiet, order = scratch
    tidy(given, held)
    reorder(seed, order)
    n = order.shape[0]
    quiet[0], quiet[1], quiet[2] = 0, n, 0
    slope, value = plain[3] if line[0] else at[SLOPE], at[VALUE]
    for s in range(n_sweeps):
        _, slope, value = sweep(
            order, s * n, (s + 1) * n, given, held, near, slant, slope, limit, line, shape, value,
            trial, quiet,
        )  # fmt: skip
        budget[0] -= effort(given, held)
        if quiet[0] >= quiet[1] or budget[0] <= 0:
            break
    at[VALUE], at[SLOPE] = value, slope
    if line[0]:
        linearise(at, held, slant, shape, line, plain)


@inner
def end(given, held, shape):
    """Number clusters by first appearance, recompute the loss from them, leave tables empty."""
    labels = held[1]
    number, found, new = np.full(held[5][HIGH], -1, np.int64), 0, np.empty_like(labels)
    for i in range(labels.shape[0]):
        k = labels[i]
        if number[k] < 0:
            number[k] = found
            found += 1
        new[i] = number[k]
    load(new, given, held)
    value = _value(held, shape)
    clear(held)
    labels[:] = new
    return value


@inner
def begin(at, given, held, slant, shape, line, plain):
    """Fill the tables from labels; say whether there are any."""
    new = held[1].copy()
    load(new, given, held)
    straighten(held, slant, plain)
    if new[0] >= 0:
        linearise(at, held, slant, shape, line, plain)
    return new[0] >= 0


@inner
def put_in(seed, limit, at, given, held, near, slant, shape, line, plain, scratch):
    """Put in all items in random order, by the loss made linear at the draws."""
    reorder(seed, scratch[2])
    allocate(scratch[2], 0, given, held, near, slant, plain[2], limit)
    linearise(at, held, slant, shape, line, plain)


@inner
def merge_all(offsets, at, given, held, slant, shape, line, plain, scratch):
    """Merge clusters, the best pairs first, as long as any gains; say whether any did."""
    trial, any_merged = scratch[0][1], False
    tidy(given, held)
    while True:
        n = n_mergers(held)
        pairs, values = np.empty((n, 2), np.int64), np.empty(n)
        found = mergers(at[SLOPE], offsets, given, held, slant[0], shape, trial, pairs, values)
        pairs, values = pairs[:found], values[:found]
        bar = at[VALUE] - 1e-11 * max(1.0, abs(at[VALUE]))
        best = np.argsort(values, kind="mergesort")[: np.count_nonzero(values < bar)]
        if best.shape[0] == 0:
            return any_merged
        value = merge(pairs[best], at[VALUE], offsets, given, held, shape, trial)
        if not value < at[VALUE]:
            return any_merged
        any_merged = True
        linearise(at, held, slant, shape, line, plain)


@jit
def quick(
    partitions, seeds, n_sweeps, most, limit, offsets, given, held, near, slant, shape, line,
    plain, scratch, values,
):  # fmt: skip
    """Sweep and merge from each row, all -1 for nothing yet, and write where that ends.

    ``values`` are the losses, recomputed from the labels, and as the running totals have it, and
    what was left of ``most`` cells to look at, negative for a run that did not end. Tables are
    empty before and after.
    """
    partitions, seeds, offsets, given, held, near, slant, shape, line, plain, scratch, values = (
        bare(
            (
                partitions,
                seeds,
                offsets,
                given,
                held,
                near,
                slant,
                shape,
                line,
                plain,
                scratch,
                values,
            )
        )
    )
    at = np.zeros(2)
    for r in range(partitions.shape[0]):
        now = (held[0], partitions[r], *held[2:])
        if not begin(at, given, now, slant, shape, line, plain):
            put_in(seeds[r], limit, at, given, now, near, slant, shape, line, plain, scratch)
        budget, is_changed = np.array([most]), True
        while is_changed and budget[0] > 0:
            settle(
                seeds[r], n_sweeps, budget, limit, at, given, now, near, slant, shape, line, plain,
                scratch,
            )  # fmt: skip
            is_changed = merge_all(offsets, at, given, now, slant, shape, line, plain, scratch)
        values[1, r], values[2, r] = at[VALUE], budget[0]
        values[0, r] = end(given, now, shape)
