"""Similarity matrices averaged down to what a figure can show, never n by n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import Draws, counts_in, representative, sparse_counts_in
from partita.evidence import as_evidence
from partita.parallel import blocks
from partita.plots._canvas import bin_edges, check_order, some_of
from partita.similarity import posterior_similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.similarity import Similarity

_COLUMNS = 8_192  # clusters of draws multiplied at a time
_CELLS = 4_000_000  # similarities looked at in one go
_SPARSE = 2  # clusters times cells over items from which counts are too sparse for products
_WORK = 10_000_000  # labels looked at in some thirty milliseconds


@dataclass(frozen=True, eq=False)
class Averaged:
    """A similarity matrix in some order, averaged over blocks of neighbours.

    Parameters
    ----------
    values : ndarray of float32, shape (cells, cells)
    edges : ndarray of int64, shape (cells + 1,)
        Cell a holds the items at positions ``edges[a]`` to ``edges[a + 1] - 1`` of the order.
    note : str
        ``"1,000 of 5,000 draws"`` if not all were averaged.
    """

    values: NDArray[np.float32]
    edges: NDArray[np.int64]
    note: str = ""


def average_similarity(
    data: Any, order: Any = None, *, max_cells: int = 600, max_draws: int = 1_000
) -> Averaged:
    """Return π̂ of the items in ``order``, averaged over blocks to at most ``max_cells`` a side.

    From draws a block's mean needs only how many of its items are in each cluster of each draw,
    so that n² is never allocated; where there is room for every item, the matrix is exact.

    Parameters
    ----------
    data : Draws, Similarity or anything that can become draws
    order : array-like of shape (n,), optional
        Positions of items; as they come if None.
    max_cells : int
    max_draws : int
        If blocks are averaged, so many draws that stand for all
        (:func:`partita.draws.representative`); the result's ``note`` says so.

    Returns
    -------
    Averaged

    Examples
    --------
    >>> average_similarity([[0, 0, 1, 1], [0, 0, 0, 1]], max_cells=2).values.round(2)
    array([[1.  , 0.25],
           [0.25, 0.75]], dtype=float32)
    """
    evidence = as_evidence(data)
    n = evidence.n_items
    order = np.arange(n) if order is None else check_order(order, n)
    edges = bin_edges(n, max_cells)
    validate.integer("max_draws", max_draws, least=1)
    if evidence.has_draws and not evidence.has_dense:
        draws = evidence.draws
        if edges.size == n + 1:
            dense = posterior_similarity(draws).to_dense()
            return Averaged(dense[np.ix_(order, order)].astype(np.float32), edges)
        used = representative(draws, max_draws)
        note = some_of(used.n_draws, draws.n_draws)
        return Averaged(_from_draws(used, order, edges), edges, note)
    return Averaged(_from_similarity(evidence.similarity, order, edges), edges)


def _from_draws(
    draws: Draws, order: NDArray[np.int64], edges: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Σ_m w_m C_m C_mᵀ over the sizes, with C_m the counts of cells by clusters of draw m."""
    cells = edges.size - 1
    cell_of = np.empty(order.size, dtype=np.int64)
    cell_of[order] = np.repeat(np.arange(cells), np.diff(edges))
    most = int(draws.n_clusters.max())
    many = most * cells > _SPARSE * order.size
    total = _sparse(draws, cell_of, cells) if many else _dense(draws, cell_of, cells, most)
    return _over_sizes(total, edges)


def _sparse(draws: Draws, cell_of: NDArray[np.int64], cells: int) -> NDArray[np.float32]:
    """Over the pairs of cells that a cluster has items in, which are few if clusters are many."""
    total = np.zeros((cells, cells), dtype=np.float32)
    for part in blocks(draws.n_draws, _WORK // cell_of.size):
        labels = np.ascontiguousarray(draws.labels[part])
        counts = sparse_counts_in(labels, draws.n_clusters[part], cell_of, cells).cells
        weights = np.repeat(draws.probabilities[part], draws.n_clusters[part])
        total += (counts.T @ counts.multiply(weights[:, None]).tocsr()).toarray()
    return total


def _dense(draws: Draws, cell_of: NDArray[np.int64], cells: int, most: int) -> NDArray[np.float32]:
    """As products of matrices."""
    total = np.zeros((cells, cells), dtype=np.float32)
    weights = draws.probabilities
    for part in blocks(draws.n_draws, min(_COLUMNS // most, _WORK // cell_of.size)):
        labels = np.ascontiguousarray(draws.labels[part])
        table = counts_in(labels, most * np.arange(len(labels) + 1), cell_of, cells)
        roots = np.sqrt(weights[part]).astype(np.float32)
        counts = table * np.repeat(roots, most)[:, None]
        total += counts.T @ counts
    return total


def _from_similarity(
    similarity: Similarity, order: NDArray[np.int64], edges: NDArray[np.int64]
) -> NDArray[np.float32]:
    cells = edges.size - 1
    total = np.zeros((cells, cells), dtype=np.float32)
    per_go = max(1, _CELLS // order.size // int(np.diff(edges).max()))
    for part in blocks(cells, per_go):
        rows = slice(edges[part.start], edges[part.stop])
        strip = np.add.reduceat(similarity.block(order[rows], order), edges[:-1], axis=1)
        total[part] = np.add.reduceat(strip, edges[part] - rows.start, axis=0)
    return _over_sizes(total, edges)


def _over_sizes(total: NDArray[np.float32], edges: NDArray[np.int64]) -> NDArray[np.float32]:
    sizes = np.diff(edges).astype(np.float32)
    return np.asarray(np.clip(total / np.outer(sizes, sizes), 0.0, 1.0), dtype=np.float32)


def average_partition(
    labels: NDArray[np.int64], order: NDArray[np.int64], max_cells: int
) -> Averaged:
    """The binary matrix of a partition, averaged in the same way."""
    return average_similarity(Draws(labels[None, :]), order, max_cells=max_cells)
