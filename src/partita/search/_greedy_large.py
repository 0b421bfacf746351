"""The greedy search where draws or clusters are too many to hold.

On landmarks, or from a draw where clusters are many; then on all items in rounds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from partita import validate
from partita.distributed import held_back
from partita.errors import PartitaWarning
from partita.partitions import canonical
from partita.search._common import Candidate, at_most
from partita.search._greedy_clock import Clock
from partita.search._greedy_plan import Plan
from partita.search._greedy_problem import on_draws
from partita.search._large import (
    central_draw,
    extend,
    has_many_clusters,
    sample,
    searchable,
    stand_in,
)
from partita.search._streamed import StreamedState, settle

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import RatioLoss
    from partita.search._large import Sample
    from partita.typing import IntArray

R = TypeVar("R")


def search_large(
    settings: Any, loss: RatioLoss, evidence: Evidence, rng: np.random.Generator, n_jobs: int,
    clock: Clock,
) -> Iterator[Candidate]:  # fmt: skip
    """Yield the best partition of the landmarks extended and moved on; and of any labels given.

    Ctrl-C is raised after the best so far.
    """
    some = sample(evidence, validate.seed(rng))
    scored = stand_in(loss)
    limit = min(settings.max_clusters or evidence.n_items, evidence.n_items)
    given = [start for start in settings.starts if isinstance(start, np.ndarray | list)]
    for start in given:
        labels = validate.labels("starts", start, n_items=evidence.n_items)
        labels = at_most(limit, canonical(labels))
        yield from _moved_on(labels, evidence, loss, limit, clock, {"start": "labels"})
    kinds = tuple(s for s in settings.starts if not isinstance(s, np.ndarray | list))
    if not kinds and given:
        return
    searched = searchable(some)
    if searched is None:
        labels = _finished(lambda: _central(some, scored, limit), clock)
        about: dict[str, Any] = {"start": "draws", "many_clusters": True}
    else:
        small = replace(settings, starts=kinds)
        left = clock.left()
        half = Clock(None if left is None else left / 2)
        plan = Plan(small, scored, searched, rng, n_jobs, half)
        labels, about = _on_landmarks(plan, some, limit, clock)
        clock.has_ended_work |= half.has_ended_work
    yield from _moved_on(labels, evidence, loss, limit, clock, about)


def _on_landmarks(
    plan: Plan, some: Sample, limit: int, clock: Clock
) -> tuple[IntArray, dict[str, Any]]:
    """What a plan finds on the landmarks, extended to all items.

    Where Ctrl-C ends it before any run had ended, the draw that is nearest to the others.
    """
    found = _least(plan, clock)
    if found is None:
        return _finished(lambda: _central(some, plan.loss, limit), clock), {"start": "draws"}
    start, n_jobs = found.labels, plan.n_jobs
    labels = _finished(lambda: extend(start, some, plan.loss, n_jobs=n_jobs), clock)
    about = {"start": found.info.get("start")}
    if some.landmarks.size < some.draws.n_items:
        about["landmarks"] = some.landmarks.size
    return labels, about


def goes_in_rounds(loss: RatioLoss, held: Evidence | None) -> bool:
    """Whether to search in rounds: draws are not held, or have too many clusters for runs."""
    if held is None:
        return True
    return on_draws(loss, held) and has_many_clusters(held.distinct, held.n_items)


def _central(some: Sample, loss: RatioLoss, limit: int) -> IntArray:
    """The draw that is nearest to the others, its smallest clusters joined if they are too many."""
    labels = np.asarray(some.draws.labels[central_draw(some, loss)], dtype=np.int64)
    return at_most(limit, labels)


def polish_both_ways(
    labels: IntArray, evidence: Evidence, loss: RatioLoss, *, rng: np.random.Generator,
    max_clusters: int | None, patience: float, time_limit: float | None,
) -> IntArray:  # fmt: skip
    """Move all items on from ``labels``, and from what greedy moves make of them on landmarks."""
    from partita.search._polish import polish

    scored = stand_in(loss)
    clock = Clock(time_limit)
    limit = min(max_clusters or evidence.n_items, evidence.n_items)
    labels = at_most(limit, canonical(labels))
    state: StreamedState | None = None
    try:
        state = StreamedState(labels, evidence.distinct, scored, evidence.n_jobs)
        if patience:
            some = sample(evidence, validate.seed(rng))
            searched = searchable(some)
            if searched is None:
                state.offer(_central(some, scored, limit))
            else:
                half = None if time_limit is None else time_limit / 2
                found = polish(
                    labels[some.landmarks.items], searched, scored, rng=rng,
                    max_clusters=max_clusters, patience=patience, time_limit=half,
                )  # fmt: skip
                state.offer(extend(found, some, scored, n_jobs=evidence.n_jobs))
        settle(state, limit, clock)
    except KeyboardInterrupt:
        _warn()
    return labels if state is None else state.labels


def _moved_on(
    labels: IntArray, evidence: Evidence, loss: RatioLoss, limit: int, clock: Clock,
    about: dict[str, Any],
) -> Iterator[Candidate]:  # fmt: skip
    scored = stand_in(loss)
    state = _finished(
        lambda: StreamedState(labels, evidence.distinct, scored, evidence.n_jobs), clock
    )
    clock.note(state.value)
    try:
        about |= {"rounds": settle(state, limit, clock)}
    except KeyboardInterrupt:
        clock.stop()
    if scored is not loss:
        about |= {"searched_under": type(scored).__name__}
    value = state.value if scored is loss else None
    history = tuple(clock.history) if scored is loss else ()
    yield Candidate(state.labels, expected_loss=value, info={**about, "history": history})
    if clock.was_stopped:
        raise KeyboardInterrupt


def _least(plan: Plan, clock: Clock) -> Candidate | None:
    """The best partition of the landmarks, the best so far when Ctrl-C ends the search, if any."""
    try:
        return min(plan.run(), key=_value)
    except KeyboardInterrupt:
        clock.stop()
        return plan.best_so_far()


def _finished(call: Callable[[], R], clock: Clock) -> R:
    """Do what an answer cannot do without, one pass; Ctrl-C ends the search after it.

    A second Ctrl-C ends it at once, without an answer.
    """
    with held_back() as came:
        found = call()
    if came:
        clock.stop()
    return found


def _warn() -> None:
    warnings.warn(
        "The search was interrupted; this is the best partition that it had found.",
        PartitaWarning,
        stacklevel=3,
    )


def _value(one: Candidate) -> float:
    return np.inf if one.expected_loss is None else one.expected_loss
