"""‖π̂‖² of draws: exact where that is cheap, else from sampled rows and an eigenfactor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita import kernels
from partita.distributed import map_items, sum_items
from partita.draws import gathered, offsets_of, scattered
from partita.similarity import Landmarks, Similarity, landmarks
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
    if _is_cheap(draws):
        even = draws if uneven(draws) is not None else draws._with(weights=None)
        return Similarity.from_draws(even).frobenius2(), True
    parts = map_items(
        known_norms, draws.labels, along=(eigen.vectors, eigen.residual), shared=(eigen.values,),
        reads=False, n_jobs=n_jobs,
    )  # fmt: skip
    known = np.concatenate(list(parts))
    some, rows = _sampled(draws, seed, n_jobs)
    return float(known.sum() + draws.n_items * (rows - known[some.items]).mean()), False


def norm_of_all(
    draws: Draws, sample: Landmarks, eigen: Eigenfactor, seed: int, n_jobs: int = 1
) -> tuple[float, bool]:
    """Do as :func:`frobenius2` given the eigenfactor of a sample of the items.

    Its eigenvectors at the other items are u = Λ⁻¹ U_S π̂_S (Nyström). With M = UᵀΛU + D of all
    items, ‖π̂‖² = 2⟨π̂, M⟩ - ‖M‖² + ‖π̂ - M‖², of which sampled rows estimate the last alone.
    """
    if _is_cheap(draws):
        return frobenius2(draws, eigen, seed, n_jobs=n_jobs)
    offsets, weights, values = offsets_of(draws), draws.probabilities, eigen.values
    vectors = np.concatenate(eigen.vectors, axis=1) / values[:, None]
    table = gathered(sample.labels, slice(0, sample.size), vectors.T, offsets, eigen.rank)
    some, rows = _sampled(draws, seed, n_jobs)
    gram, rest, trace, total, there, sums = sum_items(
        nystrom_norms, draws.labels, n_jobs=n_jobs, label="norm",
        shared=(offsets, weights, table, values, some.items),
    )  # fmt: skip
    between = values[:, None] * gram * values
    inner = float(np.repeat(weights, np.diff(offsets)) @ ((sums * sums) @ values)) + float(trace)
    product = scattered(some.labels, slice(0, some.size), offsets, weights, sums).T
    diagonal = 1.0 - values @ (there * there)
    along = values @ (product * there) + diagonal
    own = ((between @ there) * there).sum(axis=0) + _of_diagonal(there, values)
    known = float((between * gram).sum()) + float(rest)
    expected = (values * total) @ there + diagonal - own  # Σ_j M_ij (1 - M_ij)
    in_all = float(values @ (total * total)) + float(trace) - known
    left = _scaled(rows - 2.0 * along + own, expected, in_all, draws.n_items)
    return 2.0 * inner - known + left, False


def _scaled(
    found: NDArray[np.float64], expected: NDArray[np.float64], in_all: float, n_items: int
) -> float:
    """The sum over all items of what was found for some.

    It is in proportion to Σ_j M_ij (1 - M_ij), the variance of counts, of which the sum over all is
    known; where that says nothing (certain draws), the mean serves.
    """
    if in_all <= 0 or expected.min() <= 0:
        return n_items * float(found.mean())
    return in_all * float(found.sum() / expected.sum())


def _is_cheap(draws: Draws) -> bool:
    n = draws.n_items
    return isinstance(draws.labels, np.ndarray) and n * n * draws.n_draws <= _EXACT


def _sampled(draws: Draws, seed: int, n_jobs: int) -> tuple[Landmarks, NDArray[np.float64]]:
    """Some items, and the squared norms of their rows of π̂."""
    sample = landmarks(draws, _ROWS, seed, n_jobs=n_jobs)
    weights = None if uneven(draws) is None else draws.probabilities
    rows = sum_items(
        row_norms, draws.labels, shared=(sample.labels, weights), n_jobs=n_jobs, label="norm"
    )
    return sample, rows


def nystrom_norms(
    block: IntArray, items: slice, offsets: NDArray[np.int64], weights: FloatArray,
    table: FloatArray, values: FloatArray, wanted: NDArray[np.intp],
) -> tuple[NDArray[np.float64], ...]:  # fmt: skip
    """Of a block: Σ u uᵀ, the diagonal's share of ‖M‖², Σ D, Σ u, u at items wanted, ZᵀU."""
    u = scattered(block, items, offsets, weights, table).T
    there = np.zeros((u.shape[0], wanted.size))
    lo, hi = np.searchsorted(wanted, [items.start, items.stop])
    there[:, lo:hi] = u[:, wanted[lo:hi] - items.start]
    trace = np.array((1.0 - values @ (u * u)).sum())
    sums = gathered(block, items, u.T, offsets, u.shape[0])
    rest = np.array(_of_diagonal(u, values).sum())
    return u @ u.T, rest, trace, u.sum(axis=1), there, sums


def _of_diagonal(u: FloatArray, values: FloatArray) -> NDArray[np.float64]:
    """What a diagonal of ones adds to the squared norms of the rows of UᵀΛU."""
    own = values @ (u * u)
    residual = 1.0 - own
    return np.asarray(residual * (2.0 * own + residual))


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
