"""How often two items share a label, for every pair, from draws in rows.

Without weights every value is an exact count over the number of draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.parallel import progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray


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
    out = np.empty((labels.shape[1], labels.shape[1]), dtype=dtype)
    with progress(100, "similarity") as bar:
        shown = 0

        def show(done: float, _: float) -> None:
            nonlocal shown
            bar.advance(int(100 * done) - shown)
            shown = int(100 * done)

        stop = _core.Stop(None, show)
        _core.shares(np.ascontiguousarray(labels), None, weights, out, n_jobs, stop)
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
    out = np.empty((len(rows), len(cols)))
    left, right = _picked(labels, rows), _picked(labels, cols)
    _core.shares(left, right, weights, out, 1, _core.Stop())
    return out


def _picked(labels: IntArray, items: IntArray) -> IntArray:
    """Return the columns of some items; a run of them is sliced, which is ten times quicker."""
    items = np.asarray(items, dtype=np.intp)
    if items.size and 0 <= items[0] <= items[-1] < labels.shape[1] and np.all(np.diff(items) == 1):
        return np.ascontiguousarray(labels[:, items[0] : items[-1] + 1])
    return np.ascontiguousarray(labels[:, items])
