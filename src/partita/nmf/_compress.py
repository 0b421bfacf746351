"""What is special about a posterior similarity: few large eigenvalues, and equal items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.devices import to_host
from partita.distributed import blocks
from partita.nmf._common import Factors, block_size, namespace
from partita.nmf._stacks import taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Array, Target


GAP = 3.0


@dataclass(frozen=True, eq=False)
class LowRank:
    """V as U diag(values) Uᵀ + diag(residual), with ``vectors`` = Uᵀ of shape (r, n).

    ``array`` is V itself, or None behind an operator. All are where the target is.
    """

    vectors: Array
    values: Array
    residual: Array
    norm2: float
    array: Array | None

    @cached_property
    def rest(self) -> NDArray[np.float32]:
        """What V has beyond that, in single precision since it is small."""
        assert self.array is not None
        rest = self.array - (self.vectors.T * self.values) @ self.vectors
        np.fill_diagonal(rest, 0.0)
        return np.asarray(rest, dtype=np.float32)

    def gap_after(self, rank: int) -> bool:
        """Whether ``rank`` factors fit nothing of the size of what is left out.

        Otherwise the last factors have no more weight than the rest, and iterations that see it
        only from time to time go astray.
        """
        return bool(abs(self.values[rank - 1]) > GAP * abs(self.values[-1]))

    def times(self, X: Array) -> Array:
        """X V for X of shape (..., K, n)."""
        return ((X @ self.vectors.T) * self.values) @ self.vectors + X * self.residual


def low_rank(target: Target, size: int, n_passes: int = 3) -> LowRank:
    """Find the leading eigenvectors by block power iteration, through products with V alone.

    A start that depends on nothing but the shape keeps one answer for one seed.
    """
    n = target.n_items

    def times(Q: NDArray[np.float64]) -> NDArray[np.float64]:
        found = target.times(target.moved(np.ascontiguousarray(Q.T)))
        return np.asarray(to_host(found), dtype=np.float64).T

    Q = np.random.default_rng(n).standard_normal((n, min(n, size + 8)))
    for _ in range(n_passes):
        Q, _ = np.linalg.qr(times(Q))
    values, turn = np.linalg.eigh(Q.T @ times(Q))
    top = np.argsort(-np.abs(values))[:size]
    values, U = values[top], Q @ turn[:, top]
    inside = (U * U) @ values
    residual = np.asarray(_diagonal(target) - inside)
    norm2 = float(values @ values + 2 * residual @ inside + residual @ residual)
    vectors, values, residual = (
        target.moved(np.ascontiguousarray(x)) for x in (U.T, values, residual)
    )
    return LowRank(vectors, values, residual, norm2, target.array)


def _diagonal(target: Target) -> NDArray[np.float64]:
    if target.array is None:
        return np.asarray(target.operator.diagonal())
    if target.is_numpy:
        return np.diagonal(target.array)
    return to_host(target.xp.linalg.diagonal(target.array)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Merged:
    """Equal items as one: ``group[i]`` is the representative of item i, ``sizes`` how many.

    ``mass`` is that of each representative, where items have masses other than 1.
    """

    first: NDArray[np.int64]
    group: NDArray[np.int64]
    sizes: NDArray[np.int64]
    mass: NDArray[np.float64] | None = None

    @property
    def masses(self) -> NDArray[Any]:
        """What every representative counts for."""
        return self.sizes if self.mass is None else self.mass

    def shrink(self, x: Array, power: float) -> Array:
        """Items on the last axis to representatives: the mean, times mass^power."""
        out = np.zeros((*x.shape[:-1], self.sizes.size))
        np.add.at(np.moveaxis(out, -1, 0), self.group, np.moveaxis(x, -1, 0))
        if self.mass is not None:
            return np.ascontiguousarray(out * (self.mass**power / self.sizes))
        return np.ascontiguousarray(out * self.sizes ** (power - 1.0))

    def shrink_matrix(self, array: Array, power: float, *, equal: bool) -> Array:
        """V of the items as V of the representatives, in the library and place of V."""
        if isinstance(array, np.ndarray):
            return np.ascontiguousarray(self.shrink(self.shrink(array, power).T, power))
        from array_api_compat import device

        xp = namespace(array)
        put = partial(xp.asarray, dtype=array.dtype, device=device(array))
        if equal:  # one of them is all of them
            scale = put(self.sizes**power)
            few = xp.matrix_transpose(taken(xp, array, self.first))
            return taken(xp, few, self.first) * scale[:, None] * scale
        means = np.zeros((self.sizes.size, self.group.size))
        means[self.group, np.arange(self.group.size)] = (self.sizes ** (power - 1.0))[self.group]
        M = put(means)
        return M @ array @ xp.matrix_transpose(M)

    def spread(self, x: Array, power: float) -> Array:
        """Representatives on the last axis back to items."""
        return np.ascontiguousarray((x * self.masses ** (-power))[..., self.group])

    def shrink_factors(self, factors: Factors, power: float) -> Factors:
        """Starts of all the items as starts of the representatives."""
        W = self.shrink(factors.W.swapaxes(-1, -2), power).swapaxes(-1, -2)
        return Factors(W, self.shrink(factors.H, power))

    def spread_factors(self, factors: Factors, power: float) -> Factors:
        """Factors of the representatives as factors of all the items."""
        W, H, offset = factors
        return Factors(
            self.spread(W.swapaxes(-1, -2), power).swapaxes(-1, -2),
            self.spread(H, power),
            None if offset is None else self.spread(offset, power),
        )


def merge(array: Array, mass: NDArray[np.float64] | None = None) -> Merged | None:
    """Find items with the same row of V, or None when too few are to be worth it.

    Items that have masses are always merged, each with itself where no two are equal.

    With m_i items behind representative i, the fit of V by WH is the fit of m_i^p V_ij m_j^p by
    the factors scaled by m^p: p = ½ for squares, 1 for divergences. Nothing is lost: for given H
    the best row of W is the same for equal items.
    """
    found = _equal(array)
    if mass is None:
        return found
    if found is None:
        each = np.arange(array.shape[0])
        found = Merged(each, each, np.ones_like(each))
    return replace(found, mass=np.bincount(found.group, mass).astype(np.float64))


def _equal(array: Array) -> Merged | None:
    n = array.shape[0]
    probe = np.random.default_rng(n).standard_normal(n)
    keys: Any = np.round(
        _times(array, probe), 8
    )  # equal rows may differ in the product's last bits
    if np.unique(keys).size > 0.95 * n:
        return None
    if isinstance(array, np.ndarray):
        keys = array.view(np.dtype((np.void, array.dtype.itemsize * n))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if first.size > 0.95 * n:
        return None
    found = _in_order(first, group.ravel())
    if isinstance(array, np.ndarray) or _are_equal(array, found):
        return found
    return None


def _times(array: Array, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """V x on the host, multiplied where V is."""
    if isinstance(array, np.ndarray):
        return np.asarray(array @ x)
    from array_api_compat import device

    xp = namespace(array)
    return to_host(array @ xp.asarray(x, dtype=array.dtype, device=device(array)))


def _in_order(first: NDArray[np.int64], group: NDArray[np.int64]) -> Merged:
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return Merged(first[order], rank[group], np.bincount(rank[group]))


def _are_equal(array: Array, found: Merged) -> bool:
    """Whether items that a product took for equal are, compared where V is, some at a time."""
    xp = namespace(array)
    like = found.first[found.group]
    other = np.flatnonzero(like != np.arange(like.size))
    for part in blocks(other.size, block_size(array, array.shape[0])):
        rows, firsts = (taken(xp, array, x) for x in (other[part], like[other[part]]))
        if not bool(xp.all(rows == firsts)):
            return False
    return True


COARSE = 4  # items to a group, on average
ENOUGH = 150  # items, for a rough fit of groups to pay
WHOLE = 1_000  # items whose rows are compared whole; beyond, by sketches of SKETCH numbers
SKETCH = 32
LINKED = 4_000  # items that are linked; others join the group that is nearest


def coarsen(array: Array) -> Merged:
    """Group items whose rows of V are alike (Ward), equal or not, in the order of their first.

    Of more than ``WHOLE`` items random projections are compared, and of more than ``LINKED`` a
    sample is grouped: n² SKETCH operations, where whole rows would take n³.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.cluster.vq import vq

    n = array.shape[0]
    random = np.random.default_rng(n)
    rows = to_host(array) if n <= WHOLE else _times(array, random.standard_normal((n, SKETCH)))
    linked = rows if n <= LINKED else rows[random.permutation(n)[:LINKED]]
    found = fcluster(linkage(linked, "ward"), len(linked) // COARSE, "maxclust") - 1
    if n > LINKED:
        centers = np.zeros((found.max() + 1, SKETCH))
        np.add.at(centers, found, linked)
        found = vq(rows, centers / np.bincount(found)[:, None])[0]
    _, first, group = np.unique(found, return_index=True, return_inverse=True)
    return _in_order(first, group)
