"""The leading eigenvectors of π̂ from draws of any size: a randomised factor, in pieces.

Subspace iteration from a random start (Halko, Martinsson & Tropp 2011, Algorithm 4.4): a product
π̂Y = Z diag(w) ZᵀY is a sum over clusters of draws and back, and the small matrix Qᵀπ̂Q comes from
the sums alone, so ``n_passes`` products cost 2 ``n_passes`` + 1 passes over the draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita.distributed import Pieces, map_pieces
from partita.draws import cluster_sums, offsets_of, scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import FloatArray, IntArray

_EXTRA = 8  # columns beyond those that are kept
_TINY = 1e-13  # of the largest, below which a direction is none


@dataclass(frozen=True, eq=False)
class Eigenfactor:
    """π̂ as U diag(values) Uᵀ + diag(residual), U and the residual in pieces.

    Parameters
    ----------
    vectors : Pieces of ndarray, shape (r, items of a block)
        Rows are eigenvectors.
    values : ndarray, shape (r,)
    residual : Pieces of ndarray, shape (items of a block,)
        What the product lacks of 1 on the diagonal.
    """

    vectors: Pieces
    values: NDArray[np.float64]
    residual: Pieces

    @property
    def rank(self) -> int:
        """The number of eigenvectors, r."""
        return self.values.size


def eigenfactor(draws: Draws, size: int, *, n_passes: int = 2, n_jobs: int = 1) -> Eigenfactor:
    """Find up to ``size`` leading eigenvectors of the similarity of draws."""
    labels, offsets = draws.labels, offsets_of(draws)
    width = min(size + _EXTRA, draws.n_items)
    weights = np.repeat(draws.probabilities, np.diff(offsets))
    pieces, _ = map_pieces(gaussian, labels, shared=(width,), reads=False, n_jobs=n_jobs)
    sums = cluster_sums(draws, pieces, width, n_jobs=n_jobs, label="eigenvectors")
    turn = np.eye(width)
    for _ in range(n_passes):
        pieces, gram = map_pieces(
            scattered_gram, labels, shared=(offsets, draws.probabilities, sums), add=True,
            n_jobs=n_jobs, label="eigenvectors",
        )  # fmt: skip
        turn = _inverse_root(gram)
        sums = cluster_sums(draws, pieces, sums.shape[1], n_jobs=n_jobs, label="eigenvectors")
        sums = sums @ turn
    values, inner = np.linalg.eigh((sums * weights[:, None]).T @ sums)
    top = np.argsort(-values, kind="stable")[:size]
    top = top[values[top] > _TINY * max(float(values.max()), 0.0)]
    (vectors, residual), _ = map_pieces(
        turned, labels, along=(pieces,), shared=(turn @ inner[:, top], values[top]), n_kept=2,
        reads=False, n_jobs=n_jobs,
    )  # fmt: skip
    return Eigenfactor(vectors, values[top], residual)


def gaussian(block: None, items: slice, width: int) -> tuple[NDArray[np.float64], None]:
    """Standard normal numbers that depend on where the block begins and nothing else."""
    random = np.random.default_rng([width, items.start])
    return random.standard_normal((items.stop - items.start, width)), None


def scattered_gram(
    block: IntArray, items: slice, offsets: NDArray[np.int64], weights: FloatArray,
    table: FloatArray,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """A block Y of Z diag(w) G, and YᵀY."""
    out = scattered(block, items, offsets, weights, table)
    return out, out.T @ out


def turned(
    block: None, items: slice, y: FloatArray, turn: FloatArray, values: FloatArray
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], None]:
    """Eigenvectors in rows, and what they lack of 1 on the diagonal."""
    vectors = np.ascontiguousarray((y @ turn).T)
    return (vectors, 1.0 - values @ (vectors * vectors)), None


def _inverse_root(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """T such that Y T has orthonormal columns; fewer where Y has fewer directions."""
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
    alive = values > _TINY * values.max()
    return np.asarray(scale[:, None] * vectors[:, alive] / np.sqrt(values[alive]))
