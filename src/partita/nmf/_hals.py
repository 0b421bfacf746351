"""Least squares for ``ls`` and ``offset``, and the starts of every other model.

Alternate over H and W; each half minimises its own convex problem by coordinate descent, a factor
at a time (HALS), with a few sweeps for each product with π̂ since the sweeps are the cheap part.
Blocks are A = Wᵀ and B = H, (..., K, n). Rows of B past ``free`` are held fixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.nmf._accelerate import Looks, State, run, run_compiled
from partita.nmf._common import EXACT, Blocks, Factors, Target, namespace, positive, transpose

if TYPE_CHECKING:
    from partita.nmf._common import Array

N_SWEEPS = 4
SMALL = 150  # below this, one loop over the whole matrix beats compression


def sweep(xp: Any, P: Array, G: Array, B: Array, free: int) -> Array:
    """Minimise ½ tr(BᵀGB) - tr(PᵀB) over B >= 0 by ``N_SWEEPS`` sweeps over the rows of B."""
    B = xp.asarray(B, copy=True)
    for _ in range(N_SWEEPS):
        for k in range(free):
            scale = G[..., k, k][..., None]
            rest = P[..., k, :] - (G[..., k : k + 1, :] @ B)[..., 0, :]
            safe = xp.where(scale > 0, scale, xp.ones_like(scale))
            moved = positive(xp, B[..., k, :] + rest / safe)
            B[..., k, :] = xp.where(scale > 0, moved, B[..., k, :])
    return B


def alternate(target: Target, blocks: Blocks, fixed: int = 0) -> tuple[Blocks, Array]:
    """One alternation, H then W, and the objective after it; both halves only descend."""
    xp = target.xp
    A, B = blocks
    K = A.shape[-2]
    B = half(target, target.times(A), A @ xp.matrix_transpose(A), B, K - fixed)
    P, G = target.times(B), B @ xp.matrix_transpose(B)
    A = half(target, P, G, A, K)
    return (A, B), _objective(target, P, G, A)


def half(target: Target, P: Array, G: Array, B: Array, free: int) -> Array:
    if not target.is_numpy:
        return sweep(target.xp, P, G, B, free)
    out = np.array(B, dtype=np.float64)
    flat = (-1, *B.shape[-2:])
    for p, g, b in zip(
        P.reshape(flat), G.reshape(-1, *G.shape[-2:]), out.reshape(flat), strict=True
    ):
        kernels.nmf_hals.sweep(p, g, b, free, N_SWEEPS)
    return out


def _objective(target: Target, P: Array, G: Array, A: Array) -> Array:
    """½ (‖V‖² - 2⟨V, WH⟩ + ‖WH‖²) from what the last half step has at hand."""
    xp = target.xp
    cross = xp.sum(P * A, axis=(-2, -1))
    square = xp.sum((A @ xp.matrix_transpose(A)) * G, axis=(-2, -1))
    return 0.5 * (target.norm2 - 2.0 * cross + square)


def distance(target: Target, A: Array, B: Array) -> Array:
    """Half the squared Frobenius distance, exact to rounding; by residuals in single precision."""
    xp = target.xp
    if target.array is None or target.dtype == xp.float64:
        P, G = target.times(B), B @ xp.matrix_transpose(B)
        return positive(xp, _objective(target, P, G, A))
    rest = target.array - xp.matrix_transpose(A) @ B
    return 0.5 * xp.sum(rest * rest, axis=(-2, -1))


def advance(
    target: Target, state: State, looks: Looks, fixed: int = 0
) -> tuple[State, int, bool] | None:
    """Iterate one restart compiled, on a dense NumPy matrix that is not too large for that."""
    if not target.is_numpy or target.array is None or target.n_items >= 2000:
        return None
    return _compiled(target.array, _NONE, _NONE, target.norm2, state, looks, fixed)


_NONE = np.empty(0)


def _compiled(
    V: Array, values: Array, residual: Array, norm2: float, state: State, looks: Looks, fixed: int
) -> tuple[State, int, bool]:
    def call(*rest: Any) -> int:
        found = kernels.nmf_hals.advance(V, values, residual, norm2, fixed, N_SWEEPS, *rest)
        return int(found)

    K, n = state.blocks[0].shape[-2:]
    return run_compiled(call, state, looks, cost=4 * V.size * K + 2 * N_SWEEPS * K * K * n)


def fit(target: Target, blocks: Blocks, tolerance: float = 1e-3) -> tuple[Blocks, int]:
    """Bring blocks near a minimum: on a compressed similarity where that pays, else as it is."""
    K, n = blocks[0].shape[-2:]
    looks = Looks(tolerance, floor=EXACT * target.norm2)
    state = State.begin(target.xp, blocks, 0.5)
    size = K + 12
    if target.is_numpy and n >= max(SMALL, 4 * size):
        small = target.low_rank(size)
        done = _compiled(small.vectors, small.values, small.residual, small.norm2, state, looks, 0)
    else:
        found = advance(target, state, looks)
        done = found or run(target.xp, lambda b: alternate(target, b), state, looks)
    return done[0].blocks, done[1]


def scaled(target: Target, factors: Factors) -> Blocks:
    """A start as blocks, rescaled so that WH is as near to V as a number can bring it."""
    xp = namespace(factors.W)
    A, B = transpose(xp, factors.W), factors.H
    cross = xp.sum(target.times(A) * B, axis=(-2, -1))
    square = xp.sum((A @ xp.matrix_transpose(A)) * (B @ xp.matrix_transpose(B)), axis=(-2, -1))
    usable = (cross > 0) & (square > 0)
    ratio = xp.where(usable, cross, xp.ones_like(cross)) / xp.where(
        usable, square, xp.ones_like(square)
    )
    return A, B * ratio[..., None, None]


def balanced(xp: Any, A: Array, B: Array) -> Blocks:
    """Give row k of A and of B the same norm; AᵀB does not change."""
    a = xp.sqrt(xp.sum(A * A, axis=-1))
    b = xp.sqrt(xp.sum(B * B, axis=-1))
    alive = (a > 0) & (b > 0)
    one = xp.ones_like(a)
    ratio = xp.sqrt(xp.where(alive, b, one) / xp.where(alive, a, one))[..., None]
    return A * ratio, B / ratio
