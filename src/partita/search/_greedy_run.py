"""The moves of one greedy run, on either kind of state."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from partita.search._greedy_draws import DrawsProblem, DrawsState
    from partita.search._greedy_similarity import SimilarityProblem, SimilarityState

    State = DrawsState | SimilarityState
    Problem = DrawsProblem | SimilarityProblem

_MAX_SWEEPS = 100


@dataclass(frozen=True)
class Clock:
    """When to stop."""

    deadline: float = np.inf

    @property
    def is_up(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.deadline


@dataclass
class Run:
    """One run: a state, its random numbers, its limits."""

    state: State
    rng: np.random.Generator
    limit: int
    clock: Clock

    def settle(self, items: np.ndarray | None = None, max_sweeps: int = _MAX_SWEEPS) -> None:
        """Sweep over the items, all if None, until none of them moves."""
        state = self.state
        items = np.arange(state.labels.size) if items is None else items
        state.quiet[0] = 0
        for _ in range(max_sweeps):
            if state.quiet[0] >= items.size or self.clock.is_up:
                return
            if not state.sweep(self.rng.permutation(items), self.limit):
                return

    def grow(self) -> None:
        """Allocate every item in random order, from nothing."""
        state = self.state
        state.load(np.full(state.labels.size, -1))
        state.allocate(self.rng.permutation(state.labels.size), self.limit)

    def rebuild(self, columns: list[int], seeds: np.ndarray | None = None) -> bool:
        """Empty clusters and allocate their items anew; keep it if that is better.

        ``seeds`` are items to put into clusters of their own first, which makes it a split.
        """
        state, before, saved = self.state, self.state.value, self.state.save()
        items = self.rng.permutation(np.flatnonzero(np.isin(state.labels, columns)))
        state.move(items, np.full(items.size, -1))
        rest = items
        if seeds is not None:
            free = np.flatnonzero(state.sizes == 0)[: seeds.size]
            state.move(seeds, free)
            rest = items[~np.isin(items, seeds)]
        state.allocate(rest, self.limit)
        self.settle(items, 3)
        if state.value < before + 1e-3 * abs(before):
            self.settle(max_sweeps=2)
        if state.value < before - 1e-11 * max(1.0, abs(before)):
            self.settle()
            return True
        state.restore(saved)
        return False

    def merge(self) -> bool:
        """Merge the pair of clusters that gains most, again and again; return whether any did."""
        state, any_merged = self.state, False
        while state.n_clusters > 1 and not self.clock.is_up:
            pairs, values = state.merge_values()
            best = int(np.argmin(values))
            if values[best] >= state.value - 1e-11 * max(1.0, abs(state.value)):
                return any_merged
            a, b = pairs[best]
            items = np.flatnonzero(state.labels == a)
            state.move(items, np.full(items.size, b))
            any_merged = True
        return any_merged

    def shake(self, patience: float) -> None:
        """Rebuild clusters, one or two at a time, until ``patience`` times K in a row failed."""
        state, failed = self.state, 0
        while failed < patience * state.n_clusters and not self.clock.is_up:
            for column in self.rng.permutation(np.flatnonzero(state.sizes)):
                if self.clock.is_up:
                    return
                if state.sizes[column] == 0:
                    continue
                failed = 0 if self._rebuild_one(int(column)) else failed + 1

    def _rebuild_one(self, column: int) -> bool:
        state, rng = self.state, self.rng
        kind = rng.random()
        if kind < 0.5 or state.n_clusters == 1:
            return self.rebuild([column])
        if kind < 0.75:
            other = rng.choice(np.flatnonzero(state.sizes))
            return self.rebuild(list({column, int(other)}))
        items = np.flatnonzero(state.labels == column)
        if items.size < 2 or state.n_clusters + 1 >= min(self.limit, state.sizes.size):
            return self.rebuild([column])
        return self.rebuild([column], seeds=rng.choice(items, 2, replace=False))
