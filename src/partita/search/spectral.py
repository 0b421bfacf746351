"""The similarity as a graph, cut by its eigenvectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidValueError, MissingDependencyError
from partita.search._common import Candidate, check_room

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss

_COPIES = 3  # of the matrix: scikit-learn has a Laplacian and what it is solved by


@dataclass(frozen=True)
class Spectral:
    """Offer scikit-learn's spectral clustering of π̂, one partition for each rank.

    Parameters
    ----------
    ranks : iterable of int
        The numbers of clusters to try; those above n are left out, and one must remain.

    References
    ----------
    von Luxburg (2007), A tutorial on spectral clustering, Statistics and Computing 17.
    """

    ranks: tuple[int, ...] = tuple(range(1, 13))

    def __post_init__(self) -> None:
        try:
            ranks = tuple(self.ranks)
        except TypeError:
            ranks = (self.ranks,)  # type: ignore[assignment]
        ranks = tuple(validate.integer("ranks", rank, least=1) for rank in ranks)
        if not ranks:
            raise InvalidValueError("`ranks` must name at least one number of clusters; got none.")
        object.__setattr__(self, "ranks", ranks)

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the clustering of each rank."""
        check_room("spectral", evidence, _COPIES)
        matrix = evidence.similarity.to_dense(n_jobs=n_jobs)
        n = evidence.n_items
        if min(self.ranks) > n:
            raise InvalidValueError(
                f"`ranks` of search 'spectral' must have one that is at most the number of items, "
                f"{n}; got {', '.join(map(str, self.ranks))}. Give smaller ones."
            )
        seeds = rng.integers(2**31, size=len(self.ranks))
        for rank, seed in zip(self.ranks, seeds, strict=True):
            if rank == 1 or n == 1:
                yield Candidate(np.zeros(n, dtype=np.int64), info={"rank": 1})
            elif rank < n:
                labels = _fit(matrix, rank, int(seed))
                yield Candidate(labels, info={"rank": rank})
            elif rank == n:
                yield Candidate(np.arange(n), info={"rank": rank})


def _fit(matrix: Any, rank: int, seed: int) -> Any:
    try:
        from sklearn.cluster import SpectralClustering
    except ImportError as error:
        raise MissingDependencyError(
            "`search` 'spectral' needs scikit-learn; pip install 'partita[sklearn]'."
        ) from error
    from threadpoolctl import threadpool_limits

    solver = "arpack" if rank < matrix.shape[0] - 1 else "lobpcg"
    model = SpectralClustering(rank, affinity="precomputed", random_state=seed, eigen_solver=solver)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # a graph in pieces is a posterior without doubts
        return model.fit_predict(matrix).astype(np.int64)
