"""Changing a partition of items too many to hold, in rounds that never raise the loss.

A round scores every item's best move with all the others in place: a pure function of a block of
items and of one table of counts. The moves are then made together, the loss is taken anew, and if
it has not fallen only the better half of them is tried, and so on. Blocks may be on any thread or
machine, and the answer is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.distributed import blocks, map_items
from partita.draws import joint_counts, offsets_of
from partita.losses import Basis, RatioLoss
from partita.partitions import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.losses import Combination
    from partita.search._greedy_run import Clock
    from partita.typing import FloatArray, IntArray

_ROUNDS = 60
_HALVINGS = 8
_PAIRS = 2_000  # pairs of clusters whose merger is tried
_LANES = 8
_LOOKUPS = 5_000_000


@dataclass(frozen=True, eq=False)
class Linear:
    """The expected loss at (e, j), and what one more in e and in each j changes it by."""

    value: float
    alpha: NDArray[np.float64]
    slope: float


class Rows:
    """The draws of a problem as rows of clusters, and the totals of a loss over them.

    Parameters
    ----------
    draws : Draws
        Distinct and weighted.
    loss : RatioLoss
    sizes : ndarray, shape (R,)
        Of every cluster of every draw, among the items that are counted.
    """

    def __init__(self, draws: Draws, loss: RatioLoss, sizes: IntArray) -> None:
        self.draws, self.loss, self.offsets = draws, loss, offsets_of(draws)
        self.n_items = int(sizes[: self.offsets[1]].sum())
        self.cell = loss.table(self.n_items)
        self.step = np.append(np.diff(self.cell), 0.0)
        self.t = np.add.reduceat(self.cell[sizes], self.offsets[:-1])

    def totals(self, counts: IntArray) -> tuple[float, NDArray[np.float64]]:
        """The sums e and j of a table of counts."""
        j = np.empty(self.draws.n_draws)
        kernels.streaming.joint(counts, self.offsets, self.cell, j)
        sizes = counts[: self.offsets[1]].sum(axis=0)
        return float(self.cell[sizes].sum()), j

    def value(self, e: Any, j: NDArray[np.float64]) -> float:
        """The expected loss at totals e and j."""
        ratio = self.loss.ratio(Basis(self.t, e, j, self.cell[-1], self.n_items))
        return float(ratio @ self.draws.probabilities)

    def linear(self, e: float, j: NDArray[np.float64]) -> Linear:
        """The loss and its slopes at totals e and j."""
        basis = Basis(self.t, e, j, float(self.cell[-1]), self.n_items)
        top, bottom = self.loss.numerator, self.loss.denominator
        n, d = np.asarray(top(basis), float), np.asarray(bottom(basis), float) + 0 * self.t
        safe = np.where(d > 0, d, np.inf)
        p = self.draws.probabilities

        def slope(c: Combination) -> Any:
            half = np.where(self.t < e, 0.0, np.where(self.t > e, 1.0, 0.5))
            product = self.t / basis.w if basis.w else 0.0
            return c.e + c.least * half + c.product * product

        by_j = (top.j * d - n * bottom.j) / safe**2
        by_e = (slope(top) * d - n * slope(bottom)) / safe**2
        return Linear(self.value(e, j), -p * by_j, float(p @ by_e))

    def scoring(self, counts: IntArray, limit: int, *, allocate: bool = False) -> tuple[Any, ...]:
        """What :func:`moves` needs of everything but its own items."""
        e, j = self.totals(counts)
        form = self.linear(e, j)
        width = counts.shape[1]
        full = width + 1 + -(width + 1) % _LANES  # one column at least belongs to nobody
        table = np.zeros((counts.shape[0], full), dtype=np.float32)
        table[:, :width] = self.step[counts]
        sizes = np.zeros(full, dtype=np.int64)
        sizes[:width] = counts[: self.offsets[1]].sum(axis=0)
        enters = form.slope * self.step[sizes]
        free = np.flatnonzero(sizes == 0)
        shut = allocate or int((sizes > 0).sum()) >= limit
        enters[free if shut else free[1:]] = np.inf
        lost = np.zeros_like(table)
        if allocate:  # all come from a column of nobody, and none may stay there
            leaves = np.full(full, -10.0)
        else:
            lost[:, :width] = self.step[np.maximum(counts - 1, 0)]
            leaves = form.slope * (self.cell[np.maximum(sizes - 1, 0)] - self.cell[sizes])
        return self.offsets, form.alpha.astype(np.float32), table, lost, leaves, enters


def moves(
    block: IntArray, items: slice, labels: IntArray, offsets: NDArray[np.int64],
    alpha: NDArray[np.float32], table: NDArray[np.float32], lost: NDArray[np.float32],
    leaves: FloatArray, enters: FloatArray,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:  # fmt: skip
    """The best cluster of every item of a block, and by how much the loss would fall."""
    n = block.shape[1]
    best, gains = np.empty(n, dtype=np.int64), np.empty(n)
    here = np.ascontiguousarray(labels, dtype=np.int64)
    for part in blocks(n, max(64, _LOOKUPS // block.shape[0])):
        few = np.ascontiguousarray(block[:, part])
        kernels.streaming.best_moves(
            few, offsets, alpha, table, lost, here[part], leaves, enters, best[part], gains[part]
        )
    return best.astype(np.int32), gains.astype(np.float32)


class StreamedState:
    """A partition of all items, with its counts against every draw."""

    def __init__(self, labels: IntArray, draws: Draws, loss: RatioLoss, n_jobs: int) -> None:
        self.draws, self.n_jobs = draws, n_jobs
        self.labels = canonical(labels).astype(np.int32)
        self.counts = self._count(self.labels)
        self.rows = Rows(draws, loss, self.counts.sum(axis=1))
        self.value = self.rows.value(*self.rows.totals(self.counts))

    def _count(self, labels: IntArray) -> NDArray[np.int32]:
        """Counts with one column to spare."""
        (counts,) = joint_counts(self.draws, [labels], n_jobs=self.n_jobs, label="polish")
        return np.concatenate([counts, np.zeros((counts.shape[0], 1), np.int32)], axis=1)

    def offer(self, labels: IntArray) -> bool:
        """Take other labels if their loss is less."""
        offered = canonical(labels).astype(np.int32)
        counts = self._count(offered)
        value = self.rows.value(*self.rows.totals(counts))
        if not value < self.value - 1e-12 * max(1.0, abs(self.value)):
            return False
        self.labels, self.counts, self.value = offered, counts, value
        return True

    def best_moves(self, limit: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Every item's best cluster with the others in place, and the gain."""
        parts = list(
            map_items(
                moves, self.draws.labels, along=(self.labels,),
                shared=self.rows.scoring(self.counts, limit), n_jobs=self.n_jobs, label="polish",
            )
        )  # fmt: skip
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def sweep(self, limit: int) -> bool:
        """One round of moves made together; whether the loss fell."""
        best, gains = self.best_moves(limit)
        free = self.counts.shape[1] - 1  # the one column that is empty
        moving = np.flatnonzero((best != self.labels) & (best != free) & (gains > 0))
        moving = moving[np.argsort(-gains[moving], kind="stable")]
        for _ in range(_HALVINGS):
            if not moving.size:
                break
            labels = self.labels.copy()
            labels[moving] = best[moving]
            if self.offer(labels):
                return True
            moving = moving[: moving.size // 2]
        return self._found_cluster(best, gains, free)

    def _found_cluster(self, best: IntArray, gains: FloatArray, free: int) -> bool:
        """Make a cluster of those who would rather be alone and are mostly together."""
        lonely = np.flatnonzero((best == free) & (gains > 0))
        if not lonely.size:
            return False
        seed = int(lonely[np.argmax(gains[lonely])])
        column = np.asarray(self.draws.labels[:, seed])
        parts = map_items(
            with_item, self.draws.labels, shared=(column, self.draws.probabilities),
            n_jobs=self.n_jobs,
        )  # fmt: skip
        together = np.concatenate(list(parts))
        labels = self.labels.copy()
        labels[lonely[together[lonely] > 0.5]] = free
        labels[seed] = free
        return self.offer(labels)

    def merge(self) -> bool:
        """Merge pairs of clusters while that helps; whether any was."""
        any_merged = False
        while True:
            pair = self._best_pair()
            if pair is None:
                return any_merged
            labels = self.labels.copy()
            labels[labels == pair[0]] = pair[1]
            if not self.offer(labels):
                return any_merged
            any_merged = True

    def _best_pair(self) -> tuple[int, int] | None:
        """The pair of clusters whose merger lowers the loss most, of those most together."""
        rows, counts = self.rows, self.counts[:, :-1]
        k = counts.shape[1]
        if k < 2:
            return None
        e, j = rows.totals(counts)
        sizes = counts[: rows.offsets[1]].sum(axis=0)
        weights = np.repeat(self.draws.probabilities, np.diff(rows.offsets))
        near = (counts * weights[:, None]).T @ counts.astype(np.float64)
        near /= sizes[:, None] * sizes
        a, b = np.tril_indices(k, -1)
        order = np.argsort(-near[a, b], kind="stable")[:_PAIRS]
        best, least = None, self.value
        for x, y in zip(a[order].tolist(), b[order].tolist(), strict=True):
            gained = rows.cell[counts[:, x] + counts[:, y]]
            gained = gained - rows.cell[counts[:, x]] - rows.cell[counts[:, y]]
            risen = rows.cell[sizes[x] + sizes[y]] - rows.cell[sizes[x]] - rows.cell[sizes[y]]
            value = rows.value(e + risen, j + np.add.reduceat(gained, rows.offsets[:-1]))
            if value < least:
                best, least = (x, y), value
        return best


def with_item(
    block: IntArray, items: slice, column: IntArray, weights: FloatArray
) -> NDArray[np.float64]:
    """The similarity of every item of a block to the item of labels ``column``."""
    return np.asarray(weights @ (block == column[:, None]))


def settle(state: StreamedState, limit: int, clock: Clock) -> int:
    """Make rounds of moves and mergers until none helps; return how many."""
    made = 0
    for made in range(1, _ROUNDS + 1):  # noqa: B007
        if clock.is_up():
            break
        before = state.value
        moved = state.sweep(limit)
        clock.note(state.value)
        if not moved and not state.merge():
            break
        if before - state.value < 1e-9 * abs(before) and not state.merge():
            break
    return made
