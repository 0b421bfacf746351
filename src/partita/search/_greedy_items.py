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
    most_kinds : int
        Different weights, at most: if there would be more, what is one item becomes some, whose
        weights are powers of a number.
    """

    def __init__(
        self, n_items: int, rows: NDArray[Any] | None = None, most_kinds: int = 1 << 30
    ) -> None:
        self.firsts = self.members = np.arange(n_items)
        self.weight = np.ones(n_items, dtype=np.int64)
        self.are_merged = False
        if rows is not None:
            firsts, members = distinct_rows(rows)
            weight = np.bincount(members)
            if np.unique(weight).size > max(1, most_kinds):
                firsts, members = _in_pieces(members, weight, max(1, most_kinds))
                weight = np.bincount(members)
            self.are_merged = firsts.size <= _WORTH * n_items
            if self.are_merged:
                self.firsts, self.members, self.weight = firsts, members, weight

    def compress(self, labels: IntArray) -> NDArray[np.int64]:
        """One label for each weighted item: that of its first member."""
        return np.asarray(labels, dtype=np.int64)[self.firsts]

    def expand(self, labels: IntArray) -> NDArray[np.int64]:
        """One label for each item."""
        return np.asarray(labels[self.members], dtype=np.int64)


def _in_pieces(
    members: IntArray, weight: IntArray, most_kinds: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first member of each piece of the items, and which of them every item is in.

    Pieces of an item of weight w are as many for each power of some base as w has there as a digit.
    """
    base, power = 2, 1
    while base**most_kinds <= int(weight.max()):
        base += 1
    while power * base <= int(weight.max()) and base**most_kinds > power * base:
        power *= base
    order = np.argsort(members, kind="stable")
    starts = np.cumsum(weight) - weight
    rank = np.arange(members.size) - np.repeat(starts, weight)  # of an item among those alike
    left, piece, top = np.repeat(weight, weight), np.zeros_like(rank), int(weight.max())
    while power > 1:
        taken = left // power * power
        here = (rank >= 0) & (rank < taken)
        piece[here] = power * (top + 1) + rank[here] // power  # a number of its own
        rank, left, power = np.where(here, -1, rank - taken), left - taken, power // base
    here = rank >= 0
    piece[here] = top + 1 + rank[here]
    _, firsts, found = np.unique(
        np.stack([members[order], piece], axis=1), axis=0, return_index=True, return_inverse=True
    )
    out = np.empty(members.size, dtype=np.int64)
    out[order] = found.ravel()
    return order[firsts], out
