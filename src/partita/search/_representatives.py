"""The greedy search where draws or clusters are too many for it to hold.

It is made on representatives of the items, what it finds is extended to all items, and these are
moved on in rounds (`_streamed`). Where clusters are too many even for that, rounds begin at a draw.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from partita import validate
from partita.errors import InvalidValueError, PartitaWarning
from partita.parallel import Stop, held_back
from partita.partitions import canonical
from partita.search._common import Candidate
from partita.search._large import (
    central_draw,
    extend,
    has_many_clusters,
    sample,
    searchable,
)
from partita.search._problem import Watch, on_draws
from partita.search._streamed import StreamedState, settle

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import RatioLoss
    from partita.search._large import Sample
    from partita.search.greedy import Greedy
    from partita.typing import IntArray

R = TypeVar("R")


def goes_in_rounds(loss: RatioLoss, held: Evidence | None) -> bool:
    """Whether to search in rounds: draws are not held, or have too many clusters to search."""
    if held is None and loss.needs == "similarity":
        raise InvalidValueError(
            f"`loss` must be one that is searched on the draws of so many items, whose similarity "
            f"is not made a matrix: 'vi', 'binder' or another; got {type(loss).__name__}. Or pass "
            "Similarity(matrix), or score candidates with search='draws'."
        )
    if held is None:
        return True
    return on_draws(loss, held) and has_many_clusters(held.distinct, held.n_items)


def search(
    how: Greedy, given: list[Any], loss: RatioLoss, evidence: Evidence, rng: np.random.Generator,
    n_jobs: int, watch: Watch,
) -> Iterator[Candidate]:  # fmt: skip
    """Yield what labels that are given lead to, and what is found on representatives.

    After Ctrl-C the best so far is still brought to all items, unless it comes twice.
    """
    some = sample(evidence, validate.seed(rng))
    for labels in given:
        yield _moved_on(how.fitted(labels), evidence, loss, how, watch, {"start": "labels"})
        if watch.interrupt is not None:
            return
    searched = searchable(some)
    about: dict[str, Any] = {"start": "draws"}
    best: Candidate | None = None
    if searched is None:
        about["many_clusters"] = True
        _warn_of_unused(how)
    else:
        left = watch.clock.left()
        half = Watch(Stop(None if left is None else left / 2), watch.label)
        try:
            best = next(how.found(searched, loss, [], rng, n_jobs, half), None)
        except KeyboardInterrupt as interrupt:  # before the core had begun, or after it
            half.interrupt = interrupt
        watch.is_late |= half.is_late
        watch.interrupt = half.interrupt
    if best is None:
        labels = _finished(lambda: how.fitted(_central(some, loss)), watch)
    else:
        small = best.labels
        labels = _finished(lambda: extend(small, some, loss, n_jobs=n_jobs), watch)
        about = {"landmarks": some.landmarks.size} if _is_part(some) else {}
    yield _moved_on(labels, evidence, loss, how, watch, about)


def _warn_of_unused(how: Greedy) -> None:
    """Say what was asked for and changes nothing where clusters are many."""
    starts = [one for one in how.starts if not isinstance(one, np.ndarray)]
    unused = {"effort": how.effort != 1, "starts": starts, "recipe": how.recipe != "population"}
    names = ", ".join(f"`{name}`" for name, is_given in unused.items() if is_given)
    if names:
        warnings.warn(
            f"{names}: not used, since these draws have so many clusters that the search is made "
            "in rounds from the draw nearest to the others. `n_clusters`, `max_clusters`, "
            "`time_limit` and labels given as a start are used.",
            PartitaWarning,
            stacklevel=2,
        )


def polish_both_ways(
    labels: IntArray, evidence: Evidence, loss: RatioLoss, how: Greedy, rng: np.random.Generator,
    watch: Watch,
) -> IntArray:  # fmt: skip
    """Move all items on from ``labels``, and from what the search makes of them on a sample."""
    state = StreamedState(how.fitted(labels), evidence.distinct, loss, evidence.n_jobs)
    some = sample(evidence, validate.seed(rng))
    searched = searchable(some)
    if searched is None:
        state.offer(how.fitted(_central(some, loss)))
    else:
        left = watch.clock.left()
        half = Watch(Stop(None if left is None else left / 2), watch.label)
        small = canonical(labels[some.landmarks.items])
        for best in how.found(searched, loss, [small], rng, evidence.n_jobs, half):
            state.offer(extend(best.labels, some, loss, n_jobs=evidence.n_jobs))
        watch.is_late |= half.is_late
        watch.interrupt = half.interrupt
    if watch.interrupt is None:
        _settled(state, how, watch)
    return state.labels


def _moved_on(
    labels: IntArray, evidence: Evidence, loss: RatioLoss, how: Greedy, watch: Watch,
    about: dict[str, Any],
) -> Candidate:  # fmt: skip
    """The partition that rounds on all items lead to."""
    state = _finished(
        lambda: StreamedState(labels, evidence.distinct, loss, evidence.n_jobs), watch
    )
    watch.note(state.value)
    about["rounds"] = 0 if watch.interrupt else _settled(state, how, watch)
    about["history"] = watch.history_to(state.value)
    return Candidate(state.labels, expected_loss=state.value, info=about)


def _settled(state: StreamedState, how: Greedy, watch: Watch) -> int:
    """Make rounds until none helps, or Ctrl-C; return how many."""
    limit = min(how.n_clusters or how.max_clusters or state.labels.size, state.labels.size)
    try:
        return settle(state, limit, watch, fewest=how.n_clusters or 1)
    except KeyboardInterrupt as interrupt:
        watch.interrupt = interrupt
        return 0


def _is_part(some: Sample) -> bool:
    return some.landmarks.size < some.draws.n_items


def _central(some: Sample, loss: RatioLoss) -> IntArray:
    """The draw that is nearest to the others."""
    return np.asarray(some.draws.labels[central_draw(some, loss)], dtype=np.int64)


def _finished(call: Callable[[], R], watch: Watch) -> R:
    """Do what an answer cannot do without, one pass; Ctrl-C ends the search after it.

    A second Ctrl-C ends it at once, without an answer.
    """
    with held_back() as came:
        found = call()
    if came:
        watch.interrupt = KeyboardInterrupt()
    return found
