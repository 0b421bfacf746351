"""The best partition of all, with proof."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.errors import InvalidValueError
from partita.evidence import Evidence
from partita.losses import Binder, RatioLoss, name_of
from partita.parallel import Stop
from partita.partitions import canonical, enumerate_partitions, extended
from partita.search import _cliques
from partita.search._common import Candidate, values_of
from partita.search._hierarchy import dendrogram
from partita.search.greedy import Greedy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.losses import Loss

MOST_ITEMS = 12
_FIRST = 0.1  # effort of the greedy search from whose answer a proof is tried first
_LEAST = 1e-9  # seconds, of a search for which no time is left
_QUICK = 8  # items of which all partitions are visited before anybody ends it
_SLICE = 0.01  # seconds that partitions are scored together for, about
_BATCH = 4_096  # of which there are so many, at most
_DRAWS = 1_000  # that are looked at first, at most
_LATE = (
    "`time_limit` was too short to prove that no partition is better; this is the best one that "
    "was found. Allow more seconds."
)


@dataclass(frozen=True)
class Exact:
    """Find a partition that no other beats.

    Up to 12 items any loss is minimised by visiting every partition, each from the one before.
    Beyond that Binder's loss is minimised by branch and bound on the linear program of
    :func:`partita.certify`, from what ``auto`` finds if a proof fails at first (where that needs
    highspy and it is absent, the best found comes with its bound and a warning); other losses are
    refused.

    Parameters
    ----------
    time_limit : float, optional
        Seconds after which the best so far is returned, with a warning; ``info["is_optimal"]`` of
        the estimate says whether it was proved best, to 1e-9; ``info["lower_bound"]`` and
        ``info["gap"]``, for Binder's loss beyond 12 items, how much better another could be. What
        ``auto`` does comes before the long work, so that with time enough for it nothing worse is
        returned.
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
    ) -> Generator[Candidate, None, str | None]:
        """Yield the best partition; after Ctrl-C, the best so far. Return whether time ran out."""
        clock = Stop(self.time_limit)
        n = evidence.n_items
        is_large = n > MOST_ITEMS
        if is_large and isinstance(loss, Binder) and self.max_clusters is not None:
            raise InvalidValueError(
                f"`search` 'exact' keeps to `max_clusters` only where it visits every partition, "
                f"of at most {MOST_ITEMS} items; got {n}. Leave `max_clusters` out, or use "
                f"search.Greedy(max_clusters={self.max_clusters})."
            )
        if is_large and not isinstance(loss, Binder):
            raise InvalidValueError(
                f"`search` 'exact' visits every partition of at most {MOST_ITEMS} items and "
                f"beyond that minimises only Binder's loss; got {n} items and {name_of(loss)!r}. "
                "Use 'auto'."
            )
        limit, proved = min(self.max_clusters or n, n), True
        if is_large:
            offered = _branch_and_bound(evidence, loss, rng, n_jobs, clock)
        elif isinstance(loss, RatioLoss):
            known: Iterable[Candidate] = ()
            if n > _QUICK or self.time_limit is not None:
                first = Greedy(max_clusters=self.max_clusters, time_limit=_left(clock))
                known = first.candidates(evidence, loss, rng=rng, n_jobs=n_jobs)
            offered = _visit(evidence, loss, limit, clock, known)
        else:
            offered = _score_all(evidence, loss, limit, n_jobs, clock)
        for one in offered:
            proved = bool(one.info["is_optimal"])
            yield one
        return _LATE if clock.has_ended_work and not proved else None


def _left(clock: Stop, share: float = 1.0) -> float | None:
    """The seconds that a search may take."""
    left = clock.left()
    return None if left is None else max(share * left, _LEAST)


def _all(n: int, limit: int) -> Iterator[NDArray[np.int64]]:
    """Every partition into at most so many clusters, in lexicographic order."""
    first = min(n, _QUICK)
    for head in enumerate_partitions(first):
        rows = extended(head[None], n - first)
        yield from rows[rows.max(axis=1) < limit]


def _likely(evidence: Evidence, limit: int) -> Iterator[NDArray[np.int64]]:
    """The partitions to look at first: cuts of a dendrogram, and draws."""
    tree = dendrogram(evidence, "average")
    for k in range(1, limit + 1):
        yield canonical(tree.cut(k))
    for row in evidence.distinct.labels[:_DRAWS] if evidence.has_draws else ():
        labels = canonical(row)
        if labels.max() < limit:
            yield labels


