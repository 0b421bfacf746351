"""Every cut of a dendrogram of 1 - π̂."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from partita import validate
from partita.search._common import Candidate
from partita.search._hierarchy import METHODS, dendrogram

if TYPE_CHECKING:
    import numpy as np

    from partita.evidence import Evidence
    from partita.losses import Loss


@dataclass(frozen=True)
class Linkage:
    """Offer every cut of the dendrogram of agglomerative clustering on 1 - π̂.

    The cuts are scored in one pass over the tree where the loss allows, as all of partita's do,
    rather than each from scratch. The paper's MinBinder, MaxPEAR and MinVI use average linkage.

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
        tree = dendrogram(evidence, self.method)
        most = min(self.max_clusters or tree.n_items, tree.n_items)
        along = getattr(loss, "expected_along", None)
        scores = None if along is None else along(tree, evidence, n_jobs=n_jobs)
        for k, labels in enumerate(tree.cuts(most), start=1):
            score = None if scores is None else float(scores[k - 1])
            yield Candidate(labels, expected_loss=score, info={"rank": k})
