"""``solver="mu"``: the multiplicative updates as the R package NMF runs them, and its stop.

Fits are stacked on a leading axis and run side by side, so that a GPU sees few large operations;
each keeps its own stop, and what has stopped leaves the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.devices import to_host
from partita.distributed import is_up
from partita.nmf._common import Factors, Width, block_size, divide, namespace
from partita.nmf._stacks import taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Array, Model

LOOK_EVERY = 10
PATIENCE = 40
MAX_ITERATIONS = 2000


def times(xp: Any, X: Array, V: Array) -> Array:
    """X V for X of shape (..., K, n): one product however many fits are stacked."""
    return xp.reshape(xp.reshape(X, (-1, V.shape[0])) @ V, X.shape)


def scaled_by_quotients(xp: Any, V: Array, A: Array, B: Array) -> Array:
    """B ∘ A(V ⊘ AᵀB) ⊘ A11ᵀ: H given Wᵀ, or Wᵀ given H, since V is symmetric.

    One more factor of next to nothing, so small that no sum can tell, keeps AᵀB from 0. Where it
    would be 0, each product of a number of A and one of B is, so that the huge quotient there
    meets a 0 and counts for nothing. On a GPU one kernel does it all, with sums in float64.
    """
    sums = kernels.nmf_quotients.quotient_sums(V, A, B) if not isinstance(V, np.ndarray) else None
    if sums is not None:
        whole = xp.sum(A, axis=-1, keepdims=True, dtype=xp.float64)
        return xp.astype(divide(xp, B * sums, whole), B.dtype)
    tiny = 1e-15 if B.dtype == xp.float32 else 1e-145
    more = xp.full_like(A[..., :1, :], tiny)
    A1, B1 = xp.concat([A, more], axis=-2), xp.concat([B, more], axis=-2)
    n = V.shape[0]
    size = block_size(B, n)
    parts = []
    for lo in range(0, n, size):
        rows = slice(lo, min(lo + size, n))
        quotients = V[rows, :] / (xp.matrix_transpose(B1[..., rows]) @ A1)
        parts.append(A @ xp.matrix_transpose(quotients))
    sums = parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)
    return divide(xp, B * sums, xp.sum(A, axis=-1, keepdims=True))


def iterate(model: Model, V: Array, factors: Factors, n_iter: int) -> Factors:
    """The factors after ``n_iter`` iterations, with no stopping rule."""
    for i in range(1, n_iter + 1):
        factors = model.multiply(V, factors, i)
    return factors


def solve(model: Model, V: Array, factors: Factors) -> tuple[Factors, int, bool]:
    """Fit one restart, by :func:`solve_all`.

    Returns
    -------
    factors, n_iter, converged
    """
    stack = Factors(*(None if x is None else x[None, ...] for x in factors))
    found, n_iter, converged = solve_all(model, V, stack)
    return found[0], int(n_iter[0]), bool(converged[0])


def solve_all(
    model: Model, V: Array, stack: Factors, width: Width | None = None
) -> tuple[list[Factors], NDArray[np.int64], NDArray[np.bool_]]:
    """Iterate each fit until its hard partition was the same for ``PATIENCE`` looks and one more.

    A look, every ten iterations, compares the partition by the largest number in each column of H
    with that of the look before. A clock that is up ends all of them at a look.

    Parameters
    ----------
    model : Model
    V : array, shape (n, n)
    stack : Factors
        Of fits that share a leading axis.
    width : Width, optional
        Which factors each fit uses, where they are of several ranks.

    Returns
    -------
    factors : list of Factors
        Of each fit, in order.
    n_iter, converged : ndarray
    """
    xp = namespace(stack.W)
    n_fits = int(stack.W.shape[0])
    found: list[Any] = [None] * n_fits
    n_iter = np.full(n_fits, MAX_ITERATIONS)
    running, same, before = np.arange(n_fits), np.zeros(n_fits, dtype=np.int64), None
    for i in range(1, MAX_ITERATIONS + 1):
        stack = model.multiply(V, stack, i, width)
        if i % LOOK_EVERY:
            continue
        now = partitions(xp, stack.H)
        if before is not None:
            same = np.where(to_host(xp.all(now == before, axis=-1)), same + 1, 0)
        before = now
        stopped = same > PATIENCE
        if stopped.any():
            n_iter[running[stopped]] = i
            for at in np.flatnonzero(stopped).tolist():
                found[running[at]] = _one(stack, at)
            running, same = running[~stopped], same[~stopped]
            if not running.size:
                break
            stack, before, width = taken(xp, (stack, before, width), ~stopped)
        if i < MAX_ITERATIONS and is_up():
            n_iter[running] = i
            break
    for left, fit in enumerate(running.tolist()):
        found[fit] = _one(stack, left)
    return found, n_iter, ~np.isin(np.arange(n_fits), running)


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
