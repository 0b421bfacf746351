"""The tables of a partition under a loss on draws: counts against every draw, and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import kernels
from partita.search._greedy_tables import LANES, Room, width_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_draws import DrawsProblem
    from partita.typing import IntArray

    # labels, j, e, the slope in e, the loss, marks
    Saved: TypeAlias = tuple[
        NDArray[np.int64], NDArray[np.float64], float, float, float, NDArray[np.int64]
    ]

_SPARE = 64  # columns that are added at a time, or an eighth of those there are
CALL = 20_000_000  # table entries read in one compiled call, some ten milliseconds


def compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.greedy_draws


def _memo() -> Any:
    """What remembers gains, compiled."""
    return kernels.greedy_memo


class DrawsTables:
    """A partition, its counts against the draws and its totals; :meth:`load` begins another."""

    def __init__(self, problem: DrawsProblem) -> None:
        self.problem = p = problem
        self.labels = np.full(p.n, -1, dtype=np.int64)
        self.j, self.alpha = np.zeros(p.m), p.alpha.copy()
        self.alpha32 = self.alpha.astype(np.float32)
        self.slope = p.slope
        self.totals, self.quiet = np.zeros(1), np.array([0, 1 << 62])
        self._own, self._trial = np.zeros(p.m), np.zeros(p.m)
        self._value, self._doubt = np.inf, p.doubt
        self._counts = Room(p.count_type)
        self._table = Room(np.float32)
        self.marks = np.zeros(1, dtype=np.int64)
        self._widen(LANES)
        self.counts[:] = 0

    def _widen(self, width: int) -> None:
        """Make tables of this many columns; the counts are undefined."""
        rows = int(self.problem.offsets[-1])
        self.counts = self._counts.table((rows, width))
        self.table = self._table.table((rows, width))
        self._make_columns(width)

    def _make_columns(self, width: int) -> None:
        """Make what has an entry for each column."""
        self.sizes = np.zeros(width, dtype=np.int64)
        self._make_memo(width)

    def _make_memo(self, width: int) -> None:
        """Make what gains are remembered in, of none yet; see the kernel."""
        p, n_marks = self.problem, _memo().BLOCKS + width // LANES
        n = p.n if p.n * width <= _memo().REMEMBERED else 1
        self.memo = (
            np.empty((n, width)), np.empty(n), np.full((n, n_marks), -1, dtype=np.int64),
            np.full(p.m, np.nan, dtype=np.float32), np.empty(width, dtype=np.float32),
        )  # fmt: skip
        self.marks = np.full(n_marks, self.marks[0])
        self._forget()

    def _forget(self) -> None:
        """Note that all counts have changed."""
        moves = _memo()
        blocks = self.marks[moves.BLOCKS :]
        blocks[:] = self.marks[moves.COUNTER] + np.arange(1, blocks.size + 1)
        self.marks[moves.COUNTER] += blocks.size

    def grow(self, n_columns: int) -> None:
        """Make room for ``n_columns`` clusters and some more, keeping those there are."""
        some_more = max(min(n_columns // 2, _SPARE), n_columns // 8)
        sizes, width = self.sizes, width_for(n_columns + some_more)
        self.counts = self._counts.widened(self.counts, width, 0)
        self.table = self._table.widened(self.table, width, self.problem.step[0])
        self._make_columns(width)
        self.sizes[: sizes.size] = sizes

    def fit(self, most: float = 1.5) -> None:
        """Make the tables as narrow as the clusters allow, if they are more than so many times."""
        active = np.flatnonzero(self.sizes)
        if self.sizes.size > most * width_for(active.size):
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
        put in yet: what ran before must not matter.
        """
        p = self.problem
        self.labels[:] = labels
        n_clusters = max(int(labels.max()) + 1, p.usual if labels.min() < 0 else 0)
        if width_for(n_clusters) != self.sizes.size:
            self._widen(width_for(n_clusters))
        self._count()
        self.refresh()

    def _count(self) -> None:
        """Recompute the counts and the sizes from the labels."""
        p, inside = self.problem, self.labels >= 0
        self.sizes[:] = np.bincount(self.labels[inside], p.weight[inside], self.sizes.size)
        compiled().load(p.rows, p.weight, self.labels, self.counts)
        self._forget()

    def _derive(self) -> None:
        """Recompute the table and j from the counts."""
        p = self.problem
        compiled().derive(self.counts, p.offsets, p.cell, p.step, self.table, self.j)

    def refresh(self) -> None:
        """Recompute every total and the table from the counts, and the linear form here."""
        self._derive()
        self.totals[0] = self.problem.cell[self.sizes].sum()
        self.linearise()

    def recomputed(self) -> float:
        """The expected loss from the labels alone, which the counts follow."""
        p = self.problem
        self._count()
        compiled().joint(self.counts, p.offsets, p.cell, self._trial)
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
        slope, rise = compiled().slopes(
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
    def work(self) -> int:
        """Items times draws times columns: what a sweep looks at."""
        return int(self.problem.n * self.problem.m * self.sizes.size)

    @property
    def visits(self) -> int:
        """Items that a compiled call may visit to end soon."""
        return max(1, CALL // (self.problem.m * self.sizes.size))

    def _tables(self) -> tuple[Any, ...]:
        p = self.problem
        return (
            p.rows, p.weight, p.cell, p.step, self.counts, self.table, self.labels, self.sizes,
            self.j, self.totals, self.marks,
        )  # fmt: skip

    def _loss(self, j: NDArray[np.float64], e: float) -> float:
        """The loss at totals j and e."""
        p = self.problem
        return float(compiled().expected(p.t, p.p, j, e, p.num, p.den, p.w, p.total))

    def move(self, items: IntArray, targets: IntArray) -> None:
        """Move items to clusters, -1 for none; totals follow, the value only when all are in."""
        self._move(items, targets)
        if self.is_complete:
            self.linearise()

    def _move(self, items: IntArray, targets: IntArray) -> None:
        if targets.size and int(targets.max()) >= self.sizes.size:
            self.grow(int(targets.max()))
        part = max(1, CALL // (8 * self.problem.m))
        for a in range(0, items.size, part):
            compiled().move(items[a : a + part], targets[a : a + part], *self._tables())

    def save(self) -> Saved:
        """What :meth:`restore` needs to come back here."""
        return (
            self.labels.copy(), self.j.copy(), float(self.totals[0]), self.slope, self._value,
            self.marks.copy(),
        )  # fmt: skip

    def restore(self, saved: Saved) -> None:
        """Go back to where :meth:`save` was called."""
        changed = (self.labels != saved[0]).nonzero()[0]
        self._move(changed, saved[0][changed])
        self.j[:], self.totals[0], self.slope, self._value, marks = saved[1:]
        if marks.size == self.marks.size:  # else the tables have another width
            blocks = _memo().BLOCKS
            self.marks[blocks:] = marks[blocks:]
        if not self.problem.is_linear:
            self.linearise()
