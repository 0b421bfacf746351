"""Searches over items too many to hold: on landmarks first, then on all.

The search that would have been made is made on a sample of the items, whose draws are small. What
it finds is extended to all items, each put where the loss of the sample with it is least, and then
every item is moved on, in rounds (`_streamed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import map_items
from partita.draws import counts_in, offsets_of, scattered
from partita.evidence import Evidence
from partita.losses import PEAR, VI, Binder, RatioLoss, VILowerBound
from partita.partitions import canonical
from partita.search._streamed import Rows, moves
from partita.similarity import Landmarks, landmarks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import IntArray

N_LANDMARKS = 3_000


@dataclass(frozen=True, eq=False)
class Sample:
    """Landmarks of the draws of an estimate, as evidence of their own."""

    draws: Draws
    landmarks: Landmarks
    evidence: Evidence


def sample(evidence: Evidence, seed: int) -> Sample:
    """Take a sample of the items of large evidence; all, where draws are many but items few."""
    draws = evidence.distinct
    every = evidence.has_few_items and evidence.can_be_held
    size = max(N_LANDMARKS, evidence.n_items) if every else N_LANDMARKS
    some = landmarks(draws, size, seed, n_jobs=evidence.n_jobs)
    return Sample(draws, some, Evidence(draws=some.draws, n_jobs=evidence.n_jobs, held=True))


def stand_in(loss: RatioLoss) -> RatioLoss:
    """The loss on draws that stands for one on the similarity, which rounds cannot score.

    PEAR and the VI lower bound have the mean over draws moved inside; Binder and VI are what they
    approximate or resemble most.
    """
    if loss.needs != "similarity":
        return loss
    return VI() if isinstance(loss, VILowerBound) else Binder() if isinstance(loss, PEAR) else VI()


def extend(found: IntArray, some: Sample, loss: RatioLoss, *, n_jobs: int = 1) -> IntArray:
    """Put every item where the loss of the sample and it is least; the sample stays put."""
    draws, items = some.draws, some.landmarks.items
    labels = canonical(found)
    k = int(labels.max()) + 1
    offsets = offsets_of(draws)
    counts = counts_in(np.ascontiguousarray(some.landmarks.labels), offsets, labels, k)
    rows = Rows(draws, loss, counts.sum(axis=1))
    shared = rows.scoring(counts, k, allocate=True)
    nowhere = np.full(draws.n_items, shared[2].shape[1] - 1, dtype=np.int32)
    parts = map_items(
        moves, draws.labels, along=(nowhere,), shared=shared, n_jobs=n_jobs, label="extending"
    )
    out = np.concatenate([best for best, _ in parts])
    out[items] = labels
    return out


def extend_by_similarity(found: IntArray, some: Sample, *, n_jobs: int = 1) -> NDArray[np.int64]:
    """Put every item into the cluster of the sample that it is most similar to on average."""
    labels = canonical(found)
    k = int(labels.max()) + 1
    offsets = offsets_of(some.draws)
    counts = counts_in(np.ascontiguousarray(some.landmarks.labels), offsets, labels, k)
    means = counts / np.bincount(labels, minlength=k)
    shared = (offsets, some.draws.probabilities, means)
    parts = map_items(nearest, some.draws.labels, shared=shared, n_jobs=n_jobs, label="extending")
    out = np.concatenate(list(parts))
    out[some.landmarks.items] = labels
    return out


def nearest(
    block: IntArray, items: slice, offsets: Any, weights: Any, means: Any
) -> NDArray[np.int64]:
    """The cluster of the sample that each item of a block is most similar to."""
    return np.asarray(scattered(block, items, offsets, weights, means).argmax(axis=1))
