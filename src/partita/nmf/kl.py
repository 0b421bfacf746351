"""``kl``: π̂ ≈ WH by generalised Kullback-Leibler divergence (Brunet et al. 2004).

``solver="fast"``: the least-squares fit of the same start, which is nearly free, then block Newton
steps (K x K for each column), extrapolated with restarts. From there ten steps reach what
multiplicative updates do not in two thousand: galaxy at rank 12 ends at 2.44, R's best at 2.76.
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
    in_use,
    namespace,
    positive,
    transpose,
)
from partita.nmf._multiplicative import scaled_by_quotients

if TYPE_CHECKING:
    from partita.nmf._accelerate import Looks, State
    from partita.nmf._common import Array

FLOOR = 2.0**-52  # R's machine ε, in single precision too: from a higher floor zeros come back


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The shared random W and H as they are."""
    return Factors(W, H)


def multiply(V: Array, factors: Factors, iteration: int, width: Width | None = None) -> Factors:
    """R's ``brunet``: H, then W; both floored at R's machine ε every ten iterations."""
    xp = namespace(factors.W)
    Wt, H = xp.matrix_transpose(factors.W), factors.H
    H = scaled_by_quotients(xp, V, Wt, H)
    Wt = scaled_by_quotients(xp, V, H, Wt)
    if iteration % 10 == 0:
        Wt, H = (in_use(positive(xp, x, FLOOR), width) for x in (Wt, H))
    return Factors(xp.matrix_transpose(Wt), H)


def prepare(target: Target, factors: Factors) -> tuple[Blocks, int]:
    """A least-squares fit, balanced, with its zeros lifted."""
    blocks, _ = _hals.fit(target, factors)
    return _newton.lifted(target.xp, *_hals.balanced(target.xp, *blocks)), 0


def otherwise(target: Target, factors: Factors) -> tuple[Blocks, int]:
    """Some of R's steps from the random start, balanced, with their zeros lifted."""
    return _newton.multiplied(target, factors, multiply), 0


def step(target: Target, blocks: Blocks) -> tuple[Blocks, Array]:
    """One damped Newton step of H's columns, then of W's rows."""
    A, B = blocks
    B = _newton.half(target, A, B)
    A = _newton.half(target, B, A)
    return (A, B), _newton.divergence(target, A, B)


def advance(target: Target, state: State, looks: Looks) -> tuple[State, int, bool] | None:
    """The same steps, extrapolated and compiled."""
    return _newton.advance(target, state, looks)


def blocks(target: Target, factors: Factors) -> Blocks:
    """Wᵀ and H."""
    return transpose(target.xp, factors.W), factors.H


def factors(target: Target, blocks: Blocks) -> Factors:
    """Blocks as W and H."""
    return Factors(transpose(target.xp, blocks[0]), blocks[1])


def objective(target: Target, factors: Factors) -> Array:
    """Σ π̂ log(π̂ / WH) - π̂ + WH."""
    return _newton.divergence(target, transpose(target.xp, factors.W), factors.H)


MODEL = Model(
    "kl", 1.0, start, multiply, prepare, step, blocks, factors, objective, advance,
    beta=0.3, per_look=3, dense_only=True, otherwise=otherwise,
)  # fmt: skip
