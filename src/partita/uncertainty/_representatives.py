"""Fitting a few partitions to the posterior so that every draw is near one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita import losses
from partita.draws import Draws, representative
from partita.estimation import estimate
from partita.evidence import Evidence
from partita.partitions import canonical_rows
from partita.search import Linkage, Sampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.losses import Loss
    from partita.search import Search
    from partita.typing import IntArray

_TRIED = 24  # draws tried as the middle of a region
_LINKED = 3_000  # items up to which a dendrogram is cheap enough to be cut again and again
_GROUPED = 300  # draws whose distances from each other are looked at
_CUTS = 40  # cuts of a dendrogram of items in the pool
_MORE = 10  # clusters that a middle may have beyond those of its draws
_TURNS = 30
_WORTH = 1e-3  # a turn that lowers the distance by a smaller share is the last


@dataclass(frozen=True, eq=False)
class Summary:
    """Representatives, the loss of every draw to each, and the mean over the nearest."""

    labels: IntArray
    far: NDArray[np.float64]
    distance: float


@dataclass(frozen=True, eq=False)
class Fit:
    """The draws to summarise, all distinct, and how."""

    draws: Draws
    loss: Loss
    random: np.random.Generator
    n_jobs: int

    def summary(self, labels: IntArray) -> Summary:
        """Hold representatives against all draws."""
        far = losses.distances(self.loss, labels, self.draws, n_jobs=self.n_jobs)
        return Summary(labels, far, float(far.min(axis=0) @ self.draws.probabilities))

    def best(self, number: int, pool: Summary, previous: Summary | None, n_init: int) -> Summary:
        """The best of several starts, each improved in turns that are cheap; then thoroughly."""
        starts = [self.summary(self.selected(number, pool))]
        if previous is not None:  # never worse than with one mode less
            starts.append(self.summary(_stack(previous.labels, self.far_draw(previous))))
        if number > 1:
            starts += [self.seeded(number) for _ in range(n_init)]
        ended = [self.improve(start, thorough=False) for start in starts]
        return self.improve(min(ended, key=lambda one: one.distance), thorough=True)

    def seeded(self, number: int) -> Summary:
        """Draws as representatives, chosen as in k-means++."""
        now = self.summary(self.one_draw(self.draws.probabilities))
        while len(now.labels) < number:
            now = self.summary(_stack(now.labels, self.far_draw(now)))
        return now

    def far_draw(self, now: Summary) -> IntArray:
        """One draw, with a probability that grows with its distance from what there is."""
        chance = self.draws.probabilities * np.maximum(now.far.min(axis=0), 0.0)
        return self.one_draw(chance if chance.sum() > 0 else self.draws.probabilities)

    def one_draw(self, chance: NDArray[np.float64]) -> IntArray:
        """One draw, with the chances given, as an array of one row."""
        return self.draws.labels[[self.random.choice(chance.size, p=chance / chance.sum())]]

    def pool(self, most: int) -> Summary:
        """Partitions that may represent a part of the posterior.

        Cuts of a dendrogram of the items, the middle of the draws of each number of clusters, and
        the middles of groups of draws that are near each other. Draws alone would not do: in many
        dimensions the middle of everything is nearer to most draws than any other draw is.
        """
        rows = [self.middle(np.arange(self.draws.n_draws), thorough=True)]
        if self.draws.n_items <= _LINKED:
            cuts = Linkage("average", max_clusters=_CUTS).candidates(
                Evidence(draws=self.draws), self.loss, rng=self.random, n_jobs=self.n_jobs
            )
            rows += [np.asarray(cut.labels) for cut in cuts]
        k = self.draws.n_clusters
        groups = [np.flatnonzero(k == value) for value in np.unique(k)]
        groups += self.groups(most)
        rows += [self.middle(group, thorough=False) for group in groups if group.size]
        stacked = canonical_rows(np.stack([row.astype(np.int64) for row in rows]))
        return self.summary(np.unique(stacked, axis=0))

    def groups(self, most: int) -> list[NDArray[np.int64]]:
        """Draws near each other, by average linkage of some, cut into 2 .. ``most`` groups."""
        from scipy.cluster.hierarchy import fcluster, linkage
        from scipy.spatial.distance import squareform

        some = representative(self.draws, _GROUPED)
        if some.n_draws < 2 or most < 2:
            return []
        own = losses.distances(self.loss, some.labels, self.draws, n_jobs=self.n_jobs)
        far = losses.distances(self.loss, some.labels, some, n_jobs=self.n_jobs)
        far = (far + far.T) / 2  # a loss need not be symmetric
        np.fill_diagonal(far, 0.0)
        tree = linkage(squareform(far, checks=False), "average")
        found = []
        for number in range(2, most + 1):
            member = fcluster(tree, number, "maxclust")
            to_group = np.stack([own[member == g].mean(axis=0) for g in np.unique(member)])
            nearest = to_group.argmin(axis=0)
            found += [np.flatnonzero(nearest == g) for g in range(len(to_group))]
        return found

    def selected(self, number: int, pool: Summary) -> IntArray:
        """The best few of the pool: one added at a time, then exchanged while that helps."""
        far, p = pool.far, self.draws.probabilities
        chosen: list[int] = []
        for _ in range(min(number, len(far))):
            chosen.append(_best_with(far, chosen, p)[0])
        least = float(far[chosen].min(axis=0) @ p)
        for _ in range(_TURNS):
            before = least
            for place in range(len(chosen)):
                rest = chosen[:place] + chosen[place + 1 :]
                candidate, value = _best_with(far, rest, p)
                if value < least - 1e-12:
                    chosen[place], least = candidate, value
            if least >= before:
                break
        rows = pool.labels[chosen]
        while len(rows) < number:  # the pool was smaller than that
            rows = _stack(rows, self.far_draw(self.summary(rows)))
        return rows

    def improve(self, now: Summary, *, thorough: bool) -> Summary:
        """Move representatives to the middle of what is nearest to them until it is not worth it.

        All move at once, each only if its own region gains, so the distance never rises.
        """
        p = self.draws.probabilities
        for _ in range(_TURNS):
            nearest = now.far.argmin(axis=0)
            labels = now.labels.astype(np.int64)
            for mode in np.unique(nearest):
                labels[mode] = self.middle(np.flatnonzero(nearest == mode), thorough=thorough)
            moved = self.summary(canonical_rows(labels))
            each = (now.far - moved.far)[nearest, np.arange(nearest.size)]
            gains = np.bincount(nearest, each * p, len(labels)) > 1e-12
            far = np.where(gains[:, None], moved.far, now.far)
            kept = np.where(gains[:, None], moved.labels, now.labels).astype(np.int64)
            following = Summary(canonical_rows(kept), far, float(far.min(axis=0) @ p))
            if now.distance - following.distance < _WORTH * now.distance:
                return following
            now = following
        return now

    def middle(self, region: NDArray[np.int64], *, thorough: bool) -> IntArray:
        """The partition of least expected loss found for the draws of one region."""
        own = self.draws.take(region)
        how: list[Search] = [Sampled(max_candidates=_TRIED)]
        if own.n_items <= (_LINKED if thorough else _LINKED // 10):
            how.append(Linkage("average", max_clusters=int(own.n_clusters.max()) + _MORE))
        found = estimate(
            Evidence(draws=own),
            loss=self.loss,
            search=how,
            rng=int(self.random.integers(2**31)),
            n_jobs=self.n_jobs,
        )
        return np.asarray(found.labels)


def _best_with(
    far: NDArray[np.float64], chosen: list[int], p: NDArray[np.float64]
) -> tuple[int, float]:
    """The row that, beside those chosen, brings the draws nearest on average, and how near."""
    near = far if not chosen else np.minimum(far, far[chosen].min(axis=0))
    means = near @ p
    best = int(means.argmin())
    return best, float(means[best])


def _stack(labels: IntArray, more: IntArray) -> IntArray:
    return canonical_rows(np.concatenate([labels.astype(np.int64), more.astype(np.int64)]))
