"""``kl`` and ``ns`` on landmarks, extended to all items by non-negative regression.

With W of the landmarks fixed, item i's column h of H minimises the divergence of π̂_Si from W h, a
convex problem. Landmarks that are together in nearly every draw have nearly proportional rows of W,
and a sum of Poisson counts with proportional means is sufficient, so they are summed into groups
first: π̂ is only needed between groups and items, which is a table of counts spread over the draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.distributed import Pieces, map_pieces
from partita.draws import counts_in, offsets_of, scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.similarity import Landmarks
    from partita.typing import FloatArray, IntArray

N_GROUPS = 96
_MOST = 100  # steps of one regression
_CHUNK = 4096
_THETA = 0.5


@dataclass(frozen=True, eq=False)
class Groups:
    """Landmarks in groups, and the similarity of every item to each of them, summed.

    Parameters
    ----------
    of : ndarray of int64, shape (s,)
    sizes : ndarray, shape (g,)
    similarity : Pieces of float32, shape (g, items of a block)
    """

    of: NDArray[np.int64]
    sizes: NDArray[np.float64]
    similarity: Pieces

    def summed(self, x: FloatArray) -> NDArray[np.float64]:
        """Rows that belong to landmarks, (s, K), summed over groups, (g, K)."""
        out = np.zeros((self.sizes.size, x.shape[1]))
        np.add.at(out, self.of, x)
        return out


def groups(
    draws: Draws, landmarks: Landmarks, matrix: NDArray[np.float64], *, n_jobs: int = 1
) -> Groups:
    """Cut average linkage of the landmarks into groups and sum π̂ over each."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    of = np.zeros(landmarks.size, dtype=np.int64)
    if landmarks.size > 1:
        apart = np.maximum(1.0 - matrix, 0.0)
        np.fill_diagonal(apart, 0.0)
        tree = linkage(squareform(apart, checks=False), "average")
        of = fcluster(tree, min(N_GROUPS, landmarks.size), "maxclust").astype(np.int64) - 1
    sizes = np.bincount(of).astype(np.float64)
    offsets = offsets_of(draws)
    table = counts_in(np.ascontiguousarray(landmarks.labels), offsets, of, sizes.size)
    shared = (offsets, draws.probabilities, table.astype(np.float64))
    similarity, _ = map_pieces(
        summed_similarity, draws.labels, shared=shared, n_jobs=n_jobs, label="landmarks"
    )
    return Groups(of, sizes, similarity)


def summed_similarity(
    block: IntArray, items: slice, offsets: NDArray[np.int64], weights: FloatArray,
    table: FloatArray,
) -> tuple[NDArray[np.float32], None]:  # fmt: skip
    """Σ over the landmarks j of each group of π̂_ji, for the items i of a block."""
    out = scattered(block, items, offsets, weights, table)
    return np.ascontiguousarray(out.T, dtype=np.float32), None


def extend(groups: Groups, draws: Draws, fit: Any, *, n_jobs: int = 1) -> Pieces:
    """H of all items in pieces (K, items of a block), given a fit of the landmarks."""
    W = np.asarray(fit.W, dtype=np.float64)
    if fit.model == "ns":
        W = (1.0 - _THETA) * W + _THETA / fit.rank * W.sum(axis=1, keepdims=True)
    summed = groups.summed(W)
    start = groups.summed(np.asarray(fit.H, dtype=np.float64).T) / groups.sizes[:, None]
    start = np.maximum(start, 1e-6 * max(float(start.max()), 1e-300))
    pieces: Pieces
    pieces, _ = map_pieces(
        regressed, draws.labels, along=(groups.similarity,), shared=(summed, start), reads=False,
        n_jobs=n_jobs, label="extending",
    )  # fmt: skip
    return pieces


def regressed(
    block: None, items: slice, similarity: NDArray[np.float32], W: NDArray[np.float64],
    start: NDArray[np.float64],
) -> tuple[NDArray[np.float64], None]:  # fmt: skip
    """Columns of H for the items of a block; each begins at the mean of the groups it is near."""
    n = similarity.shape[1]
    out = np.empty((W.shape[1], n))
    for lo in range(0, n, _CHUNK):
        part = slice(lo, min(n, lo + _CHUNK))
        V = np.ascontiguousarray(similarity[:, part], dtype=np.float64)
        few = start.T @ (V / np.maximum(V.sum(axis=0), 1e-300))
        few = np.ascontiguousarray(np.maximum(few, 1e-300))
        kernels.nmf_regression.divergence(V, W, few, _MOST, 1e-3)
        out[:, part] = few
    return out, None
