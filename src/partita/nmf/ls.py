"""``ls``: π̂ ≈ WH by least squares (paper equation 19; Lee & Seung 2001)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.nmf.least_squares import Squares
from partita.nmf.model import Factors, Model, half_square, namespace, positive, times

if TYPE_CHECKING:
    from partita.nmf.model import Array

EPSILON = 1e-9  # R's


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The shared random W and H as they are."""
    return Factors(W, H)


def update(V: Array, factors: Factors, iteration: int) -> Factors:
    """R's ``lee``: H, then W, then W's columns divided by their sums."""
    xp = namespace(factors.W)
    Wt, H = xp.matrix_transpose(factors.W), factors.H
    H = _scaled(xp, V, Wt, H)
    Wt = _scaled(xp, V, H, Wt)
    return Factors(xp.matrix_transpose(Wt / xp.sum(Wt, axis=-1, keepdims=True)), H)


def _scaled(xp: Any, V: Array, A: Array, B: Array) -> Array:
    """max(B ∘ AV, ε) ⊘ (AAᵀB + ε): H given Wᵀ, or Wᵀ given H, since V is symmetric."""
    above = positive(xp, B * times(xp, A, V), EPSILON)
    return above / ((A @ xp.matrix_transpose(A)) @ B + EPSILON)


def fitted(factors: Factors) -> tuple[Array, Array]:
    """Wᵀ and H."""
    return namespace(factors.W).matrix_transpose(factors.W), factors.H


MODEL = Model("ls", start, update, fitted, half_square, Squares())
