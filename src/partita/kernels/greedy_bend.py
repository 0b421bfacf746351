"""The part of a loss that bends where e passes the t of a draw; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner


@inner
def knots_below(e, curve):
    """How many of sorted t (row 0) are at most e.

    The range of t is cut into as many cells as there are; rows 3 and 4 say between which numbers
    the answer is for each, the last entry of row 0 how many cells there are for a unit of e.
    """
    last = curve.shape[1] - 1
    place = (e - curve[0, 0]) * curve[0, last]
    cell = np.int64(min(max(place, 0.0), last - 1.0))
    low, high = np.int64(curve[3, cell]), np.int64(curve[4, cell])
    while low < high:
        middle = (low + high) // 2
        if curve[0, middle] <= e:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def bend(e, curve, bends):
    """Σ_m q_m min(t_m, e) from sorted t, prefix sums of q·t (row 1) and of q (row 2)."""
    if not bends:
        return 0.0
    below, last = knots_below(e, curve), curve.shape[1] - 1
    return curve[1, below] + e * (curve[2, last] - curve[2, below])


@inner
def tangent(e, curve, bends):
    """Value and slope of the bend at e, and whether it is nowhere below that tangent."""
    if not bends:
        return 0.0, 0.0, False
    below, last = knots_below(e, curve), curve.shape[1] - 1
    slope = curve[2, last] - curve[2, below]
    return curve[1, below] + e * slope, slope, curve[2, last] <= 0.0
