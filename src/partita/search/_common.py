"""What searches share: the contract and the candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from partita import losses, validate
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition that a search offers.

    Parameters
    ----------
    labels : ndarray of integers, shape (n,)
    memberships : ndarray, shape (n, K), optional
        Column k belongs to the k-th cluster by first appearance in ``labels``.
    expected_loss : float, optional
        If the search knows it already; else :func:`partita.estimate` evaluates it.
    info : mapping
        What is worth telling. A candidate with a ``"rank"`` becomes a step of the estimate's
        path; ``"objective"``, ``"restart_labels"`` and ``"restart_objectives"`` go with it. A
        ``"history"`` of (seconds, loss, share of the draws) becomes part of the estimate's;
        ``"matrix"``, where it had a similarity matrix made, part of what is said of the evidence.
    """

    labels: IntArray
    memberships: FloatArray | None = None
    expected_loss: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Search(Protocol):
    """What a search must be: something that supplies candidates.

    A generator may return, at its end, a sentence that says what a time limit left undone;
    :func:`partita.estimate` then warns with it and sets ``info["cut_short"]``.
    """

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the partitions to score."""


def values_of(
    partitions: IntArray, loss: Loss, evidence: Evidence, *, n_jobs: int
) -> NDArray[np.float64]:
    """Return the expected loss of each partition, of shape (p,); all must be finite."""
    values = losses.expected(loss, partitions, evidence, n_jobs=n_jobs)
    bad = values[~np.isfinite(values)]
    if bad.size:
        raise InvalidValueError(
            f"`loss` must be finite; {losses.name_of(loss)} gave {bad[0]} for a candidate."
        )
    return values


def check_room(name: str, evidence: Evidence, copies: int) -> None:
    """Refuse a search whose matrices of items by items, all at once, memory has no room for."""
    n = evidence.n_items
    there = 1 if evidence.has_dense else 0
    validate.fits_in_memory(
        f"`search` {name!r} makes {copies} matrices of {n:,} items, which",
        8 * n * n * (copies - there),
        "use 'auto', which makes none.",
    )


def at_most(limit: int, labels: IntArray) -> IntArray:
    """The labels, their smallest clusters joined if they are more than ``limit``."""
    sizes = np.bincount(labels)
    if np.count_nonzero(sizes) <= limit:
        return labels
    column = np.full(sizes.size, limit - 1)
    column[np.argsort(-sizes, kind="stable")[:limit]] = np.arange(limit)
    return column[labels]
