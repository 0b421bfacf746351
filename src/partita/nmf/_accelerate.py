"""Extrapolation with restarts around a monotone step, and when to stop looking.

A step T maps blocks to blocks and never raises the objective. We apply it ahead of where we are,
y = x + β(x - x_before), accept what does not raise the objective, and otherwise go back and lower
β: so the accepted objectives only fall (Ang & Gillis 2019, Algorithm 1, with the step as a whole
in the place of its two halves).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita.devices import to_host
from partita.distributed import is_up
from partita.nmf._stacks import joined, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Array, Blocks

KEEP = 0.1  # for divergences: an extrapolated number keeps this part of the accepted one,
# since a Newton step from next to zero is poor
_ETA, _GROW, _GROW_CAP = 0.5, 1.3, 1.05
_CALL = 5e7  # operations in a compiled call of some 20 ms


class State(NamedTuple):
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
    """Run ``n_iter`` extrapolated steps on all restarts at once, fewer when a clock is up."""
    for number in range(n_iter):
        if number and is_up():
            break
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

    def is_level(self, before: Array, now: Array) -> NDArray[np.bool_]:
        """Whether each fell by too little to go on; what was infinite before is not known yet."""
        then, here = (to_host(x).astype(np.float64) for x in (before, now))
        with np.errstate(invalid="ignore"):
            level = ~(then - here > self.tolerance * np.maximum(here, self.floor))
        return np.asarray(level & ~np.isposinf(then))


def run(
    xp: Any, step: Callable[[Blocks], tuple[Blocks, Array]], state: State, looks: Looks
) -> tuple[State, NDArray[np.int64], NDArray[np.bool_]]:
    """Iterate each restart until its objective falls by no more than the tolerance in a look.

    Returns
    -------
    state, and of each restart n_iter, converged
    """

    def look(before: State) -> tuple[State, NDArray[np.bool_], NDArray[np.bool_]]:
        state = accelerate(xp, step, before, looks.every, looks.keep)
        level = looks.is_level(before.objective, state.objective)
        return state, level, np.zeros_like(level)

    return watch(xp, look, state, looks)


def watch(
    xp: Any,
    look: Callable[[State], tuple[State, NDArray[np.bool_], NDArray[np.bool_]]],
    state: State,
    looks: Looks,
) -> tuple[State, NDArray[np.int64], NDArray[np.bool_]]:
    """Look after look until every restart has stopped; what has stopped leaves the stack.

    So a restart ends where it would have ended alone, but for a clock that is up, which ends all
    after the look. ``look`` gives the state after it, which restarts are level, and which are where
    they were, since they can go on in this way no more.
    """
    rows = np.arange(state.blocks[0].shape[0])
    n_iter = np.full(rows.size, looks.most * looks.every)
    converged = np.zeros(rows.size, dtype=np.bool_)
    left, order = [], []
    for number in range(1, looks.most + 1):
        state, level, astray = look(state)
        stopped = level | astray
        if stopped.any():
            n_iter[rows[stopped]] = (number - astray[stopped]) * looks.every
            converged[rows[level & ~astray]] = True
            left.append(taken(xp, state, stopped))
            order.append(rows[stopped])
            rows, state = rows[~stopped], taken(xp, state, ~stopped)
        if not rows.size:
            break
        if number < looks.most and is_up():
            n_iter[rows] = number * looks.every
            break
    if rows.size:
        left.append(state)
        order.append(rows)
    return joined(xp, left, np.concatenate(order)), n_iter, converged


def run_compiled(
    call: Callable[..., int], state: State, looks: Looks, cost: float
) -> tuple[State, int, bool]:
    """The same for one restart, by a compiled loop that returns at least every 20 ms or so.

    So often a clock is looked at.

    ``call(*blocks, *ahead, scalars, per_look, tolerance, n_looks)`` works in place.
    """
    arrays = [np.array(x[0], order="C") for x in (*state.blocks, *state.ahead)]
    scalars = np.array([state.beta[0], state.cap[0], state.objective[0], looks.floor])
    at_once = max(1, int(_CALL / (cost * looks.every)))
    n_iter, converged = 0, False
    while n_iter < looks.most * looks.every and not converged and not (n_iter and is_up()):
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
