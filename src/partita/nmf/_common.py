"""What the NMF models share: the factors, the contract of a model, what is factorised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from partita.devices import of, to_host, total_memory

if TYPE_CHECKING:
    from partita.devices import Device
    from partita.nmf._compress import LowRank, Merged

Array: TypeAlias = Any  # of any array-API library: NumPy, CuPy, PyTorch, array-api-strict
Blocks: TypeAlias = tuple[Array, ...]

EPSILON = 1e-9  # R's floor in the least-squares updates
# An objective of this part of the size of V is a relative error of half a percent in its numbers,
# finer than what tens of thousands of draws know of them: below it, progress is counted against it.
NOISE = 1e-5
HOST_BLOCK = 1 << 18  # numbers in a temporary of items by items, and on a GPU
DEVICE_BLOCK = 1 << 28
PARTS_OF_MEMORY = 32  # of a GPU, of which such a temporary takes one at most
# Below these a fit on a device is the host's work: items times (rank + 6), of the divergences; and
# items, of least squares, where the host has loops of its own too.
HOST_NEWTON = 16_000
HOST_SQUARES = 2_000
DOUBLE_ROOM = 3  # times its size that must be free for a matrix in float64
WORTH_SKIPPING = 0.3  # of non-zeros, at most: those are gathered, the whole is read in a row


class Width(NamedTuple):
    """How wide each of the stacked fits is, where several ranks share one array.

    A fit of rank K uses the first K factors; the others stay at exactly 0. ``rows`` (..., most, 1)
    has ones at the factors in use, and ``rank`` (..., 1, 1) their number.
    """

    rows: Array
    rank: Array


class Factors(NamedTuple):
    """W (..., n, K), H (..., K, n) and, for one model, the offset (..., n)."""

    W: Array
    H: Array
    offset: Array | None = None


@dataclass(frozen=True, eq=False)
class Target:
    """What is factorised: a symmetric non-negative matrix, or an operator that multiplies as one.

    ``border`` is the fixed row that the offset multiplies: ones, or the square roots of the
    numbers of items that were merged. ``fits`` is where fits are kept that another model may begin
    at, if the target is to serve several. ``mixed`` has every other restart of a model that knows
    two beginnings take the other. ``given`` is the precision of the factors that are given back,
    where it is not that of the matrix. ``mass`` is how many items each of these stands for, where
    they are a sample; a fit of the matrix is then weighted by it.
    """

    xp: Any
    array: Any  # None behind an operator
    operator: Any
    n_items: int
    dtype: Any
    device: Any
    border: Array
    fits: dict[Any, Any] | None = None
    mixed: bool = False
    given: Any = None
    mass: Any = None

    @property
    def is_numpy(self) -> bool:
        """Whether compiled loops may be used."""
        return isinstance(self.border, np.ndarray)

    @cached_property
    def host(self) -> Target:
        """The same in NumPy arrays of float64, for compiled loops."""
        if self.is_numpy:
            return self
        array = np.array(to_host(self.array), dtype=np.float64, order="C")
        return Target(
            namespace(array), array, None, self.n_items, array.dtype, None,
            np.array(to_host(self.border), dtype=np.float64), mixed=self.mixed,
        )  # fmt: skip

    @cached_property
    def double(self) -> Target:
        """The same in float64 where it is; itself where that has no room.

        Factors that outnumber the clusters have minima close together and valleys that are nearly
        flat, where single precision goes another way than the host does.
        """
        xp = self.xp
        if self.is_numpy or self.array is None or self.dtype == xp.float64:
            return self
        if not has_room_for_double(of(self.array), self.n_items):
            return self
        array, border = (xp.astype(x, xp.float64) for x in (self.array, self.border))
        given = self.given or self.dtype
        return replace(self, array=array, dtype=xp.float64, border=border, given=given)

    def is_for_host(self, model: Model, rank: int) -> bool:
        """Whether a fit is made by the host's compiled loops, and only brought here.

        An iteration would be less work than to launch it. And up to this size the host has loops
        that no device has (Newton steps that share Hessians, a whole step of least squares), which
        lead to the same place to 1e-5 but not always to the same minimum.
        """
        if self.is_numpy:
            return False
        if model.dense_only:
            return self.n_items * (rank + 6) < HOST_NEWTON
        return self.n_items < HOST_SQUARES

    def moved(self, x: Array) -> Array:
        """An array of the host or of the target's library in its precision and place."""
        if self.is_numpy:
            return x
        if not isinstance(x, np.ndarray):
            return self.xp.astype(x, self.dtype, copy=False)
        return self.xp.asarray(np.ascontiguousarray(x), dtype=self.dtype, device=self.device)

    @cached_property
    def single(self) -> Array:
        """V in single precision."""
        return self.array.astype(np.float32)

    @cached_property
    def norm2(self) -> float:
        """Σ_ij V_ij²."""
        if self.array is None:
            return float(self.operator.frobenius2())
        return float(total(self.xp, self.array * self.array))

    @cached_property
    def total(self) -> float:
        """Σ_ij V_ij."""
        return float(total(self.xp, self.array))

    @cached_property
    def entropy(self) -> float:
        """Σ_ij V_ij log V_ij - V_ij, the part of a divergence that no fit changes."""
        V = self.array
        logs = self.xp.log(self.xp.where(V > 0, V, self.xp.ones_like(V)))
        return float(total(self.xp, V * logs - V))

    @cached_property
    def seen(self) -> tuple[Array, Array]:
        """Where V is not zero: columns ``found[starts[j]:starts[j + 1]]`` of row j.

        A divergence has logarithms only there. Empty where zeros are too few to be worth skipping.
        """
        counts = np.count_nonzero(self.array, axis=1)
        if counts.sum() > WORTH_SKIPPING * self.array.size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate([[0], np.cumsum(counts)]), np.nonzero(self.array)[1]

    def times(self, X: Array) -> Array:
        """X V for X of shape (..., K, n): one product however many restarts are stacked."""
        flat = self.xp.reshape(X, (-1, self.n_items))
        if self.array is None:
            out = self.xp.asarray((self.operator @ flat.T).T)
        else:
            out = flat @ self.array
        return self.xp.reshape(out, X.shape)

    @cached_property
    def merged(self) -> Merged | None:
        """Equal items, where there are enough of them to be worth it, or items have masses."""
        from partita.nmf._compress import merge

        return None if self.array is None else merge(self.double.array, self.mass)

    @cached_property
    def coarse(self) -> Merged | None:
        """Items that are alike, for a first rough fit where there are enough of them."""
        from partita.nmf._compress import ENOUGH, coarsen

        if self.array is None or self.n_items < ENOUGH:
            return None
        return coarsen(self.double.array)

    @cached_property
    def _shrunk(self) -> dict[Any, Target]:
        return {}

    def shrunk(self, how: str, power: float) -> Target:
        """The target with items "merged" or "coarse", scaled to fit as all the items would.

        Merged items stay where the target is; a coarse one is for the host.
        """
        if (how, power) not in self._shrunk:
            merged: Merged = getattr(self, how)
            here = self.double
            few = replace(
                here,
                array=merged.shrink_matrix(here.array, power, equal=how == "merged"),
                n_items=merged.sizes.size,
                border=here.moved(np.sqrt(merged.masses)),
                mass=None,
                fits=None if self.fits is None else {},
            )
            self._shrunk[how, power] = few if how == "merged" else few.host
        return self._shrunk[how, power]

    @cached_property
    def landmarks(self) -> dict[int, Any]:
        """The items that restarts are made on, for every seed."""
        return {}

    @cached_property
    def _low_rank(self) -> dict[int, LowRank]:
        return {}

    def low_rank(self, size: int) -> LowRank:
        """An eigenfactor of ``size`` columns plus the rest of the diagonal, made once."""
        from partita.nmf._compress import low_rank

        if size not in self._low_rank:
            self._low_rank[size] = low_rank(self, size)
        return self._low_rank[size]


