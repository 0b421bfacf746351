"""Where greedy runs start: each kind of start is a function from evidence to partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import losses
from partita.distributed import under
from partita.losses import PEAR, VI, Binder, RatioLoss, VILowerBound
from partita.nmf import factorize
from partita.partitions import canonical
from partita.search._greedy_clock import Clock
from partita.search._greedy_problem import resampled
from partita.search._greedy_runs import QUICK, Runs
from partita.search._greedy_similarity import SimilarityProblem
from partita.search._hierarchy import dendrogram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence

    Labels: TypeAlias = NDArray[np.int64]

KINDS = (
    "sequential", "random", "draws", "average", "complete", "losses", "nmf", "one", "singletons",
)  # fmt: skip
_SCORED = 40  # draws scored against as many to find the best
_RESTARTS = 3  # of each factorisation


def from_draws(loss: RatioLoss, evidence: Evidence, n: int) -> list[Labels]:
    """Return ``n`` of some draws, as unlike as the posterior: the best, then what that leaves far.

    Each is the one that brings the draws nearest to those taken, itself included (greedy medoids),
    so that a posterior of several modes is started from each.
    """
    if not evidence.has_draws:
        return []
    draws = evidence.distinct if loss.needs == "draws" else evidence.draws
    some = resampled(draws, _SCORED)
    far = losses.distances(loss if loss.needs != "similarity" else VI(), some.labels, some)
    near, taken = np.full(some.n_draws, np.inf), []
    for _ in range(min(n, some.n_draws)):
        reach = np.minimum(far, near) @ some.probabilities
        ties = np.flatnonzero(reach <= reach.min() + 1e-12)
        taken.append(int(min(ties, key=lambda m: some.labels[m].tolist())))
        near = np.minimum(near, far[taken[-1]])
    return [canonical(some.labels[m]) for m in dict.fromkeys(taken)]


def from_linkage(
    loss: RatioLoss, evidence: Evidence, method: str, n: int, limit: int
) -> list[Labels]:
    """Return the ``n`` best cuts of a dendrogram into at most ``limit`` clusters."""
    from partita.evidence import Evidence as Some

    tree = dendrogram(evidence, method)
    part = evidence
    if loss.needs == "draws":
        part = Some(draws=resampled(evidence.distinct, _SCORED))
    values = loss.expected_along(tree, part)[:limit]
    return [canonical(tree.cut(int(k) + 1)) for k in np.argsort(values, kind="stable")[:n]]


def from_losses(
    loss: RatioLoss, evidence: Evidence, rng: np.random.Generator, clock: Clock, n: int, limit: int,
    n_done: int = 0,
) -> list[Labels]:  # fmt: skip
    """Return up to ``n`` optima of losses that are cheap to minimise, but for the first ``n_done``.

    Those are the losses on the similarity.
    """
    found: list[Labels] = []
    cheap_ones = [Binder(), PEAR(), *([VILowerBound()] if evidence.n_items <= 3_000 else [])]
    for cheap in [one for one in cheap_ones if one != loss][n_done:n]:
        if found and clock.is_up():
            break
        shared = SimilarityProblem(evidence.similarity, cheap, merge=True, n_jobs=evidence.n_jobs)
        with clock.unnoted():
            tasks = [("sequential", None, QUICK)]
            ends = Runs(limit, 1, clock).of(shared, tasks, rng, patience=0.0)
        found += [end.labels for end in ends]
    return found


def from_nmf(
    loss: RatioLoss, evidence: Evidence, rng: np.random.Generator, clock: Clock, n: int
) -> list[Labels]:
    """Return the ``n`` best of the partitions that factorisations of ranks 2 to 12 give."""
    ranks = range(2, min(12, evidence.n_items - 1) + 1)
    seed = int(rng.integers(1 << 31))
    found: list[Labels] = []
    for rank in ranks:
        if found and clock.is_up():
            break
        with under(clock):
            fit = factorize(evidence.similarity, model="ls", rank=rank, n_init=_RESTARTS, rng=seed)
        found.append(fit.labels)
    if not found:
        return []
    values = losses.expected(loss, np.stack(found), evidence)
    return [canonical(found[i]) for i in np.argsort(values, kind="stable")[:n]]


def from_search(
    search: Any, loss: RatioLoss, evidence: Evidence, rng: np.random.Generator, clock: Clock, n: int
) -> list[Labels]:
    """Return the ``n`` best candidates of another search, which ends with the clock if it can."""
    left = clock.left()
    if left is not None and getattr(search, "time_limit", 0) is None:
        search = replace(search, time_limit=max(left, 1e-3))
    offered = list(search.candidates(evidence, loss, rng=rng, n_jobs=1))
    if not offered:
        return []
    values = np.array([np.nan if c.expected_loss is None else c.expected_loss for c in offered])
    unknown = np.flatnonzero(np.isnan(values))
    if unknown.size:
        partitions = np.stack([offered[i].labels for i in unknown])
        values[unknown] = losses.expected(loss, partitions, evidence)
    best = np.argsort(values, kind="stable")[:n]
    return [canonical(offered[i].labels) for i in best]


def random_labels(n_items: int, limit: int, rng: np.random.Generator) -> Labels:
    """Return a random partition into a random number of clusters, two at least where it may."""
    most = max(1, min(limit, int(np.ceil(2 * np.sqrt(n_items)))))
    return canonical(rng.integers(0, rng.integers(min(2, most), most + 1), n_items))
