"""Items that no draw tells apart, as one weighted item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.partitions import distinct_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import IntArray

_WORTH = 0.95  # share of the items that may be left for it to pay


class Items:
    """Weighted items: the first member of each, which of them every item is in, and their weights.

    Parameters
    ----------
    n_items : int
    rows : ndarray of unsigned integers, shape (n_items, ...), optional
        Items with the same row are one; all are single without it, or if hardly any can be merged.
    """

    def __init__(self, n_items: int, rows: NDArray[Any] | None = None) -> None:
        self.firsts = self.members = np.arange(n_items)
        self.weight = np.ones(n_items, dtype=np.int64)
        self.are_merged = False
        if rows is not None:
            firsts, members = distinct_rows(rows)
            self.are_merged = firsts.size <= _WORTH * n_items
            if self.are_merged:
                self.firsts, self.members, self.weight = firsts, members, np.bincount(members)

    def compress(self, labels: IntArray) -> NDArray[np.int64]:
        """One label for each weighted item: that of its first member."""
        return np.asarray(labels, dtype=np.int64)[self.firsts]

    def expand(self, labels: IntArray) -> NDArray[np.int64]:
        """One label for each item."""
        return np.asarray(labels[self.members], dtype=np.int64)
