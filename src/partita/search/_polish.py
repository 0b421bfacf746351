"""Improve one partition, for searches that found theirs by other means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita.parallel import Stop, notice
from partita.partitions import canonical
from partita.search import _representatives
from partita.search._problem import Watch, check, problem
from partita.search.greedy import DESCENT, Greedy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.typing import IntArray


def polish(
    labels: IntArray,
    evidence: Evidence,
    loss: Loss,
    *,
    rng: np.random.Generator,
    max_clusters: int | None = None,
    time_limit: float | None = None,
) -> NDArray[np.int64]:
    """Return a partition of at most the expected loss, by the greedy search from ``labels`` alone.

    Parameters
    ----------
    labels : ndarray of integers, shape (n,)
    evidence : Evidence
    loss : RatioLoss
        Any other raises an error that says so.
    rng : Generator
    max_clusters : int, optional
        Make at most this many clusters.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    scored, watch = check(loss), Watch(Stop(time_limit), "polish")
    how = Greedy(max_clusters=max_clusters, recipe="polish")
    held = evidence.searched(scored.needs)
    start = how.fitted(np.asarray(labels))
    if held is None or _representatives.goes_in_rounds(scored, held):
        found = _representatives.polish_both_ways(start, evidence, scored, how, rng, watch)
    else:
        ends = list(how.found(held, scored, [start], rng, evidence.n_jobs, watch))
        found = ends[0].labels if ends else start
    if watch.is_late:
        notice()
    if watch.interrupt is not None:
        raise watch.interrupt
    return canonical(found)


def descended(
    labels: IntArray, evidence: Evidence, loss: Loss, *, rng: np.random.Generator,
    time_limit: float | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """Return where moves of items and of whole clusters lead from ``labels``, downhill."""
    watch = Watch(Stop(time_limit), "descent")
    with watch.over() as stop:
        shared = problem(check(loss), evidence, (1, evidence.n_items), merge=False)
        ends = shared.descend([canonical(labels)], DESCENT, rng, stop)
    if watch.interrupt is not None:
        raise watch.interrupt
    return ends[0][0] if ends else canonical(labels)
