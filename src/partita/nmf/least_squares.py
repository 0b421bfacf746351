"""Least squares for ``ls``, ``offset`` and ``symmetric``, and the starts of every other model.

``Squares``: alternate over H and W; each half minimises its own convex problem by coordinate
descent, a factor at a time (HALS), with a few sweeps for each product with π̂, since the sweeps are
the cheap part.

``SymmetricSquares``: move H towards the least-squares answer to π̂ ≈ HᵀX, which is a direction of
descent since both problems have the same gradient at X = H but for a factor 2, as far as the exact
minimum of the quartic along it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.nmf.descent import Fit, Method, alternate, balanced, descend
from partita.nmf.model import Factors
from partita.nmf.multiplicative import scaled_by_products
from partita.parallel import is_up, native_stop

if TYPE_CHECKING:
    from partita.nmf.descent import Blocks, Matrix, Problem

# Multiplicative updates of a start: with 8 none of 108 cells of `benchmarks/nmf.py against-mu` ends
# above; 15 and 25 end no lower there.
N_UPDATES = 8
N_SWEEPS = 4  # after each product with π̂
N_FIRST = 40  # sweeps of a regression from nothing
LOOKS = 4  # of that fit, at most
NEAR = 1e-3  # the least fall in a look of the fit that other models start from


@dataclass(frozen=True)
class Squares(Method):
    """½ ‖V - AᵀB‖², the last ``fixed`` rows of B given."""

    fixed: int = 0

    def begin(self, problem: Problem, blocks: Blocks) -> Iterator[Blocks]:
        """A random start, as near to V as a number can bring it; and some multiplicative updates.

        With an offset only those: the other restarts of it begin where ``ls`` ended.
        """
        A, B = blocks
        if not self.fixed:
            cross = float(np.vdot(problem.times(A), B))
            square = float(((A @ A.T) * (B @ B.T)).sum())
            yield A, B * (cross / square if cross > 0 and square > 0 else 1.0)
        free = B.shape[0] - self.fixed
        for _ in range(N_UPDATES):
            B = np.vstack([scaled_by_products(np, problem.matrix, A, B)[:free], B[free:]])
            A = scaled_by_products(np, problem.matrix, B, A)
            if is_up():
                break
        yield A, B

    def step(self, problem: Any, blocks: Blocks, is_rough: bool) -> float:
        """One alternation, H then W."""
        A, B = blocks
        return alternate(problem, A, B, self.fixed, N_SWEEPS)

    def value(self, problem: Any, blocks: Blocks) -> float:
        """½ ‖V - AᵀB‖²."""
        A, B = blocks
        square = float(((A @ A.T) * (B @ B.T)).sum())
        cross = float(np.vdot(problem.times(A), B))
        return float(0.5 * (problem.norm2 - 2.0 * cross + square))

    def size(self, problem: Any) -> float:
        """‖V‖²."""
        return float(problem.norm2)

    def to_blocks(self, factors: Factors, border: Matrix) -> Blocks:
        """Wᵀ and H; with a fixed row, the offset and the border below."""
        A, B = super().to_blocks(factors, border)
        if not self.fixed:
            return A, B
        offset = np.zeros(border.size) if factors.offset is None else factors.offset
        return np.vstack([A, offset]), np.vstack([B, border])

    def to_factors(self, blocks: Blocks) -> Factors:
        """The other way."""
        A, B = blocks
        return Factors(A[:-1].T, B[:-1], A[-1]) if self.fixed else Factors(A.T, B)

    def extend(self, target: Any, marks: Any, blocks: Blocks) -> Blocks:
        """H of all items given W of the landmarks, then W given H."""
        A, _ = blocks
        heavy = A * marks.mass
        B = regressed(marks.times(target, heavy), heavy @ A.T, self.fixed)
        return regressed(target.times(B), B @ B.T), B


@dataclass(frozen=True)
class SymmetricSquares(Method):
    """½ ‖V - BᵀB‖²."""

    def begin(self, problem: Problem, blocks: Blocks) -> Iterator[Blocks]:
        """The least-squares fit, balanced, W and Hᵀ averaged."""
        A, B = balanced(*near(problem, blocks * 2))
        yield (0.5 * (A + B),)

    def step(self, problem: Any, blocks: Blocks, is_rough: bool) -> float:
        """Towards the least-squares answer given Hᵀ, as far as the objective falls."""
        (B,) = blocks
        P, G = problem.times(B), B @ B.T
        D = B.copy()
        _core.nmf_sweep(P, G, D, B.shape[0], N_SWEEPS, native_stop())
        D -= B
        Q, mixed, own = problem.times(D), B @ D.T, D @ D.T
        mixed = mixed + mixed.T
        quartic = np.array(
            [
                0.5 * np.vdot(own, own),
                np.vdot(mixed, own),
                np.vdot(G, own) + 0.5 * np.vdot(mixed, mixed) - np.vdot(Q, D),
                np.vdot(G, mixed) - 2.0 * np.vdot(P, D),
                0.5 * (problem.norm2 - 2.0 * np.vdot(P, B) + np.vdot(G, G)),
            ]
        )
        roots = np.roots(np.polyder(quartic)) if quartic[0] > 0 else np.zeros(0)
        real = roots.real[np.abs(roots.imag) < 1e-9]
        at = np.concatenate([[0.0, 1.0], real[(real > 0) & (real < 1)]])
        values = np.polyval(quartic, at)
        best = int(np.argmin(values))
        B += at[best] * D
        return float(values[best])

    def value(self, problem: Any, blocks: Blocks) -> float:
        """½ ‖V - BᵀB‖²."""
        return Squares().value(problem, blocks * 2)

    def size(self, problem: Any) -> float:
        """‖V‖²."""
        return float(problem.norm2)

    def to_blocks(self, factors: Factors, border: Matrix) -> Blocks:
        """H."""
        return (np.ascontiguousarray(factors.H),)

    def to_factors(self, blocks: Blocks) -> Factors:
        """H, and W = Hᵀ."""
        return Factors(blocks[0].T, blocks[0])

    def extend(self, target: Any, marks: Any, blocks: Blocks) -> Blocks:
        """H of all items given H of the landmarks."""
        heavy = blocks[0] * marks.mass
        return (regressed(marks.times(target, heavy), heavy @ blocks[0].T),)


def near(problem: Problem, blocks: Blocks) -> Blocks:
    """Blocks near a least-squares minimum, from a random start."""
    plain = Squares()
    blocks = next(plain.begin(problem, blocks))
    return descend(problem, Fit(blocks, plain.value(problem, blocks)), NEAR, plain, LOOKS).blocks


def regressed(P: Matrix, G: Matrix, fixed: int = 0) -> Matrix:
    """The non-negative least-squares answer for every column, from nothing; the last rows 1."""
    found = np.zeros_like(P)
    found[P.shape[0] - fixed :] = 1.0
    P, G = np.ascontiguousarray(P), np.ascontiguousarray(G)
    _core.nmf_sweep(P, G, found, P.shape[0] - fixed, N_FIRST, native_stop())
    return found
