"""Extrapolation with restarts around a monotone step, and when to stop looking.

A step T maps blocks to blocks and never raises the objective. We apply it ahead of where we are,
y = x + β(x - x_before), accept what does not raise the objective, and otherwise go back and lower
β: so the accepted objectives only fall (Ang & Gillis 2019, Algorithm 1, with the step as a whole
in the place of its two halves).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita.nmf._common import Array, Blocks

_KEEP = 0.1  # an extrapolated number keeps at least this part of the accepted one
_ETA, _GROW, _GROW_CAP = 0.5, 1.3, 1.05
MAX_LOOKS = 200


@dataclass(frozen=True, eq=False)
class State:
    """Accepted blocks, blocks ahead of them, and for each restart β, its cap and the objective."""

    blocks: Blocks
    ahead: Blocks
    beta: Array
    cap: Array
    objective: Array

    @classmethod
    def begin(cls, xp: Any, blocks: Blocks, beta: float) -> State:
        """Start at ``blocks``, whose objective is not known yet."""
        one = xp.ones_like(blocks[0][..., 0, 0])
        return cls(blocks, blocks, beta * one, one, float("inf") * one)


def accelerate(
    xp: Any, step: Callable[[Blocks], tuple[Blocks, Array]], state: State, n_iter: int,
    keep: float = 0.0,
) -> State:  # fmt: skip
    """Run ``n_iter`` extrapolated steps on all restarts at once."""
    for _ in range(n_iter):
        new, objective = step(state.ahead)
        worse = objective > state.objective
        back = worse[..., None, None]
        weight = state.beta[..., None, None]
        pairs = list(zip(new, state.blocks, strict=True))
        ahead = tuple(
            xp.where(back, old, _project(xp, x + weight * (x - old), keep * x)) for x, old in pairs
        )
        one = xp.ones_like(state.cap)
        cap = xp.where(worse, state.beta, _least(xp, one, _GROW_CAP * state.cap))
        beta = xp.where(worse, _ETA * state.beta, _least(xp, cap, _GROW * state.beta))
        state = State(
            tuple(xp.where(back, old, x) for x, old in pairs),
            ahead,
            beta,
            cap,
            xp.where(worse, state.objective, objective),
        )
    return state


def _project(xp: Any, x: Array, floor: Array) -> Array:
    return xp.where(x > floor, x, floor)


def _least(xp: Any, a: Array, b: Array) -> Array:
    return xp.where(a < b, a, b)


def run(
    loop: Callable[[State, int], State | None],
    step: Callable[[Blocks], tuple[Blocks, Array]] | None,
    state: State,
    *,
    tolerance: float,
    per_look: int = 10,
    max_looks: int = MAX_LOOKS,
    keep: float = 0.0,
    xp: Any = None,
) -> tuple[State, tuple[int, bool]]:
    """Iterate until no restart's objective falls by more than ``tolerance`` of itself in a look.

    ``loop`` is tried first and may decline by returning None; then ``step`` is accelerated.

    Returns
    -------
    state : State
    (n_iter, converged) : int, bool
    """
    from partita.nmf._common import namespace

    xp = namespace(state.objective) if xp is None else xp
    for look in range(1, max_looks + 1):
        after = loop(state, per_look)
        if after is None:
            assert step is not None
            after = accelerate(xp, step, state, per_look, keep)
        before, now = state.objective, after.objective
        known = before < float("inf")
        fall = xp.where(known, before, now + xp.ones_like(now)) - now
        state = after
        if not bool(xp.any(fall > tolerance * now)):
            return state, (look * per_look, True)
    return state, (max_looks * per_look, False)
