"""``symmetric``: π̂ ≈ HᵀH by least squares (Ding, He & Simon 2005; Kuang, Ding & Park 2012).

``solver="fast"``: balance the ``ls`` fit of the same start and average W and Hᵀ; then move H
towards the least-squares answer to π̂ ≈ HᵀX, which is a direction of descent since both problems
have the same gradient at X = H but for a factor 2, as far as the exact minimum of the quartic
along it. One product with π̂ a step, and it only descends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita import kernels
from partita.nmf import _hals
from partita.nmf._accelerate import Looks, State, run_compiled
from partita.nmf._common import (
    HOST_SQUARES,
    Blocks,
    Factors,
    Model,
    Target,
    Width,
    divide,
    inner,
    namespace,
    total,
    transpose,
)
from partita.nmf._multiplicative import times

if TYPE_CHECKING:
    from partita.nmf._common import Array


def start(W: Array, H: Array, draw: Any) -> Factors:
    """The mean of the shared random H and Wᵀ."""
    xp = namespace(W)
    H = 0.5 * (H + xp.matrix_transpose(W))
    return Factors(xp.matrix_transpose(H), H)


def multiply(V: Array, factors: Factors, iteration: int, width: Width | None = None) -> Factors:
    """H ← H ∘ (½ + ½ HV ⊘ HHᵀH), which does not overshoot (Ding, He & Simon 2005); W = Hᵀ."""
    xp = namespace(factors.W)
    H = factors.H
    H = H * (0.5 + 0.5 * divide(xp, times(xp, H, V), (H @ xp.matrix_transpose(H)) @ H))
    return Factors(xp.matrix_transpose(H), H)


def prepare(target: Target, factors: Factors) -> tuple[Blocks, int]:
    """The ``ls`` fit, balanced, W and Hᵀ averaged."""
    blocks, _ = _hals.fit(target, factors)
    A, B = _hals.balanced(target.xp, *blocks)
    return (0.5 * (A + B),), 0


def step(target: Target, blocks: Blocks) -> tuple[Blocks, Array]:
    """Towards the least-squares answer given Hᵀ, as far as the objective falls."""
    xp = target.xp
    (B,) = blocks
    P, G = target.times(B), inner(xp, B, B)
    D = _hals.half(target, P, G, B, B.shape[-2]) - B
    quartic = _quartic(target, B, D, P, G)
    t = _least(xp, quartic)
    value = quartic[4] + t * (quartic[3] + t * (quartic[2] + t * (quartic[1] + t * quartic[0])))
    return (B + xp.astype(t, B.dtype)[..., None, None] * D,), value


def _quartic(target: Target, B: Array, D: Array, P: Array, G: Array) -> list[Array]:
    """The coefficients of ½‖V - (B+tD)ᵀ(B+tD)‖² in t, highest first."""
    xp = target.xp

    def dot(x: Array, y: Array) -> Array:
        return total(xp, x * y)

    Q = target.times(D)
    cross, own = inner(xp, B, D), inner(xp, D, D)
    mixed = cross + xp.matrix_transpose(cross)
    return [
        0.5 * dot(own, own),
        dot(mixed, own),
        dot(G, own) + 0.5 * dot(mixed, mixed) - dot(Q, D),
        dot(G, mixed) - 2.0 * dot(P, D),
        0.5 * (target.norm2 - 2.0 * dot(P, B) + dot(G, G)),
    ]


def _least(xp: Any, quartic: list[Array]) -> Array:
    """Where the quartic is least on [0, 1]: the best of a grid, then Newton steps on its slope."""
    a, b, c, d, _ = quartic
    best = xp.zeros_like(a)
    least = best
    for i in range(1, 12):
        if i <= 8:
            t = i / 8 + xp.zeros_like(best)
        else:
            slope = d + best * (2 * c + best * (3 * b + best * 4 * a))
            t = best - divide(xp, slope, 2 * c + best * (6 * b + best * 12 * a))
            t = xp.where(t > 0, xp.where(t < 1, t, xp.ones_like(t)), xp.zeros_like(t))
        value = t * (d + t * (c + t * (b + t * a)))
        best = xp.where(value < least, t, best)
        least = xp.where(value < least, value, least)
    return best


def advance(target: Target, state: State, looks: Looks) -> tuple[State, int, bool] | None:
    """The same step, extrapolated and compiled."""
    if not target.is_numpy or target.array is None or target.n_items >= HOST_SQUARES:
        return None

    def call(*rest: Any) -> int:
        sweeps = _hals.N_SWEEPS
        return int(kernels.nmf_symmetric.advance(target.array, target.norm2, sweeps, *rest))

    K, n = state.blocks[0].shape[-2:]
    return run_compiled(call, state, looks, cost=4 * n * n * K)


def blocks(target: Target, factors: Factors) -> Blocks:
    """H alone."""
    return (factors.H,)


def factors(target: Target, blocks: Blocks) -> Factors:
    """H, and W = Hᵀ."""
    return Factors(transpose(target.xp, blocks[0]), blocks[0])


def objective(target: Target, factors: Factors) -> Array:
    """½ ‖π̂ - HᵀH‖²."""
    return _hals.distance(target, factors.H, factors.H)


MODEL = Model("symmetric", 0.5, start, multiply, prepare, step, blocks, factors, objective, advance)
