"""How many runs, from where, on how many draws, and what is done with the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from partita import losses, validate
from partita.distributed import map_blocks
from partita.partitions import canonical
from partita.search import _greedy_starts as starting
from partita.search._common import Candidate
from partita.search._greedy_clock import Clock
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_problem import on_draws, problem
from partita.search._greedy_run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import RatioLoss
    from partita.search._greedy_problem import Problem

    Labels: TypeAlias = NDArray[np.int64]


_DENSE_ITEMS = 5_000  # beyond this many, starts that need the matrix are left out
_SMALL = 100_000  # items times draws up to which a bent loss is begun from many places
_FEW_DRAWS = 150  # that the first runs see
_MANY_DRAWS = 3_000  # beyond these the best on some may not be so on all, and starts that agree err
_FEW_CLUSTERS = 8  # up to which one start may end elsewhere than the others
_LEVEL = 1e-4  # relative difference of losses on few draws that are taken to agree
_LEVEL_BENT = 1e-5  # the same of a loss that bends
_NOISE = 0.02  # relative difference of losses on few draws that may be the other way on all
_LEADERS = 3  # of these that are carried on to more draws
_POOL = 12  # ends of first runs from which others take clusters over
_AT_FIRST = 2  # starts of each of two kinds; if they agree there are no more
_SCORING = 1e-8  # seconds for each item and draw, to score what was found at last
_POLISHED = 4_000_000  # items times draws up to which polishing rebuilds clusters too


class Settings(Protocol):
    """What a plan reads of a Greedy."""

    @property
    def n_runs(self) -> int | None: ...
    @property
    def max_clusters(self) -> int | None: ...
    @property
    def starts(self) -> tuple[Any, ...]: ...
    @property
    def moves(self) -> tuple[str, ...]: ...
    @property
    def patience(self) -> float: ...
    @property
    def max_draws(self) -> int | None: ...


class Found(NamedTuple):
    """Where a run ended."""

    value: float
    labels: Labels
    start: str


class Plan:
    """One greedy search: the runs, then the best carried further."""

    def __init__(
        self,
        settings: Settings,
        loss: RatioLoss,
        evidence: Evidence,
        rng: np.random.Generator,
        n_jobs: int,
        clock: Clock,
    ) -> None:
        self.settings, self.loss, self.evidence = settings, loss, evidence
        self.rng, self.n_jobs, self.clock = rng, n_jobs, clock
        self.limit = min(settings.max_clusters or evidence.n_items, evidence.n_items)
        self.found: list[Found] = []
        self.ended: list[Found] = []
        self.is_agreed = False
        n, self.on_draws = evidence.n_items, on_draws(loss, evidence)
        self.max_draws = settings.max_draws
        if self.on_draws and settings.max_draws is None and settings.n_runs is None:
            most = max(250, min(1_000, 400_000 // n))
            if evidence.distinct.n_draws > _MANY_DRAWS:
                most = max(500, min(1_500, 600_000 // n))
            self.max_draws = most if evidence.distinct.n_draws > 1.5 * most else None
        clock.reserve(_SCORING * n * (evidence.distinct.n_draws if self.on_draws else n))

    def run(self) -> Iterator[Candidate]:
        """Yield what was found, the best last polished on everything."""
        if self.settings.n_runs is not None:
            shared = problem(self.loss, self.evidence, max_draws=self.max_draws)
            moves = self.settings.moves
            self._runs(shared, [(name, labels, moves) for name, labels in self._starts()])
        else:
            shared = self._sized()
        yield from self._polished(shared)

    def _sized(self) -> Problem:
        """Some quick runs on few draws, fewer on more, and the best of those carried further."""
        shared = problem(self.loss, self.evidence, max_draws=self._few)
        moves = self.settings.moves
        light = tuple(m for m in moves if m in ("sweep", "merge")) or moves
        self._begin(shared, light)
        pool = self._leaders(_POOL)
        leaders = self._ranked(pool)[: 1 if self.is_agreed else _LEADERS]
        if self._few != self.max_draws and not self.clock.is_up():
            shared = problem(self.loss, self.evidence, max_draws=self.max_draws)
            self.found = []
            if not self.is_agreed:
                self.ended = []
                self._runs(shared, [(f.start, f.labels, light) for f in leaders], softens=True)
        n_starts = len(self.found)
        leaders = leaders if self.is_agreed else self._leaders(2 if self.on_draws else 3)
        tasks = [(f.start, f.labels, moves) for f in leaders]
        others = [shared.compress(f.labels) for f in pool if not self.is_agreed]
        is_thorough = self._is_bent and self._work <= _SMALL
        hardness = 4 if self.loss.denominator.product else 2 if is_thorough else 1
        patience = self.settings.patience * (1 if self.is_agreed else hardness)
        self._runs(shared, tasks, patience, others=others, is_thorough=is_thorough)
        ends = self.found[n_starts:]
        self.is_agreed = all(np.array_equal(f.labels, ends[0].labels) for f in ends)
        return shared

    def _begin(self, shared: Problem, moves: tuple[str, ...]) -> None:
        """Run from a few starts and, unless they agree, from the others."""
        counts, seeds = self._counts(), self.rng.spawn(2)
        few = self._at_first(counts)
        for done, counted, rng in ((None, few, seeds[0]), (few, counts, seeds[1])):
            starts = [one for kind in self._kinds(counted, rng, done) for one in kind]
            if not starts and not self.found and done:
                starts = [("sequential", None)]
            tasks = [(name, labels, moves) for name, labels in starts]
            self._runs(shared, tasks, softens=True, is_stepwise=done is not None)
            self.is_agreed = self._agrees()
            if self.is_agreed or self.clock.is_up():
                return

    def _at_first(self, counts: Sequence[int]) -> list[int]:
        """How many starts of each kind come first.

        A loss that bends is held where its draws are, so one of them is begun from another loss.
        """
        first = dict.fromkeys(range(2), _AT_FIRST)
        if self._is_bent and self.settings.starts[:3] == ("sequential", "draws", "losses"):
            first = {0: _AT_FIRST, 1: 1, 2: 1}
        return [min(n, first.get(k, 0)) for k, n in enumerate(counts)]

    def _agrees(self) -> bool:
        """Whether starts of two kinds ended at the best, and all did.

        One may have ended elsewhere if there are few clusters and the loss does not bend. Of many
        draws the first runs see too few for agreement on many clusters.
        """
        if not self.found:
            return False
        best = min(self.found, key=lambda f: f.value)
        level = 1e-9 if self._few is None else _LEVEL_BENT if self._is_bent else _LEVEL
        bar = best.value + level * abs(best.value)
        same = {f.start for f in self.found if f.value <= bar}
        others = [f for f in self.found if f.value > bar]
        if len(same) < 2:
            return False
        if self._is_bent:
            return not others
        if int(best.labels.max()) < _FEW_CLUSTERS:
            noise = best.value + _NOISE * abs(best.value)
            return len(others) <= 1 and (self._few is None or all(f.value > noise for f in others))
        is_many = self.on_draws and self.evidence.distinct.n_draws > _MANY_DRAWS
        return not others and not is_many

    @property
    def _few(self) -> int | None:
        """The draws that the first runs see, None for all."""
        n_draws = self.evidence.distinct.n_draws if self.on_draws else 0
        is_many = min(n_draws, self.max_draws or n_draws) > 1.5 * _FEW_DRAWS
        return _FEW_DRAWS if self.settings.max_draws is None and is_many else self.max_draws

    def _leaders(self, n: int) -> list[Found]:
        """The best ``n`` different ends so far."""
        ranked = sorted(self.found, key=lambda f: f.value)
        kept: list[Found] = []
        for one in ranked:
            if all(not np.array_equal(one.labels, other.labels) for other in kept):
                kept.append(one)
            if len(kept) == n:
                break
        return kept

    def _ranked(self, some: list[Found]) -> list[Found]:
        """Ends of runs on some of the draws, the best on all of them first."""
        if len(some) > 1 and self.clock.share < 1 and not self.clock.is_up():
            labels = np.stack([one.labels for one in some])
            values = losses.expected(self.loss, labels, self.evidence)
            some = [some[i] for i in np.argsort(values, kind="stable")]
        return some

    def best_so_far(self) -> Candidate | None:
        """The best end of a run, or nothing."""
        if not self.ended:
            return None
        best = min(self.ended, key=lambda f: f.value)
        return Candidate(best.labels, info=self._about(best))

    def _about(self, found: Found) -> dict[str, Any]:
        return {"start": found.start, "history": tuple(self.clock.history)}

    def _polished(self, shared: Problem) -> Iterator[Candidate]:
        """Polish on all draws and single items what was found on fewer draws, merged items."""
        is_whole = not isinstance(shared, DrawsProblem) or (
            shared.m == self.evidence.distinct.n_draws and shared.n == shared.n_items
        )
        if is_whole:
            for one in self._leaders(1 if self.settings.n_runs is None else len(self.found)):
                yield Candidate(one.labels, expected_loss=one.value, info=self._about(one))
            return
        n_leaders = 3 if self._is_bent else 2
        leaders = self._ranked(self._leaders(n_leaders if self.is_agreed else 8))[:n_leaders]
        room = validate.free_memory() // 2
        if self.clock.is_up() or 4 * shared.n_items * self.evidence.distinct.n_draws > room:
            yield Candidate(leaders[0].labels, info=self._about(leaders[0]))
            return
        moves = self.settings.moves
        light = tuple(move for move in moves if move in ("sweep", "merge"))
        n_draws = self.evidence.distinct.n_draws
        is_all = isinstance(shared, DrawsProblem) and shared.m == n_draws
        if self.evidence.n_items * n_draws > _POLISHED or is_all:
            moves = light
        whole = problem(self.loss, self.evidence, merge=False)
        self.found, self.ended = [], []
        if self.is_agreed:  # nothing to rebuild where all the draws change nothing
            self._runs(whole, [(leaders[0].start, leaders[0].labels, light)])
        if not (self.found and np.array_equal(self.found[0].labels, leaders[0].labels)):
            tasks = [(one.start, one.labels, moves) for one in leaders]
            self._runs(whole, tasks, patience=1.0)
        for one in self._leaders(1):
            yield Candidate(one.labels, expected_loss=one.value, info=self._about(one))

    def _runs(
        self,
        shared: Problem,
        tasks: Sequence[tuple[str, Labels | None, tuple[str, ...]]],
        patience: float | None = None,
        softens: bool = False,
        others: Sequence[Labels] = (),
        is_thorough: bool = False,
        is_stepwise: bool = False,
    ) -> None:
        """Do the runs in parallel and add where they ended, in order."""
        patience = self.settings.patience if patience is None else patience
        if isinstance(shared, DrawsProblem):
            self.clock.share = shared.m / self.evidence.distinct.n_draws
        seeds = self.rng.spawn(len(tasks))
        states: list[Any] = []

        def work(a: int) -> Found | None:
            name, labels, moves = tasks[a]
            if self.clock.is_up() and (a or self.found):
                return None
            state = states.pop() if states else shared.state()
            run = Run(state, seeds[a], self.limit, self.clock)
            run.softens, run.others, run.is_thorough = softens, others, is_thorough
            run.is_stepwise = is_stepwise
            try:
                _start(run, shared, labels)
                run.go(moves, patience)
            except KeyboardInterrupt:
                self.clock.stop()
                if run.best is None:
                    raise
                run.state.load(run.best)
            end = _end(run, shared, name)
            self.ended.append(end)
            states.append(state)
            return end

        parts = range(len(tasks))
        ends = map_blocks(work, parts, n_jobs=self.n_jobs, label="greedy", stop=self.clock.stop)
        for end in ends:
            if end is not None:
                self.found.append(end)
        if self.clock.was_stopped:
            raise KeyboardInterrupt

    def _starts(self) -> list[tuple[str, Labels | None]]:
        """Return (name, labels) of each of ``n_runs`` runs, going round the kinds of starts."""
        n_runs = self.settings.n_runs or 1
        kinds = self._kinds([n_runs for _ in self.settings.starts], self.rng)
        if not any(kinds):
            kinds = [[("sequential", None)] * n_runs]
        out: list[tuple[str, Labels | None]] = []
        for r in range(max(map(len, kinds))):
            out += [kind[r] for kind in kinds if r < len(kind)]
        return out[:n_runs]

    def _kinds(
        self, counts: Sequence[int], rng: np.random.Generator, done: Sequence[int] | None = None
    ) -> list[list[tuple[str, Labels | None]]]:
        """So many starts of each kind, None for a sequential one, but for those ``done``."""
        kinds: list[list[tuple[str, Labels | None]]] = []
        for i, kind in enumerate(self.settings.starts):
            n_done = done[i] if done else 0
            if counts[i] <= n_done or (any(kinds) and self.clock.is_up()):
                kinds.append([])
            else:
                kinds.append(self._of_kind(kind, counts[i], rng)[n_done:])
        return kinds

    def _counts(self) -> list[int]:
        """How many starts to take of each kind."""
        n_runs, kinds = self.settings.n_runs, self.settings.starts
        if n_runs is not None:
            return [n_runs for _ in kinds]
        work = self._work
        if not self._is_bent:
            many = 4 if work <= 40_000 else 2
            of_kind, usual = {"sequential": many, "random": many}, 2
        elif work <= _SMALL:
            of_kind, usual = {"sequential": 2, "random": 2, "draws": 3}, 2
        else:
            of_kind, usual = (
                {"sequential": 2, "random": 2, "draws": 2, "one": int(len(kinds) == 1)},
                1,
            )
        return [of_kind.get(kind, usual) if isinstance(kind, str) else usual for kind in kinds]

    @property
    def _work(self) -> int:
        """Items times the draws that the runs see."""
        n_draws = self.evidence.distinct.n_draws if self.on_draws else 100
        return self.evidence.n_items * min(n_draws, self.max_draws or n_draws)

    @property
    def _is_bent(self) -> bool:
        """Whether the loss bends in e, so that runs anneal."""
        return bool(self.loss.numerator.least or self.loss.denominator.least)

    def _of_kind(
        self, kind: Any, wanted: int, rng: np.random.Generator
    ) -> list[tuple[str, Labels | None]]:
        n, is_sized = self.evidence.n_items, self.settings.n_runs is None
        if is_sized and n > _DENSE_ITEMS and kind in ("losses", "average", "nmf"):
            return []
        if not isinstance(kind, str):
            if not hasattr(kind, "candidates"):
                labels = validate.labels("starts", kind, n_items=n)
                return [("labels", canonical(labels))]
            found = starting.from_search(kind, self.loss, self.evidence, rng, wanted)
            return [(type(kind).__name__, labels) for labels in found]
        if kind == "sequential":
            return [(kind, None)] * wanted
        made = self._made(kind, wanted, rng)
        return [(kind, labels) for labels in made]

    def _made(self, kind: str, wanted: int, rng: np.random.Generator) -> list[Labels]:
        n = self.evidence.n_items
        if kind == "random":
            return [starting.random_labels(n, self.limit, rng) for _ in range(wanted)]
        if kind == "draws":
            return starting.from_draws(self.loss, self.evidence, wanted)
        if kind == "losses":
            return starting.from_losses(self.loss, self.evidence, rng, self.clock, 2 * wanted - 1)
        if kind == "nmf":
            return starting.from_nmf(self.loss, self.evidence, rng, wanted)
        if kind == "one":
            return [np.zeros(n, dtype=np.int64)][:wanted]
        if kind == "singletons":
            return [np.arange(n)]
        return starting.from_linkage(self.loss, self.evidence, kind, wanted)


def _start(run: Run, shared: Problem, labels: Labels | None) -> None:
    if labels is None:
        run.grow()
    else:
        labels = canonical(shared.compress(labels))
        labels[labels >= run.limit] = run.limit - 1
        run.state.load(labels)
    run.keep()


def _end(run: Run, shared: Problem, name: str) -> Found:
    """Recompute the totals, which must agree with those that were kept."""
    kept = run.state.value
    run.state.refresh()
    value = run.state.value
    if abs(kept - value) > 1e-8 * max(1.0, abs(value)):
        raise AssertionError(f"running total {kept!r} is not the recomputed {value!r}")
    return Found(value, canonical(shared.expand(run.state.labels)), name)
