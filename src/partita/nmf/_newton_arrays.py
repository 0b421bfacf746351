"""The Newton step and the divergence of ``kl`` and ``ns`` in the array API, for GPUs.

All restarts and a block of columns at a time: the columns of B are problems of their own, so the
memory that a step takes does not grow with the square of the number of items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita.distributed import blocks
from partita.nmf._common import block_size, positive, total

if TYPE_CHECKING:
    from partita.nmf._common import Array

_HALVINGS = 8
_STEEPEST = 1e-6
_TINY = 1e-150
_LEAST = 1e-15  # as in the compiled step, which in single precision has to square it


def half(xp: Any, V: Array, A: Array, B: Array, n_sweeps: int) -> Array:
    """B after one damped Newton step of each of its columns, with A fixed."""
    K, n = A.shape[-2:]
    first = [k for k in range(K) for _ in range(k, K)]
    second = [m for k in range(K) for m in range(k, K)]
    pairs = xp.stack(
        [A[..., k, :] * A[..., m, :] for k, m in zip(first, second, strict=True)], axis=-2
    )
    sums = xp.sum(A, axis=-1)[..., None]
    parts = [
        _columns(xp, V[:, part], A, B[..., part], pairs, sums, n_sweeps)
        for part in blocks(n, block_size(B, n))
    ]
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-1)


def _columns(
    xp: Any, V: Array, A: Array, B: Array, pairs: Array, sums: Array, n_sweeps: int
) -> Array:
    At = xp.matrix_transpose(A)
    r = 1.0 / (At @ B + _LEAST)
    u = V * r
    g = sums - A @ u
    u = u * r
    d, g = _descend(xp, pairs @ u, g, B, n_sweeps)
    delta = At @ d
    weight = u * delta * delta
    slope = xp.sum(g * d, axis=-2) - xp.sum(weight, axis=-2)
    t = _damping(xp, weight, delta * r, slope)
    return positive(xp, B + t[..., None, :] * d)


def _descend(xp: Any, hess: Array, g: Array, B: Array, n_sweeps: int) -> tuple[Array, Array]:
    """Coordinate descent on the bounded quadratic; ``hess`` has the entries on and above k = m."""
    K = B.shape[-2]
    rows = [
        xp.stack([hess[..., _upper(K, min(k, m), max(k, m)), :] for m in range(K)], axis=-2)
        for k in range(K)
    ]
    own = xp.stack([row[..., k, :] for k, row in enumerate(rows)], axis=-2)
    usable = own > _LEAST
    inverse = -1.0 / xp.where(usable, own, xp.ones_like(own))
    certain = bool(xp.all(usable))
    low, d = -B, xp.zeros_like(B)
    for _ in range(n_sweeps):
        for k, row in enumerate(rows):
            gk, floor = g[..., k, :], low[..., k, :] - d[..., k, :]
            step = xp.maximum(gk * inverse[..., k, :], floor)
            if not certain:
                else_ = xp.where(gk > 0, floor, xp.zeros_like(gk))
                step = xp.where(usable[..., k, :], step, else_)
            d[..., k, :] += step
            g = g + row * step[..., None, :]
    return d, g


def _upper(K: int, k: int, m: int) -> int:
    return k * K - k * (k - 1) // 2 + m - k


def _damping(xp: Any, weight: Array, x: Array, slope: Array) -> Array:
    from array_api_compat import device

    place = {"dtype": x.dtype, "device": device(x)}
    fall = xp.minimum(x, xp.zeros((), **place))
    steepest = xp.full((), _STEEPEST, **place)
    t = xp.ones_like(slope)
    for _ in range(_HALVINGS):
        y = xp.maximum(1.0 + t[..., None, :] * fall, steepest)
        safe = slope + 0.5 * t * xp.sum(weight / y, axis=-2) <= 0
        if bool(xp.all(safe)):
            return t
        t = xp.where(safe, t, 0.5 * t)
    return xp.where(safe, t, xp.zeros_like(t))


def divergence(xp: Any, V: Array, A: Array, B: Array) -> Array:
    """Σ V log(V/t) - V + t with t = AᵀB, for every restart, in float64 whatever the numbers are.

    Where the fit is good the terms are next to nothing beside what they are differences of.
    """
    n = V.shape[0]
    A, Bt = (xp.astype(x, xp.float64, copy=False) for x in (A, xp.matrix_transpose(B)))
    found = 0.0 * total(xp, A)
    for part in blocks(n, block_size(B, n)):
        v, t = xp.astype(V[part, :], xp.float64, copy=False), Bt[..., part, :] @ A
        ratio = xp.where(v > 0, v, xp.ones_like(v)) / (t + _TINY)
        found = found + total(xp, v * xp.log(ratio) + (t - v))
    return found
