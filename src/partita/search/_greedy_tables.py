"""Memory for tables with a column for each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES = 8


class Room:
    """Memory for a table of any width, its start on a cache line, taken anew only to grow.

    Rows are whole numbers of 32 bytes for single precision, of 16 for counts of two bytes.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.raw = np.dtype(dtype), np.zeros(64, dtype=np.uint8)

    def table(self, shape: tuple[int, int]) -> NDArray[Any]:
        """A table of this shape; what it holds is undefined."""
        size = self._size(shape)
        if self.raw.size < size + 64:
            self.raw = np.empty(size + 64, dtype=np.uint8)
        start = -self.raw.ctypes.data % 64
        return np.asarray(self.raw[start : start + size].view(self.dtype).reshape(shape))

    def widened(self, table: NDArray[Any], width: int, fill: float) -> NDArray[Any]:
        """A wider table with the columns of one from here, and ``fill`` in the others.

        The old table is copied only if the new one lies in the same memory.
        """
        rows, known = table.shape
        if self.raw.size >= self._size((rows, width)) + 64:
            table = table.copy()
        wider = self.table((rows, width))
        wider[:, :known], wider[:, known:] = table, fill
        return wider

    def _size(self, shape: tuple[int, int]) -> int:
        return shape[0] * shape[1] * int(self.dtype.itemsize)


def width_for(n_clusters: int) -> int:
    """The columns of tables for this many clusters, and at least one more."""
    return LANES * ((n_clusters + n_clusters // 8) // LANES + 1)
