"""Quick runs from many starts in one call, where items and draws are few; see ``greedy_draws``.

What a run holds travels in tuples: ``given`` (rows, weight, cell, step) is the problem's, ``held``
(counts, table, labels, sizes, j, totals, marks) the partition's, ``slanted`` (alpha32, alpha) the
loss made linear here, ``scratch`` (memo, own, trial, quiet, order) anybody's, ``shape`` (t, p,
num, den, w, n) the loss, and ``line`` (is_linear, curve, bends, alpha, slope, bent_slope, doubt)
what is known of it beforehand. ``at`` holds the loss and its slope in e, ``span`` the columns in
use and the rows of tables, which lie in memory for a column for every cluster there could be.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_bend import knots_below
from partita.kernels.greedy_draws import _add, allocate, expected, slopes, sweep
from partita.kernels.greedy_memo import BLOCKS, REMEMBERED, forget
from partita.kernels.greedy_merges import best_mergers, merge, merge_gains, merged
from partita.kernels.greedy_vector import LANES
from partita.kernels.mixture_random import shuffle

VALUE, SLOPE = 0, 1  # of ``at``
WIDTH, ROWS = 0, 1  # of ``span``
_MERGERS = 8  # pairs of clusters that are looked at, at least


@inner
def _width_for(n_clusters):
    """The columns of tables for this many clusters, and at least one more."""
    return LANES * ((n_clusters + n_clusters // 8) // LANES + 1)


@inner
def tables(span, given, held):
    """The tables as the moves take them."""
    rows, weight, cell, step = given
    counts, table, labels, sizes, j, totals, marks = held
    width, size = span[WIDTH], span[WIDTH] * span[ROWS]
    marks = marks[: BLOCKS + width // LANES]
    counts = counts[:size].reshape((span[ROWS], width))
    table = table[:size].reshape((span[ROWS], width))
    return rows, weight, cell, step, counts, table, labels, sizes[:width], j, totals, marks


@inner
def remembered(span, scratch):
    """What is remembered of gains, as the moves take it."""
    known, near, stamps, alpha, block = scratch[0]
    width, n = span[WIDTH], near.shape[0]
    n_marks = BLOCKS + width // LANES
    known, stamps = known[: n * width], stamps[: n * n_marks]
    return known.reshape((n, width)), near, stamps.reshape((n, n_marks)), alpha, block[:width]


@inner
def _spread(flat, n_rows, width, more, fill):
    """Give every row of a table more columns, in place."""
    for r in range(n_rows - 1, -1, -1):
        for k in range(width, more):
            flat[r * more + k] = fill
        for k in range(width - 1, -1, -1):
            flat[r * more + k] = flat[r * width + k]


@inner
def _gather(flat, n_rows, width, active, n_active, less, fill):
    """Keep some columns of every row of a table, in place."""
    for r in range(n_rows):
        for a in range(n_active):
            flat[r * less + a] = flat[r * width + active[a]]
        for a in range(n_active, less):
            flat[r * less + a] = fill


@inner
def widen(span, given, held):
    """Twice as many columns."""
    counts, table, _, sizes, _, _, marks = held
    width = span[WIDTH]
    more = min(2 * width, sizes.shape[0])
    _spread(counts, span[ROWS], width, more, 0)
    _spread(table, span[ROWS], width, more, given[3][0])
    sizes[width:more] = 0
    span[WIDTH] = more
    forget(marks)


@inner
def _fit(span, given, held):
    """Make tables narrow if they are much wider than their clusters need."""
    counts, table, labels, sizes, _, _, marks = held
    width, found = span[WIDTH], 0
    active, became = np.empty(width, np.int64), np.empty(width, np.int64)
    for k in range(width):
        if sizes[k] > 0:
            active[found], became[k] = k, found
            found += 1
    less = _width_for(found)
    if width <= 1.5 * less:
        return
    _gather(counts, span[ROWS], width, active, found, less, 0)
    _gather(table, span[ROWS], width, active, found, less, given[3][0])
    for a in range(less):
        sizes[a] = sizes[active[a]] if a < found else 0
    for i in range(labels.shape[0]):
        labels[i] = became[labels[i]]
    span[WIDTH] = less
    forget(marks)


@inner
def _value(held, shape):
    """The loss at the running totals."""
    t, p, num, den, w_total, n_total = shape
    return expected(t, p, held[4], held[5][0], num, den, w_total, n_total)


@inner
def linearise(at, held, slanted, shape, line):
    """Recompute the loss and its slopes from the totals."""
    t, p, num, den, w_total, n_total = shape
    is_linear, curve, bends, _, slope, bent_slope, _ = line
    e = held[5][0]
    at[SLOPE] = slope
    if not is_linear:
        at[SLOPE] = slopes(
            t, p, held[4], e, 0.0, num, den, w_total, n_total, slanted[0], slanted[1]
        )[0]  # fmt: skip
    elif bends:
        at[SLOPE] = bent_slope + curve[2, curve.shape[1] - 1] - curve[2, knots_below(e, curve)]
    at[VALUE] = _value(held, shape)


@inner
def straighten(slanted, slopes):
    """Take slopes as they are at the draws, which for some losses is everywhere."""
    alpha32, alpha = slanted
    alpha[:] = slopes
    alpha32[:] = slopes


@inner
def reorder(seed, order):
    """All items in random order."""
    for i in range(order.shape[0]):
        order[i] = i
    shuffle(seed, order, order.shape[0])


@inner
def count(given, held):
    """Count the items of every draw cluster in every cluster, and sum cell over every draw.

    Items are put in one by one: most cells of tables are empty.
    """
    rows, weight, cell, step = given
    counts, table, labels, j = held[4], held[5], held[6], held[8]
    forget(held[10])
    counts[:], table[:], j[:] = 0, step[0], 0.0
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            _add(rows[i], labels[i], weight[i], cell, step, counts, table, j, held[10])


@inner
def settle(seed, n_sweeps, budget, limit, at, span, given, held, slanted, scratch, shape, line):
    """Sweep over all items in a new order until each was seen since the last move.

    Only as far as ``budget[0]``, in cells of tables, lasts, which becomes what is left of it.
    """
    _, own, trial, quiet, order = scratch
    is_linear, curve, bends, _, _, bent_slope, doubt = line
    _fit(span, given, held)
    reorder(seed, order)
    n, done, width = order.shape[0], np.int64(0), span[WIDTH]
    quiet[0], quiet[1], n_cells = 0, n, n * shape[0].shape[0]
    slope, value = bent_slope if is_linear else at[SLOPE], at[VALUE]
    for last in range(n, (n_sweeps + 1) * n, n):
        while done < last:
            done, slope, value = sweep(
                order, done, last, *tables(span, given, held), slanted[0], slanted[1], slope, limit,
                remembered(span, scratch), own, curve, bends, *shape, is_linear, value, doubt,
                trial, quiet,
            )  # fmt: skip
            if done < last:
                widen(span, given, held)
                width = span[WIDTH]
        budget[0] -= n_cells * width
        if quiet[0] >= quiet[1] or budget[0] <= 0:
            break
    at[VALUE], at[SLOPE] = value, slope
    if is_linear:
        linearise(at, held, slanted, shape, line)


@inner
def end(span, given, held, shape):
    """Number clusters by first appearance, and recompute the loss from the labels."""
    weight, cell, labels, sizes, totals = given[1], given[2], held[2], held[3], held[5]
    number, found = np.full(span[WIDTH], -1, np.int64), 0
    sizes[:] = 0
    for i in range(labels.shape[0]):
        k = labels[i]
        if number[k] < 0:
            number[k] = found
            found += 1
        labels[i] = number[k]
        sizes[labels[i]] += weight[i]
    count(given, tables(span, given, held))
    totals[0] = 0.0
    for k in range(found):
        totals[0] += cell[sizes[k]]
    return _value(held, shape)


@inner
def load(n_usual, at, span, given, held, slanted, scratch, shape, line):
    """Fill the tables from labels, with room for the usual clusters where there are none."""
    weight, cell, labels, sizes, totals = given[1], given[2], held[2], held[3], held[5]
    most = labels.max()
    span[WIDTH] = min(_width_for(most + 1 if most >= 0 else n_usual), sizes.shape[0])
    sizes[:] = 0
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            sizes[labels[i]] += weight[i]
    count(given, tables(span, given, held))
    totals[0] = 0.0
    for k in range(most + 1):
        totals[0] += cell[sizes[k]]
    straighten(slanted, line[3])
    if most >= 0:
        linearise(at, held, slanted, shape, line)
    return most >= 0


@inner
def put_in(seed, limit, at, span, given, held, slanted, scratch, shape, line):
    """Put in all items in random order, by the loss made linear at the draws."""
    order = scratch[4]
    reorder(seed, order)
    n, done = order.shape[0], np.int64(0)
    while done < n:
        done = allocate(
            order, done, *tables(span, given, held), slanted[0], line[4], limit,
            remembered(span, scratch),
        )  # fmt: skip
        if done < n:
            widen(span, given, held)
    linearise(at, held, slanted, shape, line)


@inner
def merge_all(offsets, at, span, given, held, slanted, scratch, shape, line):
    """Merge clusters, the best pairs first, as long as any gains; say whether any did."""
    t, p, num, den, w_total, n_total = shape
    cell, trial, any_merged = given[2], scratch[2], False
    while True:
        counts, table, labels, sizes, j, totals, marks = tables(span, given, held)[4:]
        width, n_best = span[WIDTH], max(_MERGERS, np.count_nonzero(sizes) // 16)
        gains, pairs = np.zeros((width, width)), np.empty((n_best, 2), np.int64)
        values = np.empty(n_best)
        merge_gains(counts, offsets, 0, t.shape[0], slanted[1], cell, gains)
        found = best_mergers(gains, at[SLOPE], sizes, cell, pairs, values)
        pairs, values = pairs[:found], values[:found] + at[VALUE]
        if line[2] or not line[0]:
            merged(
                counts, offsets, pairs, sizes, cell, t, p, j, totals[0], num, den, w_total, n_total,
                trial, values,
            )  # fmt: skip
        bar = at[VALUE] - 1e-11 * max(1.0, abs(at[VALUE]))
        best = np.argsort(values, kind="mergesort")[: np.count_nonzero(values < bar)]
        if best.shape[0] == 0:
            return any_merged
        value = merge(
            pairs[best], at[VALUE], offsets, counts, table, cell, given[3], labels, sizes, j,
            totals, marks, *shape, trial,
        )  # fmt: skip
        if not value < at[VALUE]:
            return any_merged
        any_merged = True
        linearise(at, held, slanted, shape, line)


@inner
def made(n, offsets, counts, alpha):
    """What runs hold besides labels and tables, and share between them."""
    m, n_rows = offsets.shape[0] - 1, offsets[-1]
    most = counts.shape[0] // n_rows
    n_marks, n_kept = BLOCKS + most // LANES, n if n * most <= REMEMBERED else 1
    memo = (
        np.empty(n_kept * most), np.empty(n_kept), np.full(n_kept * n_marks, -1),
        np.full(m, np.nan, np.float32), np.empty(most, np.float32),
    )  # fmt: skip
    scratch = memo, np.empty(m), np.empty(m), np.zeros(2, np.int64), np.empty(n, np.int64)
    totals = np.zeros(most, np.int64), np.zeros(m), np.zeros(1), np.zeros(n_marks, np.int64)
    slanted = alpha.astype(np.float32), alpha.copy()
    return np.zeros(2), np.array([LANES, n_rows]), totals, slanted, scratch


@jit
def quick(
    partitions, seeds, n_sweeps, most, n_usual, limit, rows, weight, cell, step, offsets, counts,
    table, t, p, num, den, w_total, n_total, is_linear, curve, bends, alpha, slope, bent_slope,
    doubt, values,
):  # fmt: skip
    """Sweep and merge from each row, all -1 for nothing yet, and write where that ends.

    ``counts`` and ``table`` are memory for as many columns as there could be clusters, and one.
    ``values`` are the losses, recomputed from the labels, and as the running totals have it, and
    what was left of ``most`` cells to look at, negative for a run that did not end.
    """
    given, shape = (rows, weight, cell, step), (t, p, num, den, w_total, n_total)
    line = is_linear, curve, bends, alpha, slope, bent_slope, doubt
    at, span, (sizes, j, totals, marks), slanted, scratch = made(
        partitions.shape[1], offsets, counts, alpha
    )
    for r in range(partitions.shape[0]):
        held = (counts, table, partitions[r], sizes, j, totals, marks)
        rest = (at, span, given, held, slanted, scratch, shape, line)
        if not load(n_usual, *rest):
            put_in(seeds[r], limit, *rest)
        budget, is_changed = np.array([most]), True
        while is_changed and budget[0] > 0:
            settle(seeds[r], n_sweeps, budget, limit, *rest)
            is_changed = merge_all(offsets, *rest)
        values[1, r], values[2, r] = at[VALUE], budget[0]
        values[0, r] = end(span, given, held, shape)
