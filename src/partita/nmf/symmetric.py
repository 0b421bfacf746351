"""``symmetric``: π̂ ≈ HᵀH by least squares (Ding, He & Simon 2005; Kuang, Ding & Park 2012)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.nmf.least_squares import SymmetricSquares
from partita.nmf.model import Factors, Model, divide, half_square, namespace, times

if TYPE_CHECKING:
    from partita.nmf.model import Array


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The mean of the shared random H and Wᵀ."""
    xp = namespace(W)
    H = 0.5 * (H + xp.matrix_transpose(W))
    return Factors(xp.matrix_transpose(H), H)


def update(V: Array, factors: Factors, iteration: int) -> Factors:
    """H ← H ∘ (½ + ½ HV ⊘ HHᵀH), which does not overshoot (Ding, He & Simon 2005); W = Hᵀ."""
    xp = namespace(factors.W)
    H = factors.H
    H = H * (0.5 + 0.5 * divide(xp, times(xp, H, V), (H @ xp.matrix_transpose(H)) @ H))
    return Factors(xp.matrix_transpose(H), H)


def fitted(factors: Factors) -> tuple[Array, Array]:
    """H twice."""
    return factors.H, factors.H


MODEL = Model("symmetric", update, half_square, SymmetricSquares(), start=start, fitted=fitted)
