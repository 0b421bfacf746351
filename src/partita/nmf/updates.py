"""``solver="mu"``: the multiplicative updates as the R package NMF runs them, and its stop.

Fits are stacked on a leading axis and run side by side, so that a GPU sees few large operations;
each keeps its own stop, and what has stopped leaves the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.devices import to_host
from partita.nmf.model import Factors, namespace
from partita.parallel import is_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf.model import Array, Model

LOOK_EVERY = 10
PATIENCE = 40
MAX_ITERATIONS = 2000


def iterate(model: Model, V: Array, factors: Factors, n_iter: int) -> Factors:
    """The factors after ``n_iter`` iterations, with no stopping rule."""
    for i in range(1, n_iter + 1):
        factors = model.update(V, factors, i)
    return factors


def solve(
    model: Model, V: Array, starts: list[Factors]
) -> tuple[list[Factors], NDArray[np.int64], NDArray[np.bool_]]:
    """Iterate each fit until its hard partition was the same for ``PATIENCE`` looks and one more.

    A look, every ten iterations, compares the partition by the largest number in each column of H
    with that of the look before. A clock that is up ends all of them at a look.

    Returns
    -------
    factors : list of Factors
        Of each fit, in order.
    n_iter, converged : ndarray
    """
    xp = namespace(V)
    stack = Factors(
        *(None if xs[0] is None else xp.stack(list(xs)) for xs in zip(*starts, strict=True))
    )
    found: list[Any] = [None] * len(starts)
    n_iter = np.full(len(starts), MAX_ITERATIONS)
    running, same, before = np.arange(len(starts)), np.zeros(len(starts), dtype=np.int64), None
    for i in range(1, MAX_ITERATIONS + 1):
        stack = model.update(V, stack, i)
        if i % LOOK_EVERY:
            continue
        now = partitions(xp, stack.H)
        if before is not None:
            same = np.where(to_host(xp.all(now == before, axis=-1)), same + 1, 0)
        before = now
        stopped = same > PATIENCE
        if stopped.any():
            n_iter[running[stopped]] = i
            for at in np.flatnonzero(stopped):
                found[running[at]] = _one(stack, int(at))
            running, same = running[~stopped], same[~stopped]
            if not running.size:
                break
            left = [int(at) for at in np.flatnonzero(~stopped)]
            stack = Factors(*(None if x is None else _rows(xp, x, left) for x in stack))
            before = _rows(xp, before, left)
        if i < MAX_ITERATIONS and is_up():
            n_iter[running] = i
            break
    for left_over, fit in enumerate(running):
        found[fit] = _one(stack, left_over)
    return found, n_iter, ~np.isin(np.arange(len(starts)), running)


def _rows(xp: Any, x: Array, rows: list[int]) -> Array:
    return xp.stack([x[row, ...] for row in rows])


def _one(stack: Factors, at: int) -> Factors:
    return Factors(*(None if x is None else x[at, ...] for x in stack))


def partitions(xp: Any, H: Array) -> Array:
    """The hard partitions of stacked H (..., K, n), written so that equal ones are equal.

    An item's label is the first item of its cluster.
    """
    from array_api_compat import device

    K, n = H.shape[-2:]
    winners = xp.argmax(H, axis=-2)
    where = device(H)
    items = xp.arange(n, device=where)
    here = winners[..., None, :] == xp.arange(K, device=where)[:, None]
    first = xp.min(xp.where(here, items, xp.full_like(items, n)), axis=-1, keepdims=True)
    return xp.sum(xp.where(here, first, xp.zeros_like(first)), axis=-2)
