"""Every cut of a dendrogram of 1 - π̂."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from partita import validate
from partita.search._common import Candidate
from partita.search._hierarchy import METHODS, dendrogram, on_landmarks
from partita.search._large import MOST_LANDMARKS, extend_by_similarity, sample

if TYPE_CHECKING:
    import numpy as np

    from partita.evidence import Evidence
    from partita.losses import Loss

_EXTENDED = 10  # cuts of a dendrogram of landmarks that are extended to all items


@dataclass(frozen=True)
class Linkage:
    """Offer every cut of the dendrogram of agglomerative clustering on 1 - π̂.

    The cuts are scored in one pass over the tree where the loss allows, as all of partita's do,
    rather than each from scratch. The paper's MinBinder, MaxPEAR and MinVI use average linkage.
    Beyond 20,000 items, or 5,000 with more than 5e7 labels, the dendrogram is that of 3,000
    landmarks, and the ten best of its cuts are extended to all items, each to the cluster it is
    most similar to.

    Parameters
    ----------
    method : {"average", "complete", "single", "weighted"}
        How the distance between clusters follows from that between items.
    max_clusters : int, optional
        Cut into at most this many clusters; n if None.

    References
    ----------
    Fritsch & Ickstadt (2009), Improved criteria for clustering based on the posterior similarity
    matrix, Bayesian Analysis 4.
    """

    method: str = "average"
    max_clusters: int | None = None

    def __post_init__(self) -> None:
        validate.choice("method", self.method, METHODS)
        if self.max_clusters is not None:
            validate.integer("max_clusters", self.max_clusters, least=1)

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the cuts into 1, 2, ... clusters."""
        if on_landmarks(evidence):
            yield from self._on_landmarks(evidence, loss, rng, n_jobs)
            return
        tree = dendrogram(evidence, self.method)
        most = min(self.max_clusters or tree.n_items, tree.n_items)
        along = getattr(loss, "expected_along", None)
        scores = None if along is None else along(tree, evidence, n_jobs=n_jobs)
        for k, labels in enumerate(tree.cuts(most), start=1):
            score = None if scores is None else float(scores[k - 1])
            yield Candidate(labels, expected_loss=score, info={"rank": k})

    def _on_landmarks(
        self, evidence: Evidence, loss: Loss, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        some = sample(evidence, validate.seed(rng), MOST_LANDMARKS)
        found = Linkage(self.method, self.max_clusters).candidates(
            some.evidence, loss, rng=rng, n_jobs=n_jobs
        )
        cuts = list(found)
        if all(cut.expected_loss is not None for cut in cuts):
            cuts.sort(key=lambda cut: cut.expected_loss or 0.0)
        for cut in cuts[:_EXTENDED]:
            labels = extend_by_similarity(cut.labels, some, n_jobs=n_jobs)
            yield Candidate(labels, info={**cut.info, "landmarks": some.landmarks.size})
