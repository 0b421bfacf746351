"""``solver="fast"``: every restart to a rough answer, three to a better, one to a fine one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita.devices import to_host
from partita.distributed import is_up, noticing
from partita.nmf._accelerate import KEEP, Looks, State, run
from partita.nmf._common import NOISE, Factors
from partita.nmf._stacks import joined, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Blocks, Model, Target

# The least fall in a look that goes on, stage by stage. Restarts differ by more than the first
# stage leaves undone.
TOLERANCES = (1e-2, 1e-3, 1e-5)
AT_ONCE = 1e9  # one look, whatever the fall
DIGITS = 12  # of objectives that are told apart
CARRIED = (3, 1)  # how many go on to the second stage and to the third


class Fits(NamedTuple):
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
    keeps its fits. When a clock is up, what is under way ends at its next look, and what has not
    begun is left out, but for the first restart.
    """
    if target.fits is not None and (model.name, begins) in target.fits:
        known: Fits = target.fits[model.name, begins]
        return known
    with noticing() as was_cut:
        if base is not None:
            starts = solve(base, target, starts, parallel, begins=begins).factors
        fits = _stages(model, target, starts, parallel)
    if target.fits is not None and not was_cut:
        target.fits[model.name, begins] = fits
    return fits


def _stages(model: Model, target: Target, starts: Factors, parallel: Callable[..., Any]) -> Fits:
    if target.is_for_host(model, starts.H.shape[-2]):
        return _all_on_host(model, target, starts, parallel)
    xp, n = target.xp, starts.W.shape[0]
    first, *finer_ones = TOLERANCES
    fits: Fits
    if target.is_numpy:
        done = parallel(lambda i: _unless_late(model, target, starts, first, i), range(n))
        fits = joined(xp, [one for one in done if one is not None])
    else:
        fits = _first(model, target, starts, first, 0, parallel)
    for tolerance, most in zip(finer_ones, CARRIED, strict=True):
        if is_up():
            break
        best = ranking(fits.objective, _floor(model, target))[:most]
        fits = carried(model, target, fits, best, tolerance, parallel)
    return fits


def carried(
    model: Model, target: Target, fits: Fits, best: NDArray[np.intp], tolerance: float,
    parallel: Callable[..., Any],
) -> Fits:  # fmt: skip
    """Carry some of the restarts on to a finer tolerance."""
    xp = target.xp
    groups = best[:, None] if target.is_numpy else best[None]
    finer = parallel(_Further(model, target, fits, tolerance), groups)
    rest = np.setdiff1d(np.arange(fits.objective.size), best)
    fits = joined(xp, [*finer, taken(xp, fits, rest)], np.concatenate([best, rest]))
    return fits._replace(objective=np.maximum(fits.objective, 0.0))


def _unless_late(
    model: Model, target: Target, starts: Factors, tolerance: float, number: int
) -> Fits | None:
    """A rough fit of one restart; none where the time is up, but for the first."""
    if number and is_up():
        return None
    return _first(model, target, _one(starts, number), tolerance, number)


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
    return fits._replace(factors=found)


def _on_host(factors: Factors) -> Factors:
    return Factors(*(None if x is None else to_host(x).astype(np.float64) for x in factors))


def _first(
    model: Model, target: Target, starts: Factors, tolerance: float, number: int,
    parallel: Callable[..., Any] = map,
) -> Fits:  # fmt: skip
    """A rough fit: for divergences of many items, of groups that are alike, then one look.

    ``number`` is that of the first of the restarts.
    """
    n, K = starts.W.shape[0], starts.H.shape[-2]
    groups = target.coarse if model.dense_only else None
    if groups is not None and groups.sizes.size >= 2 * K:
        known = _on_host(starts)
        work = _OfGroups(model, target, known, tolerance, number)
        blocks, n_iter = zip(*parallel(work, range(n)), strict=True)
        return _iterate(model, target, joined(target.xp, blocks), AT_ONCE, np.array(n_iter))
    if model.otherwise is None or not target.mixed:
        blocks, count = model.prepare(target, starts)
        return _iterate(model, target, blocks, tolerance, np.broadcast_to(count, n))
    begun = (
        _beginning(model, target, number + i).prepare(target, _one(starts, i)) for i in range(n)
    )
    blocks, n_iter = zip(*begun, strict=True)
    return _iterate(model, target, joined(target.xp, blocks), tolerance, np.ravel(n_iter))


@dataclass(frozen=True, eq=False)
class _OfGroups:
    """Blocks of all items from a rough fit of their groups, made on the host, and iterations."""

    model: Model
    target: Target
    starts: Factors
    tolerance: float
    number: int

    def __call__(self, i: int) -> tuple[Blocks, int]:
        target, power = self.target, self.model.power
        model = _beginning(self.model, target, self.number + i)
        groups, few = target.coarse, target.shrunk("coarse", power)
        assert groups is not None
        blocks, n_iter = model.prepare(few, groups.shrink_factors(_one(self.starts, i), power))
        rough = _iterate(model, few, blocks, self.tolerance / 10, np.array([n_iter]))
        spread = groups.spread_factors(rough.factors, power)
        return tuple(target.moved(x) for x in model.blocks(few, spread)), int(rough.n_iter[0])


@dataclass(frozen=True, eq=False)
class _Further:
    """Carry a group of restarts on to a finer tolerance."""

    model: Model
    target: Target
    fits: Fits
    tolerance: float

    def __call__(self, group: NDArray[np.intp]) -> Fits:
        rows: Fits = taken(self.target.xp, self.fits, group)
        known = rows.objective if self.target.is_numpy else None
        blocks = self.model.blocks(self.target, rows.factors)
        return _iterate(self.model, self.target, blocks, self.tolerance, rows.n_iter, known)


def _iterate(
    model: Model, target: Target, blocks: Any, tolerance: float, n_before: NDArray[np.int64],
    known: Any = None,
) -> Fits:  # fmt: skip
    xp = target.xp
    if known is None:
        known = model.objective(target, model.factors(target, blocks))
    state = State.begin(xp, blocks, model.beta, known)
    looks = Looks(
        tolerance,
        model.per_look,
        keep=KEEP if model.dense_only else 0.0,
        floor=_floor(model, target),
    )
    done = None if model.advance is None else model.advance(target, state, looks)
    if done is None:
        done = run(xp, lambda b: model.step(target, b), state, looks)
    state, n_iter, converged = done
    found = model.factors(target, state.blocks)
    exact = state.objective if target.is_numpy else model.objective(target, found)
    objective = to_host(exact).astype(np.float64)
    shape = objective.shape
    return Fits(found, objective, n_before + n_iter, np.broadcast_to(converged, shape).copy())


def _floor(model: Model, target: Target) -> float:
    """What a fall is measured against where the objective is less."""
    return NOISE * (target.total if model.dense_only else target.norm2)


def ranking(objective: NDArray[np.float64], floor: float = 0.0) -> NDArray[np.intp]:
    """Restarts from the least objective on; those equal but for rounding in their own order.

    Of clusters that are exactly alike a restart leaves out one and another another; which is the
    best would else be told by the last bits of a sum, which differ between machines.
    """
    size = max(float(objective.min()), floor, 1e-12 * float(objective.max()))
    return np.argsort(np.round(objective / (size or 1.0), DIGITS), kind="stable")


def _one(factors: Factors, number: int) -> Factors:
    return Factors(*(None if x is None else x[number : number + 1, ...] for x in factors))
