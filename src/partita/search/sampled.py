"""The sampled partitions as candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from partita import validate
from partita.parallel import blocks
from partita.search._common import Candidate
from partita.typing import Needs

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss

_AT_ONCE = 1 << 27  # labels taken from the draws together, in one sweep over a store


@dataclass(frozen=True)
class Sampled:
    """Offer the distinct partitions among the draws.

    With Binder's loss this is Dahl's least-squares clustering; with the zero-one loss, the MAP.

    Parameters
    ----------
    max_candidates : int, optional
        Offer at most this many of them, evenly spaced over the draws. Scoring every draw against
        every draw takes time in M²·n.

    References
    ----------
    Dahl (2006), Model-based clustering for expression data via a Dirichlet process mixture model.
    """

    needs: ClassVar[Needs] = "draws"

    max_candidates: int | None = None

    def __post_init__(self) -> None:
        if self.max_candidates is not None:
            validate.integer("max_candidates", self.max_candidates, least=1)

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the distinct draws, in order of appearance."""
        labels = evidence.distinct.labels
        offered = np.arange(labels.shape[0])
        if self.max_candidates is not None and offered.size > self.max_candidates:
            offered = np.linspace(0, offered.size - 1, self.max_candidates).round().astype(int)
        for part in blocks(offered.size, _AT_ONCE // labels.shape[1]):
            for one in labels[offered[part]]:
                yield Candidate(one.copy())
