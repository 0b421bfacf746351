"""Quick runs where a loss bends in e: its bends are rounded off at first, and items move in pairs.

The tuples that a run travels in are those of ``greedy_draws_runs``.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import move
from partita.kernels.greedy_draws_runs import (
    VALUE,
    begin,
    effort,
    end,
    linearise,
    merge_all,
    put_in,
    reorder,
    settle,
    straighten,
    tidy,
)
from partita.kernels.greedy_pairs import POINTS, exchange, room
from partita.kernels.greedy_soften import sequence, soften

_ROUNDS = np.int64(8)  # of exchanges at a time


@inner
def _put_in_stepwise(
    seed, limit, at, given, held, near, slant, shape, line, plain, scratch, offsets
):  # fmt: skip
    """Put in all items in random order, by the loss of those put in so far."""
    _, p, num, den, _, _ = shape
    reorder(seed, scratch[2])
    so_far, seen = np.zeros(p.shape[0]), np.zeros(offsets[-1], np.int64)
    sequence(scratch[2], 0, given, held, near, slant, plain[2], limit, p, num, den, so_far, seen)
    if line[0]:
        straighten(held, slant, plain)
    linearise(at, held, slant, shape, line, plain)


@inner
def _soften(seed, widths, limit, at, given, held, near, slant, shape, line, plain, scratch):
    """Sweep once for each width, in strides of e, the bends rounded off within it."""
    order, cell, sizes, stride = scratch[2], given[3], held[2], 0.0
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            stride += sizes[k] * (cell[sizes[k]] - cell[sizes[k] - 1])
    reorder(seed, order)
    soften(
        order, 0, widths.shape[0] * order.shape[0], given, held, near, slant, plain[2], limit, True,
        shape, widths * (stride / shape[5]),
    )  # fmt: skip
    if line[0]:
        straighten(held, slant, plain)
    linearise(at, held, slant, shape, line, plain)


@inner
def _go_back(old, j, e, at, given, held, slant, shape, line, plain):
    """Go back to a partition and its totals."""
    move(np.arange(old.shape[0]), old, given, held)
    held[3][:], held[4][0] = j, e
    linearise(at, held, slant, shape, line, plain)


@inner
def _exchange(n_pairs, n_rounds, limit, at, given, held, near, slant, shape, line, plain):
    """Move pairs of items as long as that pays; say whether any did."""
    before, new = at[VALUE], (slant[0].copy(), slant[1].copy()) if line[0] else slant
    tidy(given, held)
    value, _ = exchange(
        n_pairs, n_rounds, given, held, near, slant, new, limit, line[0], shape, before,
        np.empty((held[1].shape[0], room(held))), np.empty(2 * POINTS + 1),
    )  # fmt: skip
    linearise(at, held, slant, shape, line, plain)
    return value < before


@jit
def quick(
    partitions, seeds, n_sweeps, most, widths, n_pairs, is_stepwise, limit, offsets, given, held,
    near, slant, shape, line, plain, scratch, values,
):  # fmt: skip
    """Sweep and merge from each row, bends rounded off within ``widths`` at first.

    ``n_pairs`` of items move at a time. A start from nothing is by the loss of the items put in so
    far if it ``is_stepwise``. For the rest see ``greedy_draws_runs.quick``.
    """
    (
        partitions,
        seeds,
        widths,
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
    ) = bare(
        (
            partitions,
            seeds,
            widths,
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
    at = np.zeros(2)
    for r in range(partitions.shape[0]):
        seed, now = seeds[r], (held[0], partitions[r], *held[2:])
        rest = (at, given, now, near, slant, shape, line, plain, scratch)
        if not begin(at, given, now, slant, shape, line, plain):
            if is_stepwise:
                _put_in_stepwise(seed, limit, *rest, offsets)
            else:
                put_in(seed, limit, *rest)
        before, old, old_j, old_e = at[VALUE], now[1].copy(), now[3].copy(), now[4][0]
        budget = np.array([most])
        if widths.shape[0] * effort(given, now) > most:
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
                    _go_back(old, old_j, old_e, at, given, now, slant, shape, line, plain)
                    continue
            is_new = at[VALUE] != exchanged
            if is_new:
                rounds = min(_ROUNDS, budget[0] // effort(given, now))
                budget[0] -= max(rounds, 1) * effort(given, now)
                is_new = rounds > 0 and _exchange(
                    n_pairs, rounds, limit, at, given, now, near, slant, shape, line, plain
                )
            exchanged = at[VALUE]
            is_new = is_new or merge_all(
                offsets, at, given, now, slant, shape, line, plain, scratch
            )
        values[1, r], values[2, r] = at[VALUE], budget[0]
        values[0, r] = end(given, now, shape)
