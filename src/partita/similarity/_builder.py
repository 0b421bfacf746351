"""A similarity that grows with the chain, a draw at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.distributed import blocks
from partita.draws import Draws
from partita.errors import InvalidValueError
from partita.similarity._similarity import Similarity, posterior_similarity

if TYPE_CHECKING:
    from partita.typing import FloatArray, IntArray

_HELD = 64  # draws that are added up together


class SimilarityBuilder:
    """Estimate the posterior similarity while a sampler runs, without keeping its draws.

    Memory is that of two n x n matrices and 64 draws, however long the chain.

    Parameters
    ----------
    n_jobs : int
        Threads; -1, the default, is every core.

    Examples
    --------
    >>> builder = SimilarityBuilder()
    >>> for labels in ([0, 0, 1], [0, 1, 1]):
    ...     builder.update(labels)
    >>> builder.similarity().to_dense()
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    def __init__(self, *, n_jobs: int | None = -1) -> None:
        self._n_jobs = validate.n_jobs(n_jobs)
        self._sum: FloatArray | None = None
        self._total = 0.0
        self._labels: list[IntArray] = []
        self._weights: list[float] = []
        self.n_items: int | None = None
        self.n_draws = 0

    def update(self, labels: Any, *, weight: float = 1.0) -> None:
        """Add one draw, of as many items as the draws before."""
        row = validate.labels("labels", labels, n_items=self.n_items)
        weight = validate.real("weight", weight, low=0)
        if self.n_items is None:
            validate.fits_in_memory(
                f"The dense similarity of {row.size:,} items, twice",
                16 * row.size**2,
                "write the draws with DrawsWriter and keep their similarity implicit.",
            )
            self.n_items = row.size
        self._labels.append(np.array(row))
        self._weights.append(weight)
        self.n_draws += 1
        if len(self._labels) >= _HELD:
            self._add()

    def _add(self) -> None:
        """Add the draws that are held to the sum."""
        weights = np.array(self._weights)
        if weights.size and weights.sum() > 0:
            same = bool((weights == weights[0]).all())
            held = Draws(np.stack(self._labels), weights=None if same else weights)
            part = posterior_similarity(held, n_jobs=self._n_jobs).to_dense()
            share = float(weights.sum())
            if self._sum is None:
                self._sum = np.zeros_like(part)
            for rows in blocks(part.shape[0], 256):  # no third matrix
                self._sum[rows] += part[rows] * share
            self._total += share
        self._labels, self._weights = [], []

    def similarity(self) -> Similarity:
        """Return the similarity of the draws so far; more may follow."""
        self._add()
        if self._sum is None:
            raise InvalidValueError(
                "`builder` must be given at least one draw of positive weight; got none."
            )
        matrix = self._sum / self._total
        np.fill_diagonal(matrix, 1.0)
        return Similarity._of_dense(matrix, None, None)
