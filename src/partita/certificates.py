"""Proofs: how far from the least possible loss a partition can be."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita import losses, validate
from partita.draws import Draws
from partita.errors import InvalidTypeError
from partita.evidence import Evidence
from partita.losses import Binder
from partita.partitions import canonical
from partita.search import _cliques
from partita.similarity import Similarity

_EQUAL = 1e-9


@dataclass(frozen=True)
class Certificate:
    """What is known about the least expected loss.

    Parameters
    ----------
    expected_loss : float
        Of the partition that was given.
    lower_bound : float
        No partition has less.
    method : {"threshold", "triangles", "linear program"}
        What it took: the first where joining the pairs with π̂ above 1 - a/2 is a partition
        already; the second where triangles packed around the partition are enough.
    """

    expected_loss: float
    lower_bound: float
    method: str

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
        """Whether the partition is proved to be the best."""
        return self.gap <= _EQUAL * max(1.0, self.expected_loss)

    def __repr__(self) -> str:
        verdict = "optimal" if self.is_optimal else f"within {100 * self.relative_gap:.2g}%"
        return f"Certificate({verdict}, loss {self.expected_loss:.6g} ≥ {self.lower_bound:.6g})"


def certify(
    labels: Any, similarity: Any, *, loss: Any = "binder", time_limit: float | None = None
) -> Certificate:
    """Bound from below the expected Binder loss of every partition, and so the gap of this one.

    Binder's loss is a clique-partitioning problem. The bound is that of the linear program over
    pairs in which violated triangle inequalities are added until none is left, recomputed from its
    multipliers. Where the pairs with π̂ above 1 - a/2 form a partition, that is the optimum.

    Parameters
    ----------
    labels : array-like of shape (n,), or Estimate
        The partition to judge.
    similarity : Similarity, Draws or array-like of shape (n, n)
        A bare array is taken as the matrix π̂.
    loss : "binder" or Binder
    time_limit : float, optional
        Seconds after which the bound reached so far is returned.

    Returns
    -------
    Certificate

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
    chosen = losses.resolve(loss)
    if not isinstance(chosen, Binder):
        raise InvalidTypeError(
            "`loss` must be Binder's, the one loss that a linear program bounds; got "
            f"{losses.name_of(chosen)!r}."
        )
    if time_limit is not None:
        validate.real("time_limit", time_limit, low=0, open_low=True)
    evidence = _evidence(similarity)
    n = evidence.n_items
    labels = getattr(labels, "labels", labels)
    partition = canonical(validate.labels("labels", labels, n_items=n))
    matrix = evidence.similarity.to_dense()
    d = _cliques.costs(np.asarray(matrix, dtype=np.float64), chosen.a)
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    apart = chosen.a * float(matrix.sum() - n) / n**2
    cost = _cliques.joined(partition, d)
    bound, method = _cliques.lower_bound(d, partition, deadline, _EQUAL * n * n / 8)
    return Certificate(
        expected_loss=apart + 4 * cost / n**2,
        lower_bound=apart + 4 * bound / n**2,
        method=method,
    )


def _evidence(similarity: Any) -> Evidence:
    if isinstance(similarity, Draws):
        return Evidence(draws=similarity)
    if isinstance(similarity, Similarity):
        return Evidence(similarity=similarity)
    return Evidence(similarity=Similarity(similarity))
