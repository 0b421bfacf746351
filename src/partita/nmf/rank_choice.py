"""Other ways to choose K, as the paper lists them: functions over an estimate's ``path``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def cophenetic_correlation(path: Sequence[Any]) -> dict[int, float]:
    """Return, for each rank, how well the restarts agree on a hierarchy (Brunet and others 2004).

    The consensus C_ij is the share of restarts with items i and j together. The index is the
    correlation between 1 - C and the cophenetic distances of its average-linkage dendrogram: 1
    when every restart gives the same partition. Brunet et al. choose the rank after which it
    begins to fall.

    Parameters
    ----------
    path : sequence of steps
        ``Estimate.path`` of an NMF search, or fits: anything with ``rank`` and ``restart_labels``.

    Returns
    -------
    dict
        Rank to correlation.

    References
    ----------
    Brunet, Tamayo, Golub & Mesirov (2004), Metagenes and molecular pattern discovery using matrix
    factorization, PNAS 101.

    Examples
    --------
    >>> from types import SimpleNamespace as Step
    >>> agree = Step(rank=2, restart_labels=[[0, 0, 1, 1], [0, 0, 1, 1]])
    >>> differ = Step(rank=3, restart_labels=[[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]])
    >>> {k: round(c, 3) for k, c in cophenetic_correlation([agree, differ]).items()}
    {2: 1.0, 3: 0.707}
    """
    found = {}
    for step in path:
        if step.restart_labels is None:
            raise InvalidValueError(
                "`path` must carry the labels of every restart; got a step without them. It is "
                "NMF searches that record them."
            )
        found[int(step.rank)] = _cophenetic(np.asarray(step.restart_labels))
    return found


def _cophenetic(labels: NDArray[np.integer[Any]]) -> float:
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.spatial.distance import pdist

    distance = pdist(labels.T, metric="hamming")
    if distance.size == 0 or np.ptp(distance) == 0:
        return 1.0
    along = cophenet(linkage(distance, method="average"))
    if np.ptp(along) == 0:
        return 0.0
    return float(np.corrcoef(distance, along)[0, 1])


def rank_before_fall(path: Sequence[Any], tolerance: float = 1e-3) -> int:
    """Return the largest rank up to which the cophenetic correlation has not begun to fall.

    Parameters
    ----------
    path : sequence of steps
    tolerance : float
        A fall of no more than this is none.

    Examples
    --------
    >>> from types import SimpleNamespace as Step
    >>> steps = [Step(rank=2, restart_labels=[[0, 0, 1, 1], [0, 0, 1, 1]]),
    ...          Step(rank=3, restart_labels=[[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]])]
    >>> rank_before_fall(steps)
    2
    """
    found = sorted(cophenetic_correlation(path).items())
    if not found:
        raise InvalidValueError("`path` must have at least one step; got none.")
    best, top = found[0]
    for rank, value in found[1:]:
        if value < top - tolerance:
            break
        best, top = rank, max(top, value)
    return best


def inflection_rank(path: Sequence[Any]) -> int:
    """Return the rank at which the objective bends most (Hutchins and others 2008).

    The objective falls with the rank, steeply while factors find structure and then slowly. The
    bend is where the second difference of its logarithm is largest, for unequal steps of rank by
    the slopes on either side. The first and the last rank have no bend and cannot be chosen.

    Parameters
    ----------
    path : sequence of steps
        At least three, with ``rank`` and ``objective``.

    References
    ----------
    Hutchins, Murphy, Singh & Graber (2008), Position-dependent motif characterization using
    non-negative matrix factorization, Bioinformatics 24.

    Examples
    --------
    >>> from types import SimpleNamespace as Step
    >>> inflection_rank([Step(rank=k, objective=f) for k, f in
    ...                  [(2, 100.0), (3, 60.0), (4, 3.0), (5, 2.8), (6, 2.7)]])
    4
    """
    steps = sorted(path, key=lambda step: int(step.rank))
    if len(steps) < 3 or any(step.objective is None for step in steps):
        raise InvalidValueError(
            f"`path` must have at least three ranks with an objective each; got {len(steps)}."
        )
    ranks = np.array([step.rank for step in steps], dtype=np.float64)
    values = np.array([step.objective for step in steps], dtype=np.float64)
    floor = max(float(values.max()) * 1e-12, np.finfo(np.float64).tiny)
    slopes = np.diff(np.log(np.maximum(values, floor))) / np.diff(ranks)
    return int(ranks[1:-1][np.argmax(np.diff(slopes))])
