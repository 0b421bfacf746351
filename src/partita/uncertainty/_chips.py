"""The largest part of the partition that can be stated with a given probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels, validate
from partita.distributed import blocks, map_blocks
from partita.draws import Draws
from partita.uncertainty._common import item_index, positive_draws

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.typing import Seed

_WORK = 5_000_000  # labels looked at in some tens of milliseconds
_EXACT = 1e-12  # sums of weights are exact to this


@dataclass(frozen=True, eq=False)
class Chips:
    """A partition of some of the items, and the probability that it holds.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        The cluster of each item, canonical; -1 for items left out.
    probability : float
        The share of draws that, restricted to the items kept, are this partition.
    order : ndarray of int64, shape (n_kept,)
        The items kept, in the order in which they were added.
    path : ndarray, shape (n_kept,)
        The probability after each.
    draws : Draws
        Those of positive weight.
    """

    labels: NDArray[np.int64]
    probability: float
    order: NDArray[np.int64]
    path: NDArray[np.float64]
    draws: Draws

    @property
    def n_kept(self) -> int:
        """The number of items kept."""
        return int(self.order.size)

    @property
    def n_clusters(self) -> int:
        """The number of clusters among them."""
        return int(self.labels.max()) + 1

    def __repr__(self) -> str:
        return (
            f"Chips({self.n_kept:,} of {validate.count_text(self.labels.size, 'item')} in "
            f"{validate.count_text(self.n_clusters, 'cluster')}, probability "
            f"{self.probability:.4g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item kept, in order: its cluster and the probability up to there."""
        import pandas as pd

        columns = {"cluster": self.labels[self.order], "probability": self.path}
        return pd.DataFrame(columns, index=item_index(self.draws)[self.order])


def chips(
    draws: Any,
    *,
    prob: float = 0.9,
    n_starts: int = 16,
    rng: Seed = None,
    n_jobs: int | None = 1,
) -> Chips:
    """Find the largest sub-partition that holds with at least a given probability.

    A sub-partition says of some items exactly who is with whom. It is grown greedily: to one item
    is added, again and again, the item and the place that most of the draws which agree so far
    agree on, until fewer than ``prob`` of all would. Of several starts the one that keeps most
    items is returned; the search is a heuristic, the probability is exact.

    Parameters
    ----------
    draws : Draws or anything that can become one
    prob : float in (0, 1]
    n_starts : int
        How many first items to try, at most.
    rng : int, SeedSequence or Generator, optional
        Chooses the first items.
    n_jobs : int
        Threads; -1 is every core.

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
    """
    given = positive_draws(draws)
    prob = validate.real("prob", prob, low=0, high=1, open_low=True)
    n_starts = validate.integer("n_starts", n_starts, least=1)
    random = np.random.default_rng(validate.seed(rng))
    starts = random.permutation(given.n_items)[:n_starts].tolist()
    grown = map_blocks(
        lambda first: _grow(given, int(first), prob),
        starts,
        n_jobs=validate.n_jobs(n_jobs),
        label="sub-partitions",
    )
    best = next(grown)
    for found in grown:
        best = found if _better(found, best) else best
    return best


def _better(new: Chips, old: Chips) -> bool:
    if new.n_kept != old.n_kept:
        return new.n_kept > old.n_kept
    return new.probability > old.probability + _EXACT


class _State:
    """The draws that hold the sub-partition so far; see ``kernels.subpartition``."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        most = int(draws.n_clusters.max())
        self.weights = (
            np.ones(draws.n_draws) if draws.weights is None else draws.weights.astype(np.float64)
        )
        self.alive = np.ones(draws.n_draws, dtype=np.bool_)
        self.slots = np.full((draws.n_draws, most), most, dtype=np.int64)
        self.counts = np.zeros((draws.n_items, most + 1))
        self.counts[:, most] = self.weights.sum()
        self.parts = blocks(draws.n_draws, _WORK // draws.n_items)

    def add(self, item: int, slot: int, *, is_new: bool) -> None:
        """Put an item in a slot; a new cluster's is the next that is free."""
        none = self.counts.shape[1] - 1
        for p in self.parts:
            held = (self.draws.labels[p], self.weights[p], self.alive[p], self.slots[p], item)
            kernels.subpartition.drop(*held, none if is_new else slot, self.counts)
            if is_new:
                kernels.subpartition.open_cluster(*held, slot, self.counts)
        self.counts[item] = -1.0  # taken

    @property
    def probability(self) -> float:
        """The share of the weight that is alive."""
        return float(self.weights[self.alive].sum() / self.weights.sum())


def _grow(draws: Draws, first: int, prob: float) -> Chips:
    state = _State(draws)
    labels = np.full(draws.n_items, -1, dtype=np.int64)
    none = state.counts.shape[1] - 1
    needed = prob * float(state.weights.sum()) * (1 - _EXACT)
    order, path, n_clusters = [first], [1.0], 1
    labels[first] = 0
    state.add(first, 0, is_new=True)
    while len(order) < draws.n_items:
        item, slot = divmod(int(state.counts.argmax()), none + 1)
        if state.counts[item, slot] < needed:
            break
        is_new = slot == none
        labels[item] = n_clusters if is_new else slot
        state.add(item, int(labels[item]), is_new=is_new)
        n_clusters += is_new
        order.append(item)
        path.append(state.probability)
    kept = labels >= 0
    _, index, inverse = np.unique(labels[kept], return_index=True, return_inverse=True)
    labels[kept] = np.argsort(np.argsort(index))[inverse]
    return Chips(labels, state.probability, np.array(order), np.array(path), draws)
