"""The similarity as a graph, cut into communities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import MissingDependencyError
from partita.losses import Binder
from partita.search._common import Candidate, check_room

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss

_GRID = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_COPIES = 6  # of the matrix, where all pairs are edges: of 40 bytes, and twice their ends


@dataclass(frozen=True)
class Community:
    """Offer the communities that the Leiden algorithm finds in π̂ taken as a weighted graph.

    Its quality, the constant Potts model Σ (π̂_ij - resolution) x_ij, at resolution 1 - a/2 is the
    expected ``Binder(a)``. Needs ``leidenalg``, which is not installed with partita.

    Parameters
    ----------
    resolution : float in [0, 1] or iterable of them, optional
        If None, 1 - a/2 for ``Binder(a)`` and 0.1, 0.2, ..., 0.9 for other losses.
    n_iterations : int
        Rounds of the algorithm; -1 goes on until a round changes nothing.

    References
    ----------
    Traag, Waltman & van Eck (2019), From Louvain to Leiden, Scientific Reports 9.
    """

    resolution: float | tuple[float, ...] | None = None
    n_iterations: int = -1

    def __post_init__(self) -> None:
        if self.resolution is not None:
            listed = np.atleast_1d(np.asarray(self.resolution, dtype=np.float64)).tolist()
            found = tuple(validate.real("resolution", value, low=0, high=1) for value in listed)
            object.__setattr__(self, "resolution", found[0] if len(found) == 1 else found)
        validate.integer("n_iterations", self.n_iterations, least=-1)

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the communities at each resolution."""
        check_room("community", evidence, _COPIES)
        leidenalg, graph = _graph(evidence.similarity.to_dense(n_jobs=n_jobs))
        values = self._resolutions(loss)
        seeds = rng.integers(2**31, size=len(values))
        for value, seed in zip(values, seeds, strict=True):
            found = leidenalg.find_partition(
                graph,
                leidenalg.CPMVertexPartition,
                weights="weight",
                resolution_parameter=value,
                n_iterations=self.n_iterations,
                seed=int(seed),
            )
            labels = np.array(found.membership, dtype=np.int64)
            yield Candidate(labels, info={"resolution": value})

    def _resolutions(self, loss: Loss) -> tuple[float, ...]:
        if self.resolution is None:
            return (1 - loss.weight / 2,) if isinstance(loss, Binder) else _GRID
        return self.resolution if isinstance(self.resolution, tuple) else (self.resolution,)


def _graph(matrix: Any) -> tuple[Any, Any]:
    """The package, and the graph of the pairs that were ever together."""
    try:
        import igraph
        import leidenalg
    except ImportError as error:
        raise MissingDependencyError(
            "`search` 'community' needs leidenalg, which partita does not install; "
            "pip install 'partita[community]' (it is under the GPL)."
        ) from error
    rows, cols = np.nonzero(np.triu(matrix, 1))
    graph = igraph.Graph(n=matrix.shape[0], edges=np.column_stack([rows, cols]))
    graph.es["weight"] = matrix[rows, cols]
    return leidenalg, graph
