"""What stands behind a similarity: it gives blocks, and sums that a kind may take more quickly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.parallel import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray

_ROWS = 256  # of a matrix that is gone over without being formed


class Backing(ABC):
    """π̂ as an operator."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """The number of items."""

    @abstractmethod
    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols]."""

    @abstractmethod
    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x."""

    @abstractmethod
    def own_sums(self, labels: IntArray, n_clusters: int, n_jobs: int) -> NDArray[np.float64]:
        """Σ_j x_ij π̂_ij for every item i."""

    def upper(self) -> Iterator[tuple[slice, FloatArray]]:
        """Rows of π̂ from the diagonal on, some at a time."""
        every = np.arange(self.n_items)
        for rows in blocks(self.n_items, _ROWS):
            yield rows, self.block(every[rows], every[rows.start :])

    def dense(self, dtype: Any, n_jobs: int) -> FloatArray:
        """The whole matrix."""
        out = np.empty((self.n_items, self.n_items), dtype=dtype)
        for rows, part in self.upper():
            lower = np.tril_indices(part.shape[0], -1)
            part[lower] = part[:, : part.shape[0]].T[lower]  # symmetric to the last bit
            out[rows, rows.start :] = part
            out[rows.start :, rows] = part.T
        return out

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Σ_j π̂_ij for every item i: the expected size of its cluster."""
        return self.own_sums(np.zeros(self.n_items, dtype=np.int64), 1, 1)

    def frobenius2(self) -> float:
        """Σ_ij π̂_ij², both halves of the matrix from one."""
        total = 0.0
        for _, part in self.upper():
            own = part[:, : part.shape[0]]
            total += 2.0 * float(np.vdot(part, part)) - float(np.vdot(own, own))
        return total
