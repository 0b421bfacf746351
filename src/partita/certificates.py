"""Proofs: how far from the least possible loss a partition can be."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import Draws
from partita.errors import InvalidTypeError, PartitaWarning
from partita.evidence import Evidence
from partita.io import Shown
from partita.losses import Binder
from partita.partitions import canonical
from partita.search import _cliques
from partita.search._polish import descended
from partita.similarity import Similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EQUAL = 1e-9
_LATE = (
    "`time_limit` was too short for the proof to end; the bound is the best so far. Allow more "
    "seconds."
)
_INTERRUPTED = "Interrupted: the bound is the best so far."


@dataclass(frozen=True)
class Certificate(Shown):
    """What is known about the least expected loss.

    Parameters
    ----------
    expected_loss : float
        Of the partition that was given.
    lower_bound : float
        No partition has less.
    method : {"threshold", "triangles", "linear program"}
        What it took: the first where joining the pairs with π̂ above 1 - a/2 is a partition
        already; the second where multipliers of triangles, improved one by one, are enough.
    cut_short : bool
        Whether a time limit, or Ctrl-C, ended it: the bound could be higher.
    """

    expected_loss: float
    lower_bound: float
    method: str
    cut_short: bool = False

    @property
    def gap(self) -> float:
        """How much less a better partition could cost, at most."""
        return max(0.0, self.expected_loss - self.lower_bound)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the expected loss."""
        return self.gap / self.expected_loss if self.expected_loss > 0 else 0.0

    @property
    def is_optimal(self) -> bool:
        """Whether the partition is proved to be the best.

        That is to 1e-9 of its expected loss, or 1e-9 where that is below one.
        """
        return self.gap <= _EQUAL * max(1.0, self.expected_loss)

    def __repr__(self) -> str:
        gap = 100 * self.relative_gap
        verdict = "optimal" if self.is_optimal else f"within {gap:.{2 if gap < 99.5 else 3}g}%"
        return f"Certificate({verdict}, Binder {self.expected_loss:.6g} ≥ {self.lower_bound:.6g})"


def certify(
    labels: Any, similarity: Any, *, loss: Any = "binder", time_limit: float | None = None
) -> Certificate:
    """Bound from below the expected Binder loss of every partition, and so the gap of this one.

    Binder's loss is a clique-partitioning problem: a program over pairs with triangle inequalities,
    any multipliers of which give a bound. Where the pairs with π̂ above 1 - a/2 form a partition,
    that is the optimum. Otherwise the pairs that ``labels``, after some sweeps, gets wrong are
    charged to triangles, whose multipliers are improved one by one until nothing is wrong or no
    more is gained. If a gap is left and no more than 60,000 triangles matter, the linear program
    is solved with these, and violated triangles and stars (2-partition inequalities of one item
    against some) are added until there are none or it hardly helps (this needs highspy; without it
    there is a warning). The bound is recomputed from the multipliers, less what rounding could add
    to it. What is then left, ``search.Exact`` goes on with.

    Parameters
    ----------
    labels : array-like of shape (n,), or Estimate
        The partition to judge.
    similarity : Similarity, Draws or array-like of shape (n, n)
        A bare array is taken as the matrix π̂.
    loss : "binder" or Binder
        ``Binder(a=1.2)`` for another cost of splitting a true pair.
    time_limit : float, optional
        Seconds after which the bound reached so far is returned. Give one for a matrix without
        structure: a random one of 50 items takes minutes.

    Returns
    -------
    Certificate

    Warns
    -----
    PartitaWarning
        If the time limit, or Ctrl-C, left a gap that more seconds might close; ``cut_short`` is
        then True.

    References
    ----------
    Grötschel & Wakabayashi (1989), A cutting plane algorithm for a clustering problem,
    Mathematical Programming 45.

    Examples
    --------
    >>> P = [[1.0, 0.9, 0.2], [0.9, 1.0, 0.3], [0.2, 0.3, 1.0]]
    >>> certify([0, 0, 1], P).is_optimal
    True
    >>> proof = certify([0, 1, 2], P)
    >>> proof.is_optimal, round(proof.gap, 6)
    (False, 0.177778)
    """
    chosen = binder_of(loss)
    if time_limit is not None:
        validate.real("time_limit", time_limit, low=0, open_low=True)
    evidence = _evidence(similarity)
    n = evidence.n_items
    labels = getattr(labels, "labels", labels)
    partition = canonical(validate.labels("labels", labels, n_items=n))
    matrix = np.asarray(evidence.similarity.to_dense(), dtype=np.float64)
    d = _cliques.costs(matrix, chosen.weight)
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    centre = _settled(partition, evidence, chosen, time_limit)
    bound = _cliques.lower_bound(d, centre, deadline, _EQUAL * n * n / 8)
    value, low = _cliques.as_losses(
        matrix, d, chosen.weight, _cliques.joined(partition, d), bound.value
    )
    found = Certificate(expected_loss=value, lower_bound=low, method=bound.method)
    if found.is_optimal or not (bound.is_late or bound.was_interrupted):
        return found
    warnings.warn(_INTERRUPTED if bound.was_interrupted else _LATE, PartitaWarning, stacklevel=2)
    return replace(found, cut_short=True)


def binder_of(loss: Any) -> Binder:
    """Return Binder's loss, or say that there is no bound of another."""
    chosen = losses.resolve(loss)
    if not isinstance(chosen, Binder):
        raise InvalidTypeError(
            "`loss` must be Binder's, the one loss that a linear program bounds; got "
            f"{losses.name_of(chosen)!r}."
        )
    return chosen


def _settled(
    partition: NDArray[np.int64], evidence: Evidence, loss: Binder, time_limit: float | None
) -> NDArray[np.int64]:
    """The partition after sweeps and merges: bounds are best found around a good one."""
    rng = np.random.default_rng(0)
    return descended(partition, evidence, loss, rng=rng, time_limit=time_limit)


def _evidence(similarity: Any) -> Evidence:
    if isinstance(similarity, Draws):
        return Evidence(draws=similarity)
    if isinstance(similarity, Similarity):
        return Evidence(similarity=similarity)
    return Evidence(similarity=Similarity(similarity))
