"""A partition under a loss on draws, with what is needed to change it an item at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels
from partita.search._greedy_counts import DrawsTables, compiled
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
            self.straighten()
        done = 0
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = compiled().allocate(
                items[:end], done, p.given, self.held, self.near, self.slant, self.slope, limit
            )
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
        self.straighten()
        t, seen = np.zeros(p.m), np.zeros(int(p.offsets[-1]), dtype=np.int64)
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = moves.sequence(
                items[:end], done, p.given, self.held, self.near, self.slant, self.slope, limit,
                p.p, p.num, p.den, t, seen,
            )  # fmt: skip
            if done < items.size and is_up():
                self._put_in_largest(items[done:])
                break
            if done < end:
                self.grow(self.sizes.size)
        if p.is_linear:
            self.straighten()
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
        self.quiet[2] = items.size < p.n
        while done < last and self.quiet[0] < self.quiet[1] and not is_up():
            end = min(last, done + self.visits)
            done, slope, self._value = compiled().sweep(
                items, done, end, p.given, self.held, self.near, self.slant, slope, limit, p.line,
                p.shape, self._value, self._trial, self.quiet,
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
        status, slope, value = cast(Any, kernels.greedy_attempt).shake(
            *proposals.arguments, p.edges, p.is_rough, self.visits, self.slope, SETTLED,
            self._value, bar, (p.alpha, p.reach), p.slope,
            p.bent_slope if p.is_linear else self.slope, limit, p.given, self.held, self.near,
            self.slant, p.line, p.shape, self._trial, self.quiet,
        )  # fmt: skip
        if p.bends and value != self._value:
            self.slope = p.slope_at(float(self.totals[0]))
        elif not p.is_linear:
            self.slope = slope
        self._value = value
        return int(status)

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
                items, done, end, p.given, self.held, self.near, self.slant, p.slope, limit,
                is_curved, p.shape, widths,
            )  # fmt: skip
            if done < end:
                self.grow(self.sizes.size)
        if p.is_linear:
            self.straighten()
        self.linearise()

    @property
    def _is_long(self) -> bool:
        """Whether looking at all items is too long for one call."""
        return self.problem.n > 5 * self.visits

    def exchange(self, limit: int, tries: int) -> bool:
        """Move two items at once where that pays; return whether any were.

        ``has_exchanged`` says whether that was all, or another call may find more.
        """
        p, moves = self.problem, cast(Any, kernels.greedy_pairs)
        if self._is_long:
            return False
        if self.n_clusters == self.sizes.size:
            self.grow(self.sizes.size)
        new = (self.slant[0].copy(), self.slant[1].copy()) if p.is_linear else self.slant
        value, self.has_exchanged = moves.exchange(
            tries, max(1, self.visits // p.n), p.given, self.held, self.near, self.slant, new,
            limit, p.is_linear, p.shape, self._value,
            np.empty((p.n, moves.room(self.held))), np.empty(2 * moves.POINTS + 1),
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
        if self.n_clusters == self.sizes.size:
            self.grow(self.sizes.size)
        fresh = int(np.flatnonzero(self.sizes == 0)[0]) if self.n_clusters < limit else -1
        value = moves.chains(
            n_nearest, depth, hopeless, p.given, self.held, self.near, self.slant, self.slope,
            fresh, p.shape, self._value, np.empty((self.sizes.size, p.n)),
        )  # fmt: skip
        is_better = bool(value < self._value)
        if is_better or not p.is_linear:
            self.linearise()
        return is_better

    def cross(self, parts: IntArray, other: IntArray, limit: int) -> bool:
        """Move blocks of items as they are in ``other``; return whether that was better."""
        p, moves = self.problem, cast(Any, kernels.greedy_blocks)
        value = moves.cross(parts, other, p.given, self.held, limit, p.shape, self._value)
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
            seed, self.slope, p.given, self.held, self.near, self.slant, p.shape, p.offsets, known,
            hope * share, hope_alone * share, p.is_rough, self.n_clusters < limit, inside, mates,
            plans,
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

    def merge_values(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The loss after merging pairs of clusters, those that come near to paying.

        (pairs, 2) columns and their values.
        """
        p, n = self.problem, int(_merging().n_mergers(self.held))
        pairs, values = np.empty((n, 2), dtype=np.int64), np.empty(n)
        n_found = _merging().mergers(
            self.slope, p.offsets, p.given, self.held, self.slant[0], p.shape, self._trial[0],
            pairs, values,
        )  # fmt: skip
        return pairs[:n_found], values[:n_found]

    def merge(self, pairs: NDArray[np.int64]) -> bool:
        """Merge the pairs of clusters that pay, one after another; return whether any did."""
        p = self.problem
        value = _merging().merge(
            pairs, self._value, p.offsets, p.given, self.held, p.shape, self._trial[0]
        )
        is_better = bool(value < self._value)
        if is_better:
            self.linearise()
        return is_better
