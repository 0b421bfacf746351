"""``kl``: π̂ ≈ WH by generalised Kullback-Leibler divergence (Brunet et al. 2004)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partita.nmf.kullback_leibler import Divergence
from partita.nmf.model import Factors, Model, divergence, namespace, positive
from partita.nmf.multiplicative import scaled_by_quotients

if TYPE_CHECKING:
    from partita.nmf.model import Array

FLOOR = 2.0**-52  # R's machine ε, in single precision too: from a higher floor zeros come back


def update(V: Array, factors: Factors, iteration: int) -> Factors:
    """R's ``brunet``: H, then W; both floored at R's machine ε every ten iterations."""
    xp = namespace(factors.W)
    Wt, H = xp.matrix_transpose(factors.W), factors.H
    H = scaled_by_quotients(xp, V, Wt, H)
    Wt = scaled_by_quotients(xp, V, H, Wt)
    if iteration % 10 == 0:
        Wt, H = (positive(xp, x, FLOOR) for x in (Wt, H))
    return Factors(xp.matrix_transpose(Wt), H)


MODEL = Model("kl", update, divergence, Divergence())
