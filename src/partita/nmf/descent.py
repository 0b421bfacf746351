"""``solver="fast"`` on a matrix in memory: extrapolated descent, and which restarts it is for.

A step lowers the objective, or leaves it. It is taken ahead of the factors, at y = x + β(x - x
before); where the objective rises there, the step is taken back and β lowered, so what is accepted
only falls (Ang & Gillis 2019, algorithm 1, with the step as a whole in the place of its halves).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import _core
from partita.nmf.model import Factors
from partita.parallel import is_up, native_stop

if TYPE_CHECKING:
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float64]"
Blocks: TypeAlias = tuple[Matrix, ...]  # factors as (rank, n) arrays

SHRINK, GROW, GROW_CAP = 0.5, 1.3, 1.05  # of β and its bound, those of Ang & Gillis
MOST_LOOKS = 200
# An objective of this part of the size of V is a relative error of half a percent in its numbers,
# finer than tens of thousands of draws know them. Below it, a fall is measured against it.
NOISE = 1e-5
# Every restart goes on until it falls by less than ROUGH in a look. A stage has a least fall of its
# own, and is for the restarts within a part of the best. Those within 1e-4 of it may be the same
# minimum, and go on until their objectives can be compared to 1e-8. One alone stops before.
ROUGH = 1e-2
STAGES = ((1e-3, 5e-2), (1e-5, 1e-3), (1e-8, 1e-4))
ENOUGH = 1e-5  # the least fall in a look at all items, where landmarks were fitted before
SINGLE = 1e-6  # the least fall for which steps in single precision are enough


@dataclass(frozen=True, eq=False)
class Problem:
    """A symmetric matrix to factorise, and the fixed row that an offset multiplies.

    ``border`` is all ones, or a power of the mass that each item stands for.
    """

    matrix: Matrix
    border: Matrix

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.border.size

    @cached_property
    def norm2(self) -> float:
        """Σ_ij V_ij²."""
        return float(np.vdot(self.matrix, self.matrix))

    @cached_property
    def total(self) -> float:
        """Σ_ij V_ij."""
        return float(self.matrix.sum())

    @cached_property
    def entropy(self) -> float:
        """Σ_ij V_ij log V_ij - V_ij."""
        seen = self.matrix[self.matrix > 0]
        return float((seen * np.log(seen) - seen).sum())

    @cached_property
    def columns(self) -> _core.SparseColumns:
        """V for steps that lower a divergence."""
        return _core.SparseColumns(self.matrix)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name != "columns"}

    def times(self, X: Matrix) -> Matrix:
        """X V for X of shape (r, n)."""
        return _core.nmf_product(X, self.matrix, native_stop())


def alternate(problem: Any, A: Matrix, B: Matrix, fixed: int, n_sweeps: int) -> float:
    """Lower B, then A, in place; half the squared distance of V from AᵀB. The last rows of B stay.

    ``problem`` has ``times`` and ``norm2``, as :class:`Problem` and ``Target`` do.
    """
    stop = native_stop()
    _core.nmf_sweep(problem.times(A), A @ A.T, B, B.shape[0] - fixed, n_sweeps, stop)
    P, G = problem.times(B), B @ B.T
    _core.nmf_sweep(P, G, A, A.shape[0], n_sweeps, stop)
    return 0.5 * float(problem.norm2 - 2.0 * np.vdot(P, A) + np.vdot(G, A @ A.T))


@dataclass(frozen=True, eq=False)
class Fit:
    """One restart, and how far it has come."""

    blocks: Blocks
    objective: float
    n_iter: int = 0
    converged: bool = False


@dataclass(frozen=True)
class Method(ABC):
    """How an objective is lowered: the base of ``least_squares`` and ``kullback_leibler``.

    Parameters
    ----------
    power : float
        V scaled by m_i^p m_j^p is the problem of items with masses m.
    beta : float
        The first weight of the extrapolation.
    keep : float
        An extrapolated number keeps this part of the accepted one.
    every : int
        Iterations in a look at the objective.
    """

    power: float = 0.5
    beta: float = 0.5
    keep: float = 0.0
    every: int = 10

    @abstractmethod
    def begin(self, problem: Problem, blocks: Blocks) -> Iterator[Blocks]:
        """Yield where a restart may begin: each is fitted roughly, and the best goes on."""

    @abstractmethod
    def step(self, problem: Any, blocks: Blocks, is_rough: bool) -> float:
        """Lower the blocks in place; return their objective."""

    @abstractmethod
    def value(self, problem: Any, blocks: Blocks) -> float:
        """The objective of blocks."""

    @abstractmethod
    def size(self, problem: Any) -> float:
        """Of what is fitted, in units of the objective."""

    @abstractmethod
    def extend(self, target: Any, marks: Any, blocks: Blocks) -> Blocks:
        """Blocks of all items from those of landmarks."""

    def improve(self, target: Any, blocks: Blocks) -> Fit | None:
        """Lower the objective of all items; None where they are too many for it."""
        fit = Fit(blocks, self.value(target, blocks))
        return descend(target, fit, ENOUGH, self, target.most_looks)

    def to_blocks(self, factors: Factors, border: Matrix) -> Blocks:
        """Wᵀ and H."""
        return np.ascontiguousarray(factors.W.T), np.ascontiguousarray(factors.H)

    def to_factors(self, blocks: Blocks) -> Factors:
        """The other way."""
        A, B = blocks
        return Factors(A.T, B)


def descend(
    problem: Any, fit: Fit, tolerance: float, method: Method, most: int = MOST_LOOKS
) -> Fit:
    """Iterate until the objective falls by no more than ``tolerance`` of itself in a look."""
    floor, is_rough = NOISE * method.size(problem), tolerance > SINGLE
    blocks, objective, beta, cap = fit.blocks, fit.objective, method.beta, 1.0
    ahead, before, n_iter, converged = blocks, objective, 0, False
    while not converged and n_iter < most * method.every:
        new = tuple(x.copy() for x in ahead)
        now = method.step(problem, new, is_rough)
        if is_up():
            break
        n_iter += 1
        if now > objective:
            ahead, cap, beta = blocks, beta, SHRINK * beta
        else:
            ahead = tuple(
                np.maximum(x + beta * (x - old), method.keep * x)
                for x, old in zip(new, blocks, strict=True)
            )
            blocks, objective = new, now
            cap = min(1.0, GROW_CAP * cap)
            beta = min(cap, GROW * beta)
        if n_iter % method.every == 0:
            converged = before - objective <= tolerance * max(objective, floor)
            before = objective
    return Fit(blocks, max(objective, 0.0), fit.n_iter + n_iter, converged)


def begun(problem: Problem, method: Method, blocks: Blocks) -> Fit:
    """A rough fit of one restart: the better of what its beginnings lead to."""
    fits = (
        descend(problem, Fit(begin, method.value(problem, begin)), ROUGH, method)
        for begin in method.begin(problem, blocks)
    )
    return min(fits, key=lambda fit: fit.objective)


def refined(
    problem: Problem, method: Method, fits: list[Fit], parallel: Callable[..., Any]
) -> list[Fit]:
    """Carry on the restarts that may be the best."""
    for tolerance, within in STAGES:
        if is_up():
            break
        least = min(fit.objective for fit in fits)
        most = least + within * max(least, NOISE * method.size(problem))
        chosen = [r for r, fit in enumerate(fits) if fit.objective <= most]
        if len(chosen) == 1 and tolerance == STAGES[-1][0]:
            break
        finer = parallel(
            lambda r, tolerance=tolerance: descend(problem, fits[r], tolerance, method), chosen
        )
        for r, fit in zip(chosen, finer, strict=True):
            fits[r] = fit
    return fits


def balanced(A: Matrix, B: Matrix) -> Blocks:
    """Give row k of A and of B the same norm; AᵀB does not change."""
    a, b = np.linalg.norm(A, axis=-1), np.linalg.norm(B, axis=-1)
    alive = (a > 0) & (b > 0)
    ratio = np.sqrt(np.where(alive, b, 1.0) / np.where(alive, a, 1.0))[:, None]
    return A * ratio, B / ratio
