"""Hard and soft partitions from H, whose scale is a choice, and how far restarts agree on them.

WH does not change when column k of W is multiplied by c and row k of H divided by it, but the
largest number in a column of H may. Normalising decides c before labels are read off. Memberships
are always read with balanced factors, which is the best calibrated of the readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.devices import to_host
from partita.partitions import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf.model import Factors

READINGS = ("balance", "columns", "as-is")
OPEN = 0.1  # spread of a membership from which on users are told
FEW = 3  # restarts that tie, for their spread to say anything


@dataclass(frozen=True, eq=False)
class Reading:
    """Labels, memberships, and which items had nothing to be read (their memberships are flat)."""

    labels: NDArray[np.int64]
    memberships: NDArray[np.float64]
    undecided: NDArray[np.bool_]


def normalized(W: Any, H: Any, normalize: str) -> NDArray[np.float64]:
    """H with each row scaled as ``normalize`` says.

    Parameters
    ----------
    W : ndarray, shape (n, K)
    H : ndarray, shape (K, n)
    normalize : {"balance", "columns", "as-is"}
        Equal norms for column k of W and row k of H; sums of 1 for W's columns; or nothing.
    """
    if normalize == "as-is":
        return np.asarray(H, dtype=np.float64)
    if normalize == "columns":
        return np.asarray(H * W.sum(axis=0)[:, None])
    w, h = np.linalg.norm(W, axis=0), np.linalg.norm(H, axis=1)
    alive = (w > 0) & (h > 0)
    ratio = np.where(alive, w, 0.0) / np.where(alive, h, 1.0)
    return np.asarray(H * np.sqrt(ratio)[:, None])


def shares(factors: Factors) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Columns of balanced H over their sums, (K, n), and which were all zero (equation 21)."""
    scaled = normalized(to_host(factors.W), to_host(factors.H), "balance")
    totals = scaled.sum(axis=0)
    undecided = ~(totals > 0)
    soft = scaled / np.where(undecided, 1.0, totals)
    soft[:, undecided] = 1.0 / scaled.shape[0]
    return soft, undecided


def read(factors: Factors, normalize: str) -> Reading:
    """Read the hard partition off H as ``normalize`` says (paper equation 20), and the memberships.

    Column k of the memberships belongs to label k; factors that win no item come after.
    """
    soft, undecided = shares(factors)
    winners = normalized(to_host(factors.W), to_host(factors.H), normalize).argmax(axis=0)
    _, first = np.unique(winners, return_index=True)
    order = winners[np.sort(first)]
    order = np.concatenate([order, np.setdiff1d(np.arange(soft.shape[0]), order)])
    return Reading(canonical(winners), np.ascontiguousarray(soft[order].T), undecided)


def entropy(factors: Factors) -> float:
    """Of the memberships of all items, in nats."""
    soft, _ = shares(factors)
    return float(-(soft * np.log(np.maximum(soft, 1e-300))).sum())


def spread(restarts: Sequence[Factors], tied: NDArray[np.intp], kept: int) -> NDArray[np.float64]:
    """The largest range of a membership over tied restarts, for each item; NaN if they are few.

    The factors of each are matched to those of the restart that is kept.
    """
    if tied.size < FEW:
        return np.full(restarts[kept].H.shape[-1], np.nan)
    from scipy.optimize import linear_sum_assignment

    reference, _ = shares(restarts[kept])
    least, most = reference.copy(), reference.copy()
    for number in tied:
        soft, _ = shares(restarts[number])
        _, order = linear_sum_assignment(-reference @ soft.T)
        least, most = np.minimum(least, soft[order]), np.maximum(most, soft[order])
    return np.asarray((most - least).max(axis=0))
