"""A partition under a loss on draws, with what is needed to change it an item at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels
from partita.search._greedy_counts import CALL, DrawsTables, compiled
from partita.search._greedy_proposals import SETTLED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_proposals import Given, Proposals
    from partita.typing import IntArray


def _merging() -> Any:
    """The compiled mergers."""
    return kernels.greedy_merges


def never() -> bool:
    """No time is ever up."""
    return False


class DrawsState(DrawsTables):
    """One run's partition under a loss on draws, and the moves that change it."""

    has_chains = True
    has_exchanged: bool

    def allocate(self, items: IntArray, limit: int, is_up: Callable[[], bool] = never) -> None:
        """Put items that are in no cluster into the best, one after another.

        The loss is taken as linear: about this partition, or about the draws if most items are
        in no cluster yet. When time is up the rest go to the largest cluster.
        """
        p = self.problem
        if 2 * items.size > p.n:
            self.alpha[:], self.slope = p.alpha, p.slope
            self.alpha32[:] = self.alpha
        done = 0
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = compiled().allocate(
                items[:end], done, *self._tables(), self.alpha32, self.slope, limit, self.memo,
            )  # fmt: skip
            if done < items.size and is_up():
                self._put_in_largest(items[done:])
                break
            if done < end:
                self.grow(self.sizes.size)
        self.linearise()

    def sequence(self, items: IntArray, limit: int, is_up: Callable[[], bool] = never) -> None:
        """Put all items, none of them in a cluster, into the best, by the loss of those put in.

        When time is up the rest go to the largest cluster.
        """
        p, moves, done = self.problem, cast(Any, kernels.greedy_soften), 0
        self.alpha[:], self.slope = p.alpha, p.slope
        self.alpha32[:] = self.alpha
        t, seen = np.zeros(p.m), np.zeros(int(p.offsets[-1]), dtype=np.int64)
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = moves.sequence(
                items[:end], done, *self._tables(), self.alpha32, self.alpha, self.slope, limit,
                self.memo, p.p, p.num, p.den, t, seen,
            )  # fmt: skip
            if done < items.size and is_up():
                self._put_in_largest(items[done:])
                break
            if done < end:
                self.grow(self.sizes.size)
        if p.is_linear:
            self.alpha[:], self.alpha32[:] = p.alpha, p.alpha
        self.linearise()

    def _put_in_largest(self, items: IntArray) -> None:
        """Put items that are in no cluster into the largest; totals follow."""
        self._move(items, np.full(items.size, self.sizes.argmax()))

    def sweep(
        self, items: IntArray, limit: int, n_sweeps: int = 1, is_up: Callable[[], bool] = never
    ) -> None:
        """Reassign each item to its best cluster, again and again until quiet or up."""
        p = self.problem
        slope, done, last = p.bent_slope if p.is_linear else self.slope, 0, n_sweeps * items.size
        while done < last and self.quiet[0] < self.quiet[1] and not is_up():
            end = min(last, done + self.visits)
            done, slope, self._value = compiled().sweep(
                items, done, end, *self._tables(), self.alpha32, self.alpha, slope, limit,
                self.memo, self._own, p.curve, p.bends, p.t, p.p, p.num, p.den, p.w,
                p.total, p.is_linear, self._value, self._doubt, self._trial, self.quiet,
            )  # fmt: skip
            if done < end:
                self.grow(self.sizes.size)
        if p.is_linear:
            self.linearise()
        else:
            self.slope = slope

    def shake(self, proposals: Proposals | Given, limit: int, bar: float) -> int:
        """Attempt what is proposed until the loss is below ``bar``; return what came of it.

        If it is not below, all is as it was, or the clusters are the same in other columns.
        """
        p = self.problem
        status, *ends = cast(Any, kernels.greedy_attempt).shake(
            *proposals.arguments, p.edges, p.is_rough, self.visits, self.slope, SETTLED,
            self._value, bar, *self._tables(), *p.guide, *self._swept(limit),
        )  # fmt: skip
        self._end_at(*ends)
        return int(status)

    def _swept(self, limit: int) -> tuple[Any, ...]:
        """What a compiled attempt needs to sweep."""
        p = self.problem
        return (
            self.alpha32, self.alpha, p.bent_slope if p.is_linear else self.slope, limit,
            self.memo, self._own, p.curve, p.bends, p.t, p.p, p.num, p.den, p.w,
            p.total, p.is_linear, self._doubt, self._trial, self.quiet,
        )  # fmt: skip

    def _end_at(self, slope: float, value: float) -> None:
        """Take over where compiled attempts ended."""
        p = self.problem
        if p.bends and value != self._value:
            self.slope = p.slope_at(float(self.totals[0]))
        elif not p.is_linear:
            self.slope = slope
        self._value = value

    @property
    def stride(self) -> float:
        """What e loses where an item leaves its cluster, on average over the items."""
        cell, sizes = self.problem.cell, self.sizes[self.sizes > 0]
        return float(sizes @ (cell[sizes] - cell[sizes - 1])) / self.problem.n_items

    def soften(
        self,
        items: IntArray,
        limit: int,
        widths: NDArray[np.float64],
        is_up: Callable[[], bool] = never,
    ) -> None:
        """Sweep over the items once for each width, the bends of min(t, e) rounded off within it.

        The loss may rise.
        """
        p, moves = self.problem, cast(Any, kernels.greedy_soften)
        is_curved, done, last = p.bends or not p.is_linear, 0, widths.size * items.size
        while done < last and not is_up():
            end = min(last, done + self.visits)
            done = moves.soften(
                items, done, end, *self._tables(), self.alpha32, self.alpha, p.slope, limit,
                self.memo, is_curved, p.t, p.p, p.num, p.den, p.w,
                p.total, widths,
            )  # fmt: skip
            if done < end:
                self.grow(self.sizes.size)
        if p.is_linear:
            self.alpha[:] = p.alpha
            self.alpha32[:] = p.alpha
        self.linearise()

    @property
    def _is_long(self) -> bool:
        """Whether looking at all items is too long for one call."""
        return self.work > 5 * CALL

    def exchange(self, limit: int, tries: int) -> bool:
        """Move two items at once where that pays; return whether any were.

        ``has_exchanged`` says whether that was all, or another call may find more.
        """
        p, moves = self.problem, cast(Any, kernels.greedy_pairs)
        if self._is_long:
            return False
        if not (self.sizes == 0).any():
            self.grow(self.sizes.size)
        scores, cost = np.empty((p.n, self.sizes.size)), np.empty(2 * moves.POINTS + 1)
        value, self.has_exchanged = moves.exchange(
            tries, max(1, self.visits // p.n), *self._tables(), self.alpha32, self.alpha, limit,
            self.memo, p.is_linear, p.t, p.p, p.num, p.den, p.w, p.total, self._value,
            scores, cost,
        )  # fmt: skip
        is_better = bool(value < self._value)
        if is_better or not p.is_linear:
            self.linearise()
        return is_better

    def chain(self, limit: int, n_nearest: int, depth: int, hopeless: float) -> bool:
        """Move items into a cluster one after another where some together pay; say whether any."""
        p, moves = self.problem, cast(Any, kernels.greedy_chains)
        if self._is_long:
            return False
        if not (self.sizes == 0).any():
            self.grow(self.sizes.size)
        fresh = int(np.flatnonzero(self.sizes == 0)[0]) if self.n_clusters < limit else -1
        value = moves.chains(
            n_nearest, depth, hopeless, *self._tables(), self.alpha32, self.alpha, self.slope,
            fresh, self.memo, p.t, p.p, p.num, p.den, p.w, p.total,
            self._value, np.empty((p.n, self.sizes.size)),
        )  # fmt: skip
        is_better = bool(value < self._value)
        if is_better or not p.is_linear:
            self.linearise()
        return is_better

    def cross(self, parts: IntArray, other: IntArray, limit: int) -> bool:
        """Move blocks of items as they are in ``other``; return whether that was better."""
        p, moves = self.problem, cast(Any, kernels.greedy_blocks)
        value = moves.cross(
            parts, other, *self._tables(), limit, p.t, p.p, p.num, p.den, p.w, p.total, self._value
        )
        is_better = bool(value < self._value)
        if is_better:
            self.linearise()
        return is_better

    def recombinations(
        self,
        seed: NDArray[np.uint64],
        others: Sequence[NDArray[np.int64]],
        limit: int,
        n: int,
        hope: float,
        hope_alone: float,
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Up to ``n`` sets of items to take out of their cluster, the best first, and where to.

        With each come two items whose clusters merge, which is done only where a loss bends, one to
        whose cluster the set goes, or none: then it becomes a cluster. The loss may rise by
        ``hope`` with a merger, by ``hope_alone`` without, in shares of an item's.
        """
        p, moves = self.problem, cast(Any, kernels.greedy_recombine)
        known = np.array(others, dtype=np.int64).reshape(-1, p.n)
        inside, plans = np.zeros(p.n, dtype=bool), np.empty((n, 4), dtype=np.int64)
        mates = np.empty(p.n, dtype=np.int64)
        share = abs(self._value) / p.n
        n_found = moves.plans(
            seed, p.rows, p.weight, p.cell, self.counts, self.table, self.labels, self.sizes,
            self.j, self.totals, p.offsets, self.alpha32, self.alpha, self.slope, p.t, p.p, p.num,
            p.den, p.w, p.total, known, hope * share, hope_alone * share, p.is_rough,
            self.n_clusters < limit, inside, mates, plans,
        )  # fmt: skip
        found = []
        for source, item, *pair in plans[:n_found]:
            if source == moves.PAIR:
                items = np.array([item, mates[item]])
            else:
                like = inside if source == moves.HALF else known[source]
                items = np.flatnonzero((self.labels == self.labels[item]) & (like == like[item]))
            merged = [int((self.labels == k).argmax()) for k in pair if k != moves.ALONE]
            found.append((items, np.array(merged, dtype=np.int64)))
        return found

    def _merge_gains(self) -> NDArray[np.float64]:
        """What the linear loss less its part in e gains if two clusters, the first later, merge."""
        p, width = self.problem, self.sizes.size
        gains = np.zeros((width, width))
        size = max(1, CALL // (8 * width * max(1, int(p.offsets[-1]) // p.m)))
        for m in range(0, p.m, size):
            end = min(m + size, p.m)
            _merging().merge_gains(self.counts, p.offsets, m, end, self.alpha, p.cell, gains)
        return gains

    def merge_values(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The loss after merging pairs of clusters: (pairs, 2) columns and their values.

        All pairs are ranked by the loss linearised here; the best eight are returned, or of many
        clusters some more, as ranking takes long.
        """
        n_best = max(8, self.n_clusters // 16)
        p, pairs, costs = self.problem, np.empty((n_best, 2), dtype=np.int64), np.empty(n_best)
        n_found = _merging().best_mergers(
            self._merge_gains(), self.slope, self.sizes, p.cell, pairs, costs
        )
        pairs, values = pairs[:n_found], costs[:n_found] + self._value
        if p.bends or not p.is_linear:
            _merging().merged(
                self.counts, p.offsets, pairs, self.sizes, p.cell, p.t, p.p, self.j,
                float(self.totals[0]), p.num, p.den, p.w, p.total, self._trial, values,
            )  # fmt: skip
        return pairs, values

    def merge(self, pairs: NDArray[np.int64]) -> bool:
        """Merge the pairs of clusters that pay, one after another; return whether any did."""
        p = self.problem
        value = _merging().merge(
            pairs, self._value, p.offsets, self.counts, self.table, p.cell, p.step, self.labels,
            self.sizes, self.j, self.totals, self.marks, p.t, p.p, p.num, p.den, p.w, p.total,
            self._trial,
        )  # fmt: skip
        is_better = bool(value < self._value)
        if is_better:
            self.linearise()
        return is_better
