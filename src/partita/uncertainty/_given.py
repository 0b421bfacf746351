"""What the verbs of this room are given: draws that count, and a partition of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.draws import Draws, as_draws
from partita.partitions import canonical

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def positive_draws(data: Any) -> Draws:
    """Return ``data`` as draws, without those of weight zero."""
    draws = as_draws(data)
    if draws.weights is None or (draws.weights > 0).all():
        return draws
    return draws.take(draws.weights > 0)


def labels_of(partition: Any, draws: Draws) -> NDArray[np.int64]:
    """Return the canonical labels of an estimate or a label vector of the same items as draws."""
    labels = getattr(partition, "labels", partition)
    return canonical(validate.labels("labels", labels, n_items=draws.n_items))


def item_index(draws: Draws) -> pd.Index[Any]:
    """Return the names of the items, or their numbers, as the index of a frame."""
    return io.item_index(draws.item_names, draws.n_items)


def n_columns(labels: NDArray[np.int64]) -> int:
    """Return K, or refuse where tables of items by clusters would not fit in memory."""
    n, k = labels.size, int(labels.max()) + 1
    validate.fits_in_memory(
        f"Tables of {n:,} items by {k:,} clusters",
        4 * 8 * n * k,
        "ask about a partition into fewer clusters.",
    )
    return k


def one_hot(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the (n, K) indicator of labels 0 .. K-1."""
    out = np.zeros((labels.size, n_columns(labels)))
    out[np.arange(labels.size), labels] = 1.0
    return out
