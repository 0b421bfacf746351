"""``solver="mu"``: the multiplicative updates as the R package NMF runs them, and its stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita.partitions import canonical

if TYPE_CHECKING:
    from partita.nmf._common import Array, Factors, Model

LOOK_EVERY = 10
PATIENCE = 40
MAX_ITERATIONS = 2000


def iterate(model: Model, V: Array, factors: Factors, n_iter: int) -> Factors:
    """The factors after ``n_iter`` iterations, with no stopping rule."""
    for i in range(1, n_iter + 1):
        factors = model.multiply(V, factors, i)
    return factors


def solve(model: Model, V: Array, factors: Factors) -> tuple[Factors, int, bool]:
    """Iterate until the hard partition has not changed for ``PATIENCE`` looks and one more.

    A look, every ten iterations, compares the partition by the largest number in each column of H
    with that of the look before.

    Returns
    -------
    factors, n_iter, converged
    """
    before = None
    same = 0
    for i in range(1, MAX_ITERATIONS + 1):
        factors = model.multiply(V, factors, i)
        if i % LOOK_EVERY:
            continue
        now = canonical(to_numpy(factors.H).argmax(axis=-2))
        same = same + 1 if before is not None and np.array_equal(now, before) else 0
        before = now
        if same > PATIENCE:
            return factors, i, True
    return factors, MAX_ITERATIONS, False


def to_numpy(x: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.floating]]:
    """An array of any library as a NumPy array on the host."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "get"):
        return np.asarray(x.get())
    if hasattr(x, "detach"):
        return np.asarray(x.detach().cpu())
    return np.asarray(x)
