"""A partition under a loss on draws, with what is needed to change it an item at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels
from partita.search._greedy_tables import LANES, Room, width_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_draws import DrawsProblem
    from partita.search._greedy_proposals import Proposals
    from partita.typing import IntArray

SETTLED = 3  # sweeps over the items of an attempt
_CALL = 20_000_000  # table entries read in one compiled call, some ten milliseconds


def _compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.greedy_draws


def never() -> bool:
    """No time is ever up."""
    return False


class DrawsState:
    """One run's partition under a loss on draws; :meth:`load` begins another."""

    def __init__(self, problem: DrawsProblem) -> None:
        self.problem = p = problem
        self.labels = np.full(p.n, -1, dtype=np.int64)
        self.j, self.alpha = np.zeros(p.m), p.alpha.copy()
        self.alpha32 = self.alpha.astype(np.float32)
        self.slope = p.slope
        self.totals, self.quiet = np.zeros(1), np.array([0, 1 << 62])
        self._own, self._trial = np.zeros(p.m), np.zeros(p.m)
        self._value, self._doubt = np.inf, 2.0 if p.n_items <= 32 else 8 / p.n_items
        self._counts = Room(np.uint16 if p.n_items < 1 << 16 else np.uint32)
        self._table = Room(np.float32)
        self._widen(LANES)
        self.counts[:] = 0

    def _widen(self, width: int) -> None:
        """Make tables of this many columns; the counts are undefined."""
        rows = int(self.problem.offsets[-1])
        self.counts = self._counts.table((rows, width))
        self.table = self._table.table((rows, width))
        self.sizes = np.zeros(width, dtype=np.int64)
        self._block, self._gains = np.zeros(width, dtype=np.float32), np.zeros(width)

    def _grow(self, n_columns: int) -> None:
        """Make room for ``n_columns`` clusters and some more, keeping those there are."""
        counts, table, sizes = self.counts.copy(), self.table.copy(), self.sizes
        self._widen(width_for(n_columns + n_columns // 2))
        self.counts[:, : sizes.size], self.sizes[: sizes.size] = counts, sizes
        self.table[:, : sizes.size] = table
        self.counts[:, sizes.size :], self.table[:, sizes.size :] = 0, self.problem.step[0]

    def fit(self) -> None:
        """Make the tables as narrow as the clusters allow, if that is much."""
        active = np.flatnonzero(self.sizes)
        if self.sizes.size > 1.5 * width_for(active.size):
            columns = np.zeros(self.sizes.size, dtype=np.int64)
            columns[active] = np.arange(active.size)
            self.load(columns[self.labels])

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(np.count_nonzero(self.sizes))

    def load(self, labels: IntArray) -> None:
        """Start from labels 0 .. K - 1; -1 is in no cluster.

        The width of the tables follows from K alone, or that of the draws where items are to be
        put in yet: sums over them are rounded differently for different widths, and what ran before
        must not matter.
        """
        p = self.problem
        self.labels[:] = labels
        n_clusters = max(int(labels.max()) + 1, p.usual if labels.min() < 0 else 0)
        if width_for(n_clusters) != self.sizes.size:
            self._widen(width_for(n_clusters))
        inside = self.labels >= 0
        self.sizes[:] = np.bincount(self.labels[inside], p.weight[inside], self.sizes.size)
        _compiled().load(p.rows, p.weight, self.labels, self.counts)
        self.refresh()

    def _derive(self) -> None:
        """Recompute the table and j from the counts."""
        p = self.problem
        _compiled().derive(self.counts, p.offsets, p.cell, p.step, self.table, self.j)

    def refresh(self) -> None:
        """Recompute every total and the table from the counts, and the linear form here."""
        self._derive()
        self.totals[0] = self.problem.cell[self.sizes].sum()
        self.linearise()

    def recomputed(self) -> float:
        """The expected loss from the counts alone."""
        p = self.problem
        _compiled().joint(self.counts, p.offsets, p.cell, self._trial)
        return self._loss(self._trial, float(p.cell[self.sizes].sum()))

    def linearise(self) -> None:
        """Recompute the value, and the linear form of the loss, from the totals."""
        p = self.problem
        if not p.is_linear:
            self.slope = self._slopes(0.0)[0]
        elif p.bends:
            self.slope = p.slope_at(float(self.totals[0]))
        self._value = self._loss(self.j, float(self.totals[0]))

    def _slopes(self, width: float) -> tuple[float, float]:
        """Take the slopes here, bends rounded off within ``width``; see the kernel."""
        p = self.problem
        slope, rise = _compiled().slopes(
            p.t, p.p, self.j, float(self.totals[0]), width, p.num, p.den, p.w, p.total,
            self.alpha32, self.alpha,
        )  # fmt: skip
        return float(slope), float(rise)

    @property
    def is_complete(self) -> bool:
        """Whether every item is in a cluster."""
        return bool(self.labels.min() >= 0)

    @property
    def is_rough(self) -> bool:
        """Whether the loss bends in e."""
        return self.problem.is_rough

    @property
    def value(self) -> float:
        """The expected loss, from the running totals."""
        return float(self._value)

    @property
    def visits(self) -> int:
        """Items that a compiled call may visit to end soon."""
        return max(1, _CALL // (self.problem.m * self.sizes.size))

    def _tables(self) -> tuple[Any, ...]:
        p = self.problem
        return (
            p.rows, p.weight, p.cell, p.step, self.counts, self.table, self.labels, self.sizes,
            self.j, self.totals,
        )  # fmt: skip

    def allocate(self, items: IntArray, limit: int) -> None:
        """Put items that are in no cluster into the best, one after another.

        The loss is taken as linear: about this partition, or about the draws if most items are
        in no cluster yet.
        """
        p = self.problem
        if 2 * items.size > p.n:
            self.alpha[:], self.slope = p.alpha, p.slope
            self.alpha32[:] = self.alpha
        done = 0
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = _compiled().allocate(
                items[:end], done, *self._tables(), self.alpha32, self.slope, limit, self._block,
                self._gains,
            )  # fmt: skip
            if done < end:
                self._grow(self.sizes.size)
        self.linearise()

    def sequence(self, items: IntArray, limit: int) -> None:
        """Put all items, none of them in a cluster, into the best, by the loss of those put in."""
        p, compiled, done = self.problem, cast(Any, kernels.greedy_soften), 0
        self.alpha[:], self.slope = p.alpha, p.slope
        self.alpha32[:] = self.alpha
        t, seen = np.zeros(p.m), np.zeros(int(p.offsets[-1]), dtype=np.int64)
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = compiled.sequence(
                items[:end], done, *self._tables(), self.alpha32, self.alpha, self.slope, limit,
                self._block, self._gains, p.p, p.num, p.den, t, seen,
            )  # fmt: skip
            if done < end:
                self._grow(self.sizes.size)
        if p.is_linear:
            self.alpha[:], self.alpha32[:] = p.alpha, p.alpha
        self.linearise()

    def sweep(
        self, items: IntArray, limit: int, n_sweeps: int = 1, is_up: Callable[[], bool] = never
    ) -> None:
        """Reassign each item to its best cluster, again and again until quiet or up."""
        p = self.problem
        slope, done, last = p.bent_slope if p.is_linear else self.slope, 0, n_sweeps * items.size
        while done < last and self.quiet[0] < self.quiet[1] and not is_up():
            end = min(last, done + self.visits)
            done, slope, self._value = _compiled().sweep(
                items, done, end, *self._tables(), self.alpha32, self.alpha, slope, limit,
                self._block, self._gains, self._own, p.curve, p.bends, p.t, p.p, p.num, p.den, p.w,
                p.total, p.is_linear, self._value, self._doubt, self._trial, self.quiet,
            )  # fmt: skip
            if done < end:
                self._grow(self.sizes.size)
        if p.is_linear:
            self.linearise()
        else:
            self.slope = slope

    def attempt(
        self, items: IntArray, targets: IntArray, order: IntArray, limit: int, bar: float
    ) -> bool | None:
        """Move ``items``, allocate those of ``order`` that are in no cluster, sweep over these.

        Returns whether the loss is below ``bar`` then; if not, all is as it was, or the clusters
        are the same in other columns. None if that is too much to be done in one call.
        """
        p, compiled = self.problem, cast(Any, kernels.greedy_attempt)
        if (SETTLED + 2) * order.size > self.visits:
            return None
        guide = p.guide if 2 * order.size > p.n else (self.alpha32, self.slope)
        while True:
            status, *ends = compiled.attempt(
                items, targets, order, SETTLED, self._value, bar, *self._tables(), *guide,
                *self._swept(limit),
            )  # fmt: skip
            if status != compiled.FULL:
                break
            self._grow(self.sizes.size)
        self._end_at(*ends)
        return bool(status == compiled.BETTER)

    def shake(self, proposals: Proposals, limit: int, bar: float) -> int:
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
            self._block, self._gains, self._own, p.curve, p.bends, p.t, p.p, p.num, p.den, p.w,
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
        p, compiled = self.problem, cast(Any, kernels.greedy_soften)
        is_curved, done, last = p.bends or not p.is_linear, 0, widths.size * items.size
        while done < last and not is_up():
            end = min(last, done + self.visits)
            done = compiled.soften(
                items, done, end, *self._tables(), self.alpha32, self.alpha, p.slope, limit,
                self._block, self._gains, self._own, is_curved, p.t, p.p, p.num, p.den, p.w,
                p.total, widths,
            )  # fmt: skip
            if done < end:
                self._grow(self.sizes.size)
        if p.is_linear:
            self.alpha[:] = p.alpha
            self.alpha32[:] = p.alpha
        self.linearise()

    def exchange(self, limit: int, tries: int) -> bool:
        """Move two items at once where that pays; return whether any were."""
        p, compiled = self.problem, cast(Any, kernels.greedy_pairs)
        if not (self.sizes == 0).any():
            self._grow(self.sizes.size)
        scores, cost = np.empty((p.n, self.sizes.size)), np.empty(2 * compiled.POINTS + 1)
        value = compiled.exchange(
            tries, max(1, self.visits // p.n), *self._tables(), self.alpha32, self.alpha, limit,
            self._block, self._gains, self._own, p.t, p.p, p.num, p.den, p.w, p.total,
            self._value, scores, cost,
        )  # fmt: skip
        if p.is_linear:
            self.alpha[:] = p.alpha
            self.alpha32[:] = p.alpha
        is_better = bool(value < self._value)
        self.linearise()
        return is_better

    def chain(self, limit: int, n_nearest: int, depth: int, hopeless: float) -> bool:
        """Move items into a cluster one after another where some together pay; say whether any."""
        p, compiled = self.problem, cast(Any, kernels.greedy_chains)
        if p.n * p.m * self.sizes.size > 5 * _CALL:  # too long for one call
            return False
        if not (self.sizes == 0).any():
            self._grow(self.sizes.size)
        fresh = int(np.flatnonzero(self.sizes == 0)[0]) if self.n_clusters < limit else -1
        value = compiled.chains(
            n_nearest, depth, hopeless, *self._tables(), self.alpha32, self.alpha, self.slope,
            fresh, self._block, self._gains, self._own, p.t, p.p, p.num, p.den, p.w, p.total,
            self._value, np.empty((p.n, self.sizes.size)),
        )  # fmt: skip
        is_better = bool(value < self._value)
        self.linearise()
        return is_better

    def _loss(self, j: NDArray[np.float64], e: float) -> float:
        """The loss at totals j and e."""
        p = self.problem
        return float(_compiled().expected(p.t, p.p, j, e, p.num, p.den, p.w, p.total))

    def move(self, items: IntArray, targets: IntArray) -> None:
        """Move items to clusters, -1 for none; totals follow, the value only when all are in."""
        self._move(items, targets)
        if self.is_complete:
            self.linearise()

    def _move(self, items: IntArray, targets: IntArray) -> None:
        if targets.size and int(targets.max()) >= self.sizes.size:
            self._grow(int(targets.max()))
        part = max(1, _CALL // (8 * self.problem.m))
        for a in range(0, items.size, part):
            _compiled().move(items[a : a + part], targets[a : a + part], *self._tables())

    def save(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What :meth:`restore` needs to come back here."""
        return self.labels.copy(), self.j.copy()

    def restore(self, saved: tuple[NDArray[np.int64], NDArray[np.float64]]) -> None:
        """Go back to where :meth:`save` was called."""
        changed = np.flatnonzero(self.labels != saved[0])
        self._move(changed, saved[0][changed])
        self.j[:] = saved[1]
        self.linearise()

    def cost_of(self, rise: float) -> float:
        """What the loss rises above its slope here if e does so by ``rise``."""
        e = float(self.totals[0]) + rise
        return max(0.0, self._loss(self.j, e) - self._value - self.slope * rise)

    def cross(self, parts: IntArray, other: IntArray, limit: int) -> bool:
        """Move blocks of items as they are in ``other``; return whether that was better."""
        p, compiled = self.problem, cast(Any, kernels.greedy_blocks)
        value = compiled.cross(
            parts, other, *self._tables(), limit, p.t, p.p, p.num, p.den, p.w, p.total, self._value
        )
        is_better = bool(value < self._value)
        if is_better:
            self.linearise()
        return is_better

    def split_scores(
        self, blocks: Sequence[NDArray[np.int64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What splitting each block off gains on the loss linearised here, and what e gains."""
        p, compiled = self.problem, cast(Any, kernels.greedy_blocks)
        ends = np.cumsum([block.size for block in blocks])
        gains, rises = np.empty(ends.size), np.empty(ends.size)
        shared = np.zeros(int(p.offsets[-1]), dtype=np.int64)
        compiled.split_gains(
            np.concatenate(blocks), ends, p.rows, p.weight, p.cell, self.counts, self.labels,
            self.sizes, self.alpha, shared, gains, rises,
        )  # fmt: skip
        return gains - self.slope * rises, rises

    def merge_scores(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """All pairs of clusters, what merging them costs on the linear loss, and what e gains."""
        p, gains = self.problem, self._merge_gains()
        active = np.flatnonzero(self.sizes)
        a, b = np.nonzero(np.tri(active.size, k=-1, dtype=bool))
        a, b = active[a], active[b]
        s, u = self.sizes[a], self.sizes[b]
        rise = p.cell[s + u] - p.cell[s] - p.cell[u]
        return np.stack([a, b], axis=1), self.slope * rise - gains[a, b], rise

    def _merge_gains(self) -> NDArray[np.float64]:
        """What the linear loss less its part in e gains if two clusters, the first later, merge."""
        p, width = self.problem, self.sizes.size
        gains = np.zeros((width, width))
        size = max(1, _CALL // (8 * width * max(1, int(p.offsets[-1]) // p.m)))
        for m in range(0, p.m, size):
            end = min(m + size, p.m)
            _compiled().merge_gains(self.counts, p.offsets, m, end, self.alpha, p.cell, gains)
        return gains

    def merge_values(self, n_exact: int = 8) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The loss after merging pairs of clusters: (pairs, 2) columns and their values.

        All pairs are ranked by the loss linearised here; the best ``n_exact`` are returned.
        """
        p, pairs = self.problem, np.empty((n_exact, 2), dtype=np.int64)
        n_found = _compiled().best_mergers(
            self._merge_gains(), self.slope, self.sizes, p.cell, n_exact, pairs
        )
        pairs, values = pairs[:n_found], np.empty(n_found)
        _compiled().merged(
            self.counts, p.offsets, pairs, self.sizes, p.cell, p.t, p.p, self.j,
            float(self.totals[0]), p.num, p.den, p.w, p.total, self._trial, values,
        )  # fmt: skip
        return pairs, values

    def merge(self, pairs: NDArray[np.int64]) -> bool:
        """Merge the pairs of clusters that pay, each cluster once; return whether any did."""
        p = self.problem
        value = _compiled().merge(
            pairs, self._value, p.offsets, self.counts, self.table, p.cell, p.step, self.labels,
            self.sizes, self.j, self.totals, p.t, p.p, p.num, p.den, p.w, p.total, self._trial,
        )  # fmt: skip
        is_better = bool(value < self._value)
        if is_better:
            self.linearise()
        return is_better
