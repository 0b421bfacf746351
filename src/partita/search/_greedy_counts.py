"""A partition under a loss on draws: counts against every draw, and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import kernels
from partita.search._greedy_tables import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_draws import DrawsProblem
    from partita.typing import IntArray

    # labels, j, e, the slope in e, the loss, marks
    Saved: TypeAlias = tuple[
        NDArray[np.int64], NDArray[np.float64], float, float, float, NDArray[np.int64]
    ]

_WORST = 4  # times as long that a call may take, if nothing is ruled out
_SPARE = 64  # columns that are added at a time, or an eighth of those there are
CALL = 10_000_000  # cells of tables read in one compiled call, some ten milliseconds


def compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.greedy_draws


def counting() -> Any:
    """What counts and moves, compiled."""
    return kernels.greedy_counts


class DrawsTables:
    """A partition, its counts against the draws and its totals; :meth:`load` begins another."""

    def __init__(self, problem: DrawsProblem) -> None:
        self.problem = p = problem
        self._tables = Tables(p, self._room_for(p.usual))
        self.labels, self.j, self.totals = (
            self._tables.labels, self._tables.j, self._tables.totals,
        )  # fmt: skip
        self.slant = p.alpha.copy(), p.reach.copy()
        self.slope = p.slope
        self.quiet = np.array([0, 1 << 62, 0])
        self._trial = np.zeros(p.m), np.zeros(p.m)
        self._value, self.n_fitted = np.inf, 0

    def _room_for(self, n_columns: int) -> int:
        """Columns for so many clusters and some more."""
        some_more = max(min(n_columns // 2, _SPARE), n_columns // 8, 8)
        return min(n_columns + some_more, self.problem.n + 1)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The size of every column, 0 for those that are free."""
        return self._tables.sizes

    @property
    def held(self) -> tuple[Any, ...]:
        """The partition, as kernels take it."""
        return self._tables.held

    @property
    def near(self) -> tuple[Any, ...]:
        """What items are near to, as kernels take it."""
        return self._tables.near

    def grow(self, n_columns: int) -> None:
        """Make room for ``n_columns`` clusters and some more, keeping those there are."""
        self._tables.make_room(self._room_for(n_columns))

    def fit(self, most: float = 1.5) -> None:
        """Leave no free columns among those used if they are more than so many times clusters."""
        if self._tables.n_used > most * self.n_clusters + 8:
            counting().compact(self.problem.given, self.held)
            self.n_fitted += 1

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return self._tables.n_clusters

    def load(self, labels: IntArray) -> None:
        """Start from labels 0 .. K - 1; -1 is in no cluster.

        The room for clusters follows from K alone, or those of the draws where items are to be
        put in yet: what ran before must not matter.
        """
        p, n_clusters = self.problem, int(labels.max()) + 1
        new = np.empty_like(self.labels)
        new[:] = labels
        counting().clear(self.held)
        self._tables.make_room(self._room_for(max(n_clusters, p.usual if new.min() < 0 else 0)))
        counting().load(new, p.given, self.held)
        self.straighten()
        self.linearise()

    def straighten(self) -> None:
        """Take slopes as they are at the draws, which for some losses is everywhere."""
        p = self.problem
        self.slant[0][:], self.slant[1][:], self.slope = p.alpha, p.reach, p.slope
        counting().slant_anew(self.held)

    def refresh(self) -> None:
        """Recompute every total from the labels, and the linear form here."""
        self.load(self.labels.copy())

    def recomputed(self) -> float:
        """The expected loss from the labels alone, which the counts follow."""
        p = self.problem
        counting().load(self.labels.copy(), p.given, self.held)
        counting().joint(
            self._tables.counts, p.offsets, self._tables.n_used, p.cell, self._trial[0]
        )
        return self._loss(self._trial[0], float(p.cell[self.sizes].sum()))

    def linearise(self) -> None:
        """Recompute the value, and the linear form of the loss, from the totals."""
        p = self.problem
        if not p.is_linear:
            self.slope = float(
                compiled().slopes(
                    self.j, float(self.totals[0]), 0.0, p.shape, self.slant, self._tables.marks
                )[0]
            )
        elif p.bends:
            self.slope = p.slope_at(float(self.totals[0]))
        self._value = self._loss(self.j, float(self.totals[0]))

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
        """Items times draws times columns."""
        return int(self.problem.n * self.problem.m * self._tables.n_used)

    @property
    def visits(self) -> int:
        """Items that a compiled call may visit to end soon, whatever the bounds rule out."""
        p, n_used = self.problem, self._tables.n_used
        n_likely = CALL // (2 * p.m + n_used + p.n // 4)
        return max(1, min(n_likely, _WORST * CALL // (p.m * max(1, n_used))))

    def _loss(self, j: NDArray[np.float64], e: float) -> float:
        """The loss at totals j and e."""
        t, p, *rest = self.problem.shape
        return float(compiled().expected(t, p, j, e, *rest))

    def move(self, items: IntArray, targets: IntArray) -> None:
        """Move items to clusters, -1 for none; totals follow, the value only when all are in."""
        self._move(items, targets)
        if self.is_complete:
            self.linearise()

    def _move(self, items: IntArray, targets: IntArray) -> None:
        if targets.size and int(targets.max()) >= self.sizes.size:
            self.grow(int(targets.max()) + 1)
        part = max(1, CALL // (2 * self.problem.m))
        for a in range(0, items.size, part):
            counting().move(
                items[a : a + part], targets[a : a + part], self.problem.given, self.held
            )

    def save(self) -> Saved:
        """What :meth:`restore` needs to come back here."""
        return (
            self.labels.copy(), self.j.copy(), float(self.totals[0]), self.slope, self._value,
            self._tables.marks.copy(),
        )  # fmt: skip

    def restore(self, saved: Saved) -> None:
        """Go back to where :meth:`save` was called."""
        changed = (self.labels != saved[0]).nonzero()[0]
        self._move(changed, saved[0][changed])
        self.j[:], self.totals[0], self.slope, self._value, marks = saved[1:]
        columns = counting().COLUMNS
        self._tables.marks[columns : marks.size] = marks[columns:]
        if not self.problem.is_linear:
            self.linearise()
