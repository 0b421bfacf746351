"""What an NMF of items too many for a matrix gives where it is ended before any rank is done."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from partita import losses
from partita.evidence import Evidence
from partita.search._common import Candidate
from partita.search._large import Sample, extend_by_similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partita.draws import Draws
    from partita.losses import Loss
    from partita.nmf import Streamed


def from_landmarks(
    shared: Streamed, draws: Draws, loss: Loss, readings: Sequence[str], n_jobs: int
) -> Candidate:
    """The best partition of the landmarks, extended to all items in one pass.

    An item goes to the cluster of landmarks that it is most similar to.
    """
    marks = replace(shared.landmarks, items=shared.items)
    some = Sample(draws, marks, Evidence(draws=marks.draws, n_jobs=n_jobs, held=True))
    read = [(small, how) for small in shared.small for how in readings]
    partitions = np.stack([small.read(how).labels for small, how in read])
    values = losses.expected(loss, partitions, some.evidence, n_jobs=n_jobs)
    best = int(np.argmin(values))
    small, how = read[best]
    about = {
        "rank": small.rank, "model": small.model, "reading": how, "objective": small.objective,
        "n_iter": small.n_iter, "converged": False, "cut_short": True,
        "approximation": "landmarks", "landmarks": marks.size, "objective_of": "landmarks",
    }  # fmt: skip
    return Candidate(extend_by_similarity(partitions[best], some, n_jobs=n_jobs), info=about)
