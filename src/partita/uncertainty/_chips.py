"""The largest part of the partition that can be stated with a given probability."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, losses, validate
from partita.draws import Draws
from partita.errors import InvalidValueError
from partita.estimation import Estimate
from partita.evidence import Evidence
from partita.io import Shown
from partita.parallel import Stop, blocks
from partita.partitions import canonical
from partita.search._problem import Watch, check, problem
from partita.uncertainty._given import item_index, positive_draws

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.typing import Seed

_UNITS = 2.0**50  # the weight of all draws in whole numbers, whose sums are exact
_ORDERS = 24  # in which left-out items are placed by `complete`
_WORK = 10_000_000  # labels looked at in some thirty milliseconds


@dataclass(frozen=True, eq=False)
class _Tree:
    """Everything the search grew: what each node added to its parent; the best node by size."""

    parents: NDArray[np.int64]
    items: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    best: NDArray[np.int64]
    start: NDArray[np.int64]

    def grown(self, n_more: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Labels, and the items in the order in which they were added, of the best of a size."""
        nodes = []
        node = int(self.best[n_more - 1]) if n_more else -1
        while node >= 0:
            nodes.append(node)
            node = int(self.parents[node])
        labels = self.start.copy()
        n_clusters = int(labels.max()) + 1
        for node in reversed(nodes):
            place = int(self.places[node])
            labels[self.items[node]] = n_clusters if place == 0 else place - 1
            n_clusters += place == 0
        order = np.concatenate([np.flatnonzero(self.start >= 0), self.items[nodes[::-1]]])
        return labels, order.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Chips(Shown):
    """A partition of some of the items, and the probability that it holds.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        The cluster of each item, canonical; -1 for items left out.
    probability : float
        The share of draws that, restricted to the items kept, are this partition.
    order : ndarray of int64, shape (n_kept,)
        The items kept, in the order in which they were added.
    path : ndarray, shape (n,)
        For every number of items, 1 to n, the probability of the best sub-partition found.
    draws : Draws
        Those of positive weight.
    """

    labels: NDArray[np.int64]
    probability: float
    order: NDArray[np.int64]
    path: NDArray[np.float64]
    draws: Draws
    _tree: _Tree

    @property
    def n_kept(self) -> int:
        """The number of items kept."""
        return int(self.order.size)

    @property
    def n_clusters(self) -> int:
        """The number of clusters among them."""
        return int(self.labels.max()) + 1

    @property
    def area(self) -> float:
        """The area under the path, from 0 to 1: the mean of ``path``; 1 if all draws are one."""
        return float(self.path.mean())

    def __repr__(self) -> str:
        return (
            f"Chips({self.n_kept:,} of {validate.count_text(self.labels.size, 'item')} in "
            f"{validate.count_text(self.n_clusters, 'cluster')}, probability "
            f"{self.probability:.4g})"
        )

    def at(self, prob: float) -> Chips:
        """Return the largest sub-partition of the same search for another probability."""
        prob = validate.real("prob", prob, low=0, high=1, open_low=True)
        size = int(np.searchsorted(-self.path, -prob + 1e-12, side="right"))
        n_given = int((self._tree.start >= 0).sum())
        if size < max(n_given, 1):
            raise InvalidValueError(
                f"`start` must hold with probability `prob`, {prob:g}; it holds with "
                f"{self.path[max(n_given, 1) - 1]:.4g}."
            )
        labels, order = self._tree.grown(size - n_given)
        labels[labels >= 0] = canonical(labels[labels >= 0])
        probability = float(self.path[size - 1])
        return replace(self, labels=labels, probability=probability, order=order)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item: its cluster, and what can be said of those left out.

        ``step`` counts the items kept in the order in which they were added and is missing for
        those left out. For these, ``best`` is the cluster where most of the draws that hold the
        sub-partition have the item (-1 for none of its clusters), ``share`` the share of these
        draws, and ``probability`` that of all draws: of the sub-partition with the item in it. For
        items kept, these are their own cluster, 1, and the probability of the sub-partition.
        """
        import pandas as pd

        n, left_out = self.labels.size, np.flatnonzero(self.labels < 0)
        step = np.zeros(n, dtype=np.int64)
        step[self.order] = 1 + np.arange(self.n_kept)
        best, share = self.labels.copy(), np.ones(n)
        best[left_out], share[left_out] = self._places(left_out)
        columns = {
            "cluster": self.labels,
            "step": pd.array(step, dtype="Int64"),
            "best": best,
            "share": share,
            "probability": share * self.probability,
        }
        frame = pd.DataFrame(columns, index=item_index(self.draws))
        frame.loc[step == 0, "step"] = pd.NA
        return frame

    def _places(self, items: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where the draws that hold the sub-partition have other items, and their share."""
        firsts = self._firsts()
        p = self.draws.probabilities
        shares = np.zeros((items.size, firsts.size + 1))
        for part in blocks(self.draws.n_draws, max(1, _WORK // self.labels.size)):
            rows = np.asarray(self.draws.labels[part])
            holds = self._holds(rows)
            rows, weight = rows[holds], p[part][holds]
            for k, first in enumerate(firsts):
                shares[:, k] += weight @ (rows[:, items] == rows[:, [first]])
        shares[:, -1] = np.maximum(self.probability - shares[:, :-1].sum(axis=1), 0.0)
        best = shares.argmax(axis=1)
        share = shares[np.arange(items.size), best] / self.probability
        return np.where(best == firsts.size, -1, best), np.minimum(share, 1.0)

    def _firsts(self) -> NDArray[np.int64]:
        """The first item of each cluster."""
        return np.array([np.argmax(self.labels == k) for k in range(self.n_clusters)])

    def _holds(self, rows: Any) -> NDArray[np.bool_]:
        """Whether each draw, restricted to the items kept, is this partition."""
        firsts = self._firsts()
        kept = np.flatnonzero(self.labels >= 0)
        own = np.sort(rows[:, firsts], axis=1)
        apart = (own[:, 1:] != own[:, :-1]).all(axis=1)
        together: NDArray[np.bool_] = rows[:, kept] == rows[:, firsts[self.labels[kept]]]
        return np.asarray(apart & together.all(axis=1))

    def clusters(self) -> pd.DataFrame:
        """Return one row a cluster of the sub-partition, among the items kept.

        ``size``; ``together``, the probability that its items share a cluster; ``probability``,
        that they do and no other item kept is with them.
        """
        import pandas as pd

        sizes = np.bincount(self.labels[self.labels >= 0])
        total = np.zeros((2, sizes.size))
        kept = np.flatnonzero(self.labels >= 0)
        for part in blocks(self.draws.n_draws, max(1, _WORK // self.labels.size)):
            rows, p = np.asarray(self.draws.labels[part]), self.draws.probabilities[part]
            for k, first in enumerate(self._firsts()):
                with_first = rows[:, kept] == rows[:, [first]]
                together = with_first[:, self.labels[kept] == k].all(axis=1)
                alone = together & (with_first.sum(axis=1) == sizes[k])
                total[:, k] += p @ together, p @ alone
        columns = {"size": sizes, "together": total[0], "probability": total[1]}
        return pd.DataFrame(columns, index=pd.RangeIndex(sizes.size, name="cluster"))

    def complete(self, loss: Any = "vi", *, rng: Seed = None, n_jobs: int | None = -1) -> Estimate:
        """Return a partition of all items that keeps this one and has the least expected loss.

        Left-out items are put where the loss is least, in several orders, and moved until none
        moves; the best of that is returned. Its clusters may be joined, or others opened, but
        kept items stay as they are.

        Parameters
        ----------
        loss : str or Loss
            One that a greedy search can follow.
        rng : int, SeedSequence or Generator, optional
            Chooses the orders.
        n_jobs : int
            Threads; -1, the default, is every core.
        """
        chosen, seed = check(losses.resolve(loss)), validate.seed(rng)
        evidence = Evidence(draws=self.draws, n_jobs=validate.n_jobs(n_jobs))
        searched = problem(chosen, evidence, (1, self.labels.size), merge=False)
        watch = Watch(Stop(None), "placing the items left out")
        with watch.over() as stop:
            found, _ = searched.core.complete(
                self.labels.astype(np.int32), _ORDERS, seed % 2**63, evidence.n_jobs, stop
            )
        if watch.interrupt is not None:
            raise watch.interrupt
        labels = canonical(np.asarray(found))
        value = float(losses.expected(chosen, labels[None], evidence, n_jobs=evidence.n_jobs)[0])
        return Estimate(labels, value, chosen, "chips", seed=seed, item_names=self.draws.item_names)


def chips(
    draws: Any, *, prob: float = 0.9, start: Any = None, width: int = 16, rng: Seed = None
) -> Chips:
    """Find the largest sub-partition that holds with at least a given probability.

    A sub-partition says of some items exactly who is with whom. Sub-partitions are grown by one
    item at a time: of all items and places that could be added to those held, the ``width`` that
    leave most probability are held next. The search goes on until every item is in, so that
    :meth:`Chips.at` knows the answer for any other probability. It is a heuristic; the
    probability is exact. Where every sub-partition was tried (750 cases of 6 items and 8 random
    draws) it always found the largest; with ``width=1`` it missed it in 181.

    Parameters
    ----------
    draws : Draws or anything that can become one
    prob : float in (0, 1]
    start : array-like of shape (n,), optional
        A sub-partition to begin with: labels, -1 for items that are not in it.
    width : int
        How many sub-partitions are grown side by side; 1 is the greedy search of the paper from
        one item.
    rng : int, SeedSequence or Generator, optional
        Chooses the items to begin with, one each.

    Returns
    -------
    Chips

    References
    ----------
    Page, Barrientos, Dahl & Dunson (2025), Uncertainty quantification in Bayesian clustering,
    arXiv:2511.16040.

    Examples
    --------
    >>> found = chips([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]], prob=0.9, rng=0)
    >>> found.labels
    array([ 0,  0, -1,  1])
    >>> found.probability
    1.0
    >>> found.at(0.7).labels
    array([0, 0, 1, 1])
    """
    given = positive_draws(draws, "chips")
    prob = validate.real("prob", prob, low=0, high=1, open_low=True)
    width = validate.integer("width", width, least=1, most=4_096)
    begun = _start(start, given.n_items)
    random = np.random.default_rng(validate.seed(rng))
    firsts = random.permutation(given.n_items)[:width]
    weights = np.ones(given.n_draws)
    if given.weights is not None:
        weights = np.rint(given.probabilities * _UNITS)
    watch = Watch(Stop(None), "sub-partitions")
    with watch.over() as stop:
        grown = _core.grow_sub_partitions(
            np.ascontiguousarray(given.labels), weights, begun, firsts, width, stop
        )
    if watch.interrupt is not None:
        raise watch.interrupt
    tree = _Tree(*grown, begun)
    n_given = int((begun >= 0).sum())
    path = np.zeros(given.n_items)
    if n_given:
        path[:n_given] = _probability_of(begun, given)
    path[n_given : n_given + tree.best.size] = tree.weights[tree.best] / weights.sum()
    nothing = Chips(begun, 0.0, np.zeros(0, dtype=np.int64), path, given, tree)
    return nothing.at(prob)


def _start(start: Any, n_items: int) -> NDArray[np.int64]:
    """Labels to begin with, numbered by first appearance; -1 where an item is not in it."""
    if start is None:
        return np.full(n_items, -1, dtype=np.int64)
    labels = np.array(validate.labels("start", start, n_items=n_items), dtype=np.int64)
    if (labels < -1).any() or (labels < 0).all():
        raise InvalidValueError(
            "`start` must hold the cluster of at least one item, 0, 1, ..., and -1 for the others."
        )
    labels[labels >= 0] = canonical(labels[labels >= 0])
    return labels


def _probability_of(labels: NDArray[np.int64], draws: Draws) -> float:
    """The share of the draws that hold a sub-partition."""
    empty = np.zeros(0, dtype=np.int64)
    tree = _Tree(empty, empty, empty, np.zeros(0), empty, labels)
    one = Chips(labels, 0.0, empty, np.zeros(0), draws, tree)
    return float(
        sum(
            draws.probabilities[part][one._holds(np.asarray(draws.labels[part]))].sum()
            for part in blocks(draws.n_draws, max(1, _WORK // labels.size))
        )
    )
