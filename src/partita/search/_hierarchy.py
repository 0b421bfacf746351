"""The dendrogram of 1 - π̂, which two searches cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.partitions import Tree

if TYPE_CHECKING:
    from partita.evidence import Evidence

_MOST_ITEMS = 20_000
METHODS = ("average", "complete", "single", "weighted")


def on_landmarks(evidence: Evidence) -> bool:
    """Whether a dendrogram of all the items is out of the question.

    There are too many of them for it; or, of draws that must be gone over in blocks, for a matrix;
    or the labels, which cuts are scored on, are more than can be held.
    """
    if evidence.has_dense:
        return False
    if evidence.streams and (evidence.is_large or not evidence.can_be_held):
        return True
    return evidence.n_items > _MOST_ITEMS


def dendrogram(evidence: Evidence, method: Any) -> Tree:
    """Return the tree of agglomerative clustering with the dissimilarity 1 - π̂."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n = evidence.n_items
    if n == 1:
        return Tree(np.empty((0, 2), dtype=np.int64), np.empty(0))
    n_pairs = n * (n - 1) // 2
    matrix_bytes = 0 if evidence.has_dense else 8 * n * n
    validate.fits_in_memory(
        f"The dendrogram of {n:,} items",
        matrix_bytes + 16 * n_pairs,  # the distances, and the copy that is worked on
        "use a search that needs no dendrogram, such as 'draws'.",
    )
    distances = squareform(evidence.dense, checks=False)
    np.subtract(1.0, distances, out=distances)
    np.maximum(distances, 0.0, out=distances)
    return Tree.from_linkage(linkage(distances, method))
