"""Ends of runs on the same draws, to be bred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.search._greedy_breeding import breed
from partita.search._greedy_ends import Found, best_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_kinds import Start, Starts
    from partita.search._greedy_problem import Problem
    from partita.search._greedy_runs import Runs
    from partita.search._greedy_size import Size

BREEDERS = 10  # ends of runs that are bred


@dataclass
class Brood:
    """What makes quick runs on the draws of a problem, and breeds where they end."""

    size: Size
    starts: Starts
    shared: Problem
    runs: Runs
    rng: np.random.Generator

    def _quick(self, starts: Sequence[Start], **how: Any) -> list[Found]:
        """Where quick runs end."""
        tasks = [(*start, self.size.light) for start in starts]
        patience = self.size.settings.patience
        return self.runs.of(self.shared, tasks, self.rng, patience=patience, **how)

    def settled(self, found: Sequence[Found]) -> list[Found]:
        """Where quick runs end that go on from the first of those on other draws."""
        return self._quick([one.again for one in found[:BREEDERS]])

    def filled(self, ends: Sequence[Found]) -> list[Found]:
        """The best ends, and those of quick runs from new starts where there are too few."""
        pool = best_of(ends, BREEDERS)
        if len(pool) == BREEDERS or self.runs.clock.is_up():
            return pool
        fresh = self.starts.fresh(self.rng, self.size.is_bent)
        return best_of(pool + self._quick(fresh, softens=True), BREEDERS)

    def bred(self, ends: Sequence[Found], n_litters: int) -> list[Found]:
        """What is bred from these ends, the best first."""

        def run(children: list[NDArray[np.int64]]) -> list[Found]:
            return self._quick([("bred", labels) for labels in children])

        return breed(ends, run, self.rng, n_litters)
