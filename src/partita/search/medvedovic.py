"""One cut of the complete-linkage dendrogram."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from partita import validate
from partita.search._common import Candidate
from partita.search._hierarchy import dendrogram, on_landmarks
from partita.search._large import MOST_LANDMARKS, extend_by_similarity, sample

if TYPE_CHECKING:
    import numpy as np

    from partita.evidence import Evidence
    from partita.losses import Loss


@dataclass(frozen=True)
class Medvedovic:
    """Offer one partition: complete linkage on 1 - π̂, cut at ``height``.

    At 0.99 two items may share a cluster only if each pair in it is together in at least one
    draw in a hundred.

    Parameters
    ----------
    height : float in [0, 1]

    References
    ----------
    Medvedovic, Yeung & Bumgarner (2004), Bayesian mixture model based clustering of replicated
    microarray data, Bioinformatics 20.
    """

    height: float = 0.99

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", validate.real("height", self.height, low=0, high=1))

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the one cut."""
        if on_landmarks(evidence):
            some = sample(evidence, validate.seed(rng), MOST_LANDMARKS)
            cut = dendrogram(some.evidence, "complete").cut_at(self.height)
            labels = extend_by_similarity(cut, some, n_jobs=n_jobs)
            yield Candidate(labels, info={"landmarks": some.landmarks.size})
            return
        tree = dendrogram(evidence, "complete")
        yield Candidate(tree.cut_at(self.height))
