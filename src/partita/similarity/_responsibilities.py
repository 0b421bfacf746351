"""A similarity from a marginalised mixture: π̂_ij = mean over m of Σ_k r_mik r_mjk for i ≠ j."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError, InvalidValueError
from partita.similarity._backing import Backing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Responsibilities(Backing):
    """π̂ as the membership probabilities (m, n, K) that it averages; 1 on the diagonal."""

    array: FloatArray
    probabilities: NDArray[np.float64]

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.array.shape[1])

    @cached_property
    def _missing(self) -> NDArray[np.float64]:
        """What the plain average lacks of 1 on the diagonal."""
        missing = np.ones(self.n_items)
        for w, r in zip(self.probabilities, self.array, strict=True):
            missing -= w * np.einsum("ik,ik->i", r, r)
        return missing

    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x, a draw at a time."""
        out = self._missing[:, None] * x
        for w, r in zip(self.probabilities, self.array, strict=True):
            out += w * (r @ (r.T @ x))
        return np.asarray(out)

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols]."""
        out = np.zeros((rows.size, cols.size))
        for w, r in zip(self.probabilities, self.array, strict=True):
            out += w * (r[rows] @ r[cols].T)
        out[rows[:, None] == cols[None, :]] = 1.0
        return out

    def own_sums(self, labels: IntArray, n_clusters: int, n_jobs: int) -> NDArray[np.float64]:
        """Σ_j x_ij π̂_ij for every item i."""
        out = self._missing.copy()
        for w, r in zip(self.probabilities, self.array, strict=True):
            sums = np.stack([np.bincount(labels, column, n_clusters) for column in r.T], axis=1)
            out += w * np.einsum("ik,ik->i", r, sums[labels])
        return out


def checked(value: Any) -> FloatArray:
    """Return responsibilities (m, n, K) as floats after checking that they are probabilities."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError("`responsibilities` must be an array of numbers.") from None
    if array.ndim != 3 or 0 in array.shape:
        raise InvalidValueError(
            "`responsibilities` must have the shape (draws, items, clusters), none of them zero; "
            f"got {array.shape}."
        )
    if not (array >= -1e-9).all():
        raise InvalidValueError(
            "`responsibilities` must be probabilities: not negative, not NaN. For log "
            "probabilities, exponentiate them first."
        )
    worst = float(np.abs(array.sum(axis=2) - 1).max())
    if worst > 1e-6:
        raise InvalidValueError(
            "`responsibilities` must sum to 1 over the clusters for every draw and item; got a "
            f"sum off by {worst:.2g}."
        )
    return np.ascontiguousarray(np.clip(array, 0.0, 1.0))
