"""Improve one partition, for searches that found theirs by other means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita.partitions import canonical
from partita.search._common import at_most
from partita.search._greedy_clock import Clock
from partita.search._greedy_large import goes_in_rounds, polish_both_ways
from partita.search._greedy_problem import check, problem
from partita.search._greedy_run import Run

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
    patience: float = 1.0,
    time_limit: float | None = None,
) -> NDArray[np.int64]:
    """Return a partition of at most the expected loss, by greedy moves from ``labels``.

    Parameters
    ----------
    labels : ndarray of integers, shape (n,)
    evidence : Evidence
    loss : RatioLoss
        Any other raises an error that says so.
    rng : Generator
    max_clusters : int, optional
        Make at most this many clusters.
    patience : float
        Attempts in vain at rebuilding clusters, in multiples of K, before it stops; 0 for sweeps
        and merges alone.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    held = evidence.searched(check(loss).needs)
    if held is None or goes_in_rounds(check(loss), held):
        return canonical(
            polish_both_ways(
                labels, evidence, check(loss), rng=rng, max_clusters=max_clusters,
                patience=patience, time_limit=time_limit,
            )
        )  # fmt: skip
    shared = problem(check(loss), held, merge=False)
    limit = min(max_clusters or evidence.n_items, evidence.n_items)
    run = Run(shared.state(), rng, limit, Clock(time_limit))
    run.state.load(at_most(limit, canonical(labels)))
    run.keep()
    run.go(("sweep", "merge", "rebuild", "chain") if patience else ("sweep", "merge"), patience)
    return canonical(run.state.labels)
