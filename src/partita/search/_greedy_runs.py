"""Many runs of a greedy search on the same problem, in parallel or in one compiled call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita.distributed import blocks, map_blocks
from partita.partitions import canonical
from partita.search._common import at_most
from partita.search._greedy_clock import Clock
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_ends import Found
from partita.search._greedy_proposals import SETTLED, patient, sum_of
from partita.search._greedy_run import (
    APART,
    FEW,
    JOINED,
    MAX_SWEEPS,
    MOVES,
    PAIRS,
    WIDTHS,
    Run,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_problem import Problem

    Labels: TypeAlias = NDArray[np.int64]
    Task: TypeAlias = tuple[str, Labels | None, tuple[str, ...]]  # start, its labels, moves

QUICK = ("sweep", "merge")  # the moves of a quick run
_SECONDS = 1e-6  # that a run may take for each entry of the similarity
_SECONDS_QUICK = 3e-8  # and a quick one
_MOMENT = 0.05  # share of a time limit that one call may take
_AT_ONCE = 1_600_000  # entries of the similarity times quick runs, for one compiled call
_SECONDS_ON_DRAWS = 3e-8  # that a quick run may take for each item and draw
_SECONDS_A_CELL = 1e-8  # that it may take for each of these and column, where nothing is ruled out
_COLUMNS = 8  # times as many clusters as the draws have that a run may have on its way
_MOST_SECONDS = 2.0  # that a run in a call may take then
_AT_ONCE_ON_DRAWS = 0.05  # seconds that one call of such runs may take
_MOST_ON_DRAWS = 8  # runs in a call: each ends after ten milliseconds or so, done or not


@dataclass
class Runs:
    """How runs are made; where they ended is kept for when Ctrl-C stops those that follow."""

    limit: int
    n_jobs: int
    clock: Clock
    n_draws: int = 0  # of which a problem may have some
    ended: list[Found] = field(default_factory=list)

    def of(
        self, shared: Problem, tasks: Sequence[Task], rng: np.random.Generator, **how: Any
    ) -> list[Found]:
        """Where each run ended, in order, but for those there was no time for.

        ``how`` is the ``patience`` of runs and what is to be set of a :class:`Run`.
        """
        if isinstance(shared, DrawsProblem) and self.n_draws:
            self.clock.share = shared.m / self.n_draws
        moves = {moves for _, _, moves in tasks}
        n = self._n_at_once(shared, moves.pop()) if len(moves) == 1 else 0
        if n:
            found = self._at_once(shared, tasks, rng, n, **how)
        else:
            found = self._one_by_one(shared, tasks, rng, **how)
        if self.clock.was_stopped:
            raise KeyboardInterrupt
        return found

    def _n_at_once(self, shared: Problem, moves: tuple[str, ...]) -> int:
        """How many runs of these moves are done in a moment in one compiled call, if they can be.

        A call does not look at the clock, so a run is not one where time is short.
        """
        limit, is_whole = self.clock.time_limit, moves == MOVES
        if isinstance(shared, DrawsProblem):
            if moves != QUICK or shared.n_items <= FEW:
                return 0
            cells = shared.n * shared.m
            n_in_call = min(_MOST_ON_DRAWS, int(_AT_ONCE_ON_DRAWS / (_SECONDS_ON_DRAWS * cells)))
            most = _MOST_SECONDS if limit is None else _MOMENT * limit
            if _SECONDS_A_CELL * cells * min(shared.n, _COLUMNS * shared.usual) > most:
                return 0
            return n_in_call if limit is None else min(1, n_in_call)
        if moves != QUICK and not is_whole:
            return 0
        seconds = (_SECONDS if is_whole else _SECONDS_QUICK) * shared.n**2
        if limit is not None and seconds > _MOMENT * limit:
            return 0
        return (_AT_ONCE // 10 if is_whole else _AT_ONCE) // shared.n**2

    def _at_once(
        self,
        shared: Problem,
        tasks: Sequence[Task],
        rng: np.random.Generator,
        n_in_call: int,
        **how: Any,
    ) -> list[Found]:
        """Make all runs in a few compiled calls."""
        is_merged = shared.items.are_merged
        partitions = np.full((len(tasks), shared.n), -1, dtype=np.int64)
        for row, (_, labels, _) in zip(partitions, tasks, strict=True):
            if labels is not None:
                some = canonical(shared.items.compress(labels)) if is_merged else labels
                row[:] = at_most(self.limit, some)
        seeds = rng.integers(0, 1 << 64, (len(tasks), 4), dtype=np.uint64)

        def work(part: slice) -> list[Found]:
            if self.clock.is_up() and (part.start or self.ended):
                return []
            given = (partitions[part], seeds[part], self.limit, MAX_SWEEPS)
            values, found = _ran(shared, tasks[0][2], given, **how).tolist(), list[Found]()
            for a, task in enumerate(tasks[part]):
                now, kept, *left = (row[a] for row in values)
                end = _found(now, kept, shared.items.expand(given[0][a]), task[0])
                if left and left[0] <= 0:  # it was too long for a call
                    rest = (task[0], end.labels, task[2])
                    more = np.random.default_rng(seeds[part][a])
                    end = self._one(shared, rest, more, shared.state(), **how)[0]
                self.clock.note(end.value)
                self.ended.append(end)
                found.append(end)
            return found

        return self._all(work, blocks(len(tasks), n_in_call))

    def _one_by_one(
        self,
        shared: Problem,
        tasks: Sequence[Task],
        rng: np.random.Generator,
        patience: float,
        **how: Any,
    ) -> list[Found]:
        seeds = rng.spawn(len(tasks))
        states: list[Any] = []

        def work(a: int) -> list[Found]:
            if self.clock.is_up() and (a or self.ended):
                return []
            state = states.pop() if states else shared.state()
            end, state = self._one(shared, tasks[a], seeds[a], state, patience, **how)
            self.ended.append(end)
            states.append(state)
            return [end]

        return self._all(work, range(len(tasks)))

    def _one(
        self,
        shared: Problem,
        task: Task,
        rng: np.random.Generator,
        state: Any,
        patience: float,
        **how: Any,
    ) -> tuple[Found, Any]:
        """Where a run ended, and its state."""
        name, labels, moves = task
        run = Run(state, rng, self.limit, self.clock, **how)
        try:
            _start(run, shared, labels)
            run.go(moves, patience)
        except KeyboardInterrupt:
            self.clock.stop()
            if run.best is None:
                raise
            run.state = shared.state()  # the old one may be half changed
            run.state.load(run.best)
        kept, now = run.state.value, run.state.recomputed()
        labels = canonical(shared.items.expand(run.state.labels))
        return _found(now, kept, labels, name), run.state

    def _all(self, work: Callable[[Any], list[Found]], parts: Sequence[Any]) -> list[Found]:
        each = map_blocks(work, parts, n_jobs=self.n_jobs, label="greedy", stop=self.clock.stop)
        return [end for found in each for end in found]


def _ran(
    shared: Problem,
    moves: tuple[str, ...],
    given: tuple[Any, ...],
    *,
    patience: float,
    others: Sequence[Labels] = (),
    softens: bool = False,
    is_stepwise: bool = False,
    is_thorough: bool = False,
    crosses: bool = False,
) -> NDArray[np.float64]:
    """The losses where compiled runs ended, recomputed and as kept; partitions are there now."""
    if isinstance(shared, DrawsProblem):
        return shared.quick(*given, WIDTHS if softens else WIDTHS[:0], PAIRS, is_stepwise)
    values = shared.quick(*given)
    if moves != QUICK:
        known = np.array(others, dtype=np.int64).reshape(-1, shared.n)
        how = (known, sum_of(moves), patient(patience, shared.n), SETTLED, JOINED, APART)
        values = shared.thorough(*given, *how)
    return values


def _start(run: Run, shared: Problem, labels: Labels | None) -> None:
    if labels is None:
        run.grow()
    else:
        run.state.load(at_most(run.limit, canonical(shared.items.compress(labels))))
    run.keep()


def _found(now: float, kept: float, labels: Labels, name: str) -> Found:
    """Where a run ended, with the recomputed total, which must agree with the one kept."""
    if abs(kept - now) > 1e-8 * max(1.0, abs(now)):
        raise AssertionError(f"running total {kept!r} is not the recomputed {now!r}")
    return Found(now, labels, name)
