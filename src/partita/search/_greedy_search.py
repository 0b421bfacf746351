"""The greedy search as a whole, for every search that makes one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partita.search._greedy_kinds import STARTS
from partita.search._greedy_large import goes_in_rounds, search_large
from partita.search._greedy_plan import Plan
from partita.search._greedy_problem import check
from partita.search._greedy_run import MOVES

if TYPE_CHECKING:
    import numpy as np

    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.search._common import Candidate
    from partita.search._greedy_clock import Clock

PATIENCE = 2.0


@dataclass(frozen=True)
class Settings:
    """What a greedy search has that is asked for nothing, as ``auto`` is."""

    n_runs: int | None = None
    max_clusters: int | None = None
    starts: tuple[Any, ...] = STARTS
    moves: tuple[str, ...] = MOVES
    patience: float = PATIENCE
    max_draws: int | None = None


def search_greedily(
    settings: Any, evidence: Evidence, loss: Loss, rng: np.random.Generator, n_jobs: int,
    clock: Clock,
) -> Iterator[Candidate]:  # fmt: skip
    """Yield the partition that each run ended with, or the best of them.

    Ctrl-C is raised after the best so far, where there is one.
    """
    held = evidence.searched(check(loss).needs)
    if held is None or goes_in_rounds(check(loss), held):
        yield from search_large(settings, check(loss), evidence, rng, n_jobs, clock)
        return
    plan = Plan(settings, check(loss), held, rng, n_jobs, clock)
    try:
        yield from plan.run()
    except KeyboardInterrupt:
        found = plan.best_so_far()
        if found is not None:
            yield found
            yield from plan.at_least()
        raise
