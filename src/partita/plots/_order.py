"""In which order items are shown, so that a similarity matrix can be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import representative
from partita.evidence import Evidence, as_evidence
from partita.partitions import canonical
from partita.plots._canvas import check_order, labels_of
from partita.similarity import Similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAVES = 250  # leaves that are ordered optimally at a time; the cost is cubic
_ALL_LEAVES = 1_200  # over all clusters: about as many as a figure has pixels
_DRAWS = 300  # draws that an order is made from, at most
_CELLS = 4_000_000  # similarities looked at in one go


@dataclass(frozen=True, eq=False)
class _Leaves:
    similarity: Similarity
    most: int

    def order(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Some items in optimal leaf order; where they are many, around some of them."""
        if items.size < 3:
            return items
        if items.size <= self.most:
            return items[_optimal(self.similarity.block(items, items))]
        spread = np.linspace(0, items.size - 1, self.most).round().astype(np.int64)
        marks = self.order(items[spread])
        nearest = np.empty(items.size, dtype=np.int64)
        centre = np.empty(items.size)
        position = np.arange(marks.size)
        for start in range(0, items.size, max(1, _CELLS // marks.size)):
            part = slice(start, start + max(1, _CELLS // marks.size))
            near = self.similarity.block(items[part], marks) + 1e-12
            nearest[part] = near.argmax(axis=1)
            centre[part] = near @ position / near.sum(axis=1)
        return items[np.lexsort((centre, nearest))]


def _optimal(similarity: NDArray[Any]) -> NDArray[np.int64]:
    """Optimal leaf order of the average-linkage tree on 1 - π̂, the lower end first."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    if len(similarity) < 3:
        return np.arange(len(similarity), dtype=np.int64)
    far = squareform(np.clip(1.0 - similarity, 0.0, 1.0), checks=False)
    found = leaves_list(optimal_leaf_ordering(linkage(far, "average"), far)).astype(np.int64)
    return found if found[0] < found[-1] else found[::-1]


def item_order(
    estimate: Any, data: Any, *, order: Any = "estimate", truth: Any = None
) -> NDArray[np.int64]:
    """Return the order in which to show items: by cluster, and by similarity within.

    Clusters come in the optimal leaf order of their mean similarities, the items of each in that
    of theirs; in a cluster of very many, items are placed around some that were so ordered.
    Items of one true class are kept together within a cluster. Of more than 300 draws the order
    rests on so many that stand for all (:func:`partita.draws.representative`).

    Parameters
    ----------
    estimate : Estimate or array-like of shape (n,)
    data : Draws, Similarity or anything that can become draws
    order : {"estimate", "truth", "given"} or array-like of shape (n,)
        By the estimate, by the truth and then the estimate, as the items come, or positions.
    truth : array-like of shape (n,), optional

    Returns
    -------
    ndarray of int64, shape (n,)

    References
    ----------
    Bar-Joseph, Gifford & Jaakkola (2001), Fast optimal leaf ordering for hierarchical clustering,
    Bioinformatics 17.

    Examples
    --------
    >>> item_order([0, 1, 0, 1], [[0, 1, 0, 1], [0, 1, 0, 0]])
    array([0, 2, 1, 3])
    """
    evidence = as_evidence(data)
    n = evidence.n_items
    if not isinstance(order, str):
        return check_order(order, n)
    validate.choice("order", order, ("estimate", "truth", "given"))
    if order == "given":
        return np.arange(n)
    labels = labels_of(estimate, n)
    classes = np.zeros(n, dtype=np.int64) if truth is None else labels_of(truth, n)
    outer, inner = (labels, classes) if order == "estimate" else (classes, labels)
    similarity = _thinned(evidence)
    found: list[NDArray[np.int64]] = []
    groups = _split(np.arange(n), outer)
    most = int(np.clip(_ALL_LEAVES // len(groups), 12, _LEAVES))
    leaves = _Leaves(similarity, most)
    arranged = _arranged(groups, similarity) if order == "estimate" else range(len(groups))
    for k in arranged:
        found += [leaves.order(part) for part in _split(groups[k], inner[groups[k]])]
    return np.concatenate(found)


def _thinned(evidence: Evidence) -> Similarity:
    if not evidence.has_draws:
        return evidence.similarity
    return Similarity.from_draws(representative(evidence.draws, _DRAWS))


def _split(items: NDArray[np.int64], labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Items by label, the labels in their order."""
    by_label = items[np.argsort(labels, kind="stable")]
    return np.split(by_label, np.cumsum(np.unique(labels, return_counts=True)[1])[:-1])


def _arranged(groups: list[NDArray[np.int64]], similarity: Similarity) -> NDArray[np.int64]:
    """Clusters in the optimal leaf order of their mean similarities; as numbered if very many."""
    k = len(groups)
    if k < 3 or k > _LEAVES:
        return np.arange(k, dtype=np.int64)
    labels = np.empty(similarity.n_items, dtype=np.int64)
    for number, items in enumerate(groups):
        labels[items] = number
    share = np.zeros((labels.size, k))
    share[np.arange(labels.size), labels] = 1.0
    share /= share.sum(axis=0)
    means = share.T @ (similarity @ share)
    return _optimal((means + means.T) / 2)


def shown_truth(truth: Any, n_items: int) -> NDArray[np.int64] | None:
    """Return the true classes as canonical labels, or None."""
    if truth is None:
        return None
    return canonical(validate.labels("truth", truth, n_items=n_items))
