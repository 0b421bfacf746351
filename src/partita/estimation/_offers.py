"""What a search offers, each with its expected loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita import search as searches
from partita.errors import InvalidTypeError
from partita.search._common import offered_by, values_of

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.search import Candidate, Search

_BATCH = 30_000_000  # labels of candidates evaluated together, at most


@dataclass
class Offers:
    """The candidates of one search, and what it says at its end that time was too short for."""

    search: Search
    loss: Loss
    evidence: Evidence
    rng: np.random.Generator
    n_jobs: int
    undone: str | None = None

    def scored(self) -> Iterator[tuple[Candidate, float]]:
        """Yield each with its expected loss; those of unknown loss are evaluated together.

        Those that wait for that when Ctrl-C ends the search are evaluated first.
        """
        waiting: list[Candidate] = []
        most = max(1, _BATCH // self.evidence.n_items)
        interrupts: list[KeyboardInterrupt] = []
        for candidate in self._until_interrupted(interrupts):
            self._check(candidate)
            if candidate.expected_loss is None:
                waiting.append(candidate)
                if len(waiting) < most:
                    continue
            yield from self._evaluated(waiting)
            waiting = []
            if candidate.expected_loss is not None:
                yield candidate, candidate.expected_loss
        yield from self._evaluated(waiting)
        if interrupts:
            raise interrupts[0]

    def _until_interrupted(self, interrupts: list[KeyboardInterrupt]) -> Iterator[Candidate]:
        """Yield what is offered until Ctrl-C, which is kept for later."""
        try:
            self.undone = yield from offered_by(
                self.search, self.evidence, self.loss, rng=self.rng, n_jobs=self.n_jobs
            )
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)

    def _evaluated(self, candidates: list[Candidate]) -> Iterator[tuple[Candidate, float]]:
        if candidates:
            partitions = np.stack([candidate.labels for candidate in candidates])
            values = values_of(partitions, self.loss, self.evidence, n_jobs=self.n_jobs)
            yield from zip(candidates, values.tolist(), strict=True)

    def _check(self, candidate: Candidate) -> None:
        labels, n_items = getattr(candidate, "labels", None), self.evidence.n_items
        if labels is None or np.shape(labels) != (n_items,):
            raise InvalidTypeError(
                f"A search must yield a Candidate with one label for each of the {n_items} items; "
                f"{searches.name_of(self.search)} yielded {candidate!r}."
            )
