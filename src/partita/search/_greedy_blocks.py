"""Merging two clusters and splitting a third at once, where the loss bends in e."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_run import Run

_BLOCKS = 100  # parts of clusters whose gain is looked at, at most
_TRIED = 6  # pairs of a merge and a split that are carried out
_COSTED = 200  # and of which the cost in e is looked at


class Block(NamedTuple):
    """Items that could go to a cluster of their own, what that gains, and what e gains."""

    items: NDArray[np.int64]
    gain: float
    rise: float


def recombine(run: Run) -> bool:
    """Merge two clusters and split another, the best such pairs first; keep the first that pays.

    A merge raises e and a split lowers it, so each alone may be held back by what e costs. Splits
    are those that the other ends of runs make. Returns whether any was kept.
    """
    state: Any = run.state
    splits = _splits(run)
    if not splits or state.n_clusters < 2:
        return False
    pairs, costs, rises = state.merge_scores()
    gains = np.array([one.gain for one in splits])
    both = gains[:, None] - costs[None, :]
    order = np.argsort(-both, axis=None, kind="stable")[:_COSTED]
    ranked = []
    for at in order[both.ravel()[order] > 0]:
        split, merge = divmod(int(at), costs.size)
        e = splits[split].rise + rises[merge]
        ranked.append((both[split, merge] - state.cost_of(float(e)), split, merge))
    ranked.sort(key=lambda one: -one[0])
    for _, split, merge in ranked[:_TRIED]:
        if run.clock.is_up():
            break
        if _pays(run, splits[split].items, pairs[merge]):
            return True
    return False


def _blocks(run: Run) -> Iterator[NDArray[np.int64]]:
    """Two or more items of a cluster that are together in another partition, each set once."""
    labels, seen = run.state.labels, set()
    wholes = np.bincount(labels)
    for other in run.others:
        code = other * run.state.sizes.size + labels
        order = np.argsort(code, kind="stable")
        for items in np.split(order, 1 + np.flatnonzero(np.diff(code[order]))):
            if 1 < items.size < wholes[labels[items[0]]]:
                key = items.tobytes()
                if key not in seen:
                    seen.add(key)
                    yield items


def _splits(run: Run) -> list[Block]:
    """Every block that could be split off, with what it gains on the loss linearised here."""
    state: Any = run.state
    if state.n_clusters >= run.limit:
        return []
    blocks = list(islice(_blocks(run), _BLOCKS))
    if not blocks:
        return []
    gains, rises = state.split_scores(blocks)
    return [Block(*one) for one in zip(blocks, gains.tolist(), rises.tolist(), strict=True)]


def _pays(run: Run, items: NDArray[np.int64], pair: NDArray[np.int64]) -> bool:
    """Carry a split and a merge out and settle; go back if that is no better."""
    state: Any = run.state
    before, saved = state.value, state.save()
    joined = np.flatnonzero(state.labels == pair[0])
    state.move(joined, np.full(joined.size, pair[1]))
    state.move(items, np.full(items.size, pair[0]))
    run.settle()
    run.exchange()
    if state.value < before - 1e-11 * max(1.0, abs(before)):
        run.keep()
        return True
    state.restore(saved)
    return False
