"""Which draws are the same partition, by hashing blocks of items and then comparing in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.parallel import blocks, map_items
from partita.partitions._labels import grouped, hash_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import IntArray

_AT_ONCE = 200_000  # labels looked at together


def distinct_draws(labels: Any, *, n_jobs: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct partitions among canonical labels, in memory or in a store.

    Parameters
    ----------
    labels : ndarray or StoredLabels, shape (n_draws, n_items)

    Returns
    -------
    first : ndarray of int64
        Where each distinct draw appears first, in that order.
    owner : ndarray of int64, shape (n_draws,)
        Which of them each draw equals.
    """
    seed = 0
    while True:  # a second time only if two draws share a hash, one chance in some 2^63
        hashes = np.zeros(labels.shape[0], dtype=np.uint64)
        for part in map_items(hashed, labels, shared=(seed,), n_jobs=n_jobs):
            hashes += part
        first, owner = grouped(hashes)
        repeated = np.flatnonzero(first[owner] != np.arange(owner.size))
        pairs = np.stack([repeated, first[owner[repeated]]], axis=1)
        if not pairs.size or all(
            map_items(are_equal, labels, shared=(pairs,), n_jobs=n_jobs, label="equal draws")
        ):
            return first, owner
        seed += 1


def hashed(block: IntArray, items: slice, seed: int) -> NDArray[np.uint64]:
    """The share of a block of items in the hash of every draw."""
    out = np.empty(block.shape[0], dtype=np.uint64)
    for part in blocks(block.shape[0], max(1, _AT_ONCE // block.shape[1])):
        out[part] = hash_rows(block[part], items.start, seed)
    return out


def are_equal(block: IntArray, items: slice, pairs: NDArray[np.int64]) -> bool:
    """Whether both draws of every pair agree on a block of items."""
    parts = blocks(pairs.shape[0], max(1, _AT_ONCE // block.shape[1]))
    return all(np.array_equal(block[pairs[p, 0]], block[pairs[p, 1]]) for p in parts)
