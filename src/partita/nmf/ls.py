"""``ls``: π̂ ≈ WH by least squares (paper equation 19; Lee & Seung 2001)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partita.nmf.least_squares import Squares
from partita.nmf.model import Factors, Model, half_square, namespace
from partita.nmf.multiplicative import scaled_by_products

if TYPE_CHECKING:
    from partita.nmf.model import Array


def update(V: Array, factors: Factors, iteration: int) -> Factors:
    """R's ``lee``: H, then W, then W's columns divided by their sums."""
    xp = namespace(factors.W)
    Wt, H = xp.matrix_transpose(factors.W), factors.H
    H = scaled_by_products(xp, V, Wt, H)
    Wt = scaled_by_products(xp, V, H, Wt)
    return Factors(xp.matrix_transpose(Wt / xp.sum(Wt, axis=-1, keepdims=True)), H)


MODEL = Model("ls", update, half_square, Squares())
