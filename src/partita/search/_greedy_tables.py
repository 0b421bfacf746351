"""Memory for tables with a column for each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANES = 8


class Room:
    """Memory for a table of any width, its rows on cache lines, taken anew only to grow."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.raw = np.dtype(dtype), np.zeros(64, dtype=np.uint8)

    def table(self, shape: tuple[int, int]) -> NDArray[Any]:
        """A table of this shape; what it holds is undefined."""
        size = shape[0] * shape[1] * self.dtype.itemsize
        if self.raw.size < size + 64:
            self.raw = np.empty(size + 64, dtype=np.uint8)
        start = -self.raw.ctypes.data % 64
        return np.asarray(self.raw[start : start + size].view(self.dtype).reshape(shape))


def width_for(n_clusters: int) -> int:
    """The columns of tables for this many clusters, and at least one more."""
    return LANES * ((n_clusters + n_clusters // 8) // LANES + 1)
