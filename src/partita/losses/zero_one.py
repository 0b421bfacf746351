"""The zero-one loss, whose best answer is the most frequent draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from partita import validate
from partita.parallel import map_items
from partita.partitions import canonical, canonical_rows
from partita.typing import Needs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.typing import IntArray


@dataclass(frozen=True)
class ZeroOne:
    """0 if two partitions are the same, else 1; its minimiser is the MAP partition.

    Where no partition was drawn twice, as is usual with many items, every draw is as good as any
    other under it, and the first is taken.

    Examples
    --------
    >>> ZeroOne()([0, 0, 1], [7, 7, 3])
    0.0
    >>> ZeroOne()([0, 0, 1], [0, 1, 1])
    1.0
    """

    needs: ClassVar[Needs] = "draws"

    def __call__(self, truth: Any, labels: Any) -> float:
        """Return 0.0 for equal partitions, else 1.0."""
        truth = canonical(truth)
        labels = validate.labels("labels", labels, n_items=truth.size)
        return float(not np.array_equal(truth, canonical(labels)))

    def expected(
        self, partitions: IntArray, evidence: Evidence, *, n_jobs: int = 1
    ) -> NDArray[np.float64]:
        """Return one minus the posterior probability of each of the (p, n) partitions."""
        draws = evidence.distinct
        asked = canonical_rows(partitions)
        group = np.zeros(draws.n_draws + asked.shape[0], dtype=np.int64)
        for part in map_items(groups, draws.labels, along=tuple(asked), n_jobs=n_jobs):
            group = np.unique(group * (part.max() + 1) + part, return_inverse=True)[1]
        drawn, wanted = group[: draws.n_draws], group[draws.n_draws :]
        found = np.bincount(drawn, draws.probabilities, minlength=int(group.max()) + 1)
        return np.asarray(1.0 - found[wanted])


def groups(block: IntArray, items: slice, *partitions: IntArray) -> NDArray[np.int64]:
    """Number draws, and partitions after them, so that equal labels on a block share a number."""
    wanted = np.asarray(partitions)
    wide = np.result_type(block.dtype, np.min_scalar_type(int(wanted.max())))
    rows = np.ascontiguousarray(np.vstack([block, wanted]), dtype=wide)
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    return np.unique(as_bytes.ravel(), return_inverse=True)[1].astype(np.int64)
