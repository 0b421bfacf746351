"""What the verbs of this room are given: draws that count, and a partition of their items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.diagnostics import Chains
from partita.draws import Draws, complete_draws
from partita.evidence import as_evidence
from partita.partitions import canonical
from partita.similarity import Similarity

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def positive_draws(data: Any, verb: str) -> Draws:
    """Return ``data`` as complete draws, without those of weight zero."""
    return _positive(complete_draws(data, verb))


def draws_or_similarity(data: Any) -> tuple[Draws | None, Similarity]:
    """Return complete draws, if there are any, and the similarity as an operator."""
    evidence = as_evidence(data)
    if not evidence.has_draws:
        return None, evidence.similarity
    draws = _positive(evidence.draws)
    return draws, Similarity.from_draws(draws)


def _positive(draws: Draws) -> Draws:
    if draws.weights is None or (draws.weights > 0).all():
        return draws
    return draws.take(draws.weights > 0)


def labels_of(partition: Any, draws: Draws | Similarity) -> NDArray[np.int64]:
    """Return the canonical labels of an estimate or a label vector of the same items as draws."""
    labels = getattr(partition, "labels", partition)
    return canonical(validate.labels("labels", labels, n_items=draws.n_items))


def halves(draws: Draws) -> NDArray[np.bool_]:
    """Return which draws are in the first half of their chain."""
    first = np.zeros(draws.n_draws, dtype=np.bool_)
    for members in Chains.of(draws).members:
        first[members[: (members.size + 1) // 2]] = True
    if first.all():  # every chain is of one draw
        first[(draws.n_draws + 1) // 2 :] = False
    return first


def item_index(draws: Draws | Similarity) -> pd.Index[Any]:
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
