"""``ns``: π̂ ≈ WSH, S = (1-θ)I + (θ/K)11ᵀ, θ = ½ (Pascual-Montano et al. 2006).

The updates are those of ``kl`` with WS in the place of W for H, and SH in the place of H for W.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from partita.nmf.kullback_leibler import Divergence, smooth
from partita.nmf.model import Factors, Model, divergence, divide, namespace
from partita.nmf.multiplicative import scaled_by_quotients

if TYPE_CHECKING:
    from partita.nmf.model import Array

THETA = 0.5


def update(V: Array, factors: Factors, iteration: int) -> Factors:
    """R's ``nsNMF``; W's columns divided by their sums, H left as it is."""
    xp = namespace(factors.W)
    Wt, H = xp.matrix_transpose(factors.W), factors.H
    H = scaled_by_quotients(xp, V, smooth(xp, Wt, THETA), H)
    Wt = scaled_by_quotients(xp, V, smooth(xp, H, THETA), Wt)
    Wt = divide(xp, Wt, xp.sum(Wt, axis=-1, keepdims=True))
    return Factors(xp.matrix_transpose(Wt), H)


def fitted(factors: Factors) -> tuple[Array, Array]:
    """Wᵀ and SH."""
    xp = namespace(factors.W)
    return xp.matrix_transpose(factors.W), smooth(xp, factors.H, THETA)


MODEL = Model("ns", update, divergence, Divergence(theta=THETA), fitted=fitted)
