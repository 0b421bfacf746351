"""Least squares for ``ls`` and ``offset``, and the starts of every other model.

Alternate over H and W; each half minimises its own convex problem by coordinate descent, a factor
at a time (HALS), with a few sweeps for each product with π̂ since the sweeps are the cheap part.
Blocks are A = Wᵀ and B = H, (..., K, n). Rows of B past ``free`` are held fixed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.distributed import blocks as cut
from partita.distributed import is_up
from partita.nmf import _hals_arrays
from partita.nmf._accelerate import Looks, State, run, run_compiled
from partita.nmf._common import (
    HOST_SQUARES,
    NOISE,
    Blocks,
    Factors,
    Target,
    block_size,
    inner,
    namespace,
    positive,
    total,
    transpose,
)
from partita.nmf._stacks import joined, taken

if TYPE_CHECKING:
    from partita.nmf._common import Array
    from partita.nmf._compress import LowRank

N_SWEEPS = 4
N_SWEEPS_WHOLE = 6  # where the product they follow takes longer
MORE = 12  # eigenvectors beyond the rank
SMALL = 150  # below this, one loop over the whole matrix beats compression


def alternate(target: Target, blocks: Blocks, fixed: int = 0) -> tuple[Blocks, Array]:
    """One alternation, H then W, and the objective after it; both halves only descend."""
    half_of = partial(half, target)
    return _hals_arrays.alternate(target.xp, half_of, target.times, target.norm2, blocks, fixed)


def half(target: Target, P: Array, G: Array, B: Array, free: int) -> Array:
    if not target.is_numpy:
        return _hals_arrays.sweep(target.xp, P, G, B, free, N_SWEEPS)
    out = np.array(B, dtype=np.float64)
    flat = (-1, *B.shape[-2:])
    for p, g, b in zip(
        P.reshape(flat), G.reshape(-1, *G.shape[-2:]), out.reshape(flat), strict=True
    ):
        kernels.nmf_hals.sweep(p, g, b, free, N_SWEEPS)
    return out


def distance(target: Target, A: Array, B: Array) -> Array:
    """Half the squared Frobenius distance, in float64; of single precision by the residuals."""
    xp = target.xp
    if target.array is None or target.dtype == xp.float64:
        P, G = target.times(B), inner(xp, B, B)
        return positive(xp, _hals_arrays.objective(xp, target.norm2, P, G, A))
    At, B = (xp.astype(x, xp.float64) for x in (xp.matrix_transpose(A), B))
    n, found = target.n_items, 0.0 * total(xp, A)
    for rows in cut(n, block_size(B, n)):
        rest = xp.astype(target.array[rows, :], xp.float64) - At[..., rows, :] @ B
        found = found + 0.5 * total(xp, rest * rest)
    return found


def advance(target: Target, state: State, looks: Looks, fixed: int = 0) -> tuple[State, Any, Any]:
    """Iterate on a compressed similarity where that pays, else on it as it is.

    One restart compiled on NumPy; all of a stack in other libraries.
    """
    K = state.blocks[0].shape[-2] - fixed
    small = compressed(target, K)
    if small is None or not small.gap_after(K):
        return _whole(target, state, looks, fixed)
    if not target.is_numpy:
        return _stacked(target, small, state, looks, fixed)
    state, before, converged = _corrected(target, small, state, looks, fixed)
    if converged:
        return state, before, True
    state, n_iter, converged = _whole(target, state, looks, fixed)
    return state, before + n_iter, converged


def _stacked(
    target: Target, small: LowRank, state: State, looks: Looks, fixed: int
) -> tuple[State, Any, Any]:
    """The same for a stack: what strays on the eigenfactor goes on with the whole."""
    state, n_iter, converged = _hals_arrays.corrected(
        target, small, state, partial(half, target), looks, fixed
    )
    left = np.flatnonzero(~converged)
    if not left.size:
        return state, n_iter, converged
    xp, done = target.xp, np.flatnonzero(converged)
    more, count, level = _whole(target, taken(xp, state, left), looks, fixed)
    state = joined(xp, [taken(xp, state, done), more], np.concatenate([done, left]))
    n_iter[left] += count
    converged[left] = level
    return state, n_iter, converged


_NONE = np.empty(0)
_NO_SHIFT = np.empty((0, 0, 0))
_NO_REST = np.empty((0, 0), np.float32)


def compressed(target: Target, rank: int) -> LowRank | None:
    """An eigenfactor to iterate on, for enough items."""
    size = width(rank)
    if target.n_items < max(SMALL, 4 * size):
        return None
    return target.low_rank(size)


def width(rank: int) -> int:
    """The columns of an eigenfactor for so many factors."""
    return rank + MORE


def _whole(target: Target, state: State, looks: Looks, fixed: int) -> tuple[State, Any, Any]:
    if target.array is None or not target.is_numpy or target.n_items >= HOST_SQUARES:
        return run(target.xp, lambda b: alternate(target, b, fixed), state, looks)
    small = compressed(target, state.blocks[0].shape[-2] - fixed)
    if small is None:
        seen = (target.array, _NONE, _NONE, _NO_REST, _NO_SHIFT, target.norm2)
        return _compiled(seen, state, looks, fixed)
    seen = (small.vectors, small.values, small.residual, small.rest, _NO_SHIFT, target.norm2)
    found, n_iter, converged = _compiled(seen, state, looks, fixed, N_SWEEPS_WHOLE)
    exact = distance(target, *found.blocks)
    if not exact[0] <= state.objective[0]:  # a fall within the rounding of single precision
        return state, n_iter, converged
    return found._replace(objective=exact), n_iter, converged


def _corrected(
    target: Target, small: LowRank, state: State, looks: Looks, fixed: int
) -> tuple[State, int, bool]:
    """Iterate on the compressed similarity U, corrected to first order at every look.

    With E = V - U and A₀, B₀ of the last look, ⟨E, AᵀB⟩ = ⟨A₀E, B⟩ + ⟨B₀E, A⟩ - ⟨A₀E, B₀⟩ up to
    ⟨E, (A-A₀)ᵀ(B-B₀)⟩, so a look takes two products with V and its iterations none. Should the
    exact objective rise, the state of the last look is returned as not converged.
    """
    one = replace(looks, most=1, tolerance=-1.0)
    both = np.stack(state.blocks)
    exact = target.times(both)
    for look in range(1, looks.most + 1):
        shift = exact - small.times(both)
        norm2 = target.norm2 + 2.0 * float((shift[0] * both[1]).sum())
        seen = (small.vectors, small.values, small.residual, _NO_REST, shift[:, 0], norm2)
        ahead, _, _ = _compiled(seen, state, one, fixed)
        both = np.stack(ahead.blocks)
        exact = target.times(both)
        G = both[1] @ both[1].swapaxes(-1, -2)
        now = _hals_arrays.objective(target.xp, target.norm2, exact[1], G, both[0])
        fall = float(state.objective[0] - now[0])
        if not fall >= 0.0:
            return state._replace(ahead=state.blocks), (look - 1) * looks.every, False
        state = ahead._replace(objective=now)
        if fall <= looks.tolerance * max(now[0], looks.floor):
            return state, look * looks.every, True
        if is_up():
            return state, look * looks.every, False
    return state, looks.most * looks.every, False


def _compiled(
    seen: tuple[Array, Array, Array, Array, Array, float], state: State, looks: Looks, fixed: int,
    n_sweeps: int = N_SWEEPS,
) -> tuple[State, int, bool]:  # fmt: skip
    def call(*rest: Any) -> int:
        return int(kernels.nmf_hals.advance(*seen, fixed, n_sweeps, *rest))

    K, n = state.blocks[0].shape[-2:]
    size = seen[0].size + seen[3].size
    return run_compiled(call, state, looks, cost=4 * size * K + 2 * n_sweeps * K * K * n)


def fit(target: Target, factors: Factors, tolerance: float = 1e-3) -> tuple[Blocks, Any]:
    """Bring a start near a minimum: of the compressed similarity where that pays, uncorrected."""
    K = factors.H.shape[-2]
    looks = Looks(tolerance, floor=NOISE * target.norm2)
    small = compressed(target, K)
    state = State.begin(target.xp, scaled(small or target, factors), 0.5)
    if small is not None and not target.is_numpy:
        state = _hals_arrays.begin(target, small, state, partial(half, target), 4 * looks.every)
        return state.blocks, 4 * looks.every
    if small is not None:
        seen = (small.vectors, small.values, small.residual, _NO_REST, _NO_SHIFT, small.norm2)
        state, _, _ = _compiled(seen, state, replace(looks, most=4, tolerance=-1.0), 0)
        return state.blocks, 4 * looks.every
    state, n_iter, _ = _whole(target, state, looks, 0)
    return state.blocks, n_iter


def scaled(target: Target | LowRank, factors: Factors) -> Blocks:
    """A start as blocks, rescaled so that WH is as near to V as a number can bring it."""
    xp = namespace(factors.W)
    A, B = transpose(xp, factors.W), factors.H
    cross = xp.sum(target.times(A) * B, axis=(-2, -1))
    square = xp.sum((A @ xp.matrix_transpose(A)) * (B @ xp.matrix_transpose(B)), axis=(-2, -1))
    usable = (cross > 0) & (square > 0)
    ratio = xp.where(usable, cross, xp.ones_like(cross)) / xp.where(
        usable, square, xp.ones_like(square)
    )
    return A, B * ratio[..., None, None]


def balanced(xp: Any, A: Array, B: Array) -> Blocks:
    """Give row k of A and of B the same norm; AᵀB does not change."""
    a = xp.sqrt(xp.sum(A * A, axis=-1))
    b = xp.sqrt(xp.sum(B * B, axis=-1))
    alive = (a > 0) & (b > 0)
    one = xp.ones_like(a)
    ratio = xp.sqrt(xp.where(alive, b, one) / xp.where(alive, a, one))[..., None]
    return A * ratio, B / ratio
