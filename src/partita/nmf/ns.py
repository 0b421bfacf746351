"""``ns``: π̂ ≈ WSH, S = (1-θ)I + (θ/K)11ᵀ, θ = ½ (Pascual-Montano et al. 2006).

``solver="fast"``: as for ``kl``, with WS in the place of W for the step of H and SH in the place
of H for the step of W.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.nmf import _hals, _newton
from partita.nmf._common import (
    Blocks,
    Factors,
    Model,
    Target,
    Width,
    divide,
    in_use,
    namespace,
    transpose,
)
from partita.nmf._multiplicative import scaled_by_quotients

if TYPE_CHECKING:
    from partita.nmf._accelerate import Looks, State
    from partita.nmf._common import Array

THETA = 0.5


def smooth(xp: Any, X: Array, width: Width | None = None) -> Array:
    """S X for X of shape (..., K, n)."""
    if width is None:
        return (1.0 - THETA) * X + THETA * xp.mean(X, axis=-2, keepdims=True)
    mean = xp.sum(X, axis=-2, keepdims=True) / width.rank
    return in_use((1.0 - THETA) * X + THETA * mean, width)


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The shared random W and H as they are."""
    return Factors(W, H)


def multiply(V: Array, factors: Factors, iteration: int, width: Width | None = None) -> Factors:
    """R's ``nsNMF``: the updates of ``kl`` with WS and SH; W's columns divided by their sums."""
    xp = namespace(factors.W)
    Wt, H = xp.matrix_transpose(factors.W), factors.H
    H = scaled_by_quotients(xp, V, smooth(xp, Wt, width), H)
    Wt = scaled_by_quotients(xp, V, smooth(xp, H, width), Wt)
    Wt = divide(xp, Wt, xp.sum(Wt, axis=-1, keepdims=True))
    return Factors(xp.matrix_transpose(Wt), H)


def prepare(target: Target, factors: Factors) -> tuple[Blocks, int]:
    """A least-squares fit of WH, balanced, with its zeros lifted."""
    blocks, _ = _hals.fit(target, factors)
    return _newton.lifted(target.xp, *_hals.balanced(target.xp, *blocks)), 0


def otherwise(target: Target, factors: Factors) -> tuple[Blocks, int]:
    """Some of R's steps from the random start, balanced, with their zeros lifted."""
    return _newton.multiplied(target, factors, multiply), 0


def step(target: Target, blocks: Blocks) -> tuple[Blocks, Array]:
    """One damped Newton step of H's columns given WS, then of W's rows given SH."""
    A, B = blocks
    B = _newton.half(target, smooth(target.xp, A), B)
    SB = smooth(target.xp, B)
    A = _newton.half(target, SB, A)
    return (A, B), _newton.divergence(target, A, SB)


def advance(target: Target, state: State, looks: Looks) -> tuple[State, int, bool] | None:
    """The same steps, extrapolated and compiled."""
    return _newton.advance(target, state, looks, THETA)


def blocks(target: Target, factors: Factors) -> Blocks:
    """Wᵀ and H."""
    return transpose(target.xp, factors.W), factors.H


def factors(target: Target, blocks: Blocks) -> Factors:
    """Blocks as W and H."""
    return Factors(transpose(target.xp, blocks[0]), blocks[1])


def objective(target: Target, factors: Factors) -> Array:
    """Σ π̂ log(π̂ / WSH) - π̂ + WSH."""
    xp = target.xp
    return _newton.divergence(target, transpose(xp, factors.W), smooth(xp, factors.H))


MODEL = Model(
    "ns", 1.0, start, multiply, prepare, step, blocks, factors, objective, advance,
    beta=0.3, per_look=3, dense_only=True, otherwise=otherwise,
)  # fmt: skip
