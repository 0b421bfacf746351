"""Restarts of the least-squares models on some of the items, weighted to stand for all of them.

Where there are fewer factors than clusters, which clusters get one is decided by their sizes, and
among a sample of the items the largest clusters are others than among all. So each landmark has a
mass, such that rows of the similarity have the sums over the landmarks that they have over all
items (calibration, Deville & Särndal 1992): a cluster is as large among the landmarks as it is. The
same landmarks, masses and starts serve a matrix and draws, so that both lead to the same minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.devices import to_host
from partita.distributed import is_up
from partita.nmf import _fast, _hals
from partita.nmf._common import NOISE
from partita.nmf._fast import Fits
from partita.nmf._stacks import joined, taken
from partita.nmf._target import of_array
from partita.similarity import landmark_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Array, Blocks, Factors, Model, Target
    from partita.nmf._factorize import Factorization
    from partita.typing import FloatArray

N_LANDMARKS = 1_500  # items that the restarts are fitted to, and up to which all items are
LEAST = 0.1  # mass of a landmark; 1 is the mean
RIDGE = 0.05  # of a mean cluster's size: smaller ones are left as they are
STEPS = 200
WITHIN, APART = 0.05, 2e-4  # of the least objective: what may end lower, what is another minimum
FINEST = 1e-7  # the least fall in a look that the best one goes on for, where that is quick
LEADING = 3  # such minima, at most
SWEEPS = 8  # halves of four sweeps in which factors of landmarks become those of all items


def masses(among: FloatArray, sums: FloatArray, n_items: int) -> NDArray[np.float64]:
    """The mass of every landmark, about 1: least squares for Vm = r s/n with a penalty on m - 1.

    Parameters
    ----------
    among : ndarray, shape (s, s)
        V, the similarity of the landmarks.
    sums : ndarray, shape (s,)
        r, the sums of their rows over all items.
    """
    size = among.shape[0]
    wanted = sums * (size / n_items)
    penalty = (RIDGE * float(wanted.mean())) ** 2
    lack = wanted - among.sum(axis=1)
    change = among @ _solved(lambda x: among @ (among @ x) + penalty * x, lack)
    return np.asarray(np.maximum(1.0 + change, LEAST))


def _solved(
    times: Callable[[NDArray[np.float64]], NDArray[np.float64]], wanted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Conjugate gradients; few steps, since few clusters outweigh the penalty."""
    x, rest = np.zeros_like(wanted), wanted.copy()
    way, before = rest.copy(), float(rest @ rest)
    enough = 1e-24 * before
    for _ in range(STEPS):
        if before <= enough:
            break
        ahead = times(way)
        far = before / float(way @ ahead)
        x += far * way
        rest -= far * ahead
        now = float(rest @ rest)
        way = rest + (now / before) * way
        before = now
    return x


def leading(fit: Factorization, norm2: float) -> NDArray[np.intp]:
    """The restarts on landmarks that may be the best of all items, each a minimum of its own.

    ``norm2`` is the size of what they were fitted to; less than some part of it is noise.
    """
    objective = fit.restart_objectives
    order = _fast.ranking(objective)
    least = objective[order[0]]
    apart = max(APART * least, NOISE * norm2)
    found = [order[0]]
    for r in order[1:]:
        here = objective[r]
        if here > (1.0 + WITHIN) * least or len(found) == LEADING:
            break
        if here - objective[found[-1]] > apart:
            found.append(r)
    return np.array(found)


@dataclass(frozen=True, eq=False)
class Restarts:
    """Landmarks of a target in memory, or of an operator.

    Parameters
    ----------
    items : ndarray, shape (s,)
    few : Target
        The similarity of the landmarks, with their masses.
    rows : array, shape (s, n)
        The rows of the landmarks, where the target is; None behind an operator.
    """

    items: NDArray[np.intp]
    few: Target
    rows: Array | None

    def times(self, target: Target, X: Array) -> Array:
        """X V for X of shape (..., K, s): factors of the landmarks, each times its mass."""
        if self.rows is not None:
            flat = target.xp.reshape(X, (-1, self.items.size))
            return target.xp.reshape(flat @ self.rows, (*X.shape[:-1], target.n_items))
        whole = np.zeros((*X.shape[:-1], target.n_items))
        whole[..., self.items] = X
        return target.times(whole)


def serves(target: Target, model: Model, init: Any) -> bool:
    """Whether restarts are made on landmarks: least squares of more items than those."""
    is_random = isinstance(init, str) and init == "random"
    return is_random and not model.dense_only and target.n_items > N_LANDMARKS


