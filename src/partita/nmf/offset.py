"""``offset``: π̂ ≈ WH + o1ᵀ by least squares (Badea 2008).

``solver="fast"``: o is one more column of W whose row of H stays at 1. It begins at the ``ls`` fit
of the same start with o = 0, from where coordinate descent only descends: so it never ends worse
than ``ls``, which it contains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.nmf import _hals
from partita.nmf._common import (
    EPSILON,
    Blocks,
    Factors,
    Model,
    Target,
    Width,
    in_use,
    namespace,
    positive,
    transpose,
)
from partita.nmf._multiplicative import times

if TYPE_CHECKING:
    from partita.nmf._accelerate import Looks, State
    from partita.nmf._common import Array


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The shared random W and H, and o uniform up to their largest number."""
    xp = namespace(W)
    top = max(float(xp.max(W)), float(xp.max(H)))
    return Factors(W, H, draw(W.shape[:-1], top))


def multiply(V: Array, factors: Factors, iteration: int, width: Width | None = None) -> Factors:
    """R's ``offset``: H, then W, then o; nothing is rescaled."""
    xp = namespace(factors.W)
    Wt, H, o = xp.matrix_transpose(factors.W), factors.H, factors.offset
    assert o is not None
    H = in_use(_scaled(xp, V, Wt, H, Wt @ o[..., None]), width)
    ahead = xp.sum(H, axis=-1, keepdims=True)
    Wt = in_use(_scaled(xp, V, H, Wt, ahead * o[..., None, :]), width)
    n = V.shape[-1]
    fitted = (xp.matrix_transpose(ahead) @ Wt)[..., 0, :] + n * o
    o = o * positive(xp, xp.sum(V, axis=-1), EPSILON) / (fitted + EPSILON)
    return Factors(xp.matrix_transpose(Wt), H, o)


def _scaled(xp: Any, V: Array, A: Array, B: Array, shift: Array) -> Array:
    """B ∘ AV ⊘ (AAᵀB + shift) with R's ε: H given Wᵀ, or Wᵀ given H, since V is symmetric."""
    above = positive(xp, B * times(xp, A, V), EPSILON)
    return above / ((A @ xp.matrix_transpose(A)) @ B + shift + EPSILON)


def prepare(target: Target, factors: Factors) -> tuple[Blocks, int]:
    """The ``ls`` fit that it begins at, with o = 0."""
    return blocks(target, factors), 0


def step(target: Target, blocks: Blocks) -> tuple[Blocks, Array]:
    """One alternation of coordinate descent, the last row of H held fixed."""
    return _hals.alternate(target, blocks, fixed=1)


def advance(target: Target, state: State, looks: Looks) -> tuple[State, int, bool] | None:
    """The same alternation, extrapolated and compiled."""
    return _hals.advance(target, state, looks, fixed=1)


def blocks(target: Target, factors: Factors) -> Blocks:
    """W and o as rows, H with the fixed row."""
    xp = target.xp
    A, B = transpose(xp, factors.W), factors.H
    column = xp.zeros_like(A[..., :1, :])
    if factors.offset is not None:
        column = column + factors.offset[..., None, :]
    row = xp.zeros_like(B[..., :1, :]) + target.border
    return xp.concat([A, column], axis=-2), xp.concat([B, row], axis=-2)


def factors(target: Target, blocks: Blocks) -> Factors:
    """Blocks as W, H and o."""
    A, B = blocks
    return Factors(transpose(target.xp, A[..., :-1, :]), B[..., :-1, :], A[..., -1, :])


def objective(target: Target, factors: Factors) -> Array:
    """½ ‖π̂ - WH - o1ᵀ‖²."""
    return _hals.distance(target, *blocks(target, factors))


MODEL = Model(
    "offset",
    0.5,
    start,
    multiply,
    prepare,
    step,
    blocks,
    factors,
    objective,
    advance,
    begins_at="ls",
)
