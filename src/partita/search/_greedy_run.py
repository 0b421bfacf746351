"""The moves of one greedy run, on either kind of state."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_similarity import SimilarityState
    from partita.search._greedy_state import DrawsState

    State: TypeAlias = DrawsState | SimilarityState

_MAX_SWEEPS = 100
_FEW = 32  # items up to which runs can afford to be more thorough
MOVES = ("sweep", "merge", "rebuild", "split")


class Cooling(NamedTuple):
    """How an annealing cools: heats in losses per item, widths of bends in steps of e."""

    hot: float
    cold: float
    n_sweeps: int
    wide: float = 64.0
    narrow: float = 0.5


FIRST = Cooling(0.5, 0.02, 40)  # from a start: hot enough to leave the basin it is in
MILD = Cooling(0.25, 0.02, 40)  # from one that other searches found
SECOND = Cooling(0.1, 0.01, 40)  # from where that led
_AGAIN = Cooling(0.1, 0.02, 30, wide=16.0)


class Clock:
    """When to stop: at a deadline, or when told to; and what was kept when.

    ``history`` holds the seconds since the start, the loss of what a run kept then, and the share
    of the draws that this loss was taken on.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self.began = time.monotonic()
        self.deadline = np.inf if time_limit is None else self.began + time_limit
        self.was_stopped = False
        self.share = 1.0
        self.history: list[tuple[float, float, float]] = []

    def reserve(self, seconds: float) -> None:
        """End so much sooner, but at most by half of the time, for what comes after the search."""
        if np.isfinite(self.deadline):
            self.deadline -= min(seconds, 0.5 * (self.deadline - self.began))

    def note(self, loss: float) -> None:
        """Remember that a run kept something of this loss now."""
        self.history.append((time.monotonic() - self.began, loss, self.share))

    def stop(self) -> None:
        """Make every run that looks at this clock end."""
        self.was_stopped = True

    def is_up(self) -> bool:
        """Whether the time is over."""
        return self.was_stopped or time.monotonic() >= self.deadline


