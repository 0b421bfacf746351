"""Searches over items too many to hold: on landmarks first, then on all.

The search that would have been made is made on a sample of the items, whose draws are small. What
it finds is extended to all items, each put where the loss of the sample with it is least, and then
every item is moved on, in rounds (`_streamed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import (
    DenseCounts,
    SparseCounts,
    counts_in,
    is_sparse,
    offsets_of,
    scattered,
    sparse_counts_in,
)
from partita.evidence import Evidence
from partita.losses import RatioLoss
from partita.parallel import blocks, map_items
from partita.partitions import canonical
from partita.search._scoring import Rows
from partita.similarity import Landmarks, landmarks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import IntArray

N_LANDMARKS = 3_000
MOST_LANDMARKS = 6_000  # where their matrix is needed
EACH = 20  # landmarks for each cluster of a usual draw, where that is more
_CELLS_AT_ONCE = 1_000_000  # items times clusters that are looked at together
_SCORED = 32  # draws scored against each other to find the one to start from
_CELLS = 300_000_000  # of the tables that a run of the greedy search keeps, six bytes each
_DRAWS = 800  # that it goes over again and again, at most
_THIN, _THINNEST = 1_500, 250  # draws that are kept of more than the tables have room for
_WORK = 1_000_000_000  # items times draws times clusters that it visits in a sweep


@dataclass(frozen=True, eq=False)
class Sample:
    """Landmarks of the draws of an estimate, as evidence of their own."""

    draws: Draws
    landmarks: Landmarks
    evidence: Evidence


def usual_clusters(draws: Draws) -> float:
    """The mean number of clusters of a draw."""
    return float(draws.probabilities @ draws.n_clusters)


def sample(evidence: Evidence, seed: int, most: int | None = None) -> Sample:
    """Take a sample of the items of large evidence; all, where draws are many but items few.

    The sample grows with the number of clusters, to ``most`` items.
    """
    draws = evidence.distinct
    size = max(N_LANDMARKS, int(EACH * usual_clusters(draws)))
    if evidence.has_few_items and evidence.can_be_held:
        size = max(size, evidence.n_items)
    elif most is not None:
        size = min(size, max(most, N_LANDMARKS))
    if size < evidence.n_items:
        validate.fits_in_memory(
            f"A sample of {size:,} items of {draws.n_draws:,} draws",
            2 * size * draws.n_draws * np.dtype(draws.labels.dtype).itemsize,
            "thin the draws.",
        )
    some = landmarks(draws, size, seed, n_jobs=evidence.n_jobs)
    return Sample(draws, some, Evidence(draws=some.draws, n_jobs=evidence.n_jobs, held=True))


def has_many_clusters(draws: Draws, n_items: int) -> bool:
    """Whether clusters are so many that greedy runs would keep or visit too much.

    Their tables have a cell for each cluster of each draw and each cluster of the estimate.
    """
    k = usual_clusters(draws)
    n_cells = 1.25 * k * float(draws.n_clusters.sum())
    return n_cells > _CELLS or n_items * min(draws.n_draws, _DRAWS) * k > _WORK


def searchable(some: Sample) -> Evidence | None:
    """The sample with as many of its draws as greedy runs can do with, None if too few.

    That is all of them, unless there are so many that the runs would keep too much.
    """
    draws, k = some.evidence.distinct, usual_clusters(some.draws)
    if not has_many_clusters(some.draws, some.landmarks.size):
        return some.evidence
    room = 0.9 * _CELLS / (1.25 * k * float(draws.n_clusters.mean()))
    n_draws = min(draws.n_draws, int(room), _THIN)
    if n_draws < min(draws.n_draws, _THINNEST):
        return None
    thin = draws.take(np.linspace(0, draws.n_draws - 1, n_draws).astype(int))
    if has_many_clusters(thin, some.landmarks.size):
        return None
    return Evidence(draws=thin, n_jobs=some.evidence.n_jobs, held=True)


def central_draw(some: Sample, loss: RatioLoss) -> int:
    """The number of the draw, of some, that is nearest to the others on the landmarks."""
    draws = some.landmarks.draws
    edges = np.cumsum(draws.probabilities)
    at = np.searchsorted(edges, (np.arange(_SCORED) + 0.5) / _SCORED * edges[-1])
    at = np.unique(np.minimum(at, draws.n_draws - 1))
    few = draws.take(at)
    far = losses.distances(loss, few.labels, few)
    return int(at[np.argmin(far @ few.probabilities)])


def extend(found: IntArray, some: Sample, loss: RatioLoss, *, n_jobs: int = 1) -> IntArray:
    """Put every item where the loss of the sample and it is least; the sample stays put."""
    draws, items = some.draws, some.landmarks.items
    labels = canonical(found)
    counts = _counted(labels, some)
    scoring = Rows(draws, loss, counts.row_sizes()).allocation(counts)
    parts = map_items(
        scoring.work, draws.labels, shared=scoring.shared, n_jobs=n_jobs, label="extending"
    )
    out = np.concatenate(list(parts))
    out[items] = labels
    return out


def _counted(labels: IntArray, some: Sample) -> DenseCounts | SparseCounts:
    """A partition of the landmarks against every draw."""
    k, offsets = int(labels.max()) + 1, offsets_of(some.draws)
    block = np.ascontiguousarray(some.landmarks.labels)
    if is_sparse(int(offsets[-1]), k):
        return sparse_counts_in(block, some.draws.n_clusters, labels, k)
    return DenseCounts(counts_in(block, offsets, labels, k))


def extend_by_similarity(found: IntArray, some: Sample, *, n_jobs: int = 1) -> NDArray[np.int64]:
    """Put every item into the cluster of the sample that it is most similar to on average."""
    labels = canonical(found)
    counts = _counted(labels, some)
    table = counts.valued(np.arange(some.draws.n_items + 1.0))
    parts = map_items(
        nearest, some.draws.labels, n_jobs=n_jobs, label="extending",
        shared=(offsets_of(some.draws), some.draws.probabilities, table, np.bincount(labels)),
    )  # fmt: skip
    out = np.concatenate(list(parts))
    out[some.landmarks.items] = labels
    return out


def nearest(
    block: IntArray, items: slice, offsets: Any, weights: Any, table: Any, sizes: Any
) -> NDArray[np.int64]:
    """The cluster of the sample that each item of a block is most similar to."""
    parts = blocks(block.shape[1], max(1, _CELLS_AT_ONCE // sizes.size))
    shares = [scattered(block[:, part], part, offsets, weights, table) / sizes for part in parts]
    return np.concatenate([one.argmax(axis=1) for one in shares])
