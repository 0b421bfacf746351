"""Merging two clusters and splitting a third at once, where the loss bends in e."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_run import Run

_TRIED = 6  # pairs of a merger and a split that are carried out
_HOPE = 1.5  # loss that they may cost at first, in shares of an item's
_HOPE_LONG = 5.0  # the same where there is more time


def recombine(run: Run) -> bool:
    """Merge two clusters and split another, the best such pairs first; keep the first that pays.

    A merger raises e and a split lowers it, so each alone may be held back by what e costs. Splits
    are halves of clusters, and those that other ends of runs make. Returns whether any was kept.
    """
    state: Any = run.state
    if state.n_clusters < 2:
        return False
    hope = _HOPE if run.is_thorough else _HOPE_LONG
    seed = run.rng.integers(0, 1 << 64, 4, dtype=np.uint64)
    for block, pair in state.recombinations(seed, run.others, _TRIED, hope):
        if run.clock.is_up():
            break
        if _pays(run, block, pair):
            return True
    return False


def _pays(run: Run, block: NDArray[np.int64], pair: NDArray[np.int64]) -> bool:
    """Carry a split and a merger out and let the items of all three clusters settle, at first.

    The two to merge are those of a pair of items: attempts may put clusters into other columns.
    """
    labels = run.state.labels
    first, second = labels[pair]
    new = np.where(labels == first, second, labels)
    new[block] = first
    items = np.flatnonzero(new != labels)
    order = run.rng.permutation(np.flatnonzero(np.isin(labels, [first, second, labels[block[0]]])))
    return run.attempt(items, new[items], order, is_wide=True)
