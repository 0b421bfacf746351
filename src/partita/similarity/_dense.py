"""A similarity that is a matrix in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.errors import InvalidTypeError, InvalidValueError
from partita.parallel import blocks
from partita.similarity._backing import Backing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray

_TOLERANCE = 1e-6  # float32 and text files round; a real asymmetry is far larger


@dataclass(frozen=True, eq=False)
class Dense(Backing):
    """π̂ held as an (n, n) array."""

    array: FloatArray

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.array.shape[0])

    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x."""
        return np.asarray(self.array @ x)

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols]."""
        return np.asarray(self.array[np.ix_(rows, cols)])

    def dense(self, dtype: Any, n_jobs: int) -> FloatArray:
        """The whole matrix."""
        return np.asarray(self.array, dtype=dtype)

    def own_sums(self, labels: IntArray, n_clusters: int, n_jobs: int) -> NDArray[np.float64]:
        """Σ_j x_ij π̂_ij for every item i."""
        out, matrix = np.empty(self.n_items), np.ascontiguousarray(self.array)
        _core.own_sums(matrix, labels.astype(np.uint32), n_clusters, out, n_jobs)
        return out

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Σ_j π̂_ij for every item i."""
        return np.asarray(self.array.sum(axis=1, dtype=np.float64))

    def frobenius2(self) -> float:
        """Σ_ij π̂_ij²."""
        flat = self.array.ravel()
        parts = (flat[b].astype(np.float64, copy=False) for b in blocks(flat.size, 1 << 20))
        return float(sum(np.dot(part, part) for part in parts))


def checked(matrix: Any) -> FloatArray:
    """Return ``matrix`` as a read-only float array after checking that it is a similarity."""
    try:
        array = np.asarray(matrix)
        if array.dtype.kind not in "fiub":
            array = np.asarray(array.tolist(), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError("A similarity must be a matrix of numbers.") from None
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InvalidValueError(
            f"A similarity must be square, items by items; got shape {array.shape}. If these are "
            "draws, say so: Draws(labels)."
        )
    if array.shape[0] == 0:
        raise InvalidValueError("A similarity must have at least one item; got none.")
    array = np.array(array, order="C", copy=True)
    for rows in blocks(array.shape[0], max(1, (1 << 22) // array.shape[0])):
        _check_rows(array, rows)
    _check_diagonal(array)
    array.setflags(write=False)
    return array


def _check_diagonal(array: FloatArray) -> None:
    diagonal = np.diagonal(array)
    bad = ~(np.abs(diagonal - 1) <= _TOLERANCE)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise InvalidValueError(
            f"A similarity must have 1 on its diagonal; got {diagonal[i]:g} at item {i}. An item "
            "is always with itself: set the diagonal to 1."
        )


def _check_rows(array: FloatArray, rows: slice) -> None:
    part = array[rows]
    bad = ~((part >= -_TOLERANCE) & (part <= 1 + _TOLERANCE))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise InvalidValueError(
            f"A similarity must hold probabilities in [0, 1]; got {part[i, j]:g} at "
            f"({rows.start + int(i)}, {int(j)}). Divide counts by the number of draws."
        )
    bad = np.abs(part - array[:, rows].T) > _TOLERANCE
    if bad.any():
        i, j = np.argwhere(bad)[0]
        a, b = rows.start + int(i), int(j)
        raise InvalidValueError(
            f"A similarity must be symmetric; got {array[a, b]:g} at ({a}, {b}) and "
            f"{array[b, a]:g} at ({b}, {a})."
        )
