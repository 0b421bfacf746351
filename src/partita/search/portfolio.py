"""What is tried when nothing is asked for."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partita.losses import RatioLoss
from partita.search._common import Candidate, Search

if TYPE_CHECKING:
    import numpy as np

    from partita.evidence import Evidence
    from partita.losses import Loss

_TINY = 8
_PARTITIONS = {9: 21_147, 10: 115_975}  # of so many items
_VISITED = 5_000_000  # partitions times draws that take a tenth of a second


@dataclass(frozen=True)
class Portfolio:
    """Take one search for a few items, one for losses it can change items under, else others.

    Parameters
    ----------
    tiny : Search, optional
        For up to eight items, and for nine or ten where draws are few.
    direct : Search
        For every :class:`~partita.losses.RatioLoss`.
    otherwise : tuple of Search
        For losses that can only be scored on whole partitions; the first works on draws alone.
    """

    tiny: Search | None
    direct: Search
    otherwise: tuple[Search, ...]

    @property
    def time_limit(self) -> float | None:
        """Seconds that the search for most losses may take, None if it may take any."""
        limit: float | None = getattr(self.direct, "time_limit", None)
        return limit

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Generator[Candidate, None, str | None]:
        """Yield what the searches that fit supply, and return what they left undone."""
        parts: tuple[Search, ...] = (self.direct,)
        if self.tiny is not None and _is_tiny(evidence, loss):
            parts = (self.tiny,)
        elif not isinstance(loss, RatioLoss):
            parts = tuple(
                part
                for part in self.otherwise
                if evidence.has_draws or getattr(part, "needs", "either") != "draws"
            )
        undone: dict[str, None] = {}
        for part in parts:
            offered: Any = part.candidates(evidence, loss, rng=rng, n_jobs=n_jobs)
            left = yield from offered
            undone |= {left: None} if isinstance(left, str) and left else {}
        return " ".join(undone) or None


def _is_tiny(evidence: Evidence, loss: Loss) -> bool:
    """Whether all partitions are visited in a moment."""
    n_partitions = _PARTITIONS.get(evidence.n_items)
    if n_partitions is None or not isinstance(loss, RatioLoss):
        return evidence.n_items <= _TINY
    return n_partitions * (evidence.distinct.n_draws if evidence.has_draws else 1) <= _VISITED