@dataclass(frozen=True, eq=False)
class Model:
    """One NMF model: how it starts, steps and is scored.

    Parameters
    ----------
    name : str
    power : float
        π̂ scaled by m_i^power m_j^power is the same problem for merged items: ½ for squares, 1
        for divergences.
    start : callable
        (W, H, draw) to the factors that ``solver="mu"`` begins with; ``draw(shape, high)`` gives
        uniform numbers.
    multiply : callable
        (V, factors, iteration, width=None) to the factors after one multiplicative iteration.
    prepare : callable
        (target, factors) to the blocks that ``solver="fast"`` begins with, and the number of
        this model's iterations that went into them.
    step : callable
        (target, blocks) to the blocks after one monotone alternation and their objective.
    blocks, factors : callable
        (target, factors) to blocks, and (target, blocks) to factors.
    objective : callable
        (target, factors) to the exact objective of each restart.
    advance : callable, optional
        A compiled loop of extrapolated steps for one restart on NumPy arrays: (target, state,
        looks) to (state, n_iter, converged), or None where the target does not suit it.
    beta : float
        The first extrapolation weight of ``solver="fast"``.
    per_look : int
        Its iterations between two looks at the objective.
    dense_only : bool
        Whether every entry of π̂ must be at hand.
    otherwise : callable, optional
        Another ``prepare``, which leads to other minima.
    begins_at : str, optional
        The model whose whole ``fast`` fit is the start, so that this one never ends worse.
    """

    name: str
    power: float
    start: Callable[..., Factors]
    multiply: Callable[..., Factors]
    prepare: Callable[[Target, Factors], tuple[Blocks, int]]
    step: Callable[[Target, Blocks], tuple[Blocks, Array]]
    blocks: Callable[[Target, Factors], Blocks]
    factors: Callable[[Target, Blocks], Factors]
    objective: Callable[[Target, Factors], Array]
    advance: Callable[..., Any] | None = None
    beta: float = 0.5
    per_look: int = 10
    dense_only: bool = False
    begins_at: str | None = None
    otherwise: Callable[[Target, Factors], tuple[Blocks, int]] | None = None


