"""How often two items share a label, for every pair, from draws in rows.

``plan(labels, weights, dtype)`` allocates the matrix and cuts its upper triangle into ``strips``
of about equal work; ``plan.fill(strip)`` counts one, writes it and its mirror image, and may run
on any thread. ``block(labels, weights, rows, cols)`` counts a rectangle. Without weights every
value is an exact count over the number of draws. The loops are in `_pairs`, and in `_bits` for
many draws of few clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.kernels import _bits, _pairs

Array = np.ndarray[Any, Any]
Strip = tuple[int, int, int, int]

# Comparisons of single bytes in a strip: enough to be worth a thread (0.4 ms), few enough to
# interrupt (about 10 ms).
_LEAST, _MOST = 6e7, 5e8

# Draws from which on it pays to take labels apart into bits, and labels up to which these are held.
_MANY, _HELD = 256, 1 << 28


@dataclass(frozen=True)
class Plan:
    """The matrix to fill, and the strips (row and column ranges) that fill it."""

    labels: Array
    weights: Array | None
    out: Array
    strips: list[Strip]
    planes: Array | None = None

    def fill(self, strip: Strip) -> None:
        """Write the pairs of a strip, both ways round, and its part of the diagonal."""
        if self.planes is not None:
            _bits.fill(self.planes, self.labels.shape[0], strip, self.out)
        else:
            _pairs.fill(self.labels, self.labels, self.weights, True, strip, self.out)


def plan(labels: Array, weights: Array | None, dtype: Any = np.float64) -> Plan:
    """Lay out the n x n similarity of draws.

    Parameters
    ----------
    labels : (n_draws, n_items) uint8, uint16 or uint32, at least one draw
    weights : (n_draws,) float64, not negative, not all zero; or None for equal weights
    dtype : float64 or float32

    Examples
    --------
    >>> import numpy as np
    >>> work = plan(np.array([[0, 0, 1], [0, 1, 1]], dtype=np.uint8), None)
    >>> for strip in work.strips:
    ...     work.fill(strip)
    >>> work.out
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    labels, n_items = _frozen(labels), labels.shape[1]
    out = np.empty((n_items, n_items), dtype=dtype)
    if weights is None and _has_few_bits(labels):
        strips = _triangle(n_items, labels.shape[0] / 4 + 300)
        return Plan(labels, None, out, strips, _bits.planes(labels))
    strips = _triangle(n_items, _cost(labels, weights))
    return Plan(labels, _frozen(weights), out, strips)


def block(labels: Array, weights: Array | None, rows: Array, cols: Array) -> Array:
    """Return the similarity of the items ``rows`` with the items ``cols`` (index arrays).

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 0, 1], [0, 1, 1]], dtype=np.uint8)
    >>> block(labels, np.array([0.75, 0.25]), np.array([1]), np.array([0, 1, 2]))
    array([[0.75, 1.  , 0.25]])
    """
    left, right, weights = _picked(labels, rows), _picked(labels, cols), _frozen(weights)
    out = np.empty((len(rows), len(cols)))
    for strip in _rectangle(*out.shape, _cost(labels, weights)):
        _pairs.fill(left, right, weights, False, strip, out)
    return out


def _frozen(array):
    """Return a read-only C-contiguous view: one type, so that one version is compiled."""
    if array is None:
        return None
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def _has_few_bits(labels):
    """Whether to compare bits, not labels: there are many draws, and few clusters in each."""
    is_many = labels.shape[0] >= _MANY and labels.size <= _HELD
    return is_many and labels.dtype == np.uint8 and labels.max() < _bits.MOST_LABELS


def _picked(labels, items):
    """Return the columns of some items; a run of them is sliced, which is ten times quicker."""
    items = np.asarray(items, dtype=np.intp)
    if items.size and 0 <= items[0] <= items[-1] < labels.shape[1] and np.all(np.diff(items) == 1):
        return _frozen(labels[:, items[0] : items[-1] + 1])
    return _frozen(labels[:, items])


def _cost(labels, weights):
    """Return the time of a pair in comparisons of single bytes; 300 of them go to writing it."""
    return labels.shape[0] * (labels.itemsize if weights is None else 12) + 300


def _triangle(n_items, cost) -> list[Strip]:
    pairs = _strip_pairs(n_items * n_items / 2, cost)
    strips: list[Strip] = []
    start = 0
    while start < n_items:
        stop = min(n_items, start + _height(pairs, n_items - start))
        strips += _cut(start, stop, start, n_items, pairs)
        start = stop
    return strips


def _rectangle(n_rows, n_cols, cost) -> list[Strip]:
    pairs = _strip_pairs(n_rows * n_cols, cost)
    height = _height(pairs, max(1, n_cols))
    return [
        strip
        for start in range(0, n_rows, height)
        for strip in _cut(start, min(n_rows, start + height), 0, n_cols, pairs)
    ]


def _strip_pairs(total, cost):
    """Return the pairs of a strip: a 64th of all, unless that is too quick or too slow."""
    return min(max(total * cost / 64, _LEAST), _MOST) / cost


def _height(pairs, width):
    """Return the rows of a strip: whole cache blocks, or parts that keep their groups whole."""
    rows = pairs / width
    if rows >= _pairs.ROWS:
        return int(rows / _pairs.ROWS + 0.5) * _pairs.ROWS
    if rows < _pairs.ROWS / 2:
        # Rather narrower strips than flat ones: the labels copied are as many as the
        # circumference of a cache block, the labels compared as its area.
        rows = pairs / _pairs.VECTOR
    return min(_pairs.ROWS, max(_pairs.STEP, int(rows) // _pairs.STEP * _pairs.STEP))


def _cut(row_start, row_stop, start, stop, pairs) -> list[Strip]:
    """Cut columns into parts of whole panels, counted from the right like the panels."""
    n_parts = max(1, int((row_stop - row_start) * (stop - start) / pairs + 0.5))
    width = max(1, -(-(stop - start) // (n_parts * _pairs.VECTOR))) * _pairs.VECTOR
    return [
        (row_start, row_stop, max(start, right - width), right)
        for right in range(stop, start, -width)
    ]
