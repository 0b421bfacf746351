"""``offset``: π̂ ≈ WH + o1ᵀ by least squares (Badea 2008).

For ``solver="fast"`` o is one more column of W whose row of H stays at 1. Every restart is the
better of two: one begins at the ``ls`` fit of the same start with o = 0 and only descends, so it
never ends worse than ``ls``; one begins after some multiplicative updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.nmf.least_squares import Squares
from partita.nmf.model import Factors, Model, half_square, namespace, positive
from partita.nmf.multiplicative import EPSILON, scaled_by_products

if TYPE_CHECKING:
    from partita.nmf.model import Array


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The shared random W and H, and o uniform up to their largest number."""
    xp = namespace(W)
    top = max(float(xp.max(W)), float(xp.max(H)))
    return Factors(W, H, draw(W.shape[:-1], top))


def update(V: Array, factors: Factors, iteration: int) -> Factors:
    """R's ``offset``: H, then W, then o; nothing is rescaled."""
    xp = namespace(factors.W)
    Wt, H, o = xp.matrix_transpose(factors.W), factors.H, factors.offset
    assert o is not None
    H = scaled_by_products(xp, V, Wt, H, Wt @ o[..., None])
    ahead = xp.sum(H, axis=-1, keepdims=True)
    Wt = scaled_by_products(xp, V, H, Wt, ahead * o[..., None, :])
    found = (xp.matrix_transpose(ahead) @ Wt)[..., 0, :] + V.shape[-1] * o
    o = o * positive(xp, xp.sum(V, axis=-1), EPSILON) / (found + EPSILON)
    return Factors(xp.matrix_transpose(Wt), H, o)


def fitted(factors: Factors) -> tuple[Array, Array]:
    """W and o as rows, H and a row of ones."""
    xp = namespace(factors.W)
    assert factors.offset is not None
    A = xp.concat([xp.matrix_transpose(factors.W), factors.offset[..., None, :]], axis=-2)
    ones = xp.ones_like(factors.H[..., :1, :])
    return A, xp.concat([factors.H, ones], axis=-2)


MODEL = Model(
    "offset", update, half_square, Squares(fixed=1), start=start, fitted=fitted, begins_at="ls"
)
