"""Hard and soft partitions from H, whose scale is a choice.

WH does not change when column k of W is multiplied by c and row k of H divided by it, but the
largest number in a column of H may. Normalising decides c before anything is read off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.partitions import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

READINGS = ("balance", "columns", "as-is")


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


def read(W: Any, H: Any, normalize: str) -> Reading:
    """Read the hard partition (paper eq. 10) and the memberships (eq. 11) off H.

    Column k of the memberships belongs to label k; factors that win no item come after.
    """
    scaled = normalized(W, H, normalize)
    winners = scaled.argmax(axis=0)
    labels = canonical(winners)
    _, first = np.unique(winners, return_index=True)
    order = winners[np.sort(first)]
    rest = np.setdiff1d(np.arange(scaled.shape[0]), order)
    totals = scaled.sum(axis=0)
    undecided = ~(totals > 0)
    soft = scaled[np.concatenate([order, rest])] / np.where(undecided, 1.0, totals)
    soft[:, undecided] = 1.0 / scaled.shape[0]
    return Reading(labels, np.ascontiguousarray(soft.T), undecided)