def _score_all(
    evidence: Evidence, loss: Loss, limit: int, n_jobs: int, clock: Stop
) -> Iterator[Candidate]:
    """Score every partition, some at a time, under a loss that can only be taken whole.

    Ctrl-C is raised after the best so far, if there is any.
    """
    n, best, least, size = evidence.n_items, None, np.inf, 1
    every = chain(_likely(evidence, limit), _all(n, limit))
    is_all = False
    try:
        while not is_all and not (best is not None and clock.is_late()):
            some = list(islice(every, size))
            is_all = len(some) < size
            began = time.monotonic()
            if some:
                values = values_of(np.stack(some), loss, evidence, n_jobs=n_jobs)
                if values.min() < least:
                    least, best = float(values.min()), some[int(np.argmin(values))]
            is_quick = time.monotonic() - began < _SLICE
            size = min(_BATCH, 2 * size) if is_quick else max(1, size // 2)
    except KeyboardInterrupt:
        if best is not None:
            yield Candidate(best, expected_loss=least, info={"is_optimal": False})
        raise
    assert best is not None
    yield Candidate(best, expected_loss=least, info={"is_optimal": is_all})


def _visit(
    evidence: Evidence, loss: RatioLoss, limit: int, clock: Stop, known: Iterable[Candidate]
) -> Iterator[Candidate]:
    """Visit every partition; ``known`` ones, and all items together, are to be beaten.

    Ctrl-C is raised after the best so far.
    """
    best, least = np.zeros(evidence.n_items, dtype=np.int64), np.inf
    is_all = False
    try:
        for labels in chain([best.copy()], (canonical(one.labels) for one in known)):
            value = float(values_of(labels[None], loss, evidence, n_jobs=1)[0])
            if value < least:
                least, best[:] = value, labels
        is_all = _visit_all(evidence, loss, limit, best, clock)
    except KeyboardInterrupt:
        yield Candidate(best, info={"is_optimal": False})
        raise
    if not is_all:
        clock.is_late()  # it notes that there was more to do
    yield Candidate(best, info={"is_optimal": is_all})


def _visit_all(
    evidence: Evidence, loss: RatioLoss, limit: int, best: NDArray[np.int64], stop: _core.Stop
) -> bool:
    """Let ``best`` be a partition of the least expected loss; False if the time was too short."""
    how = (loss.tables(evidence.n_items), limit, best, stop)
    if loss.needs == "draws":
        draws = evidence.distinct
        labels = np.ascontiguousarray(draws.labels, dtype=np.uint32)
        return _core.visit_draws(labels, draws.probabilities, *how)
    similarity = evidence.similarity
    matrix = np.asarray(similarity.to_dense(n_jobs=evidence.n_jobs), dtype=np.float64)
    t = float((loss.cell(similarity.row_sums) / similarity.row_sums).sum())
    return _core.visit_clusters(_of_clusters(matrix, loss), t, *how)


def _of_clusters(matrix: NDArray[np.float64], loss: RatioLoss) -> NDArray[np.float64]:
    """What the cluster of some items, bits of the index, adds to j: Σ cell(x)/x over them.

    With x_i = Σ π̂_ij over the cluster.
    """
    items = np.arange(len(matrix))
    inside = (np.arange(1 << items.size)[:, None] >> items & 1).astype(np.float64)
    x = np.where(inside > 0, inside @ matrix, 1.0)
    return np.asarray((inside * loss.cell(x) / x).sum(axis=1), dtype=np.float64)


def _branch_and_bound(
    evidence: Evidence, loss: Any, rng: np.random.Generator, n_jobs: int, clock: Stop
) -> Iterator[Candidate]:
    """The best partition of every component; Ctrl-C is raised after the best so far.

    A proof is tried at once, in a quarter of the time; only where that fails comes what ``auto``
    does, and then branching.
    """
    labels = np.full(evidence.n_items, -1)
    bounds: dict[int, float] = {}
    try:
        matrix = np.asarray(evidence.similarity.to_dense(n_jobs=evidence.n_jobs), dtype=np.float64)
        d = _cliques.costs(matrix, loss.weight)
        known = partial(_known, matrix, d, loss.weight, labels, bounds)
        held = Evidence(similarity=evidence.similarity, n_jobs=n_jobs)
        quarter = Stop(_left(clock, 0.25))
        first = Greedy(effort=_FIRST, time_limit=_left(quarter))
        for one in first.candidates(held, loss, rng=np.random.default_rng(0), n_jobs=n_jobs):
            labels[:] = canonical(one.labels)
        proved = _each_component(d, labels, quarter, bounds, branches=False)
        if not proved:
            usual = Greedy(time_limit=_left(clock))
            for one in usual.candidates(held, loss, rng=rng, n_jobs=n_jobs):
                found = canonical(one.labels)
                if _cliques.joined(found, d) < _cliques.joined(labels, d):
                    labels[:] = found
            proved = _each_component(d, labels, clock, bounds)
        if not proved and not clock.is_late():
            _cliques.can_program("The partition could be proved optimal, or a better one found.")
    except KeyboardInterrupt:
        if labels[0] >= 0:
            yield Candidate(canonical(labels), info=known(proved=False))
        raise
    yield Candidate(canonical(labels), info=known(proved=proved))


def _known(
    similarity: NDArray[np.float64], d: NDArray[np.float64], a: float, labels: NDArray[np.int64],
    bounds: dict[int, float], *, proved: bool,
) -> dict[str, Any]:  # fmt: skip
    """What is proved: whether the partition is optimal, and how much better another could be.

    A component without a bound could have every pair that gains from it together and no other.
    """
    low, cost = 0.0, _cliques.joined(canonical(labels), d)
    for i, items in enumerate(_cliques.components(d)):
        low += bounds[i] if i in bounds else float(np.minimum(d[np.ix_(items, items)], 0).sum()) / 2
    value, least = _cliques.as_losses(similarity, d, a, cost, min(low, cost))
    least = value if proved else least
    return {"is_optimal": proved, "lower_bound": least, "gap": value - least}


def _each_component(
    d: NDArray[np.float64], labels: NDArray[np.int64], clock: Stop, bounds: dict[int, float],
    *, branches: bool = True,
) -> bool:  # fmt: skip
    """Make every component's labels the best that time allows; return whether all are proved.

    What is proved of each is kept in ``bounds``.
    """
    proved = True
    for i, items in enumerate(_cliques.components(d)):
        if clock.is_late():
            return False
        part = np.ascontiguousarray(d[np.ix_(items, items)])
        own, is_best, low = _cliques.minimise(
            part, canonical(labels[items]), clock, branches=branches
        )
        proved &= is_best
        bounds[i] = max(bounds.get(i, -np.inf), low)
        labels[items] = own + labels.max() + 1
    return proved
