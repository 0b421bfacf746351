"""Memory for a partition counted against draws, with room for some number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_draws import DrawsProblem


class Tables:
    """The arrays of ``held`` and ``near`` (see the kernels), of a partition of no items yet.

    Columns are added in place: memory that was never written to costs nothing. There may be more
    memory than room, since what ran before must not matter.

    Parameters
    ----------
    problem : DrawsProblem
    n_columns : int
        Room for so many clusters.
    """

    def __init__(self, problem: DrawsProblem, n_columns: int) -> None:
        self.problem = p = problem
        n = p.n
        self.labels = np.full(n, -1, dtype=np.int64)
        self.j, self.totals = np.zeros(p.m), np.zeros(1)
        self.book = np.zeros(4, dtype=np.int64)
        if not p.is_bounded:
            self.book[_counting().WIDE] = _counting().ALWAYS
        self._own, self._stamps = np.zeros(n), np.full((n, 2), -1, dtype=np.int64)
        self._marks = np.zeros(2, dtype=np.int64)
        self._sizes = np.zeros(0, dtype=np.int64)
        self._counts: NDArray[Any] = np.zeros((0, int(p.offsets[-1])), dtype=p.count_type)
        self._sums = np.zeros((0, len(p.like)), dtype=np.int32)
        self.make_room(n_columns)

    def make_room(self, n_columns: int) -> None:
        """There is room for exactly so many clusters from now on, no fewer than there are."""
        known = self._sizes.size
        if n_columns > known:
            size = min(max(n_columns, known + known // 2), self.problem.n + 1)
            self._counts = _longer(self._counts, size)
            self._sums = _longer(self._sums, size)
            self._sizes = _longer(self._sizes, size)
            self._marks = _longer(self._marks, size + 2)
            self._shared = np.zeros(size, dtype=np.int32)
            self._bound = np.zeros(size, dtype=np.float32)
        self.sizes, self.marks = self._sizes[:n_columns], self._marks[: n_columns + 2]

    @property
    def counts(self) -> NDArray[Any]:
        """The items that each column shares with each row; there may be more columns than room."""
        return self._counts

    @property
    def n_used(self) -> int:
        """One more than the last column that is used."""
        return int(self.book[_counting().HIGH])

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.book[_counting().ACTIVE])

    @property
    def held(self) -> tuple[Any, ...]:
        """The partition, as kernels take it."""
        return (
            self._counts, self.labels, self.sizes, self.j, self.totals, self.book, self.marks,
            self._sums,
        )  # fmt: skip

    @property
    def near(self) -> tuple[Any, ...]:
        """What items are near to, as kernels take it."""
        return self._own, self._stamps, self._shared, self._bound, self.problem.lines


def _counting() -> Any:
    return kernels.greedy_counts


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with more rows, or entries."""
    longer = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
