"""What an NMF model is, and the objectives in the array API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from partita.parallel import blocks as cut

if TYPE_CHECKING:
    from partita.nmf.descent import Method

Array: TypeAlias = Any  # of any array-API library: NumPy, CuPy, PyTorch, array-api-strict

SOLVERS = ("fast", "mu")
HOST_BLOCK, DEVICE_BLOCK = 1 << 18, 1 << 27  # numbers in a temporary of items by items


class Factors(NamedTuple):
    """W (..., n, K), H (..., K, n) and, for one model, the offset (..., n)."""

    W: Array
    H: Array
    offset: Array | None = None


def drawn(W: Array, H: Array, draw: Any) -> Factors:
    """The shared random W and H as they are."""
    return Factors(W, H)


def plain(factors: Factors) -> tuple[Array, Array]:
    """Wᵀ and H."""
    return namespace(factors.W).matrix_transpose(factors.W), factors.H


@dataclass(frozen=True, eq=False)
class Model:
    """One NMF model.

    Parameters
    ----------
    name : str
    update : callable
        (V, factors, iteration) to the factors after one iteration of R's updates, in the array API.
    distance : callable
        (V, A, B) to the objective of each fit, in the array API.
    method : Method
        How ``solver="fast"`` lowers the objective, with the native loops.
    start : callable
        (W, H, draw) to the factors that ``solver="mu"`` begins with; ``draw(shape, high)`` gives
        uniform numbers.
    fitted : callable
        Factors to (A, B), (..., r, n), with AᵀB for π̂; by default Wᵀ and H.
    begins_at : str, optional
        The model whose whole ``fast`` fit is a start too, so that this one never ends worse.
    """

    name: str
    update: Callable[[Array, Factors, int], Factors]
    distance: Callable[[Array, Array, Array], Array]
    method: Method
    start: Callable[..., Factors] = drawn
    fitted: Callable[[Factors], tuple[Array, Array]] = plain
    begins_at: str | None = None

    def objective(self, V: Array, factors: Factors) -> Array:
        """The objective of each fit, in float64."""
        return self.distance(V, *self.fitted(factors))


def half_square(V: Array, A: Array, B: Array) -> Array:
    """½ ‖V - AᵀB‖², by the residuals: what is left of a good fit is small."""
    xp = namespace(V)
    total: Any = 0.0
    for rows in row_blocks(V, B):
        rest = _double(xp, V[rows, :]) - _product(xp, A, B, rows)
        total = total + 0.5 * xp.sum(rest * rest, axis=(-2, -1))
    return total


def divergence(V: Array, A: Array, B: Array) -> Array:
    """Σ V log(V/t) - V + t with t = AᵀB, the generalised Kullback-Leibler divergence."""
    xp = namespace(V)
    total: Any = 0.0
    for rows in row_blocks(V, B):
        v, t = _double(xp, V[rows, :]), _product(xp, A, B, rows)
        seen = v > 0
        ratio = xp.where(seen, v, xp.ones_like(v)) / xp.where(
            seen & (t > 0), t, xp.full_like(t, 1e-300)
        )
        log = xp.where(seen, xp.log(ratio), xp.zeros_like(t))
        total = total + xp.sum(v * log - v + t, axis=(-2, -1))
    return xp.where(total > 0, total, xp.zeros_like(total))


def _product(xp: Any, A: Array, B: Array, rows: slice) -> Array:
    return _double(xp, xp.matrix_transpose(A[..., rows])) @ _double(xp, B)


def _double(xp: Any, x: Array) -> Array:
    return xp.astype(x, xp.float64, copy=False)


def row_blocks(V: Array, stack: Array) -> list[slice]:
    """Cut the rows of V so that a block of them, for every fit of a stack, is a small temporary."""
    n_fits = 1
    for size in stack.shape[:-2]:
        n_fits *= size
    most = HOST_BLOCK if isinstance(V, np.ndarray) else DEVICE_BLOCK
    return cut(V.shape[0], max(1, most // (V.shape[1] * max(1, n_fits))))


def times(xp: Any, X: Array, V: Array) -> Array:
    """X V for X of shape (..., K, n): one product however many fits are stacked."""
    return xp.reshape(xp.reshape(X, (-1, V.shape[0])) @ V, X.shape)


def positive(xp: Any, x: Array, floor: float = 0.0) -> Array:
    """max(x, floor), elementwise."""
    return xp.where(x > floor, x, xp.full_like(x, floor))


def divide(xp: Any, a: Array, b: Array) -> Array:
    """A / b, and 0 where b is 0: no warning and no infinity."""
    safe = b > 0
    return xp.where(safe, a, xp.zeros_like(a)) / xp.where(safe, b, xp.ones_like(b))


def namespace(x: Array) -> Any:
    """The array library of ``x``."""
    from array_api_compat import array_namespace

    return array_namespace(x)
