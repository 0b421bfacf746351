"""Quick runs where a loss bends in e: its bends are rounded off at first, and items move in pairs.

The tuples that a run travels in are those of ``greedy_draws_runs``.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import move
from partita.kernels.greedy_draws_runs import (
    VALUE,
    WIDTH,
    end,
    linearise,
    load,
    made,
    merge_all,
    put_in,
    remembered,
    reorder,
    settle,
    straighten,
    tables,
    widen,
)
from partita.kernels.greedy_pairs import POINTS, exchange
from partita.kernels.greedy_soften import sequence, soften

_ROUNDS = np.int64(8)  # of exchanges at a time


@inner
def _put_in_stepwise(seed, limit, at, span, given, held, slanted, scratch, shape, line):
    """Put in all items in random order, by the loss of those put in so far."""
    _, p, num, den, _, _ = shape
    order = scratch[4]
    reorder(seed, order)
    n, done = order.shape[0], np.int64(0)
    so_far, seen = np.zeros(p.shape[0]), np.zeros(span[1], np.int64)
    while done < n:
        done = sequence(
            order, done, *tables(span, given, held), slanted[0], slanted[1], line[4], limit,
            remembered(span, scratch), p, num, den, so_far, seen,
        )  # fmt: skip
        if done < n:
            widen(span, given, held)
    if line[0]:
        straighten(slanted, line[3])
    linearise(at, held, slanted, shape, line)


@inner
def _soften(seed, widths, limit, at, span, given, held, slanted, scratch, shape, line):
    """Sweep once for each width, in strides of e, the bends rounded off within it."""
    order = scratch[4]
    cell, sizes, stride = given[2], held[3], 0.0
    for k in range(span[WIDTH]):
        if sizes[k] > 0:
            stride += sizes[k] * (cell[sizes[k]] - cell[sizes[k] - 1])
    reorder(seed, order)
    done, last = np.int64(0), widths.shape[0] * order.shape[0]
    while done < last:
        done = soften(
            order, done, last, *tables(span, given, held), slanted[0], slanted[1], line[4], limit,
            remembered(span, scratch), True, *shape, widths * (stride / shape[5]),
        )  # fmt: skip
        if done < last:
            widen(span, given, held)
    if line[0]:
        straighten(slanted, line[3])
    linearise(at, held, slanted, shape, line)


@inner
def _go_back(labels, j, e, at, span, given, held, slanted, scratch, shape, line):
    """Go back to a partition and its totals."""
    while span[WIDTH] <= labels.max():  # tables have been narrower since
        widen(span, given, held)
    move(np.arange(labels.shape[0]), labels, *tables(span, given, held))
    held[4][:], held[5][0] = j, e
    linearise(at, held, slanted, shape, line)


@inner
def _exchange(n_pairs, n_rounds, limit, at, span, given, held, slanted, scratch, shape, line):
    """Move pairs of items as long as that pays; say whether any did."""
    if np.count_nonzero(held[3][: span[WIDTH]]) == span[WIDTH]:
        widen(span, given, held)
    width, before = span[WIDTH], at[VALUE]
    value, _ = exchange(
        n_pairs, n_rounds, *tables(span, given, held), slanted[0], slanted[1], limit,
        remembered(span, scratch), line[0], *shape, before,
        np.empty((held[2].shape[0], width)), np.empty(2 * POINTS + 1),
    )  # fmt: skip
    linearise(at, held, slanted, shape, line)
    return value < before


@jit
def quick(
    partitions, seeds, n_sweeps, most, widths, n_pairs, is_stepwise, n_usual, limit, rows, weight,
    cell, step, offsets, counts, table, t, p, num, den, w_total, n_total, is_linear, curve, bends,
    alpha, slope, bent_slope, doubt, values,
):  # fmt: skip
    """Sweep and merge from each row, bends rounded off within ``widths`` at first.

    ``n_pairs`` of items move at a time. A start from nothing is by the loss of the items put in so
    far if it ``is_stepwise``. For the rest see ``greedy_draws_runs.quick``.
    """
    given, shape = (rows, weight, cell, step), (t, p, num, den, w_total, n_total)
    line = is_linear, curve, bends, alpha, slope, bent_slope, doubt
    at, span, (sizes, j, totals, marks), slanted, scratch = made(
        partitions.shape[1], offsets, counts, alpha
    )
    for r in range(partitions.shape[0]):
        seed, held = seeds[r], (counts, table, partitions[r], sizes, j, totals, marks)
        rest = (at, span, given, held, slanted, scratch, shape, line)
        if not load(n_usual, *rest):
            if is_stepwise:
                _put_in_stepwise(seed, limit, *rest)
            else:
                put_in(seed, limit, *rest)
        before, old, old_j, old_e = at[VALUE], partitions[r].copy(), j.copy(), totals[0]
        budget, n_cells = np.array([most]), partitions.shape[1] * t.shape[0]
        if widths.shape[0] * n_cells * span[WIDTH] > most:
            budget[0] = 0
        elif widths.shape[0] > 0:
            _soften(seed, widths, limit, *rest)
        is_new, is_sharp, exchanged = True, widths.shape[0] == 0 or budget[0] == 0, np.inf
        # all sweeps over all items are made here, so that they are compiled once
        while is_new and (budget[0] > 0 or not is_sharp):
            settle(seed, n_sweeps, budget, limit, *rest)
            if not is_sharp:
                is_sharp = True
                if not at[VALUE] < before - 1e-11 * max(1.0, abs(before)):
                    _go_back(old, old_j, old_e, *rest)
                    continue
            is_new = at[VALUE] != exchanged
            if is_new:
                rounds = min(_ROUNDS, budget[0] // (n_cells * span[WIDTH]))
                budget[0] -= max(rounds, 1) * n_cells * span[WIDTH]
                is_new = rounds > 0 and _exchange(n_pairs, rounds, limit, *rest)
            exchanged = at[VALUE]
            is_new = is_new or merge_all(offsets, *rest)
        values[1, r], values[2, r] = at[VALUE], budget[0]
        values[0, r] = end(span, given, held, shape)
