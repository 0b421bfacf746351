"""Coordinate descent and its iterations on an eigenfactor in the array API, for GPUs.

The same as :mod:`partita.kernels.nmf_hals` does for one restart, for all of a stack: so from the
same starts both end in the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.devices import to_host
from partita.nmf._accelerate import Looks, State, accelerate, watch
from partita.nmf._common import divide, inner, total
from partita.nmf._stacks import joined, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Array, Blocks, Target
    from partita.nmf._compress import LowRank


def sweep(xp: Any, P: Array, G: Array, B: Array, free: int, n_sweeps: int) -> Array:
    """Minimise ½ tr(BᵀGB) - tr(PᵀB) over B >= 0 by sweeps over the first ``free`` rows of B.

    Row k becomes max(0, (P - GB)_k / G_kk + B_k), or stays where G_kk is 0. Divided by the diagonal
    beforehand that is a product, a difference and a maximum: launches are what takes the time.
    """
    from array_api_compat import device

    B = xp.asarray(B, copy=True)
    G = xp.astype(G, B.dtype, copy=False)
    scale = xp.linalg.diagonal(G)[..., None]
    eye = xp.eye(G.shape[-1], dtype=B.dtype, device=device(B))
    wanted, others = divide(xp, P, scale), divide(xp, G, scale) - eye
    zero = xp.zeros((), dtype=B.dtype, device=device(B))
    for _ in range(n_sweeps):
        for k in range(free):
            rest = wanted[..., k, :] - (others[..., k : k + 1, :] @ B)[..., 0, :]
            B[..., k, :] = xp.maximum(rest, zero)
    return B


def objective(xp: Any, norm2: Any, P: Array, G: Array, A: Array) -> Array:
    """½ (‖V‖² - 2⟨V, WH⟩ + ‖WH‖²) from P = BV and G = BBᵀ."""
    return 0.5 * (norm2 - 2.0 * total(xp, P * A) + total(xp, inner(xp, A, A) * G))


def alternate(
    xp: Any, half: Any, times: Any, norm2: Any, blocks: Blocks, fixed: int, shift: Any = None
) -> tuple[Blocks, Array]:
    """One alternation, H then W, and the objective after it; both halves only descend.

    ``half(P, G, B, free)`` minimises as :func:`sweep` does, and ``times(X)`` is X V; ``shift``,
    where it is given, is what the products with A and with B lack.
    """
    A, B = blocks
    K = A.shape[-2]
    P = times(A) if shift is None else times(A) + shift[0]
    B = half(P, inner(xp, A, A), B, K - fixed)
    P = times(B) if shift is None else times(B) + shift[1]
    G = inner(xp, B, B)
    A = half(P, G, A, K)
    now = objective(xp, norm2, P, G, A)
    return (A, B), now if shift is None else now - total(xp, shift[0] * B)


def begin(target: Target, small: LowRank, state: State, half: Any, n_iter: int) -> State:
    """Iterate on the eigenfactor as if it were the similarity."""

    def step(blocks: Blocks) -> tuple[Blocks, Array]:
        return alternate(target.xp, half, small.times, small.norm2, blocks, 0)

    return accelerate(target.xp, step, state, n_iter)


def corrected(
    target: Target, small: LowRank, state: State, half: Any, looks: Looks, fixed: int
) -> tuple[State, NDArray[np.int64], NDArray[np.bool_]]:
    """Iterate on the eigenfactor, corrected to first order at every look (``_hals._corrected``).

    A restart whose exact objective would rise is left as it was, not converged.
    """
    xp = target.xp

    def look(before: State) -> tuple[State, NDArray[np.bool_], NDArray[np.bool_]]:
        shift = tuple(target.times(X) - small.times(X) for X in before.blocks)
        norm2 = target.norm2 + 2.0 * total(xp, shift[0] * before.blocks[1])

        def step(blocks: Blocks) -> tuple[Blocks, Array]:
            return alternate(xp, half, small.times, norm2, blocks, fixed, shift)

        after = accelerate(xp, step, before, looks.every)
        A, B = after.blocks
        exact = objective(xp, target.norm2, target.times(B), inner(xp, B, B), A)
        after = after._replace(objective=exact)
        level = looks.is_level(before.objective, exact)
        astray = ~(to_host(before.objective) >= to_host(exact))
        return _chosen(xp, astray, before._replace(ahead=before.blocks), after), level, astray

    return watch(xp, look, state, looks)


def _chosen(xp: Any, mask: NDArray[np.bool_], ones: State, others: State) -> State:
    if mask.all() or not mask.any():
        return ones if mask.all() else others
    order = np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)])
    chosen: State = joined(xp, [taken(xp, ones, mask), taken(xp, others, ~mask)], order)
    return chosen
