"""The greedy search on a similarity of many items that is no matrix and has no whole draws.

Such are runs that leave items out. The search is made on a sample of the items, whose similarity
is a matrix, and every other item goes to the cluster of the sample that it is most similar to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.evidence import Evidence
from partita.parallel import Stop, blocks, map_blocks
from partita.search._common import Candidate
from partita.search._problem import Watch
from partita.similarity import Similarity, landmark_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.losses import RatioLoss
    from partita.search.greedy import Greedy

_SAMPLE = 2_000  # items that are searched: a matrix of 32 MB
_ROWS = 512  # items that are put into clusters together


def is_implicit(evidence: Evidence) -> bool:
    """Whether there is a similarity alone, of more items than a matrix is made for."""
    return not (
        evidence.has_draws or evidence.has_few_items or evidence.has_dense or evidence.is_on_device
    )


def search(
    how: Greedy, given: list[Any], loss: RatioLoss, evidence: Evidence, rng: np.random.Generator,
    n_jobs: int, watch: Watch,
) -> Iterator[Candidate]:  # fmt: skip
    """Yield labels that are given, and what is found on a sample, brought to all items."""
    for labels in given:
        yield Candidate(how.fitted(labels))
    similarity = evidence.similarity
    items = landmark_items(evidence.n_items, _SAMPLE, validate.seed(rng))
    few = Evidence(similarity=Similarity(similarity.block(items, items)), n_jobs=n_jobs)
    half = Watch(Stop(watch.clock.left()), watch.label)
    for best in how.found(few, loss, [], rng, n_jobs, half):
        labels = _extended(similarity, items, best.labels, n_jobs)
        yield Candidate(labels, info={"start": "a similarity", "landmarks": items.size})
    watch.is_late |= half.is_late
    watch.interrupt = half.interrupt


def _extended(
    similarity: Similarity, items: NDArray[np.intp], labels: Any, n_jobs: int
) -> NDArray[np.int64]:
    """Each item in the cluster of the sample that it is most similar to on average."""
    means = np.eye(int(labels.max()) + 1)[labels] / np.bincount(labels)

    def nearest(part: slice) -> NDArray[np.int64]:
        return np.asarray((similarity.block(part, items) @ means).argmax(axis=1), dtype=np.int64)

    parts = blocks(similarity.n_items, _ROWS)
    out = np.concatenate(list(map_blocks(nearest, parts, n_jobs=n_jobs, label="extending")))
    out[items] = labels
    return out
