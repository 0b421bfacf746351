"""Least-squares NMF on an eigenfactor, a block of items at a time.

Blocks are A = Wᵀ and B = H, (K, items). With π̂ = UᵀΛU + D a half step for B needs of all the items
only A Uᵀ and A Aᵀ, so each is one pass over the blocks that updates a piece and sends its share of
the sums that the next half needs. Pure functions for `map_pieces`; ``block`` is never looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from partita import kernels
from partita.draws import gathered, scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray

    Matrix: TypeAlias = NDArray[np.float64]

_CHUNK = 2048  # items whose factors stay in the cache
N_SWEEPS = 4
N_FIRST = 30  # sweeps from nothing
_SWEEPS, _ROUNDS, _CHANGE = 10, 20, 1e-4  # sweeps in a round, rounds, and what ends them


class Sums(NamedTuple):
    """What a half step sends: X Uᵀ, X Xᵀ, ⟨P, X⟩ with P the product it was fitted to.

    And of what the eigenfactor's product lacked, which P has, the same.
    """

    inner: Any
    gram: Any
    cross: Any
    lacking: Any


def _sums(x: Matrix, vectors: Matrix, cross: float = 0.0, lacking: float = 0.0) -> Sums:
    return Sums(x @ vectors.T, x @ x.T, np.array(cross), np.array(lacking))


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
    other: Matrix, *rest: Any,
) -> tuple[tuple[Matrix, Matrix], tuple[Sums, Sums]]:  # fmt: skip
    """One half step from x moved on by ``step`` of its way from ``before``, given the other.

    ``rest`` may begin with what the product with the eigenfactor lacks, and is then the sums of the
    other factor, the eigenvalues, that step, β and how many rows stay as they are. Returns the
    piece fitted, and that piece extrapolated by β from ``x`` in case it is accepted; of both, the
    sums.
    """
    *lack, inner, gram, values, step, beta, fixed = rest
    k, n = x.shape
    new, ahead = np.empty_like(x), np.empty_like(x)
    table = inner * values
    cross = more = 0.0
    for start in range(0, n, _CHUNK):
        part = slice(start, min(n, start + _CHUNK))
        here = x[:, part]
        few = np.ascontiguousarray(np.maximum(here + step * (here - before[:, part]), 0.0))
        product = np.ascontiguousarray(table @ vectors[:, part] + other[:, part] * residual[part])
        if lack:
            product += lack[0][:, part]
        kernels.nmf_hals.sweep(product, gram, few, k - fixed, N_SWEEPS)
        if lack:
            more += float(np.vdot(lack[0][:, part], few))
        cross += float(np.vdot(product, few))
        new[:, part] = few
        ahead[:, part] = np.maximum(few + beta * (few - here), 0.0)
    return (new, ahead), (_sums(new, vectors, cross, more), _sums(ahead, vectors))


def fitted(block: IntArray, items: slice, *rest: Any) -> tuple[Matrix, tuple[Any, ...]]:
    """Several factors fitted to products π̂X at once, spread from the sums ``table`` = ZᵀX.

    Factors stand one below the other, (width, items). ``rest`` may begin with where they start,
    and is then offsets, weights, table, the Gram matrix of every X, how many rows of each stay at
    1, and whether ZᵀY of what is found is wanted. Sent are that, and Y Yᵀ, Y1 and ⟨π̂X, Y⟩ of each.
    """
    *start, offsets, weights, table, grams, fixed, wanted = rest
    product = scattered(block, items, offsets, weights, table)
    found = np.empty((product.shape[1], product.shape[0]))
    sent, at = [], 0
    for gram in grams:
        rows = slice(at, at + gram.shape[0])
        begun = start[0][rows] if start else None
        cross = _regressed(product[:, rows], gram, begun, fixed, found[rows])
        sent += [found[rows] @ found[rows].T, found[rows].sum(axis=1), np.array(cross)]
        at = rows.stop
    sums = gathered(block, items, found.T, offsets, at) if wanted else np.zeros(0)
    return found, (sums, *sent)


def _regressed(
    product: Matrix, gram: Matrix, begun: Matrix | None, fixed: int, out: Matrix
) -> float:
    """Fill ``out`` with the least-squares answer for every item; return ⟨product, out⟩."""
    k, n, cross = gram.shape[0], out.shape[1], 0.0
    for start in range(0, n, _CHUNK):
        part = slice(start, min(n, start + _CHUNK))
        few = np.zeros((k, part.stop - start)) if begun is None else np.array(begun[:, part])
        few[k - fixed :] = 1.0
        wanted = np.ascontiguousarray(product[part].T)
        for _ in range(_ROUNDS):
            before = few.copy()
            kernels.nmf_hals.sweep(wanted, gram, few, k - fixed, _SWEEPS)
            if np.abs(few - before).max() <= _CHANGE * few.max():
                break
        cross += float(np.vdot(wanted, few))
        out[:, part] = few
    return cross


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


def moved(block: None, items: slice, x: Matrix, way: Matrix, t: float) -> tuple[Matrix, Matrix]:
    """H + tD, and the sums of its rows."""
    x = np.maximum(x + t * way, 0.0)
    return x, x.sum(axis=1)


def totals(
    block: IntArray, items: slice, vectors: Matrix, x: Matrix, offsets: NDArray[np.int64]
) -> tuple[Matrix, Matrix, Matrix]:
    """A block's share of ZᵀX, X Uᵀ and X Xᵀ."""
    return gathered(block, items, x.T, offsets, x.shape[0]), x @ vectors.T, x @ x.T


def lacking(
    block: IntArray, items: slice, vectors: Matrix, residual: Matrix, x: Matrix, other: Matrix,
    offsets: NDArray[np.int64], weights: FloatArray, table: FloatArray, inner: Matrix,
    values: Matrix,
) -> tuple[Matrix, Matrix]:  # fmt: skip
    """What the eigenfactor's product with x lacks of π̂'s, which is spread from ``table`` = ZᵀX.

    Sent is the product of π̂'s with the other factor.
    """
    product = np.ascontiguousarray(scattered(block, items, offsets, weights, table).T)
    known = (inner * values) @ vectors + x * residual
    return product - known, np.array(np.vdot(product, other))


def summed(
    block: IntArray, items: slice, x: Matrix, offsets: NDArray[np.int64]
) -> tuple[Matrix, Matrix]:
    """A block's share of ZᵀX and of X Xᵀ."""
    return gathered(block, items, x.T, offsets, x.shape[0]), x @ x.T


def rows_of(block: None, items: slice, x: Matrix, first: int, last: int) -> tuple[Matrix, None]:
    """Some rows of a stack of factors."""
    return np.ascontiguousarray(x[first:last]), None


def row_of(block: None, items: slice, x: Matrix, row: int) -> tuple[Matrix, None]:
    """One row."""
    return np.array(x[row]), None


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


def n_blank(block: None, items: slice, b: Matrix, scale: FloatArray) -> int:
    """How many items of a block have nothing to be read off H."""
    return int((~((b * scale[:, None]).sum(axis=0) > 0)).sum())


def copied(block: None, items: slice, b: Matrix) -> Matrix:
    """The piece itself, brought here."""
    return b
