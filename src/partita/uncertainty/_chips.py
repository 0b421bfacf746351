"""The largest part of the partition that can be stated with a given probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.draws import Draws
from partita.io import Shown
from partita.parallel import map_blocks
from partita.partitions import canonical
from partita.uncertainty._given import item_index, positive_draws

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.typing import Seed

_EXACT = 1e-12  # sums of weights are exact to this


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
    n_jobs: int | None = -1,
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
        Threads; -1, the default, is every core.

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
    stop = _core.Stop()
    grown = map_blocks(
        lambda first: _grow(given, int(first), prob, stop),
        starts,
        n_jobs=validate.n_jobs(n_jobs),
        label="sub-partitions",
        stop=stop,
    )
    best = next(grown)
    for found in grown:
        best = found if _better(found, best) else best
    return best


def _better(new: Chips, old: Chips) -> bool:
    if new.n_kept != old.n_kept:
        return new.n_kept > old.n_kept
    return new.probability > old.probability + _EXACT


def _grow(draws: Draws, first: int, prob: float, stop: _core.Stop) -> Chips:
    weights = np.ones(draws.n_draws) if draws.weights is None else draws.weights.astype(np.float64)
    total = float(weights.sum())
    order, clusters, held = _core.grow_sub_partition(
        np.ascontiguousarray(draws.labels), weights, first, prob * total * (1 - _EXACT), stop
    )
    labels = np.full(draws.n_items, -1, dtype=np.int64)
    labels[order] = clusters
    labels[labels >= 0] = canonical(labels[labels >= 0])
    path = held / total
    return Chips(labels, float(path[-1]), order, path, draws)
