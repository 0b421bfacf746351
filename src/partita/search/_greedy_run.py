"""The moves of one greedy run, on either kind of state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from partita.search._greedy_blocks import recombine
from partita.search._greedy_clock import Clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_similarity import SimilarityState
    from partita.search._greedy_state import DrawsState

    State: TypeAlias = DrawsState | SimilarityState

_MAX_SWEEPS = 100
_FEW = 32  # items up to which runs can afford to be more thorough
_TRIPLES = 9  # clusters up to which three are tried together
_PAIRS = 16  # of items that are tried together at a time
_BESIDE = 0.5  # chance that a cluster is rebuilt together with one beside it
_TOGETHER = 3  # clusters rebuilt at once, at most
_GRAFTED = 0.6  # chance that a cluster is taken over from a draw, where there are other moves
_NEAREST = 24  # items that could go to a cluster one after another
_CHAIN = 16  # of which so many may
_FROM_OTHERS = 0.7  # chance that a cluster taken over comes from where another run ended
_HOPELESS = 0.4  # loss above the best, in shares of an item's, that few moves make good
_JOINED = 3  # pairs of clusters that are merged to see whether others follow
_APART = 4.0  # loss above the best, in the same shares, that those may make good
_LEAST, _MOST = 6, 24  # clusters that patience counts at least and at most
_WIDTHS = np.array([64.0, 8.0, 0.5])  # of rounded bends, in steps of e, from a start
MOVES = ("sweep", "merge", "rebuild", "split", "graft")


@dataclass
class Run:
    """One run: a state, its random numbers, its limits.

    ``best`` is the last partition that was kept, for when the run is cut short. A loss that bends
    in e has its bends rounded off at first if it ``softens``, and after every rebuilding if the run
    is ``thorough``; a start from nothing is by the loss of the items put in so far if it
    ``is_stepwise``, else by the loss made linear. ``others`` are partitions to cross with.
    """

    state: State
    rng: np.random.Generator
    limit: int
    clock: Clock
    best: NDArray[np.int64] | None = None
    sweeps: bool = True
    pairs: bool = True
    is_stepwise: bool = False
    softens: bool = False
    is_thorough: bool = False
    others: Sequence[NDArray[np.int64]] = ()

    def go(self, moves: Sequence[str], patience: float) -> None:
        """From a partition, make the moves named until none helps or the time is up."""
        self.sweeps, self.pairs = "sweep" in moves, "merge" in moves
        if not (self.softens and self.is_softened and self.soften()):
            self.settle()
        self.exchange()
        if "merge" in moves and self.merge():
            self.settle()
        self.state.fit()
        self.keep()
        for other in self.others if self.is_softened else ():
            self.cross(other)
        self._recombine()
        shakes = [move for move in ("rebuild", "split", "graft") if move in moves]
        if shakes:
            self.shake(patience, shakes)
            if self._recombine():
                self.shake(patience, shakes)
            while self.sweeps and (self.chain() or ("merge" in moves and self.join())):
                pass
        if not self.sweeps and "merge" in moves:
            self.merge()
        self.keep()

    def _recombine(self) -> bool:
        """Merge and split clusters at once as long as that pays; return whether it did."""
        found = False
        while self.others and self.is_softened and not self.clock.is_up() and recombine(self):
            found = True
        return found

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
    def is_softened(self) -> bool:
        """Whether to round off bends may pay."""
        return self.sweeps and self.state.is_rough

    def soften(self) -> bool:
        """Sweep with ever sharper bends; keep where that leads if it is better than here.

        Where the loss bends in e, as min(t, e) does at every draw, no move of one item pays
        though two would, one that raises e and one that lowers it. So the bends are rounded off
        over many steps of e at first, and less and less.
        """
        state: Any = self.state
        before, saved = state.value, state.save()
        order = self.rng.permutation(state.labels.size)
        state.soften(order, self.limit, _WIDTHS * state.stride, self.clock.is_up)
        self.settle()
        if state.value < before - 1e-11 * max(1.0, abs(before)):
            self.keep()
            return True
        state.restore(saved)
        return False

    def exchange(self) -> None:
        """Move pairs of items and settle, again and again, where a loss bends in e."""
        state: Any = self.state
        if not (self.pairs and self.is_softened):
            return
        while not self.clock.is_up() and state.exchange(self.limit, _PAIRS):
            before = state.value
            self.settle()
            if state.value == before:
                return

    def grow(self) -> None:
        """Allocate every item in random order, from nothing."""
        state = self.state
        state.load(np.full(state.labels.size, -1))
        order = self.rng.permutation(state.labels.size)
        if self.is_stepwise and state.is_rough:
            cast(Any, state).sequence(order, self.limit)
        else:
            state.allocate(order, self.limit)

    def rebuild(self, columns: list[int], seeds: NDArray[np.int64] | None = None) -> bool:
        """Empty clusters and allocate their items anew; keep it if that is better.

        ``seeds`` are items to put into clusters of their own first, which makes it a split.
        """
        state = self.state
        inside = state.labels == columns[0]
        for column in columns[1:]:
            inside |= state.labels == column
        items = self.rng.permutation(np.flatnonzero(inside))
        targets = np.full(items.size, -1)
        if seeds is not None:
            free = np.flatnonzero(state.sizes == 0)
            targets[np.isin(items, seeds)] = free[: seeds.size]
        return self._attempt(items, targets, items, is_wide=self._is_wide)

    def graft(self, item: int) -> bool:
        """Make a cluster of what an item shares one with in some draw; keep it if that is better.

        The clusters that this breaks up settle. So a part of the partition can go over to another
        mode of the posterior at once, where no item and no cluster alone would.
        """
        state = self.state
        if self.others and self.rng.random() < _FROM_OTHERS:
            other = self.others[int(self.rng.integers(len(self.others)))]
            inside = other == other[item]
        else:
            inside = state.company(item, self.rng)
        is_touched = np.zeros(state.sizes.size, dtype=bool)
        is_touched[state.labels[inside]] = True
        touched = is_touched[state.labels]
        if touched.sum() == inside.sum() == state.sizes[state.labels[item]]:
            return False
        free = np.flatnonzero(state.sizes == 0)
        if not free.size or state.sizes.size - free.size >= self.limit:
            return False
        items = np.flatnonzero(inside)
        targets = np.full(items.size, free[0])
        order = self.rng.permutation(np.flatnonzero(touched))
        return self._attempt(items, targets, order, is_wide=self._is_wide)

    @property
    def _is_wide(self) -> bool:
        return self.is_thorough and self.is_softened

    def chain(self) -> bool:
        """Move items into a cluster, one after another, where only several pay; keep a gain."""
        bar = self._above(_HOPELESS)
        if self.clock.is_up() or not self.state.chain(self.limit, _NEAREST, _CHAIN, bar):
            return False
        self.settle()
        self.exchange()
        self.keep()
        return True

    def _attempt(
        self,
        items: NDArray[np.int64],
        targets: NDArray[np.int64],
        order: NDArray[np.int64],
        *,
        is_wide: bool = False,
    ) -> bool:
        """Move items (-1: to where they are best), settle those of ``order``; keep it if better.

        If it ``is_wide`` all items settle, and pairs of them, before that is judged, unless the
        loss is too high by then.
        """
        state, before, saved = self.state, self.state.value, self.state.save()
        least = 1e-11 * max(1.0, abs(before))
        hopeless = self._above(_HOPELESS)
        bar = hopeless if is_wide else before - least
        is_promising = state.attempt(items, targets, order, self.limit, bar)
        if is_promising is None:
            state.move(items, targets)
            state.allocate(order[state.labels[order] < 0], self.limit)
            self.settle(order, 3)
            is_promising = state.value < bar
        elif not is_promising:
            return False
        if is_promising and is_wide:
            self.settle()
            if abs(state.value - before) > least and state.value < hopeless:
                self.exchange()
        if state.value < before - least:
            self.settle()
            self.exchange()
            self.keep()
            return True
        if abs(state.value - before) > least:
            state.restore(saved)
        return False

    def _above(self, share: float) -> float:
        """The loss here and so much of what it is for an item."""
        return self.state.value + share / self.state.labels.size * abs(self.state.value)

    def cross(self, other: NDArray[np.int64]) -> None:
        """Move whole blocks of items together as they are in ``other``; keep each that helps.

        A block is what a cluster of ``other`` shares with one of ours; it goes to where most of
        that cluster is, or to a cluster of its own.
        """
        state: Any = self.state
        parts = self.rng.permutation(int(other.max()) + 1)
        if not self.clock.is_up() and state.cross(parts, other, self.limit):
            self.settle()
            self.keep()

    def _moves_together(self, items: NDArray[np.int64], target: int) -> bool:
        """Move all the items if that is better, and say so."""
        state, before = self.state, self.state.value
        home = int(state.labels[items[0]])
        state.move(items, np.full(items.size, target))
        if state.value < before - 1e-11 * max(1.0, abs(before)):
            return True
        state.move(items, np.full(items.size, home))
        return False

    def merge(self) -> bool:
        """Merge pairs of clusters, the best first, as long as any gains; return whether any did."""
        state, any_merged = self.state, False
        while state.n_clusters > 1 and not self.clock.is_up():
            pairs, values = state.merge_values()
            bar = state.value - 1e-11 * max(1.0, abs(state.value))
            used: set[int] = set()
            for a, b in pairs[np.argsort(values, kind="stable")][: np.count_nonzero(values < bar)]:
                if (
                    a not in used
                    and b not in used
                    and self._moves_together(np.flatnonzero(state.labels == a), int(b))
                ):
                    used |= {int(a), int(b)}
            if not used and not self._merge_three():
                return any_merged
            any_merged = True
        return any_merged

    def _merge_three(self) -> bool:
        """Merge three of few clusters of few items; return whether any three gain.

        Where the loss bends, two of them together may lose what all three gain.
        """
        state = self.state
        if state.labels.size > _FEW or state.n_clusters > _TRIPLES or not state.is_rough:
            return False
        for a, b, c in combinations(np.flatnonzero(state.sizes).tolist(), 3):
            before, saved = state.value, state.save()
            items = np.flatnonzero((state.labels == a) | (state.labels == b))
            state.move(items, np.full(items.size, c))
            if state.value < before - 1e-11 * max(1.0, abs(before)):
                return True
            state.restore(saved)
        return False

    def join(self) -> bool:
        """Merge two clusters that it costs little to merge, and let others follow; keep a gain."""
        state = self.state
        if state.n_clusters < 2:
            return False
        pairs, values = state.merge_values()
        near = np.argsort(values, kind="stable")[:_JOINED]
        for a, b in pairs[near[values[near] < self._above(_APART)]]:
            if self.clock.is_up():
                return False
            items = np.flatnonzero(state.labels == a)
            rest = np.flatnonzero((state.labels != a) & (state.labels != b))
            order = np.concatenate([self.rng.permutation(rest), items])
            if self._attempt(items, np.full(items.size, b), order):
                return True
        return False

    def shake(self, patience: float, kinds: Sequence[str] = ("rebuild",)) -> None:
        """Rebuild, split or graft clusters until ``patience`` times K attempts in a row failed.

        K counts as 6 at least and 24 at most. Each cluster is first rebuilt alone, then come all
        the ways. Where there are many items a cluster of one is left: its item is where it is best.
        """
        state, failed = self.state, 0
        patience *= 2 if state.labels.size <= _FEW else 1
        while True:
            columns = self.rng.permutation(np.flatnonzero(state.sizes > self._trivial))
            if columns.size == 0:
                return
            n_tried = min(max(columns.size, _LEAST), _MOST)
            for column in columns:
                if failed >= patience * n_tried or self.clock.is_up():
                    return
                if state.sizes[column] > self._trivial:
                    is_first = (
                        failed < min(columns.size, patience * n_tried / 2) and "rebuild" in kinds
                    )
                    kind = "alone" if is_first else self._kind(kinds)
                    failed = 0 if self._shake_one(int(column), kind) else failed + 1

    @property
    def _trivial(self) -> int:
        """The size of clusters not worth rebuilding."""
        return 0 if self.state.labels.size <= _FEW else 1

    def _kind(self, kinds: Sequence[str]) -> str:
        """What to try next."""
        others = [kind for kind in kinds if kind != "graft"]
        if not others or (len(others) < len(kinds) and self.rng.random() < _GRAFTED):
            return "graft"
        return others[int(self.rng.integers(len(others)))]

    def _shake_one(self, column: int, kind: str) -> bool:
        state = self.state
        if kind == "graft":
            return self.graft(int(self.rng.integers(state.labels.size)))
        if kind == "alone":
            return self.rebuild([column])
        items = np.flatnonzero(state.labels == column)
        room = min(self.limit - state.n_clusters, int(np.count_nonzero(state.sizes == 0)) - 1)
        if kind == "rebuild" or items.size < 2 or room < 1:
            return self.rebuild(self._columns(column, items))
        return self.rebuild([column], seeds=self.rng.choice(items, 2, replace=False))

    def _columns(self, column: int, items: NDArray[np.int64]) -> list[int]:
        """A cluster, and perhaps some beside it, to be rebuilt together."""
        state, columns = self.state, [column]
        if self.rng.random() < (0.5 if state.labels.size <= _FEW else 0.2):
            columns.append(int(self.rng.choice(np.flatnonzero(state.sizes))))
        while len(columns) < _TOGETHER and self.rng.random() < _BESIDE:
            column = state.neighbour(int(self.rng.choice(items)))
            if column < 0 or column in columns:
                break
            columns.append(column)
            items = np.flatnonzero(state.labels == column)
        if state.is_rough and self.rng.random() < 0.3:
            columns += np.flatnonzero(state.sizes == 1).tolist()
        return columns
