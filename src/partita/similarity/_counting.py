"""How often two items share a label, for every pair, from draws in rows.

Without weights every value is an exact count over the number of draws. The matrix is filled in
strips of about equal work, on as many threads as there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.parallel import blocks, map_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray

# As in similarity_kernels.hpp: rows of a block, items of a panel, draws in a word of bits.
_ROWS, _PANEL, _WORD = 64, 16, 64
_WRITING = 1e-9  # seconds to write one pair
_COUNTING, _WEIGHING = 4e-12, 1e-10  # seconds to count, or to weigh, one draw of a pair
_LEAST, _MOST = 3e-4, 5e-3  # seconds of work in a strip: worth a thread, and soon interrupted
_STRIPS = 64  # enough strips to keep many threads busy until the end

Strip = tuple[int, int, int, int]


def counted(
    labels: IntArray, weights: NDArray[np.float64] | None, dtype: Any, n_jobs: int
) -> FloatArray:
    """Return the n x n similarity of draws.

    Parameters
    ----------
    labels : (n_draws, n_items) uint8, uint16 or uint32, at least one draw
    weights : (n_draws,) float64, not negative, not all zero; or None for equal weights
    dtype : float64 or float32

    Examples
    --------
    >>> counted(np.array([[0, 0, 1], [0, 1, 1]], dtype=np.uint8), None, np.float64, 1)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    labels = np.ascontiguousarray(labels)
    n_draws, n = labels.shape
    out = np.empty((n, n), dtype=dtype)
    planes = _planes(labels, _n_planes(labels), n_jobs) if weights is None else None

    def fill(strip: Strip) -> None:
        if planes is not None:
            _core.count_shares(planes, planes, n_draws, True, strip, out)
        elif weights is not None:
            _core.weigh_shares(labels, labels, weights, True, strip, out)

    parts = list(strips(n, n, _seconds(n_draws, weights), both=True))
    for _ in map_blocks(fill, parts, n_jobs=n_jobs, label="similarity"):
        pass
    return out


def block(
    labels: IntArray, weights: NDArray[np.float64] | None, rows: IntArray, cols: IntArray
) -> NDArray[np.float64]:
    """Return the similarity of the items ``rows`` with the items ``cols`` (index arrays).

    Examples
    --------
    >>> labels = np.array([[0, 0, 1], [0, 1, 1]], dtype=np.uint8)
    >>> block(labels, np.array([0.75, 0.25]), np.array([1]), np.array([0, 1, 2]))
    array([[0.75, 1.  , 0.25]])
    """
    left, right = _picked(labels, rows), _picked(labels, cols)
    out = np.empty((len(rows), len(cols)))
    parts = strips(*out.shape, _seconds(labels.shape[0], weights), both=False)
    if weights is not None:
        for strip in parts:
            _core.weigh_shares(left, right, weights, False, strip, out)
        return out
    n_planes = max(_n_planes(left), _n_planes(right))
    bits = _planes(left, n_planes, 1), _planes(right, n_planes, 1)
    for strip in parts:
        _core.count_shares(*bits, labels.shape[0], False, strip, out)
    return out


def strips(n_rows: int, n_cols: int, seconds: float, *, both: bool) -> Iterator[Strip]:
    """Cut a matrix into (top, bottom, left, right); with ``both``, from its diagonal to the right.

    ``seconds`` is what a pair takes.
    """
    total = seconds * n_rows * n_cols / (2 if both else 1)
    pairs = min(max(total / _STRIPS, _LEAST), _MOST) / seconds
    top = 0
    while top < n_rows:
        start = top if both else 0
        height = _ROWS * max(1, round(pairs / max(1, n_cols - start) / _ROWS))
        bottom = min(n_rows, top + height)
        width = _PANEL * max(1, round(pairs / (bottom - top) / _PANEL))
        for left in range(start, n_cols, width):
            yield top, bottom, left, min(n_cols, left + width)
        top = bottom


def _seconds(n_draws: int, weights: Any) -> float:
    return n_draws * (_COUNTING if weights is None else _WEIGHING) + _WRITING


def _n_planes(labels: IntArray) -> int:
    """The bits of the largest label, at least one."""
    return max(1, int(labels.max(initial=0)).bit_length())


def _planes(labels: IntArray, n_planes: int, n_jobs: int) -> NDArray[np.uint64]:
    """The labels taken apart into bits, shape (panels, words, planes, 16)."""
    n_draws, n_items = labels.shape
    shape = -(-n_items // _PANEL), -(-n_draws // _WORD), n_planes, _PANEL
    out = np.empty(shape, dtype=np.uint64)
    parts = blocks(shape[0], max(4, 1_000_000 // (_PANEL * n_draws)))
    for _ in map_blocks(
        lambda part: _core.take_apart(labels, part.start, part.stop, out), parts, n_jobs=n_jobs
    ):
        pass
    return out


def _picked(labels: IntArray, items: IntArray) -> IntArray:
    """Return the columns of some items; a run of them is sliced, which is ten times quicker."""
    items = np.asarray(items, dtype=np.intp)
    if items.size and 0 <= items[0] <= items[-1] < labels.shape[1] and np.all(np.diff(items) == 1):
        return np.ascontiguousarray(labels[:, items[0] : items[-1] + 1])
    return np.ascontiguousarray(labels[:, items])
