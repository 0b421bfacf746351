"""What searches share: the contract and the candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from partita import validate

if TYPE_CHECKING:
    import numpy as np

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
    """What a search must be: something that supplies candidates."""

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the partitions to score."""


def check_room(name: str, evidence: Evidence, copies: int) -> None:
    """Refuse a search whose matrices of items by items, all at once, memory has no room for."""
    n = evidence.n_items
    there = 1 if evidence.has_dense else 0
    validate.fits_in_memory(
        f"`search` {name!r} makes {copies} matrices of {n:,} items, which",
        8 * n * n * (copies - there),
        "use 'auto', which makes none.",
    )