def has_room_for_double(device: Device, n_items: int) -> bool:
    """Whether the matrix in float64, and what a step has beside it, fit the device."""
    return bool(device.has_room(DOUBLE_ROOM * 8 * n_items**2))


def transpose(xp: Any, x: Array) -> Array:
    """Swap the last two axes, contiguous in memory where the library keeps strides."""
    y = xp.matrix_transpose(x)
    return np.ascontiguousarray(y) if isinstance(y, np.ndarray) else y


def positive(xp: Any, x: Array, floor: float = 0.0) -> Array:
    """max(x, floor), elementwise."""
    return xp.where(x > floor, x, xp.full_like(x, floor))


def divide(xp: Any, a: Array, b: Array) -> Array:
    """A / b, and 0 where b is 0: no warning and no infinity."""
    safe = b > 0
    return xp.where(safe, a, xp.zeros_like(a)) / xp.where(safe, b, xp.ones_like(b))


def total(xp: Any, x: Array) -> Array:
    """Σ over the last two axes, in float64 whatever the numbers are."""
    return xp.sum(x, axis=(-2, -1), dtype=xp.float64)


def inner(xp: Any, X: Array, Y: Array) -> Array:
    """X Yᵀ of (..., K, n): sums over items, few enough to be worth float64."""
    double = (xp.astype(x, xp.float64, copy=False) for x in (X, Y))
    left, right = double
    return left @ xp.matrix_transpose(right)


def in_use(x: Array, width: Width | None) -> Array:
    """Set the rows of (..., K, n) that belong to no factor to 0."""
    return x if width is None else x * width.rows


def block_size(X: Array, n: int) -> int:
    """How many rows of V may be spread over the restarts stacked in ``X`` at once.

    On the host such a block stays in a cache; on a GPU it is a part of its memory.
    """
    stacked = 1
    for size in X.shape[:-2]:
        stacked *= size
    most = HOST_BLOCK if isinstance(X, np.ndarray) else device_block(of(X))
    return max(1, most // max(1, n * stacked))


def device_block(device: Device) -> int:
    """Numbers in a temporary on a device; at most a part of a GPU's memory, in float64."""
    if not device.is_gpu:
        return DEVICE_BLOCK
    return min(DEVICE_BLOCK, total_memory(device.name) // (8 * PARTS_OF_MEMORY))


def namespace(x: Array) -> Any:
    """The array library of ``x``."""
    from array_api_compat import array_namespace

    return array_namespace(x)
