"""Splitting a cluster, alone or while two others merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_run import Run

_TRIED, _TRIED_BENT = 3, 6  # splits that are carried out, and where a loss bends
_HOPE = 1.5  # loss that one with a merger may cost at first, in shares of an item's
_HOPE_LONG = 5.0  # the same where there is more time
_HOPE_ALONE = 0.5  # the same of one without


def recombine(run: Run) -> bool:
    """Split a cluster, or one while two others merge, the best first; keep the first that pays.

    Where a loss bends, a merger raises e and a split lowers it, so each alone may be held back by
    what e costs. Splits are halves of clusters, two items that belong together, and those that
    other ends of runs make; a half may also go to another cluster. Returns whether any was kept.
    """
    state: Any = run.state
    n, hope = _TRIED_BENT if state.is_rough else _TRIED, _HOPE if run.is_thorough else _HOPE_LONG
    seed = run.rng.integers(0, 1 << 64, 4, dtype=np.uint64)
    plans = state.recombinations(seed, run.others, run.limit, n, hope, _HOPE_ALONE)
    for block, pair in plans:
        if run.clock.is_up():
            break
        if _pays(run, block, pair):
            return True
    return False


def _pays(run: Run, block: NDArray[np.int64], pair: NDArray[np.int64]) -> bool:
    """Carry a split and a merger out and let the items of those clusters settle, at first.

    ``pair`` holds items of the two clusters that merge, one of the cluster to go to, or none:
    attempts may put clusters into other columns.
    """
    state = run.state
    labels, touched = state.labels, [state.labels[block[0]]]
    new = labels.copy()
    touched += [*labels[pair]]
    if pair.size == 2:
        new[labels == touched[1]] = touched[2]
        new[block] = touched[1]
    elif pair.size:
        new[block] = touched[1]
    else:
        if state.n_clusters == state.sizes.size:
            state.grow(state.sizes.size)
        new[block] = int(np.flatnonzero(state.sizes == 0)[0])
    items = np.flatnonzero(new != labels)
    order = run.rng.permutation(np.flatnonzero(np.isin(labels, touched)))
    return run.attempt(items, new[items], order, is_wide=True)
