"""Binder's loss as clique partitioning: lower bounds, and branching.

With x_ij = 1 where two items are together, the expected Binder(a) is a constant plus 4/n² times
Σ_{i<j} d_ij x_ij, d_ij = 1 - a/2 - π̂_ij, and x is a partition when x_ij + x_jk - x_ik ≤ 1 for all
triples.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from partita import _core
from partita.errors import MissingDependencyError, PartitaWarning
from partita.search._program import Program, has_time_for, prove, solver, until

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.parallel import Stop

    Matrix: TypeAlias = NDArray[np.float64]

_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of sums over all pairs, in shares of their terms
_MOST_ROWS = 60_000  # triangles up to which a program is solved in seconds
_SOLVED = 1e-6  # how far from its value the multipliers of a solved program may be


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


class Part:
    """A component, a partition of it, and the bound proved so far.

    With slacks s_ij = d_ij of pairs apart and -d_ij of pairs together, a triangle inequality that
    is tight at the partition takes its multiplier from two slacks and gives it to the third, and
    the bound is the partition's cost less Σ max(0, -s_ij), what is owed. Debts are paid as long as
    that sum falls.
    """

    def __init__(
        self, d: Matrix, labels: NDArray[np.int64], deadline: float, tolerance: float
    ) -> None:
        _, own = np.unique(labels, return_inverse=True)
        self.d, self.tolerance = d, tolerance
        self.cost = joined(own, d)
        self.triangles, y = _core.settle(d, own, 0.9 * tolerance, until(deadline))
        self.bound, _ = prove(d, self.triangles.ravel(), 3 * np.arange(len(y) + 1), y)

    @property
    def gap(self) -> float:
        """What is not proved."""
        return self.cost - self.bound

    @property
    def is_proved(self) -> bool:
        """Whether no partition is better than the one given."""
        return self.gap <= self.tolerance

    @property
    def is_open(self) -> bool:
        """Whether a linear program may raise the bound, and soon."""
        return not self.is_proved and len(self.triangles) <= _MOST_ROWS

    def program(self, deadline: float) -> Program | None:
        """Raise the bound by linear programming, from the triangles that matter.

        None if there is no time to set the program up.
        """
        if not has_time_for(len(self.triangles), deadline):
            return None
        program = Program(self.d)
        if len(self.triangles):
            rows = [tuple(row) for row in np.unique(self.triangles, axis=0).tolist()]
            if not program.add(rows, deadline):
                return None
            program.solve(deadline)
        self.bound = max(self.bound, program.cut(self.cost - self.tolerance, deadline))
        return program


def as_losses(
    similarity: Matrix, d: Matrix, a: float, cost: float, bound: float
) -> tuple[float, float]:
    """Binder's loss of a partition of this cost; and a bound of costs as one of losses.

    The latter less what rounding could have added.
    """
    n = len(d)
    apart = a * float(similarity.sum() - n) / n**2
    rounding = _ROUNDING * (apart + 2 * float(np.abs(d).sum()) / n**2)
    return apart + 4 * cost / n**2, max(0.0, apart + 4 * bound / n**2 - rounding)


class Bound(NamedTuple):
    """A lower bound of Σ d x over all partitions, what it took, and what ended it too soon."""

    value: float
    method: str
    is_late: bool
    was_interrupted: bool


def lower_bound(d: Matrix, labels: NDArray[np.int64], deadline: float, tolerance: float) -> Bound:
    """Bound the cost of all partitions, component by component.

    One that is all attraction is its own optimum. All are bounded around ``labels`` before the
    first program is solved, the one with most to gain first. Ctrl-C leaves the bound there is.
    """
    total, share, until = 0.0, tolerance / labels.size, deadline
    parts: list[Part] = []
    programs: list[Program | None] = []
    was_interrupted = False
    for items in components(d):
        own = np.ascontiguousarray(d[np.ix_(items, items)])
        if (own <= 0).all():
            total += float(own.sum()) / 2
            continue
        try:
            parts.append(Part(own, labels[items], until, share * items.size))
        except KeyboardInterrupt:
            was_interrupted, until = True, -np.inf
            parts.append(Part(own, labels[items], until, share * items.size))
    wide = sorted((part for part in parts if part.is_open), key=lambda part: -part.gap)
    try:
        if wide and time.monotonic() < until and can_program("The bound could be raised."):
            programs.extend(part.program(until) for part in wide)
    except KeyboardInterrupt:
        was_interrupted = True
    is_programmed = any(program is not None for program in programs)
    method = "linear program" if is_programmed else "triangles" if parts else "threshold"
    is_late = None in programs or time.monotonic() >= deadline
    return Bound(total + sum(part.bound for part in parts), method, is_late, was_interrupted)


def can_program(said: str | None = None) -> bool:
    """Whether linear programs can be solved here; if not, warn of what could be done, if given."""
    try:
        solver()
    except MissingDependencyError as error:
        if said is not None:
            warnings.warn(f"{said} {error}", PartitaWarning, stacklevel=4)
        return False
    return True


def minimise(
    d: Matrix, labels: NDArray[np.int64], clock: Stop, *, branches: bool = True
) -> tuple[NDArray[np.int64], bool, float]:
    """Return a component's best partition, whether it is proved to be, and the bound of Σ d x.

    If it does not branch, the best that bounds and the first program give. Where no program can be
    solved, the partition given and the bound without one.
    """
    if (d <= 0).all():
        return np.zeros_like(labels), True, float(d.sum()) / 2
    tolerance = 1e-9 * max(1.0, float(np.abs(d).sum()))
    part = Part(d, labels, clock.deadline, tolerance)
    if part.is_proved or clock.is_late() or not can_program():
        return labels, part.is_proved, part.bound
    program = part.program(clock.deadline)
    if program is None:
        clock.has_ended_work = True
        return labels, False, part.bound
    best: list[Any] = [part.cost, labels]
    proved = _branch(program, best, tolerance, clock, branches)
    return np.asarray(best[1], dtype=np.int64), proved, float(best[0]) if proved else part.bound


def _branch(
    program: Program, best: list[Any], tolerance: float, clock: Stop, branches: bool = True
) -> bool:
    """Bound, and if that is not enough fix a pair together, then apart. True if all was settled."""
    bound = program.cut(best[0] - tolerance, clock.deadline)
    if bound >= best[0] - tolerance or program.is_infeasible:
        return True
    if clock.is_late():
        return False
    labels = program.partition()
    value = joined(labels, program.d)
    if value < best[0]:
        best[:] = [value, labels]
    column = program.fraction()
    if column is None or bound >= best[0] - tolerance:
        return bool(bound >= best[0] - max(tolerance, _SOLVED))
    settled = branches
    for side in (1.0, 0.0) if branches else ():
        program.fix(column, side)
        program.solve(clock.deadline)
        settled &= _branch(program, best, tolerance, clock)
        if not settled and clock.is_late():
            return False
    program.fix(column, None)
    return settled
