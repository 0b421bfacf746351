"""Match the components of a mixture with the reported clusters by their responsibilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita.draws import Overlap, Reported
from partita.parallel import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.parameters.marginalized import MarginalizedMixture

_MAX_ROUNDS = 100  # of Stephens' algorithm, which ends after some five
_HALF_AN_ITEM = 0.5  # a component expected to hold less of a cluster does not stand for it
_CELLS = 1 << 22  # responsibilities looked at together


def overlap_of_mixture(reported: Reported, mixture: MarginalizedMixture) -> Overlap:
    """Expected numbers in place of counts; matched by Stephens' algorithm.

    The rows of a draw are its components in the order of ``mixture.order``.

    References
    ----------
    Stephens (2000), Dealing with label switching in mixture models, J. R. Statist. Soc. B 62,
    algorithm 2, started from the reported partition.
    """
    m, k = mixture.n_draws, mixture.n_components
    n_reported = reported.names.size
    counts = np.zeros((m * k, n_reported + 1))
    member = np.eye(n_reported + 1)[reported.labels]
    for part in _blocks_of(mixture):
        found = mixture.ordered_responsibilities(part).transpose(0, 2, 1) @ member
        counts[part.start * k : part.stop * k] = found.reshape(-1, n_reported + 1)
    matched = _stephens(reported, mixture)
    rows = np.arange(counts.shape[0])
    kept = matched < n_reported
    kept[kept] = counts[rows[kept], matched[kept]] >= _HALF_AN_ITEM
    offsets = k * np.arange(m + 1)
    return Overlap(
        counts[:, :n_reported],
        counts.sum(axis=1),
        offsets,
        reported,
        np.where(kept, matched, -1),
    )


def _stephens(reported: Reported, mixture: MarginalizedMixture) -> NDArray[np.int64]:
    """The column of each component of each draw; those beyond the reported ones stand for none."""
    from scipy.optimize import linear_sum_assignment

    m, k = mixture.n_draws, mixture.n_components
    smooth = 0.5 / m  # half a draw keeps log q finite
    width = max(k, reported.names.size)
    q = np.zeros((mixture.n_items, width))
    kept = np.flatnonzero(reported.labels < reported.names.size)
    q[kept, reported.labels[kept]] = 1.0
    matched = np.full((m, k), -1)
    for _ in range(_MAX_ROUNDS):
        q = (q + smooth) / (1 + width * smooth)
        found, logs = np.empty_like(matched), np.log(q)
        total = np.zeros_like(q)
        for part in _blocks_of(mixture):
            shares = mixture.ordered_responsibilities(part)
            for one, at in zip(shares, range(part.start, part.stop), strict=True):
                rows, columns = linear_sum_assignment(one.T @ logs, maximize=True)
                found[at, rows] = columns
                total[:, columns] += one[:, rows]
        if np.array_equal(found, matched):
            break
        matched, q = found, total / m
    return matched.ravel()


def _blocks_of(mixture: MarginalizedMixture) -> list[slice]:
    return blocks(mixture.n_draws, max(1, _CELLS // (mixture.n_items * mixture.n_components)))
