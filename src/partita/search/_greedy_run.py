"""The moves of one greedy run, on either kind of state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from partita import kernels
from partita.search._greedy_blocks import recombine
from partita.search._greedy_clock import Clock
from partita.search._greedy_proposals import SETTLED, Proposals, attempted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_similarity import SimilarityState
    from partita.search._greedy_state import DrawsState

    State: TypeAlias = DrawsState | SimilarityState

MAX_SWEEPS = 100
FEW = 32  # items up to which runs can afford to be more thorough
_TRIPLES = 9  # clusters up to which three are tried together
PAIRS = 16  # of items that are tried together at a time
_NEAREST = 24  # items that could go to a cluster one after another
_CHAIN = 16  # of which so many may
_PARTED = 40_000_000  # items times draws times columns, up to which parts of clusters are moved
_HOPELESS = 0.4  # loss above the best, in shares of an item's, that few moves make good
JOINED = 3  # pairs of clusters that are merged to see whether others follow
APART = 4.0  # loss above the best, in the same shares, that those may make good
WIDTHS = np.array([64.0, 8.0, 0.5])  # of rounded bends, in steps of e, from a start
MOVES = ("sweep", "merge", "rebuild", "split", "graft", "chain")


@dataclass
class Run:
    """One run: a state, its random numbers, its limits.

    ``best`` is the last partition that was kept, for when the run is cut short. A loss that bends
    in e has its bends rounded off at first if it ``softens``, and after every rebuilding if the run
    is ``thorough``; a start from nothing is by the loss of the items put in so far if it
    ``is_stepwise``, else by the loss made linear. ``others`` are partitions to take clusters from,
    and blocks of items first if it ``crosses``.
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
    crosses: bool = False
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
        for other in self.others if self.is_softened and self.crosses else ():
            self.cross(other)
        shakes = [move for move in ("rebuild", "split", "graft") if move in moves]
        while shakes:
            self.shake(patience, shakes)
            if not self._recombine():
                break
        last = self.chain if self.state.has_chains else self.join if self.pairs else None
        while last and "chain" in moves and last():
            pass
        if not self.sweeps and "merge" in moves:
            self.merge()
        self.keep()

    def _recombine(self) -> bool:
        """Split clusters, and merge others at once, as long as that pays; return whether it did.

        A try that looks well settles all items, so this is only where that is quick.
        """
        state: Any = self.state
        is_quick, found = state.has_chains and state.work <= _PARTED, False
        while self.sweeps and is_quick and not self.clock.is_up():
            if not recombine(self):
                break
            found = True
        return found

    def keep(self) -> None:
        """Remember the present partition."""
        self.best = self.state.labels.copy()
        self.clock.note(self.state.value)

    def settle(self, items: NDArray[np.int64] | None = None, max_sweeps: int = MAX_SWEEPS) -> None:
        """Sweep over the items, all if None, until each was seen since the last move."""
        state = self.state
        if not self.sweeps:
            return
        if items is None:
            state.fit()
        order = self.rng.permutation(state.labels.size if items is None else items)
        state.quiet[:2] = 0, order.size
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
        state.soften(order, self.limit, WIDTHS * state.stride, self.clock.is_up)
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
        while not self.clock.is_up() and state.exchange(self.limit, PAIRS):
            before = state.value
            self.settle()
            if state.value == before and state.has_exchanged:
                return

    def grow(self) -> None:
        """Allocate every item in random order, from nothing, as long as there is time."""
        state = self.state
        state.load(np.full(state.labels.size, -1))
        order = self.rng.permutation(state.labels.size)
        if self.is_stepwise and state.is_rough:
            cast(Any, state).sequence(order, self.limit, self.clock.is_up)
        else:
            state.allocate(order, self.limit, self.clock.is_up)

    def chain(self) -> bool:
        """Move items into a cluster, one after another, where only several pay; keep a gain."""
        state: Any = self.state
        bar = self._above(_HOPELESS)
        if self.clock.is_up() or not state.chain(self.limit, _NEAREST, _CHAIN, bar):
            return False
        self.settle()
        self.exchange()
        self.keep()
        return True

    def attempt(
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
        bar = self._bar(is_wide)
        is_promising = attempted(state, items, targets, order, self.limit, bar)
        if is_promising is None:
            state.move(items, targets)
            state.allocate(order[state.labels[order] < 0], self.limit)
            self._settle_if_promising(order, bar)
            is_promising = state.value < bar
        elif not is_promising:
            return False
        return self._is_kept(before, saved, is_wide=is_promising and is_wide)

    def _settle_if_promising(self, order: NDArray[np.int64], bar: float) -> None:
        """Sweep a few times, unless another as good as the last would not come below ``bar``."""
        state = self.state
        for _ in range(SETTLED):
            last = state.value
            self.settle(order, 1)
            if state.quiet[0] >= state.quiet[1] or state.value - bar > last - state.value:
                return

    def _bar(self, is_wide: bool) -> float:
        """The loss that an attempt must come below to go on."""
        value = self.state.value
        return self._above(_HOPELESS) if is_wide else value - 1e-11 * max(1.0, abs(value))

    def _is_kept(self, before: float, saved: Any, *, is_wide: bool) -> bool:
        """Settle after an attempt, keep what is better than ``before``, else go back."""
        state, least = self.state, 1e-11 * max(1.0, abs(before))
        if is_wide:
            self.settle()
            share = _HOPELESS / state.labels.size
            if abs(state.value - before) > least and state.value < before + share * abs(before):
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

    def merge(self) -> bool:
        """Merge pairs of clusters, the best first, as long as any gains; return whether any did."""
        state, any_merged = self.state, False
        while state.n_clusters > 1 and not self.clock.is_up():
            pairs, values = state.merge_values()
            bar = state.value - 1e-11 * max(1.0, abs(state.value))
            best = np.argsort(values, kind="stable")[: np.count_nonzero(values < bar)]
            is_merged = best.size > 0 and state.merge(pairs[best])
            if not is_merged and not self._merge_three():
                return any_merged
            any_merged = True
        return any_merged

    def _merge_three(self) -> bool:
        """Merge three of few clusters of few items; return whether any three gain.

        Where the loss bends, two of them together may lose what all three gain.
        """
        state = self.state
        if state.labels.size > FEW or state.n_clusters > _TRIPLES or not state.is_rough:
            return False
        saved: Any
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
        near = np.argsort(values, kind="stable")[:JOINED]
        for a, b in pairs[near[values[near] < self._above(APART)]]:
            if self.clock.is_up():
                return False
            items = np.flatnonzero(state.labels == a)
            rest = np.flatnonzero((state.labels != a) & (state.labels != b))
            order = np.concatenate([self.rng.permutation(rest), items])
            if self.attempt(items, np.full(items.size, b), order):
                return True
        return False

    def shake(self, patience: float, kinds: Sequence[str] = ("rebuild",)) -> None:
        """Rebuild, split or graft clusters until ``patience`` times K attempts in a row failed.

        K counts as 6 at least and 24 at most. Each cluster is first rebuilt alone, then come all
        the ways.
        """
        state, outcomes = self.state, cast(Any, kernels.greedy_proposals)
        proposals = Proposals(kinds, patience, state.labels.size, self.others, self.rng)
        is_wide = self.is_thorough and self.is_softened
        status = outcomes.PAUSED
        while status != outcomes.ENDED and not self.clock.is_up():
            before, saved = state.value, state.save()
            proposals.turn_to(state.n_fitted)
            status = state.shake(proposals, self.limit, self._bar(is_wide))
            if status == outcomes.BETTER:
                is_better = self._is_kept(before, saved, is_wide=is_wide)
            else:
                is_better = status == outcomes.ASKED and self.attempt(
                    *proposals.last, is_wide=is_wide
                )
            if is_better:
                proposals.succeeded()
            if status == outcomes.ASKED:
                state.fit(3.0)  # it may have had far more clusters on its way
