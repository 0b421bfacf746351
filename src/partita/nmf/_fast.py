"""``solver="fast"``: every restart to a rough answer, the best three to a fine one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.nmf._accelerate import State, run
from partita.nmf._common import Factors
from partita.nmf._multiplicative import to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._common import Model, Target

ROUGH, FINE = 1e-3, 1e-5
CARRIED = 3
_KEEP = 0.1  # a Newton step from zero is poor: extrapolation keeps this part of a number


@dataclass(frozen=True, eq=False)
class Fits:
    """Restarts that share a leading axis, and how far each has come."""

    factors: Factors
    objective: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


def solve(
    model: Model, target: Target, starts: Factors, parallel: Callable[..., Any],
    base: Model | None = None,
) -> Fits:  # fmt: skip
    """Fit all restarts; ``parallel(work, parts)`` maps in order.

    On NumPy a part is one restart, run by compiled loops; on other arrays the restarts stay
    stacked, so that a GPU sees few large products.
    """
    if base is not None:
        starts = solve(base, target, starts, parallel).factors
    n = starts.W.shape[0]
    parts = [slice(i, i + 1) for i in range(n)] if target.is_numpy else [slice(0, n)]
    rough = _joined(
        target, parallel(lambda s: _first(model, target, _pick(starts, s)), parts)
    )
    best = np.argsort(rough.objective, kind="stable")[:CARRIED].tolist()
    groups = [[i] for i in best] if target.is_numpy else [best]
    fine = parallel(lambda g: _second(model, target, _rows(target, rough, g)), groups)
    return _with(target, rough, groups, fine)


def _first(model: Model, target: Target, factors: Factors) -> Fits:
    blocks, n_iter = model.prepare(target, factors)
    if model.first_pass:
        return _iterate(model, target, blocks, ROUGH, n_iter)
    found = model.factors(target, blocks)
    objective = to_numpy(model.objective(target, found)).astype(np.float64)
    done = np.zeros(objective.shape, dtype=bool)
    return Fits(found, objective, np.full(objective.shape, n_iter), done)


def _second(model: Model, target: Target, fits: Fits) -> Fits:
    blocks = model.blocks(target, fits.factors)
    return _iterate(model, target, blocks, FINE, int(fits.n_iter.max()))


def _iterate(model: Model, target: Target, blocks: Any, tolerance: float, n_before: int) -> Fits:
    def loop(state: State, n_iter: int) -> State | None:
        return None if model.advance is None else model.advance(target, state, n_iter)

    state, (n_iter, converged) = run(
        loop,
        lambda b: model.step(target, b),
        State.begin(target.xp, blocks, model.beta),
        tolerance=tolerance,
        per_look=model.per_look,
        keep=_KEEP if model.dense_only else 0.0,
        xp=target.xp,
    )
    found = model.factors(target, state.blocks)
    objective = to_numpy(model.objective(target, found)).astype(np.float64)
    shape = objective.shape
    return Fits(found, objective, np.full(shape, n_before + n_iter), np.full(shape, converged))


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
