"""Kullback-Leibler divergence for ``kl`` and ``ns``: one damped Newton step for every column.

For fixed A the divergence of V from AᵀB splits over the columns b of B, each a convex problem in
K numbers. Its K x K Hessian A diag(V/t²) Aᵀ costs little more than the gradient, and the bounded
quadratic is minimised by coordinate descent. The step is halved until the bound

    D(t + sδ) - D(t) <= s gᵀd + ½ Σ_i (V_i/t_i²) s²δ_i² / (1 + min(sδ_i/t_i, 0)),   δ = Aᵀd,

says that the divergence does not rise, so no logarithm is taken and every half step descends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.nmf._accelerate import Looks, State, run_compiled
from partita.nmf._common import Blocks, Target, positive

if TYPE_CHECKING:
    from partita.nmf._common import Array

N_SWEEPS = 4
FLOOR = 1e-3  # of a factor's largest number: what zeros of a least-squares start become
_HALVINGS = 8
_STEEPEST = 1e-6
_CALL = 5e7  # operations in a compiled call of some 20 ms


def half(target: Target, A: Array, B: Array) -> Array:
    """B after one damped Newton step of each of its columns, with A fixed."""
    if not target.is_numpy:
        return half_of_arrays(target.xp, target.array, A, B)
    out = np.array(B, dtype=np.float64)
    K, n = B.shape[-2:]
    chunk = max(1, int(_CALL / (n * K * (K + 6))))
    for a, b in zip(A.reshape(-1, K, n), out.reshape(-1, K, n), strict=True):
        for lo in range(0, n, chunk):
            kernels.nmf_newton.half(
                target.array, *target.seen, a, b, N_SWEEPS, lo, min(lo + chunk, n)
            )
    return out


def half_of_arrays(xp: Any, V: Array, A: Array, B: Array) -> Array:
    """The same step in the array API, all columns and restarts at once."""
    tiny = 1e-150 if B.dtype == xp.float64 else 1e-18
    At = xp.matrix_transpose(A)
    r = 1.0 / (At @ B + tiny)
    u = V * r
    g = xp.sum(A, axis=-1)[..., None] - A @ u
    u = u * r
    K, n = A.shape[-2:]
    pairs = xp.reshape(A[..., :, None, :] * A[..., None, :, :], (*A.shape[:-2], K * K, n))
    hess = xp.reshape(pairs @ u, (*A.shape[:-2], K, K, B.shape[-1]))
    d, g = _descend(xp, hess, g, B)
    delta = At @ d
    weight = u * delta * delta
    slope = xp.sum(g * d, axis=-2) - xp.sum(weight, axis=-2)
    t = _damping(xp, weight, delta * r, slope)
    return positive(xp, B + t[..., None, :] * d)


def _descend(xp: Any, hess: Array, g: Array, B: Array) -> tuple[Array, Array]:
    d = xp.zeros_like(B)
    for _ in range(N_SWEEPS):
        for k in range(B.shape[-2]):
            h = hess[..., k, k, :]
            gk = g[..., k, :]
            floor = -B[..., k, :] - d[..., k, :]
            usable = h > 1e-30
            step = -gk / xp.where(usable, h, xp.ones_like(h))
            step = xp.where(step > floor, step, floor)
            step = xp.where(usable, step, xp.where(gk > 0, floor, xp.zeros_like(gk)))
            d[..., k, :] = d[..., k, :] + step
            g = g + hess[..., k, :] * step[..., None, :]
    return d, g


def _damping(xp: Any, weight: Array, x: Array, slope: Array) -> Array:
    fall = xp.where(x < 0, x, xp.zeros_like(x))
    t = xp.ones_like(slope)
    for _ in range(_HALVINGS):
        y = positive(xp, 1.0 + t[..., None, :] * fall, _STEEPEST)
        safe = slope + 0.5 * t * xp.sum(weight / y, axis=-2) <= 0
        t = xp.where(safe, t, 0.5 * t)
    return xp.where(safe, t, xp.zeros_like(t))


def advance(
    target: Target, state: State, looks: Looks, theta: float = 0.0
) -> tuple[State, int, bool] | None:
    """Iterate one restart compiled, where a look takes no longer than a blink."""
    K, n = state.blocks[0].shape[-2:]
    cost = 2 * n * n * (K + 6) ** 2 / 2
    if not target.is_numpy or looks.every * cost > 4 * _CALL:
        return None

    def call(*rest: Any) -> int:
        found = kernels.nmf_newton.advance(
            target.array, *target.seen, target.entropy, theta, N_SWEEPS, looks.keep, *rest
        )
        return int(found)

    return run_compiled(call, state, looks, cost)


def divergence(target: Target, A: Array, B: Array) -> Array:
    """Σ V log(V/t) - V + t with t = AᵀB, for every restart."""
    constant = target.entropy
    if not target.is_numpy:
        xp = target.xp
        t = xp.matrix_transpose(A) @ B
        seen = target.array > 0
        tiny = 1e-150 if B.dtype == xp.float64 else 1e-18
        logs = xp.where(seen, target.array * xp.log(t + tiny), xp.zeros_like(t))
        return constant + xp.sum(t - logs, axis=(-2, -1))
    K, n = B.shape[-2:]
    chunk = max(1, int(_CALL / (n * (K + 12))))
    found = [
        constant
        + sum(
            kernels.nmf_newton.divergence(target.array, *target.seen, a, b, lo, min(lo + chunk, n))
            for lo in range(0, n, chunk)
        )
        for a, b in zip(A.reshape(-1, K, n), B.reshape(-1, K, n), strict=True)
    ]
    return np.maximum(np.reshape(found, B.shape[:-2]), 0.0)


def lifted(xp: Any, A: Array, B: Array) -> Blocks:
    """Blocks with no zeros, so that every V_ij > 0 is within reach of a Newton step."""
    peak = [xp.max(x, axis=(-2, -1), keepdims=True) for x in (A, B)]
    lift = [
        FLOOR * xp.where(p > 0, p, xp.ones_like(p)) + xp.zeros_like(x)
        for p, x in zip(peak, (A, B), strict=True)
    ]
    return tuple(xp.where(x > low, x, low) for x, low in zip((A, B), lift, strict=True))