@dataclass
class Run:
    """One run: a state, its random numbers, its limits.

    ``best`` is the last partition that was kept, for when the run is cut short. A loss that bends
    in e is first annealed as ``cooling`` says; before clusters are rebuilt it is annealed until
    ``n_coolings`` in a row were in vain.
    """

    state: State
    rng: np.random.Generator
    limit: int
    clock: Clock
    best: NDArray[np.int64] | None = None
    sweeps: bool = True
    cooling: Cooling | None = None
    n_coolings: int = 2

    def go(self, moves: Sequence[str], patience: float) -> None:
        """From a partition, make the moves named until none helps or the time is up."""
        self.sweeps = "sweep" in moves
        if self.cooling is None or not self.is_annealed or not self.anneal(self.cooling):
            self.settle()
        if "merge" in moves and self.merge():
            self.settle()
        self.keep()
        shakes = [move for move in ("rebuild", "split") if move in moves]
        if shakes:
            self.shake(patience, shakes)
        if not self.sweeps and "merge" in moves:
            self.merge()
        self.keep()

    def keep(self) -> None:
        """Remember the present partition."""
        self.best = self.state.labels.copy()
        self.clock.note(self.state.value)

    def settle(self, items: NDArray[np.int64] | None = None, max_sweeps: int = _MAX_SWEEPS) -> None:
        """Sweep over the items, all if None, until each was seen since the last move."""
        state = self.state
        if not self.sweeps:
            return
        order = self.rng.permutation(state.labels.size if items is None else items)
        state.quiet[:] = 0, order.size
        state.sweep(order, self.limit, max_sweeps, self.clock.is_up)

    @property
    def is_annealed(self) -> bool:
        """Whether annealing may pay."""
        return self.sweeps and self.state.is_rough

    def cool(self) -> None:
        """Anneal until that was in vain a few times in a row."""
        failed = 0
        while failed < self.n_coolings and not self.clock.is_up():
            failed = 0 if self.anneal(_AGAIN) else failed + 1

    def anneal(self, cooling: Cooling) -> bool:
        """Sweep at random, ever colder; keep where that leads if it is better than here.

        Where the loss bends in e, as min(t, e) does at every draw, no move of one item pays
        though two would, one that raises e and one that lowers it. So the bends are rounded off
        over many steps of e at first, and less and less.
        """
        state: Any = self.state
        if state.value <= 0.0:  # nothing is better, and heats go by the loss
            return False
        before, saved = state.value, state.save()
        n_sweeps = cooling.n_sweeps
        heats = np.geomspace(cooling.hot, cooling.cold, n_sweeps) * before / state.problem.n_items
        widths = np.geomspace(cooling.wide, cooling.narrow, n_sweeps) * state.stride
        state.anneal(self.limit, heats, widths, self.rng, is_up=self.clock.is_up)
        self.settle()
        if state.value < before - 1e-11 * max(1.0, abs(before)):
            self.keep()
            return True
        state.restore(saved)
        return False

    def grow(self) -> None:
        """Allocate every item in random order, from nothing."""
        state = self.state
        state.load(np.full(state.labels.size, -1))
        state.allocate(self.rng.permutation(state.labels.size), self.limit)

    def rebuild(self, columns: list[int], seeds: NDArray[np.int64] | None = None) -> bool:
        """Empty clusters and allocate their items anew; keep it if that is better.

        ``seeds`` are items to put into clusters of their own first, which makes it a split.
        """
        state, before, saved = self.state, self.state.value, self.state.save()
        inside = state.labels == columns[0]
        for column in columns[1:]:
            inside |= state.labels == column
        items = self.rng.permutation(np.flatnonzero(inside))
        state.move(items, np.full(items.size, -1))
        rest = items
        if seeds is not None:
            state.move(seeds, np.flatnonzero(state.sizes == 0)[: seeds.size])
            rest = items[~np.isin(items, seeds)]
        state.allocate(rest, self.limit)
        least = 1e-11 * max(1.0, abs(before))
        if abs(state.value - before) <= least:  # the same clusters, perhaps in other columns
            return False
        self.settle(items, 3)
        if state.value < before - least:
            self.settle()
            self.keep()
            return True
        state.restore(saved)
        return False

    def merge(self) -> bool:
        """Merge the pair of clusters that gains most, again and again; return whether any did."""
        state, any_merged = self.state, False
        while state.n_clusters > 1 and not self.clock.is_up():
            pairs, values = state.merge_values()
            best = int(np.argmin(values))
            if values[best] >= state.value - 1e-11 * max(1.0, abs(state.value)):
                return any_merged
            a, b = pairs[best]
            items = np.flatnonzero(state.labels == a)
            state.move(items, np.full(items.size, b))
            any_merged = True
        return any_merged

    def shake(self, patience: float, kinds: Sequence[str] = ("rebuild",)) -> None:
        """Rebuild or split clusters until ``patience`` times K attempts in a row failed.

        Where there are many items a cluster of one is left alone: its item is where it is best.
        """
        state, failed = self.state, 0
        patience *= 2 if state.labels.size <= _FEW else 1
        if self.is_annealed:
            self.cool()
        while True:
            columns = self.rng.permutation(np.flatnonzero(state.sizes > self._trivial))
            if columns.size == 0:
                return
            for column in columns:
                if failed >= patience * columns.size or self.clock.is_up():
                    return
                if state.sizes[column] > self._trivial:
                    kind = kinds[int(self.rng.integers(len(kinds)))]
                    failed = 0 if self._shake_one(int(column), kind) else failed + 1

    @property
    def _trivial(self) -> int:
        """The size of clusters not worth rebuilding."""
        return 0 if self.state.labels.size <= _FEW else 1

    def _shake_one(self, column: int, kind: str) -> bool:
        state = self.state
        items = np.flatnonzero(state.labels == column)
        room = min(self.limit - state.n_clusters, int(np.count_nonzero(state.sizes == 0)) - 1)
        if kind == "rebuild" or items.size < 2 or room < 1:
            columns = [column]
            if self.rng.random() < (0.5 if state.labels.size <= _FEW else 0.2):
                columns.append(int(self.rng.choice(np.flatnonzero(state.sizes))))
            if state.is_rough and self.rng.random() < 0.3:
                columns += np.flatnonzero(state.sizes == 1).tolist()
            return self.rebuild(columns)
        return self.rebuild([column], seeds=self.rng.choice(items, 2, replace=False))