def restarts_of(target: Target, seed: int) -> Restarts:
    """The landmarks of a target; made once for a seed."""
    if seed not in target.landmarks:
        items = landmark_items(target.n_items, N_LANDMARKS, seed)
        if target.array is None:
            rows, among = None, np.asarray(target.operator.block(items, items))
            sums = np.asarray(target.operator @ np.ones((target.n_items, 1)))[items, 0]
        else:
            rows = taken(target.xp, target.array, items)
            here = to_host(rows).astype(np.float64, copy=False)
            among, sums = here[:, items], here.sum(axis=1)
        few = of_array(np.ascontiguousarray(among), symmetric=True)
        mass = masses(few.array, sums, target.n_items)
        few = replace(few, mass=mass, fits=None if target.fits is None else {})
        target.landmarks[seed] = Restarts(items, few, rows)
    found: Restarts = target.landmarks[seed]
    return found


def solve(
    models: Mapping[str, Model], target: Target, parallel: Callable[..., Any],
    fit: Callable[..., Factorization], *, model: str, rank: int, n_init: int, seed: int,
) -> Fits:  # fmt: skip
    """Fit restarts to the landmarks, those that lead to all items, and spread the others to them.

    ``fit`` factorises a target: here that of the landmarks.
    """
    chosen, exact = models[model], target.double
    place = exact.host if exact.is_for_host(chosen, rank) else exact
    how = {"rank": rank, "n_init": n_init, "seed": seed}
    if chosen.begins_at is not None:
        fits = solve(models, place, parallel, fit, model=chosen.begins_at, **how)
        lead = _fast.ranking(fits.objective)[: _fast.CARRIED[0]]
        begun = chosen.factors(place, chosen.blocks(place, fits.factors))
        fits = _scored(chosen, place, begun, fits.n_iter)
        return _carried(chosen, place, fits, lead, parallel)
    marks = restarts_of(place, seed)
    few = fit(
        marks.few, models, model=model, solver="fast", init="random", normalize="balance",
        parallel=parallel, **how,
    )  # fmt: skip
    stack = joined(place.xp, [_alone(place, one) for one in few.restarts])
    factors = chosen.factors(place, _extended(chosen, place, marks, stack))
    fits = _scored(chosen, place, factors, np.full(len(few.restarts), few.n_iter))
    return _carried(chosen, place, fits, leading(few, marks.few.norm2), parallel)


def _alone(target: Target, factors: Factors) -> Factors:
    """One restart as a stack of one, where the target is."""
    return type(factors)(*(None if x is None else target.moved(x)[None, ...] for x in factors))


def _scored(model: Model, target: Target, factors: Factors, n_iter: NDArray[np.int64]) -> Fits:
    objective = to_host(model.objective(target, factors)).astype(np.float64)
    return Fits(factors, objective, n_iter, np.zeros(objective.size, dtype=np.bool_))


def _extended(model: Model, target: Target, marks: Restarts, stack: Factors) -> Blocks:
    """Blocks of all items from factors of the landmarks: H given W of those, then W given H."""
    mass = target.moved(marks.few.mass)
    *others, A = reversed(model.blocks(marks.few, stack))
    B = _regressed(target, marks.times(target, A * mass), _gram(target, A * mass, A))
    if not others:
        return (B,)
    return _regressed(target, target.times(B), _gram(target, B, B)), B


def _gram(target: Target, X: Array, Y: Array) -> Array:
    return X @ target.xp.matrix_transpose(Y)


def _regressed(target: Target, P: Array, G: Array) -> Array:
    """The non-negative least-squares answer, from nothing."""
    found = target.xp.zeros_like(P)
    for _ in range(SWEEPS):
        found = _hals.half(target, P, G, found, P.shape[-2])
    return found


def _carried(
    model: Model, target: Target, fits: Fits, lead: NDArray[np.intp], parallel: Callable[..., Any]
) -> Fits:
    """Carry some restarts on, then the best; far where a gap in the spectrum makes that quick."""
    rank = fits.factors.H.shape[-2]
    has_gap = target.low_rank(_hals.width(rank)).gap_after(rank)
    _, rough, fine = _fast.TOLERANCES
    for tolerance in (fine, FINEST) if has_gap else (rough, fine):
        if is_up():
            break
        fits = _fast.carried(model, target, fits, lead, tolerance, parallel)
        lead = lead[[int(np.argmin(fits.objective[lead]))]]
    return fits
