"""Binder's loss as clique partitioning: lower bounds by linear programming, and branching.

With x_ij = 1 where two items are together, the expected Binder(a) is a constant plus 4/n² times
Σ_{i<j} d_ij x_ij, d_ij = 1 - a/2 - π̂_ij, and x is a partition when x_ij + x_jk - x_ik ≤ 1 for all
triples. For any multipliers y ≥ 0 of these, Σ min(0, d + charges) - Σ y is a lower bound, so a
bound is always recomputed from y and never taken from a solver.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import kernels
from partita.errors import MissingDependencyError, PartitaWarning
from partita.search._debts import settle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_clock import Clock

    Matrix: TypeAlias = NDArray[np.float64]

_ROUND = 1e-6  # a violation, or a distance from 0 and 1, that counts
_SLICE = 1000  # iterations of simplex before Ctrl-C is looked at
_SUMMED = 64  # roundings on a term's way into a sum that is made pairwise, and to spare


def _compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.cliques


def costs(matrix: Matrix, a: float) -> Matrix:
    """d_ij, with 0 on the diagonal."""
    d = (1 - a / 2) - matrix
    np.fill_diagonal(d, 0.0)
    return d


def joined(labels: NDArray[np.int64], d: Matrix) -> float:
    """Σ_{i<j} d_ij x_ij of a partition."""
    total = 0.0
    for k in range(int(labels.max()) + 1):
        items = np.flatnonzero(labels == k)
        total += float(d[np.ix_(items, items)].sum()) / 2
    return total


def components(d: Matrix) -> list[NDArray[np.int64]]:
    """Items linked by pairs that gain from being together; no optimum joins two of these."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, labels = connected_components(csr_array((d < 0).astype(np.int8)), directed=False)
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=n))[:-1])


