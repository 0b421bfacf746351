"""Kullback-Leibler divergence for ``kl`` and ``ns``: damped Newton steps for every column.

For fixed A the divergence of V from AᵀB splits over the columns of B, each a convex problem in K
numbers. Its K x K Hessian costs little more than the gradient, and the bounded quadratic is
minimised by coordinate descent. A bound that takes no logarithm says how far a step may go, so
every half step descends. Ten of them reach what multiplicative updates do not in two thousand.

Every restart begins twice, once at its least-squares fit and once after some multiplicative
updates, and goes on from the better. Where factors are fewer than clusters, least squares has one
factor for all that it has none left for, and a divergence has several of a few clusters each. From
least squares alone fits end up to 18% too high; from the updates alone, up to 13%.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.devices import to_host
from partita.nmf.descent import Fit, Method, balanced
from partita.nmf.least_squares import near
from partita.nmf.model import divergence, namespace
from partita.nmf.multiplicative import scaled_by_quotients
from partita.nmf.target import EVERY
from partita.parallel import is_up, native_stop

if TYPE_CHECKING:
    from partita.nmf.descent import Blocks, Matrix, Problem

# Multiplicative updates of a start. Of 36 cells of three posteriors, 20 leave five above where
# 1,500 updates end and 50 leave one; least squares ends below in all of them.
N_UPDATES = 25
LIFT = 1e-3  # of a factor's largest number: what zeros of a start become, so that steps move them
N_STEPS = 8  # Newton's, of a regression from nothing
ROUNDS = 2  # over all items; ten end at most 0.2% lower


@dataclass(frozen=True)
class Divergence(Method):
    """D(V || AᵀSB) with S = (1-θ)I + (θ/K)11ᵀ."""

    power: float = 1.0
    beta: float = 0.3
    keep: float = 0.1  # since a Newton step from next to zero is poor
    every: int = 3
    theta: float = 0.0

    def begin(self, problem: Problem, blocks: Blocks) -> Iterator[Blocks]:
        """The least-squares fit; and some multiplicative updates."""
        yield lifted(*balanced(*near(problem, blocks)))
        A, B = blocks
        stop, size = native_stop(), np.sqrt(problem.total / max(float((A.T @ B).sum()), 1e-300))
        A, B = A * size, B * size
        for _ in range(N_UPDATES):
            _core.nmf_step_divergence(problem.columns, self._smooth(A), B, False, True, stop)
            _core.nmf_step_divergence(problem.columns, self._smooth(B), A, False, True, stop)
            if is_up():
                return
        yield lifted(*balanced(A, B))

    def step(self, problem: Any, blocks: Blocks, is_rough: bool) -> float:
        """One Newton step of H's columns given W, then of W's rows given H."""
        A, B = blocks
        stop = native_stop()
        _core.nmf_step_divergence(problem.columns, self._smooth(A), B, True, is_rough, stop)
        SB = self._smooth(B)
        _core.nmf_step_divergence(problem.columns, SB, A, True, is_rough, stop)
        return float(problem.entropy + _core.nmf_cross_entropy(problem.columns, A, SB, stop))

    def value(self, problem: Any, blocks: Blocks) -> float:
        """D(V || AᵀSB)."""
        A, B = blocks
        found = _core.nmf_cross_entropy(problem.columns, A, self._smooth(B), _core.Stop())
        return max(0.0, float(problem.entropy + found))

    def size(self, problem: Any) -> float:
        """The sum of V."""
        return float(problem.total)

    def extend(self, target: Any, marks: Any, blocks: Blocks) -> Blocks:
        """H of all items given W of the landmarks, and W given their H."""
        A, B = blocks
        left, right = A * marks.mass, self._smooth(B) * marks.mass
        left = self._smooth(left)
        stop = native_stop()

        H, W = (np.empty((A.shape[0], target.n_items)) for _ in range(2))
        for part, V in target.rows(marks.items):
            V *= marks.mass[:, None]
            columns = _core.SparseColumns(V)
            for X, Y in ((left, H), (right, W)):
                found = np.full((X.shape[0], V.shape[1]), V.mean() / (X.mean() * A.shape[0] or 1.0))
                for _ in range(N_STEPS):
                    _core.nmf_step_divergence(columns, X, found, True, True, stop)
                Y[:, part] = found
        return W, H

    def improve(self, target: Any, blocks: Blocks) -> Fit | None:
        """Newton steps over all items, a block of them at a time; updates on a device."""
        if not target.is_on_host:
            return self._improve_there(target, blocks)
        if target.n_items > EVERY:
            return None
        A, B = blocks
        for done in range(ROUNDS):
            if done and is_up():
                break
            B, _ = self._half(target, self._smooth(A), B)
            A, cross = self._half(target, self._smooth(B), A)
        return Fit((A, B), max(0.0, target.entropy + cross), ROUNDS, True)

    def _improve_there(self, target: Any, blocks: Blocks) -> Fit:
        """Multiplicative updates on the device that the matrix is on."""
        V, xp = target.array, namespace(target.array)
        A, B = (target.put(x) for x in blocks)
        for _ in range(N_UPDATES):
            B = scaled_by_quotients(xp, V, smooth(xp, A, self.theta), B)
            A = scaled_by_quotients(xp, V, smooth(xp, B, self.theta), A)
        value = float(divergence(V, A, smooth(xp, B, self.theta)))
        return Fit(tuple(to_host(x).astype(np.float64) for x in (A, B)), value, N_UPDATES, True)

    def _half(self, target: Any, A: Matrix, B: Matrix) -> tuple[Matrix, float]:
        """B after steps given A, and Σ t - V log t after them."""
        B, cross, stop = B.copy(), 0.0, native_stop()
        for part, matrix in target.rows():
            V, found = _core.SparseColumns(matrix), np.ascontiguousarray(B[:, part])
            _core.nmf_step_divergence(V, A, found, True, True, stop)
            cross += _core.nmf_cross_entropy(V, A, found, stop)
            B[:, part] = found
        return B, cross

    def _smooth(self, X: Matrix) -> Matrix:
        return np.ascontiguousarray(smooth(np, X, self.theta)) if self.theta else X


def smooth(xp: Any, X: Any, theta: float) -> Any:
    """S X for X of shape (..., K, n)."""
    return (1.0 - theta) * X + theta * xp.mean(X, axis=-2, keepdims=True)


def lifted(A: Matrix, B: Matrix) -> Blocks:
    """Blocks with no zeros, so that every V_ij > 0 is within reach of a Newton step."""
    return tuple(np.maximum(x, LIFT * (float(x.max()) or 1.0)) for x in (A, B))
