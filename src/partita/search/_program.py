"""The linear program of clique partitioning, with inequalities added as they are violated.

A star is an item c and some leaves T: Σ_{j in T} x_cj - Σ_{j<k in T} x_jk ≤ 1, for if c is with
some of the leaves, these are with each other. With two leaves it is a triangle inequality; stars
with more are those 2-partition inequalities of Grötschel & Wakabayashi that have one item on one
side. For any multipliers y ≥ 0 of these, Σ min(0, d + charges) - Σ y is a lower bound, so a bound
is always recomputed from y and never taken from a solver.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import _core
from partita.errors import MissingDependencyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

_ROUND = 1e-6  # a violation, or a distance from 0 and 1, that counts
_STAR = 1e-3  # a violation of a star with more than two leaves that counts
_LEAVES = 7  # of a star, at most
_SLICE = 1000  # iterations of simplex before Ctrl-C is looked at
_SUMMED = 64  # roundings on a term's way into a sum that is made pairwise, and to spare
_LOOK, _RISE = 10, 0.02  # rounds in which the bound must rise by this share of the gap
_PER_ROW = 1.2e-5  # seconds for a row, to be added, to be solved with at all and to be proved by
_AT_A_TIME = 2_000  # rows that are added before the clock is looked at


def has_time_for(n_rows: int, deadline: float) -> bool:
    """Whether so many rows can be added to a program before the deadline, and be of use."""
    return time.monotonic() + _PER_ROW * n_rows < deadline


def until(deadline: float) -> _core.Stop:
    """What ends a call of the core at a time of the monotonic clock."""
    return _core.Stop(None if deadline == np.inf else max(0.0, deadline - time.monotonic()))


def prove(
    d: Matrix, members: Integers, starts: Integers, y: NDArray[np.float64]
) -> tuple[float, Matrix]:
    """Return the lower bound that multipliers of stars prove, and d plus what they charge.

    ``members[starts[a] : starts[a + 1]]`` are the centre and the leaves of star a. From the bound
    is taken what rounding could have added: no pair has more charges than an item has stars.
    """
    out, sizes = d.copy(), np.diff(starts)
    for size in np.unique(sizes):
        rows, paid = members[starts[:-1][sizes == size, None] + np.arange(size)].T, y[sizes == size]
        for a, b in combinations(range(size), 2):  # the centre with a leaf, or two leaves
            at = np.minimum(rows[a], rows[b]) * len(d) + np.maximum(rows[a], rows[b])
            np.add.at(out.ravel(), at, paid if a == 0 else -paid)
    value = float(np.minimum(np.triu(out, 1), 0.0).sum()) - float(y.sum())
    leaves = sizes - 1
    moved = float(np.abs(d).sum()) / 2 + float((y * leaves * (leaves + 1)).sum()) / 2
    additions = int(np.bincount(members, minlength=1).max()) + _SUMMED
    return value - additions * float(np.finfo(np.float64).eps) * moved, out


@dataclass
class Program:
    """The linear program of one component, with the stars found so far.

    Columns are made only for pairs that a star touches; the others stay where their cost puts
    them.
    """

    d: Matrix
    solver: Any = field(init=False)
    columns: dict[tuple[int, int], int] = field(default_factory=dict)
    members: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    x: Matrix = field(init=False)
    y: NDArray[np.float64] = field(init=False)
    fixed: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0  # that it took to add the rows

    def __post_init__(self) -> None:
        self.x = (self.d < 0).astype(np.float64)
        self.y = np.empty(0)
        self.solver = solver()

    def triangles(self, most: int, deadline: float) -> list[tuple[int, ...]]:
        """Return the most violated triangles, at most one for each pair kept apart."""
        rows, violations = _core.violated(self.x, self.d, _ROUND, until(deadline))
        order = np.argsort(-violations, kind="stable")[:most]
        return [tuple(row) for row in rows[order].tolist()]

    def stars(self, deadline: float) -> list[tuple[int, ...]]:
        """Return violated stars of three leaves or more, at most one for each centre."""
        leaves = _core.stars(self.x, _ROUND, _STAR, _LEAVES, until(deadline))
        return [
            (centre, *(int(leaf) for leaf in leaves[centre] if leaf >= 0))
            for centre in np.flatnonzero(leaves[:, 0] >= 0).tolist()
        ]

    def add(self, stars: list[tuple[int, ...]], deadline: float = np.inf) -> bool:
        """Add stars as rows, and columns for the pairs that are new.

        False, and nothing is added, if it turns out that this leaves no time to solve.
        """
        began, known_stars = time.monotonic(), len(self.starts)
        index: list[int] = []
        value: list[float] = []
        start: list[int] = []
        known = len(self.columns)
        for done, (centre, *leaves) in enumerate(stars):
            if done and done % _AT_A_TIME == 0:
                now = time.monotonic()
                if now + 2 * (now - began) * (len(stars) / done - 0.5) > deadline:
                    self._forget(known, known_stars)
                    return False
            start.append(len(index))
            pairs = [_pair(centre, leaf) for leaf in leaves]
            value += [1.0] * len(pairs)
            pairs += [_pair(*two) for two in combinations(leaves, 2)]
            value += [-1.0] * (len(pairs) - len(leaves))
            index += [self.columns.setdefault(pair, len(self.columns)) for pair in pairs]
            self.members += [centre, *leaves]
            self.starts.append(len(self.members))
        new = list(self.columns)[known:]
        n, m, none = len(new), len(stars), np.empty(0)
        if new:
            cost = np.array([self.d[pair] for pair in new])
            self.solver.addCols(
                n, cost, np.zeros(n), np.ones(n), 0, np.zeros(n, np.int32), none.astype(np.int32),
                none,
            )  # fmt: skip
        self.solver.addRows(
            m, np.full(m, -np.inf), np.ones(m), len(index), np.array(start, np.int32),
            np.array(index, np.int32), np.array(value),
        )  # fmt: skip
        self.seconds += time.monotonic() - began
        return True

    def _forget(self, n_columns: int, n_starts: int) -> None:
        """Drop the pairs and stars that were noted after so many."""
        for pair in list(self.columns)[n_columns:]:
            del self.columns[pair]
        del self.starts[n_starts:], self.members[self.starts[n_starts - 1] :]

    def solve(self, deadline: float) -> None:
        """Solve the program as it is, from the last basis.

        What it takes to prove a bound from the solution, about half of adding rows, is left over.
        """
        deadline -= self.seconds / 2
        while True:
            left = max(deadline - time.monotonic(), 0.01)
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + left)
            self.solver.run()
            if "teration" not in self._status or time.monotonic() >= deadline:
                break
        solution = self.solver.getSolution()
        rows, cols = self._pairs.T
        values = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self.x[rows, cols] = self.x[cols, rows] = values
        self.y = np.maximum(-np.array(solution.row_dual), 0.0)

    def bound(self) -> float:
        """The lower bound that the multipliers prove, with the pairs fixed that are fixed."""
        members, starts = np.array(self.members, np.int64), np.array(self.starts, np.int64)
        total, out = prove(self.d, members, starts, self.y)
        pairs = self._pairs
        for column, value in self.fixed.items():
            r = out[tuple(pairs[column])]
            total += float(r * value - min(r, 0.0))
        return total

    @property
    def _pairs(self) -> Integers:
        return np.array(list(self.columns), dtype=np.int64).reshape(-1, 2)

    @property
    def is_infeasible(self) -> bool:
        """Whether the pairs that are fixed contradict each other."""
        return "nfeasible" in self._status

    @property
    def _status(self) -> str:
        return str(self.solver.modelStatusToString(self.solver.getModelStatus()))

    def fix(self, column: int, value: float | None) -> None:
        """Fix a pair together (1) or apart (0), or free it again (None)."""
        self.fixed.pop(column, None)
        if value is not None:
            self.fixed[column] = value
        low, high = (0.0, 1.0) if value is None else (value, value)
        self.solver.changeColBounds(column, low, high)

    def cut(self, target: float, deadline: float) -> float:
        """Add violated stars and solve, until none is left or the bound reaches ``target``.

        Or until it hardly rises any more and there is a pair to branch on.
        """
        bounds = [self.bound()]
        while bounds[-1] < target and time.monotonic() < deadline:
            before = bounds[max(0, len(bounds) - 1 - _LOOK)]
            is_slow = len(bounds) > _LOOK and bounds[-1] - before < _RISE * (target - before)
            if is_slow and self.fraction() is not None:
                break
            found = self.triangles(max(500, 4 * self.d.shape[0]), deadline) + self.stars(deadline)
            if not found:
                break
            if not self.add(found, deadline):
                break
            self.solve(deadline)
            bounds.append(max(bounds[-1], self.bound()))
        return bounds[-1]

    def fraction(self) -> int | None:
        """The column furthest from being decided, or None if all are."""
        if not self.columns:
            return None
        rows, cols = self._pairs.T
        distance = np.minimum(self.x[rows, cols], 1 - self.x[rows, cols])
        column = int(np.argmax(distance))
        return column if distance[column] > 10 * _ROUND else None

    def partition(self) -> Integers:
        """The components of the pairs that are more together than apart."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        _, labels = connected_components(csr_array((self.x > 0.5).astype(np.int8)), directed=False)
        return np.asarray(labels, dtype=np.int64)


def _pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)


def solver() -> Any:
    """Return a dual simplex that keeps its basis, or say what is missing."""
    try:
        import highspy
    except ImportError as error:
        raise MissingDependencyError(
            "A proof by linear programming needs highspy; pip install 'partita[certify]'."
        ) from error
    made: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    made.setOptionValue("output_flag", False)
    made.setOptionValue("threads", 1)
    made.setOptionValue("presolve", "off")
    made.setOptionValue("solver", "simplex")
    made.setOptionValue("simplex_iteration_limit", _SLICE)
    return made
