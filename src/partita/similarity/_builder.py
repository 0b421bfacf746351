"""A similarity that grows with the chain, a draw at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita import validate
from partita.draws import Draws
from partita.errors import InvalidValueError
from partita.parallel import blocks
from partita.similarity._similarity import Similarity

if TYPE_CHECKING:
    from partita.typing import FloatArray, IntArray

_HELD = 64  # draws that are added up together


class _Sum(NamedTuple):
    """What the draws so far add up to; an update replaces it in one step, so Ctrl-C breaks nothing.

    ``matrix`` is the weighted sum of x_ij = 1{c_i = c_j} over all draws but those in ``held``.
    """

    n_items: int | None = None
    n_draws: int = 0
    matrix: FloatArray | None = None
    total: float = 0.0
    held: tuple[tuple[IntArray, float], ...] = ()


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
        self._now = _Sum()

    @property
    def n_draws(self) -> int:
        """The number of draws so far."""
        return self._now.n_draws

    @property
    def n_items(self) -> int | None:
        """The number of items; None before the first draw."""
        return self._now.n_items

    def __repr__(self) -> str:
        items = "" if self.n_items is None else f" of {validate.count_text(self.n_items, 'item')}"
        return f"SimilarityBuilder({validate.count_text(self.n_draws, 'draw')}{items})"

    def update(self, labels: Any, *, weight: float = 1.0) -> None:
        """Add one draw, of as many items as the draws before.

        If Ctrl-C interrupts it, the draw is not counted; earlier draws are.
        """
        now = self._now
        row = validate.labels("labels", labels, n_items=now.n_items)
        weight = validate.real("weight", weight, low=0)
        if now.n_items is None:
            validate.fits_in_memory(
                f"Two matrices of {row.size:,} by {row.size:,} items, the sum and its renewal,",
                16 * row.size**2,
                "write the draws with DrawsWriter and keep their similarity implicit.",
            )
        new = now._replace(
            n_items=row.size, n_draws=now.n_draws + 1, held=(*now.held, (np.array(row), weight))
        )
        self._now = new if len(new.held) < _HELD else self._added(new)

    def _added(self, now: _Sum) -> _Sum:
        """The draws that are held added to the sum; the sum before is left as it is."""
        weights = np.array([weight for _, weight in now.held])
        share = float(weights.sum()) if weights.size else 0.0
        if share <= 0:
            return now._replace(held=())
        same = bool((weights == weights[0]).all())
        rows = np.stack([row for row, _ in now.held])
        held = Draws(rows, weights=None if same else weights)
        matrix = Similarity.from_draws(held).to_dense(n_jobs=self._n_jobs)
        for part in blocks(matrix.shape[0], 256):  # no third matrix
            matrix[part] *= share
            if now.matrix is not None:
                matrix[part] += now.matrix[part]
        return now._replace(matrix=matrix, total=now.total + share, held=())

    def similarity(self) -> Similarity:
        """Return the similarity of the draws so far; more may follow."""
        self._now = self._added(self._now)
        if self._now.matrix is None:
            raise InvalidValueError(
                "`builder` must be given at least one draw of positive weight; got none."
            )
        matrix = self._now.matrix / self._now.total
        np.fill_diagonal(matrix, 1.0)
        return Similarity._of_dense(matrix, None, None)
