"""‖π̂‖² of draws: exact where that is cheap, else from sampled rows and an eigenfactor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita import kernels
from partita.distributed import map_items, ordered_sum
from partita.similarity import Similarity, landmarks
from partita.similarity._landmarks import uneven

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.nmf._eigen import Eigenfactor
    from partita.typing import FloatArray, IntArray

_EXACT = 2e11  # comparisons of labels, some seconds
_ROWS = 512  # sampled beyond that


def frobenius2(
    draws: Draws, eigen: Eigenfactor, seed: int, *, n_jobs: int = 1
) -> tuple[float, bool]:
    """Return Σ_ij π̂_ij², and whether it is exact.

    The estimate is the norm of the eigenfactor, known exactly, plus n times the mean over sampled
    rows of what their norm exceeds that of the eigenfactor's row by: only what the eigenfactor
    leaves out is estimated.
    """
    n = draws.n_items
    if isinstance(draws.labels, np.ndarray) and n * n * draws.n_draws <= _EXACT:
        even = draws if uneven(draws) is not None else draws._with(weights=None)
        return Similarity.from_draws(even).frobenius2(), True
    sample = landmarks(draws, _ROWS, seed, n_jobs=n_jobs)
    weights = None if uneven(draws) is None else draws.probabilities
    parts = map_items(
        row_norms, draws.labels, shared=(sample.labels, weights), n_jobs=n_jobs, label="norm"
    )
    rows = ordered_sum(parts)
    parts = map_items(
        known_norms, draws.labels, along=(eigen.vectors, eigen.residual), shared=(eigen.values,),
        reads=False, n_jobs=n_jobs,
    )  # fmt: skip
    known = np.concatenate(list(parts))
    return float(known.sum() + n * (rows - known[sample.items]).mean()), False


def row_norms(
    block: IntArray, items: slice, sample: IntArray, weights: FloatArray | None
) -> NDArray[np.float64]:
    """The share of a block of items in the squared norm of the rows of sampled items."""
    s, b = sample.shape[1], block.shape[1]
    both = np.concatenate([sample, block], axis=1)
    out = np.zeros(s)
    for start in range(0, b, 4096):
        cols = np.arange(s + start, s + min(b, start + 4096))
        part = kernels.similarity.block(both, weights, np.arange(s), cols)
        out += (part * part).sum(axis=1)
    return out


def known_norms(
    block: None, items: slice, vectors: FloatArray, residual: FloatArray, values: FloatArray
) -> NDArray[np.float64]:
    """The squared norms of the rows of UᵀΛU + D of a block."""
    squares = vectors * vectors
    return np.asarray((values**2) @ squares + residual * (2.0 * (values @ squares) + residual))
