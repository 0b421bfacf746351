"""The best partition of all, with proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels, validate
from partita.errors import InvalidValueError
from partita.losses import Binder, RatioLoss, name_of
from partita.partitions import canonical
from partita.search import _cliques
from partita.search._common import Candidate
from partita.search._greedy_clock import Clock
from partita.search._greedy_problem import problem
from partita.search._greedy_run import Run
from partita.search._greedy_similarity import SimilarityProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import Loss

MOST_ITEMS = 12
_STARTS = 8


@dataclass(frozen=True)
class Exact:
    """Find a partition that no other beats.

    Up to 12 items any loss is minimised by visiting every partition, each from the one before.
    Beyond that Binder's loss is minimised by branch and bound on the linear program of
    :func:`partita.certify`, from a greedy start; other losses are refused.

    Parameters
    ----------
    time_limit : float, optional
        Seconds after which the best so far is returned; ``info["is_optimal"]`` of the estimate
        says whether it was proved best.
    max_clusters : int, optional
        At most this many clusters; n if None. Only where every partition is visited.

    Examples
    --------
    >>> import partita as pt
    >>> best = pt.estimate([[0, 0, 1], [0, 1, 1], [0, 0, 1]], loss="vi", search=Exact())
    >>> best.labels, best.info["is_optimal"]
    (array([0, 0, 1]), True)
    """

    time_limit: float | None = None
    max_clusters: int | None = None

    def __post_init__(self) -> None:
        if self.time_limit is not None:
            validate.real("time_limit", self.time_limit, low=0, open_low=True)
        if self.max_clusters is not None:
            validate.integer("max_clusters", self.max_clusters, least=1)

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Iterator[Candidate]:
        """Yield the best partition, or all of them if the loss can only be scored whole."""
        clock = Clock(self.time_limit)
        n = evidence.n_items
        if n > MOST_ITEMS:
            if not isinstance(loss, Binder) or self.max_clusters is not None:
                raise InvalidValueError(
                    f"`search` 'exact' visits every partition of at most {MOST_ITEMS} items and "
                    f"beyond that minimises only Binder's loss, with any number of clusters; got "
                    f"{n} items and {name_of(loss)!r}. Use 'auto'."
                )
            yield from _branch_and_bound(evidence, loss, rng, clock)
        elif isinstance(loss, RatioLoss):
            yield from _visit(evidence, loss, min(self.max_clusters or n, n), clock)
        else:
            for labels in _all(n, min(self.max_clusters or n, n)):
                yield Candidate(labels, info={"is_optimal": True})


def _all(n: int, limit: int) -> Iterator[NDArray[np.int64]]:
    labels, highest = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    yield labels.copy()
    while kernels.exact.next_labels(labels, highest):
        if labels.max() < limit:
            yield labels.copy()


def _visit(evidence: Evidence, loss: RatioLoss, limit: int, clock: Clock) -> Iterator[Candidate]:
    """Visit every partition, from all items together; Ctrl-C is raised after the best so far."""
    shared = problem(loss, evidence, merge=False)
    n = evidence.n_items
    state: Any = shared.state()
    labels, highest = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    state.load(labels)
    best, best_labels = np.array([state.value]), labels.copy()
    tail: tuple[Any, ...] = (best, best_labels)
    compiled: Any = kernels.exact
    if isinstance(shared, SimilarityProblem):
        head: tuple[Any, ...] = (
            shared.matrix, shared.cell, shared.shape, shared.grid, shared.t, shared.num, shared.den,
        )  # fmt: skip
        search, steps = compiled.search_similarity, 20_000
    else:
        counts = np.zeros((int(shared.offsets[-1]), n), dtype=np.uint16)
        kernels.greedy_draws.load(shared.rows, shared.weight, labels, counts)
        sizes = np.bincount(labels, minlength=n)
        head = (
            shared.rows, shared.cell, counts, sizes, state.j, shared.t, shared.p, shared.num,
            shared.den,
        )  # fmt: skip
        search, steps = compiled.search_draws, max(1, 2_000_000 // shared.m)
    more = True
    try:
        while more and not clock.is_up():
            more = search(labels, highest, *head, limit, steps, *tail)
    except KeyboardInterrupt:
        yield Candidate(best_labels, info={"is_optimal": False})
        raise
    yield Candidate(best_labels, info={"is_optimal": not more})


def _branch_and_bound(
    evidence: Evidence, loss: Binder, rng: np.random.Generator, clock: Clock
) -> Iterator[Candidate]:
    """The best partition of every component; Ctrl-C is raised after the best so far."""
    shared = SimilarityProblem(evidence.similarity, loss, n_jobs=evidence.n_jobs)
    run, least, labels = Run(shared.state(), rng, shared.n, clock), np.inf, np.arange(shared.n)
    proved = True
    try:
        for _ in range(_STARTS):
            run.grow()
            run.go(("sweep", "merge", "rebuild", "graft"), 4.0)
            if run.state.value < least:
                least, labels = run.state.value, canonical(run.state.labels)
        d = _cliques.costs(shared.matrix, loss.a)
        for items in _cliques.components(d):
            part = np.ascontiguousarray(d[np.ix_(items, items)])
            own, is_best = _cliques.minimise(part, canonical(labels[items]), clock)
            proved &= is_best
            labels[items] = own + labels.max() + 1
    except KeyboardInterrupt:
        yield Candidate(canonical(labels), info={"is_optimal": False})
        raise
    yield Candidate(canonical(labels), info={"is_optimal": proved})