@dataclass
class Program:
    """The linear program of one component, with the triangles found so far.

    Columns are made only for pairs that a triangle touches; the others stay where their cost puts
    them.
    """

    d: Matrix
    solver: Any = None
    columns: dict[tuple[int, int], int] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    triangles: list[tuple[int, int, int]] = field(default_factory=list)
    x: Matrix = field(init=False)
    y: NDArray[np.float64] = field(init=False)
    low: dict[int, float] = field(default_factory=dict)
    high: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.x = (self.d < 0).astype(np.float64)
        self.y = np.empty(0)
        self.solver = _solver()

    def separate(self, most: int, deadline: float) -> list[tuple[int, int, int]]:
        """Return the most violated triangles, at most one for each pair kept apart."""
        n = self.d.shape[0]
        best, via = np.zeros((n, n)), np.full((n, n), -1, dtype=np.int64)
        step = max(1, 5_000_000 // (n * n // 4 + 1))
        for start in range(0, n, step):
            if time.monotonic() > deadline:
                return []
            _compiled().violated(self.x, self.d, start, min(n, start + step), _ROUND, best, via)
        rows, cols = np.nonzero(best)
        order = np.argsort(-best[rows, cols], kind="stable")[:most]
        return [(int(rows[a]), int(via[rows[a], cols[a]]), int(cols[a])) for a in order]

    def add(self, triangles: list[tuple[int, int, int]]) -> None:
        """Add triangles as rows, and columns for the pairs that are new."""
        new: list[tuple[int, int]] = []
        index: list[int] = []
        start: list[int] = []
        value: list[float] = []
        for i, j, k in triangles:
            start.append(len(index))
            for pair, sign in ((_pair(i, j), 1.0), (_pair(j, k), 1.0), (_pair(i, k), -1.0)):
                if pair not in self.columns:
                    self.columns[pair] = len(self.columns)
                    new.append(pair)
                index.append(self.columns[pair])
                value.append(sign)
        if new:
            cost = np.array([self.d[pair] for pair in new])
            empty = np.empty(0)
            n = len(new)
            self.solver.addCols(
                n, cost, np.zeros(n), np.ones(n), 0, np.zeros(n, np.int32),
                empty.astype(np.int32), empty,
            )  # fmt: skip
            self.pairs += new
        m = len(triangles)
        self.solver.addRows(
            m, np.full(m, -np.inf), np.ones(m), len(index), np.array(start, np.int32),
            np.array(index, np.int32), np.array(value),
        )  # fmt: skip
        self.triangles += triangles

    def solve(self, seconds: float) -> None:
        """Solve the program as it is, from the last basis."""
        deadline = time.monotonic() + max(seconds, 0.01)
        while True:
            left = max(deadline - time.monotonic(), 0.0)
            self.solver.setOptionValue("time_limit", self.solver.getRunTime() + left)
            self.solver.run()
            if "teration" not in self._status or time.monotonic() >= deadline:
                break
        solution = self.solver.getSolution()
        rows, cols = np.array(self.pairs).T
        values = np.clip(np.array(solution.col_value), 0.0, 1.0)
        self.x[rows, cols] = self.x[cols, rows] = values
        self.y = np.maximum(-np.array(solution.row_dual), 0.0)

    def bound(self) -> float:
        """The lower bound that the multipliers prove, with the pairs fixed that are fixed."""
        out = np.empty_like(self.d)
        triangles = np.array(self.triangles, dtype=np.int64).reshape(-1, 3)
        _compiled().reduced(self.d, triangles, self.y, out)
        charged = float(self.y.sum())
        total = float(np.minimum(out[np.triu_indices_from(out, 1)], 0.0).sum()) - charged
        for column, value in {**self.low, **self.high}.items():
            r = out[self.pairs[column]]
            total += r * value - min(r, 0.0)
        return float(total) - rounding(self.d, triangles, charged)

    def start(self, triangles: NDArray[np.int64], deadline: float) -> None:
        """Solve once with triangles that are known to matter."""
        if len(triangles):
            self.add([(int(i), int(j), int(k)) for i, j, k in np.unique(triangles, axis=0)])
            self.solve(deadline - time.monotonic())

    @property
    def is_infeasible(self) -> bool:
        """Whether the pairs that are fixed contradict each other."""
        return "nfeasible" in self._status

    @property
    def _status(self) -> str:
        return str(self.solver.modelStatusToString(self.solver.getModelStatus()))

    def fix(self, column: int, value: float | None) -> None:
        """Fix a pair together (1) or apart (0), or free it again (None)."""
        self.low.pop(column, None)
        self.high.pop(column, None)
        if value is not None:
            (self.low if value else self.high)[column] = value
        low, high = (0.0, 1.0) if value is None else (value, value)
        self.solver.changeColBounds(column, low, high)

    def cut(self, target: float, deadline: float) -> float:
        """Add violated triangles and solve, until none is left or the bound reaches ``target``."""
        best = self.bound()
        while best < target and time.monotonic() < deadline:
            found = self.separate(max(500, 4 * self.d.shape[0]), deadline)
            if not found:
                break
            self.add(found)
            self.solve(deadline - time.monotonic())
            best = max(best, self.bound())
        return best

    def fraction(self) -> int | None:
        """The column furthest from being decided, or None if all are."""
        if not self.pairs:
            return None
        rows, cols = np.array(self.pairs).T
        distance = np.minimum(self.x[rows, cols], 1 - self.x[rows, cols])
        column = int(np.argmax(distance))
        return column if distance[column] > 10 * _ROUND else None

    def partition(self) -> NDArray[np.int64]:
        """The components of the pairs that are more together than apart."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        _, labels = connected_components(csr_array((self.x > 0.5).astype(np.int8)), directed=False)
        return np.asarray(labels, dtype=np.int64)


def minimise(d: Matrix, labels: NDArray[np.int64], clock: Clock) -> tuple[NDArray[np.int64], bool]:
    """Return the best partition of a component and whether it is proved to be, by branching."""
    tolerance = 1e-9 * max(1.0, float(np.abs(d).sum()))
    if (d <= 0).all():
        return np.zeros_like(labels), True
    part = Part(d, labels, clock.deadline, tolerance)
    if part.is_proved:
        return labels, True
    best = [part.cost, labels]
    proved = _branch(part.program(clock.deadline), best, tolerance, clock)
    return np.asarray(best[1], dtype=np.int64), proved


def _branch(program: Program, best: list[Any], tolerance: float, clock: Clock) -> bool:
    """Bound, and if that is not enough fix a pair together, then apart. True if all was settled."""
    bound = program.cut(best[0] - tolerance, clock.deadline)
    if bound >= best[0] - tolerance or program.is_infeasible:
        return True
    if clock.is_up():
        return False
    labels = program.partition()
    value = joined(labels, program.d)
    if value < best[0]:
        best[:] = [value, labels]
    column = program.fraction()
    if column is None:
        return True
    settled = True
    for side in (1.0, 0.0):
        program.fix(column, side)
        program.solve(clock.deadline - time.monotonic())
        settled &= _branch(program, best, tolerance, clock)
        if not settled and clock.is_up():
            return False
    program.fix(column, None)
    return settled


def _pair(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)


def _solver() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise MissingDependencyError(
            "A proof by linear programming needs highspy; pip install 'partita[certify]'."
        ) from error
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("solver", "simplex")
    solver.setOptionValue("simplex_iteration_limit", _SLICE)
    return solver


def value_of(d: Matrix, triangles: NDArray[np.int64], y: NDArray[np.float64]) -> float:
    """The lower bound that multipliers of triangles prove, less what rounding could add to it."""
    out = np.empty_like(d)
    _compiled().reduced(d, triangles, y, out)
    charged = float(y.sum())
    value = float(np.minimum(out[np.triu_indices_from(out, 1)], 0.0).sum()) - charged
    return value - rounding(d, triangles, charged)


def rounding(d: Matrix, triangles: NDArray[np.int64], charged: float) -> float:
    """How far off a bound may be: no pair has more charges than an item has triangles."""
    additions = int(np.bincount(triangles.ravel(), minlength=1).max()) + _SUMMED
    return additions * float(np.finfo(np.float64).eps) * (float(np.abs(d).sum()) / 2 + 3 * charged)


class Part:
    """A component, a partition of it, and the bound proved so far, at first by paying debts."""

    def __init__(
        self, d: Matrix, labels: NDArray[np.int64], deadline: float, tolerance: float
    ) -> None:
        _, own = np.unique(labels, return_inverse=True)
        self.d, self.tolerance = d, tolerance
        self.cost = joined(own, d)
        self.triangles, y = settle(d, own, deadline, 0.9 * tolerance)
        self.bound = value_of(d, self.triangles, y)

    @property
    def gap(self) -> float:
        """What is not proved."""
        return self.cost - self.bound

    @property
    def is_proved(self) -> bool:
        """Whether no partition is better than the one given."""
        return self.gap <= self.tolerance

    def program(self, deadline: float) -> Program:
        """Raise the bound by linear programming, from the triangles that matter."""
        program = Program(self.d)
        program.start(self.triangles, deadline)
        self.bound = max(self.bound, program.cut(self.cost - self.tolerance, deadline))
        return program


def lower_bound(
    d: Matrix, labels: NDArray[np.int64], deadline: float, tolerance: float
) -> tuple[float, str]:
    """Return a lower bound of Σ d x over all partitions, and what it took.

    Component by component; one that is all attraction is its own optimum. All are bounded around
    ``labels`` before the first program is solved, the one with most to gain first.
    """
    total, share = 0.0, tolerance / labels.size
    parts: list[Part] = []
    for items in components(d):
        own = np.ascontiguousarray(d[np.ix_(items, items)])
        if (own <= 0).all():
            total += float(own.sum()) / 2
        else:
            parts.append(Part(own, labels[items], deadline, share * items.size))
    wide = sorted((part for part in parts if not part.is_proved), key=lambda part: -part.gap)
    is_programmed = bool(wide) and time.monotonic() < deadline and _can_program()
    for part in wide if is_programmed else ():
        if time.monotonic() < deadline:
            part.program(deadline)
    method = "linear program" if is_programmed else "triangles" if parts else "threshold"
    return total + sum(part.bound for part in parts), method


def _can_program() -> bool:
    try:
        _solver()
    except MissingDependencyError as error:
        warnings.warn(f"The bound could be raised. {error}", PartitaWarning, stacklevel=4)
        return False
    return True
