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

import numpy as np

if TYPE_CHECKING:
    from partita.nmf._common import Array, Blocks

KEEP = 0.1  # for divergences: an extrapolated number keeps this part of the accepted one,
# since a Newton step from next to zero is poor
_ETA, _GROW, _GROW_CAP = 0.5, 1.3, 1.05
_CALL = 5e7  # operations in a compiled call of some 20 ms


@dataclass(frozen=True, eq=False)
class State:
    """Accepted blocks, blocks ahead of them, and for each restart β, its cap and the objective."""

    blocks: Blocks
    ahead: Blocks
    beta: Array
    cap: Array
    objective: Array

    @classmethod
    def begin(cls, xp: Any, blocks: Blocks, beta: float, objective: Any = None) -> State:
        """Start at ``blocks``; without their objective, the first look stops nothing."""
        one = xp.ones_like(blocks[0][..., 0, 0])
        known = float("inf") * one if objective is None else objective
        return cls(blocks, blocks, beta * one, one, known)


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


@dataclass(frozen=True)
class Looks:
    """When to look at the objective, and what fall in it is worth going on for.

    The fall is relative to the objective, or to ``floor`` where the objective is less.
    """

    tolerance: float
    every: int = 10
    most: int = 200
    keep: float = 0.0
    floor: float = 0.0


def run(
    xp: Any, step: Callable[[Blocks], tuple[Blocks, Array]], state: State, looks: Looks
) -> tuple[State, int, bool]:
    """Iterate until no restart's objective falls by more than the tolerance, relative, in a look.

    Returns
    -------
    state, n_iter, converged
    """
    for look in range(1, looks.most + 1):
        before = state.objective
        state = accelerate(xp, step, state, looks.every, looks.keep)
        now = state.objective
        known = before < float("inf")
        fall = xp.where(known, before, 2.0 * now + xp.ones_like(now)) - now
        least = xp.where(now > looks.floor, now, looks.floor * xp.ones_like(now))
        if not bool(xp.any(fall > looks.tolerance * least)):
            return state, look * looks.every, True
    return state, looks.most * looks.every, False


def run_compiled(
    call: Callable[..., int], state: State, looks: Looks, cost: float
) -> tuple[State, int, bool]:
    """The same for one restart, by a compiled loop that returns at least every 20 ms or so.

    ``call(*blocks, *ahead, scalars, per_look, tolerance, n_looks)`` works in place.
    """
    arrays = [np.array(x[0], order="C") for x in (*state.blocks, *state.ahead)]
    scalars = np.array([state.beta[0], state.cap[0], state.objective[0], looks.floor])
    at_once = max(1, int(_CALL / (cost * looks.every)))
    n_iter, converged = 0, False
    while n_iter < looks.most * looks.every and not converged:
        n_looks = min(at_once, looks.most - n_iter // looks.every)
        before = scalars[2]
        done = call(*arrays, scalars, looks.every, looks.tolerance, n_looks)
        n_iter += done
        converged = done < n_looks * looks.every
        if n_looks == 1:  # the loop stops after its one look either way
            now = scalars[2]
            converged = bool(before - now <= looks.tolerance * max(now, looks.floor))
    beta, cap, objective = (scalars[i : i + 1] for i in range(3))
    found = [x[None] for x in arrays]
    half = len(found) // 2
    state = State(tuple(found[:half]), tuple(found[half:]), beta, cap, objective)
    return state, n_iter, converged
