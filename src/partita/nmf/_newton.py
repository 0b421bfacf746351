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
from partita.nmf import _hals, _newton_arrays
from partita.nmf._accelerate import Looks, State, run_compiled
from partita.nmf._common import Blocks, Factors, Target, transpose

if TYPE_CHECKING:
    from partita.nmf._common import Array

N_SWEEPS = 4
N_MULTIPLIED = 20
FLOOR = 1e-3  # of a factor's largest number: what zeros of a least-squares start become
ROUGH = 1e-6  # a fall in a look from which on steps are in single precision, Hessians lag
LAG = 3  # iterations that a Hessian then serves
_CALL = 5e7  # operations in a compiled call of some 20 ms


def half(target: Target, A: Array, B: Array) -> Array:
    """B after one damped Newton step of each of its columns, with A fixed."""
    if not target.is_numpy:
        return _newton_arrays.half(target.xp, target.array, A, B, N_SWEEPS)
    out = np.array(B, dtype=np.float64)
    K, n = B.shape[-2:]
    chunk = max(1, int(_CALL / (n * K * (K + 6))))
    hessians = np.empty((n, K, K))
    for a, b in zip(A.reshape(-1, K, n), out.reshape(-1, K, n), strict=True):
        for lo in range(0, n, chunk):
            kernels.nmf_newton.half(
                target.array, *target.seen, a, b, hessians, True, N_SWEEPS, lo, min(lo + chunk, n)
            )
    return out


def advance(
    target: Target, state: State, looks: Looks, theta: float = 0.0
) -> tuple[State, int, bool] | None:
    """Iterate one restart compiled, where a look takes no longer than a blink."""
    K, n = state.blocks[0].shape[-2:]
    cost = n * n * (K + 6) ** 2 / (4 if looks.tolerance >= ROUGH else 1)
    if not target.is_numpy or looks.every * cost > 4 * _CALL:
        return None

    rough = looks.tolerance >= ROUGH
    steps, lag = (target.single, LAG) if rough else (target.array, 1)

    def call(*rest: Any) -> int:
        found = kernels.nmf_newton.advance(
            target.array, steps, *target.seen, target.entropy, theta, N_SWEEPS, looks.keep, lag,
            *rest,
        )  # fmt: skip
        return int(found)

    return run_compiled(call, state, looks, cost)


def divergence(target: Target, A: Array, B: Array) -> Array:
    """Σ V log(V/t) - V + t with t = AᵀB, for every restart."""
    if not target.is_numpy:
        return _newton_arrays.divergence(target.xp, target.array, A, B)
    constant = target.entropy
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


def multiplied(target: Target, factors: Factors, multiply: Any) -> Blocks:
    """Blocks after some multiplicative steps from the random start itself, balanced.

    Least squares would rather have one factor for all that it has no factor left for, a divergence
    several of a few clusters each. Where there are fewer factors than clusters, what begins at a
    least-squares fit ends there, up to 20% above what begins here; elsewhere it is the better.
    """
    xp, V = target.xp, target.array
    size = xp.sqrt(target.total / xp.sum(factors.W @ factors.H, axis=(-2, -1), keepdims=True))
    factors = Factors(factors.W * size, factors.H * size)
    for i in range(1, N_MULTIPLIED + 1):
        factors = multiply(V, factors, i)
    return lifted(xp, *_hals.balanced(xp, transpose(xp, factors.W), factors.H + 0.0))


def lifted(xp: Any, A: Array, B: Array) -> Blocks:
    """Blocks with no zeros, so that every V_ij > 0 is within reach of a Newton step."""
    peak = [xp.max(x, axis=(-2, -1), keepdims=True) for x in (A, B)]
    lift = [
        FLOOR * xp.where(p > 0, p, xp.ones_like(p)) + xp.zeros_like(x)
        for p, x in zip(peak, (A, B), strict=True)
    ]
    return tuple(xp.where(x > low, x, low) for x, low in zip((A, B), lift, strict=True))
