"""Least-squares NMF on an eigenfactor, a block of items at a time.

Blocks are A = Wᵀ and B = H, (K, items). With π̂ = UᵀΛU + D a half step for B needs of all the items
only A Uᵀ and A Aᵀ, so each is one pass over the blocks that updates a piece and sends its share of
the sums that the next half needs. Pure functions for `map_pieces`; ``block`` is never looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from partita import kernels
from partita.draws._blocks import scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray

    Matrix: TypeAlias = NDArray[np.float64]

_CHUNK = 2048  # items whose factors stay in the cache
N_SWEEPS = 4
N_FIRST = 30  # sweeps from nothing


class Sums(NamedTuple):
    """What a half step sends: X Uᵀ, X Xᵀ, and ⟨P, X⟩ with P the product it was fitted to."""

    inner: Any
    gram: Any
    cross: Any


def _sums(x: Matrix, vectors: Matrix, cross: float = 0.0) -> Sums:
    return Sums(x @ vectors.T, x @ x.T, np.array(cross))


def extended(
    block: None, items: slice, vectors: Matrix, residual: Matrix, inner: Matrix, gram: Matrix,
    fixed: int, values: Matrix,
) -> tuple[Matrix, Sums]:  # fmt: skip
    """Fit the items of a block to factors of the landmarks, from nothing.

    ``inner`` is X_S Uᵀ_S of the landmarks' factors X_S and ``gram`` X_S X_Sᵀ.
    """
    k, n = gram.shape[0], vectors.shape[1]
    x = np.zeros((k, n))
    if fixed:
        x[-fixed:] = 1.0
    table = inner * values
    for start in range(0, n, _CHUNK):
        part = slice(start, min(n, start + _CHUNK))
        few = np.ascontiguousarray(x[:, part])
        product = np.ascontiguousarray(table @ vectors[:, part])
        kernels.nmf_hals.sweep(product, gram, few, k - fixed, N_FIRST)
        x[:, part] = few
    return x, _sums(x, vectors)


def half(
    block: None, items: slice, vectors: Matrix, residual: Matrix, x: Matrix, before: Matrix,
    other: Matrix, inner: Matrix, gram: Matrix, values: Matrix, step: float, beta: float,
    fixed: int,
) -> tuple[tuple[Matrix, Matrix], tuple[Sums, Sums]]:  # fmt: skip
    """One half step from x moved on by ``step`` of its way from ``before``, given the other.

    Returns the piece fitted, and that piece extrapolated by β from ``x`` in case it is accepted;
    of both, the sums.
    """
    k, n = x.shape
    new, ahead = np.empty_like(x), np.empty_like(x)
    table = inner * values
    cross = 0.0
    for start in range(0, n, _CHUNK):
        part = slice(start, min(n, start + _CHUNK))
        here = x[:, part]
        few = np.ascontiguousarray(np.maximum(here + step * (here - before[:, part]), 0.0))
        product = np.ascontiguousarray(table @ vectors[:, part] + other[:, part] * residual[part])
        kernels.nmf_hals.sweep(product, gram, few, k - fixed, N_SWEEPS)
        cross += float(np.vdot(product, few))
        new[:, part] = few
        ahead[:, part] = np.maximum(few + beta * (few - here), 0.0)
    return (new, ahead), (_sums(new, vectors, cross), _sums(ahead, vectors))


def exact_half(
    block: IntArray, items: slice, x: Matrix, offsets: NDArray[np.int64], weights: FloatArray,
    table: FloatArray, gram: Matrix, fixed: int,
) -> tuple[Matrix, Sums]:  # fmt: skip
    """A half step with the product π̂X itself, spread from the sums ``table`` = ZᵀX."""
    product = np.ascontiguousarray(scattered(block, items, offsets, weights, table).T)
    new = np.array(x)
    cross = 0.0
    for start in range(0, new.shape[1], _CHUNK):
        part = slice(start, min(new.shape[1], start + _CHUNK))
        few, fitted = np.ascontiguousarray(new[:, part]), np.ascontiguousarray(product[:, part])
        kernels.nmf_hals.sweep(fitted, gram, few, few.shape[0] - fixed, 2 * N_SWEEPS)
        cross += float(np.vdot(fitted, few))
        new[:, part] = few
    return new, Sums(np.zeros(0), new @ new.T, np.array(cross))


def towards(
    block: None, items: slice, vectors: Matrix, residual: Matrix, x: Matrix, inner: Matrix,
    gram: Matrix, values: Matrix,
) -> tuple[Matrix, tuple[Any, ...]]:  # fmt: skip
    """For the symmetric model: the way D from H to the least-squares answer given Hᵀ, and sums.

    Sent are D Dᵀ, H Dᵀ, D Uᵀ, ⟨D diag(residual), D⟩, ⟨π̂H, D⟩ and ⟨π̂H, H⟩.
    """
    k, n = x.shape
    way = np.empty_like(x)
    table = inner * values
    along, own = 0.0, 0.0
    for start in range(0, n, _CHUNK):
        part = slice(start, min(n, start + _CHUNK))
        here = np.ascontiguousarray(x[:, part])
        few = here.copy()
        product = np.ascontiguousarray(table @ vectors[:, part] + here * residual[part])
        kernels.nmf_hals.sweep(product, gram, few, k, N_SWEEPS)
        few -= here
        along += float(np.vdot(product, few))
        own += float(np.vdot(product, here))
        way[:, part] = few
    bent = float(((way * way) @ residual).sum())
    sent = (way @ way.T, x @ way.T, way @ vectors.T, *map(np.array, (bent, along, own)))
    return way, sent


def towards_exactly(
    block: IntArray, items: slice, x: Matrix, offsets: NDArray[np.int64], weights: FloatArray,
    table: FloatArray, gram: Matrix,
) -> tuple[Matrix, tuple[Any, ...]]:  # fmt: skip
    """The same way D with the product π̂H itself; sent are D Dᵀ, H Dᵀ, ⟨π̂H, D⟩ and ⟨π̂H, H⟩."""
    product = np.ascontiguousarray(scattered(block, items, offsets, weights, table).T)
    way = np.array(x)
    for start in range(0, way.shape[1], _CHUNK):
        part = slice(start, min(way.shape[1], start + _CHUNK))
        few, fitted = np.ascontiguousarray(way[:, part]), np.ascontiguousarray(product[:, part])
        kernels.nmf_hals.sweep(fitted, gram, few, few.shape[0], 2 * N_SWEEPS)
        way[:, part] = few
    way -= x
    along, own = float(np.vdot(product, way)), float(np.vdot(product, x))
    return way, (way @ way.T, x @ way.T, np.array(along), np.array(own))


def stepped(
    block: None, items: slice, vectors: Matrix, x: Matrix, way: Matrix, t: float
) -> tuple[Matrix, Sums]:
    """H + tD, and its sums."""
    x = np.maximum(x + t * way, 0.0)
    return x, _sums(x, vectors)


def upright(block: None, items: slice, x: Matrix) -> tuple[Matrix, None]:
    """A factor as columns, (items, K), as it is summed over clusters."""
    return np.ascontiguousarray(x.T), None


def norms(block: None, items: slice, a: Matrix, b: Matrix) -> tuple[Any, Any, Any]:
    """Σ W², Σ H² and Σ W over the items of a block, for each factor."""
    return (a * a).sum(axis=1), (b * b).sum(axis=1), a.sum(axis=1)


def won(block: None, items: slice, b: Matrix, scale: FloatArray) -> NDArray[np.int64]:
    """The factor that each item belongs to most, by H scaled."""
    return np.asarray((b * scale[:, None]).argmax(axis=0))


def shares(
    block: None, items: slice, b: Matrix, scale: FloatArray, order: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The memberships of a block, (items, K): columns of H scaled over their sums."""
    scaled = (b * scale[:, None])[order]
    totals = scaled.sum(axis=0)
    empty = ~(totals > 0)
    soft = scaled / np.where(empty, 1.0, totals)
    soft[:, empty] = 1.0 / scaled.shape[0]
    return np.ascontiguousarray(soft.T)


def copied(block: None, items: slice, b: Matrix) -> Matrix:
    """The piece itself, brought here."""
    return b
