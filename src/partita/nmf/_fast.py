"""``solver="fast"``: every restart to a rough answer, three to a better, one to a fine one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.devices import to_host
from partita.nmf._accelerate import KEEP, Looks, State, run
from partita.nmf._common import NOISE, Factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Model, Target

# The least fall in a look that goes on, stage by stage. Restarts differ by more than the first
# stage leaves undone.
TOLERANCES = (1e-2, 1e-3, 1e-5)
AT_ONCE = 1e9  # one look, whatever the fall
CARRIED = (3, 1)  # how many go on to the second stage and to the third


@dataclass(frozen=True, eq=False)
class Fits:
    """Restarts that share a leading axis, and how far each has come."""

    factors: Factors
    objective: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


def solve(
    model: Model, target: Target, starts: Factors, parallel: Callable[..., Any],
    base: Model | None = None, begins: Any = None,
) -> Fits:  # fmt: skip
    """Fit all restarts; ``parallel(work, parts)`` maps in order.

    On NumPy a part is one restart, run by compiled loops; on other arrays the restarts stay
    stacked, so that a GPU sees few large products. ``begins`` names the starts, for a target that
    keeps its fits.
    """
    if target.fits is not None and (model.name, begins) in target.fits:
        known: Fits = target.fits[model.name, begins]
        return known
    if base is not None:
        starts = solve(base, target, starts, parallel, begins=begins).factors
    fits = _stages(model, target, starts, parallel)
    if target.fits is not None:
        target.fits[model.name, begins] = fits
    return fits


def _stages(model: Model, target: Target, starts: Factors, parallel: Callable[..., Any]) -> Fits:
    if target.is_for_host(starts.H.shape[-2]):
        return _all_on_host(model, target, starts, parallel)
    n = starts.W.shape[0]
    parts = [slice(i, i + 1) for i in range(n)] if target.is_numpy else [slice(0, n)]
    first, *finer_ones = TOLERANCES
    if target.begins_on_host and model.begins_at is None:
        fits = _first_on_host(model, target, starts, first, parallel)
    else:
        done = parallel(
            lambda s: _first(_beginning(model, target, s.start), target, _pick(starts, s), first),
            parts,
        )
        fits = _joined(target, done)
    for tolerance, carried in zip(finer_ones, CARRIED, strict=True):
        best = np.argsort(fits.objective, kind="stable")[:carried].tolist()
        groups = [[i] for i in best] if target.is_numpy else [best]
        finer = parallel(_Further(model, target, fits, tolerance), groups)
        fits = _with(target, fits, groups, finer)
    return fits


def _beginning(model: Model, target: Target, restart: int) -> Model:
    """The model as this restart begins it."""
    if not target.mixed or model.otherwise is None or restart % 2 == 0:
        return model
    return replace(model, prepare=model.otherwise)


def _all_on_host(
    model: Model, target: Target, starts: Factors, parallel: Callable[..., Any]
) -> Fits:
    """Fit as the host does, and bring the factors to the device that was asked for."""
    fits = _stages(model, target.host, _on_host(starts), parallel)
    found = Factors(*(None if x is None else target.moved(x) for x in fits.factors))
    exact = target.double
    objective = to_host(model.objective(exact, _as(exact, found))).astype(np.float64)
    return replace(fits, factors=found, objective=np.maximum(objective, 0.0))


def _on_host(factors: Factors) -> Factors:
    return Factors(*(None if x is None else to_host(x).astype(np.float64) for x in factors))


def _first(model: Model, target: Target, factors: Factors, tolerance: float) -> Fits:
    """A rough fit: for divergences of many items, of groups that are alike, then one look."""
    blocks, n_iter, left = _begun(model, target, target, factors, tolerance)
    return _iterate(model, target, blocks, left, n_iter)


def _begun(
    model: Model, target: Target, place: Target, factors: Factors, tolerance: float
) -> tuple[Any, int, float]:
    """The blocks that all the items begin with, the iterations so far, and how fine to go on.

    ``place`` is the target, or its double on the host.
    """
    groups = target.coarse if model.dense_only else None
    if groups is None or groups.sizes.size < 2 * factors.H.shape[-2]:
        return (*model.prepare(place, factors), tolerance)
    few = target.shrunk("coarse", model.power)
    blocks, n_iter = model.prepare(few, groups.shrink_factors(factors, model.power))
    rough = _iterate(model, few, blocks, tolerance / 10, n_iter)
    spread = groups.spread_factors(rough.factors, model.power)
    return model.blocks(few, spread), int(rough.n_iter[0]), AT_ONCE


def _first_on_host(
    model: Model, target: Target, starts: Factors, tolerance: float, parallel: Callable[..., Any]
) -> Fits:
    """The same for a device: what is cheap by compiled loops on the host, as it begins there.

    Restarts of a divergence have many minima near by. Begun elsewhere, even by an iteration that
    sums in another order, a restart may go to another of them.
    """
    known = _on_host(starts)
    parts = [slice(i, i + 1) for i in range(known.W.shape[0])]
    done = list(
        parallel(lambda s: _begun(model, target, target.host, _pick(known, s), tolerance), parts)
    )
    blocks = tuple(
        target.moved(np.concatenate([np.asarray(one[0][b]) for one in done]))
        for b in range(len(done[0][0]))
    )
    return _iterate(model, target, blocks, done[0][2], max(one[1] for one in done))


@dataclass(frozen=True, eq=False)
class _Further:
    """Carry a group of restarts on to a finer tolerance; on a device the last in float64.

    In single precision a fall of 1e-5 of a small objective is less than the rounding of the sums
    that it is the difference of.
    """

    model: Model
    target: Target
    fits: Fits
    tolerance: float

    def __call__(self, group: Sequence[int]) -> Fits:
        rows = _rows(self.target, self.fits, group)
        known = rows.objective if self.target.is_numpy else None
        n_iter = int(rows.n_iter.max())
        finest = self.tolerance == TOLERANCES[-1]
        target = self.target.double if finest else self.target
        blocks = self.model.blocks(target, _as(target, rows.factors))
        fits = _iterate(self.model, target, blocks, self.tolerance, n_iter, known)
        return replace(fits, factors=_as(self.target, fits.factors))


def _iterate(
    model: Model, target: Target, blocks: Any, tolerance: float, n_before: int, known: Any = None
) -> Fits:
    xp = target.xp
    if known is None:
        known = model.objective(target, model.factors(target, blocks))
    state = State.begin(xp, blocks, model.beta, known)
    looks = Looks(
        tolerance,
        model.per_look,
        keep=KEEP if model.dense_only else 0.0,
        floor=NOISE * (target.total if model.dense_only else target.norm2),
    )
    done = None if model.advance is None else model.advance(target, state, looks)
    if done is None:
        done = run(xp, lambda b: model.step(target, b), state, looks)
    state, n_iter, converged = done
    found = model.factors(target, state.blocks)
    exact = state.objective if target.is_numpy else model.objective(target, found)
    objective = to_host(exact).astype(np.float64)
    shape = objective.shape
    return Fits(found, objective, np.full(shape, n_before + n_iter), np.full(shape, converged))


def _as(target: Target, factors: Factors) -> Factors:
    """Factors in the precision of the target."""
    if target.is_numpy:
        return factors
    kind = target.dtype
    return Factors(*(None if x is None else target.xp.astype(x, kind) for x in factors))


def _pick(factors: Factors, s: slice) -> Factors:
    return Factors(*(None if x is None else x[s, ...] for x in factors))


def _rows(target: Target, fits: Fits, group: Sequence[int]) -> Fits:
    xp = target.xp

    def take(x: Any) -> Any:
        return None if x is None else xp.stack([x[i, ...] for i in group], axis=0)

    rows = np.asarray(group)
    return Fits(
        Factors(*map(take, fits.factors)),
        fits.objective[rows],
        fits.n_iter[rows],
        fits.converged[rows],
    )


def _joined(target: Target, parts: Sequence[Fits]) -> Fits:
    if len(parts) == 1:
        return parts[0]
    xp = target.xp
    factors = [
        None if xs[0] is None else xp.concat(list(xs), axis=0)
        for xs in zip(*(part.factors for part in parts), strict=True)
    ]
    rest = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("objective", "n_iter", "converged")
    )
    return Fits(Factors(*factors), *rest)


def _with(target: Target, rough: Fits, groups: Sequence[Sequence[int]], fine: Any) -> Fits:
    """The rough fits with the fine ones in their places."""
    order = [i for group in groups for i in group]
    rest = [i for i in range(rough.objective.size) if i not in order]
    pieces = [_joined(target, list(fine))]
    if rest:
        pieces.append(_rows(target, rough, rest))
    both = _joined(target, pieces)
    back = np.argsort(np.asarray(order + rest), kind="stable").tolist()
    joined = _rows(target, both, back)
    return replace(joined, objective=np.maximum(joined.objective, 0.0))
