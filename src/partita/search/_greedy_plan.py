"""How many runs, from where, on how many draws, and what is done with the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import losses, validate
from partita.search._common import Candidate
from partita.search._greedy_brood import BREEDERS, Brood
from partita.search._greedy_clock import Clock
from partita.search._greedy_crossing import crossed
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_ends import Found, best_of, is_below, swept, times_best
from partita.search._greedy_first import First
from partita.search._greedy_kinds import Starts
from partita.search._greedy_problem import problem
from partita.search._greedy_runs import Runs
from partita.search._greedy_size import Settings, Size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import RatioLoss
    from partita.search._greedy_kinds import Start
    from partita.search._greedy_problem import Problem
    from partita.search._greedy_runs import Task

    Labels: TypeAlias = NDArray[np.int64]


_NEAR = 0.0025  # relative difference of the losses of quick and long runs that nearly agree
_FAR = 0.01  # relative difference of the losses of quick runs, beyond which none is carried on
_ALSO = 3  # from nothing besides those carried on early
_LEVEL = 1e-4  # relative difference of losses, up to which a run is taken to meet the best
_CONFIRMED, _CONFIRMED_BENT = 3, 5  # that must, before the best is taken for it at once
_LEADERS = 3  # ends that are carried on to more draws at a time
_CROSSED, _CROSSED_EARLY = 12, 4  # ways to begin, for each block above the clusters there are
_AGAIN = 2  # times that ends are crossed again, where runs are not short
_CROSSED_LONG = 12_000_000  # items times draws times clusters, too many for it under a limit
_CROSSING = 0.05  # seconds of a limit that must be left for it
_ANEW = 4  # runs from nothing at a time that may meet the best
_MERGED = 2  # clusters up to which twice as many must end at the best: few draws may merge them
_FRESH = 2  # times that more are begun, and once more where first runs are scattered
_FRESH_CAREFUL = 5  # the same of many draws, on a similarity, or under a cap
_BROODS = 4  # broods from nothing besides the first, as long as none agrees
_POOL = 12  # ends of runs from which others take clusters over
_SCORING = 1e-8  # seconds for each item and draw, to score what was found at last
_COUNTING = 2e-8  # seconds for each label that is counted for the first time
_REBUILT = 1_000_000  # items times draws up to which few clusters are rebuilt on all of many draws
_REBUILT_CELLS = 80_000  # and draws times clusters
_POLISHED = 4_000_000  # items times draws up to which polishing rebuilds clusters too
_SWEPT_TWICE = 50_000_000  # and times clusters, up to which more than one run is long
_SWEPT = 100_000_000  # the same, beyond which only the best are carried further


class Plan:
    """One greedy search: the runs, then the best carried further.

    ``stages`` are the runs on more and more draws; ``found`` is where those of the last ended.
    """

    def __init__(
        self,
        settings: Settings,
        loss: RatioLoss,
        evidence: Evidence,
        rng: np.random.Generator,
        n_jobs: int,
        clock: Clock,
    ) -> None:
        self.size = size = Size(settings, loss, evidence)
        self.settings, self.loss, self.evidence = settings, loss, evidence
        self.rng, self.clock, self.n_jobs = rng, clock, n_jobs
        is_sized = settings.n_runs is None
        self.starts = Starts(settings.starts, loss, evidence, size.limit, clock, is_sized)
        self.found: list[Found] = []
        self.stages: list[Runs] = []
        self.is_agreed = self.is_rugged = False
        clock.reserve(_SCORING * size.n_items * (size.n_draws or size.n_items))

    def run(self) -> Iterator[Candidate]:
        """Yield what was found, the best last polished on everything."""
        n_runs, moves = self.settings.n_runs, self.settings.moves
        if n_runs is not None:
            shared = problem(self.loss, self.evidence, max_draws=self.size.max_draws)
            self._stage()
            self._runs(shared, [(*start, moves) for start in self.starts.each(n_runs, self.rng)])
        else:
            shared = self._sized()
        yield from self._polished(shared)
        yield from self.at_least()

    def at_least(self) -> Iterator[Candidate]:
        """What no answer may be worse than: labels given as a start, one cluster if cut short."""
        given = self.starts.given()
        if self.clock.has_ended_work or self.clock.was_stopped:
            given.append(("one", np.zeros(self.evidence.n_items, dtype=np.int64)))
        for name, labels in given:
            if int(labels.max()) < self.size.limit:
                yield Candidate(labels, info={"start": name, "history": tuple(self.clock.history)})

    def _sized(self) -> Problem:
        """Some quick runs on few draws, fewer on more, and the best of those carried further."""
        size = self.size
        few = shared = problem(self.loss, self.evidence, max_draws=size.few_draws)
        first, is_more = self._first(few), size.few_draws != size.max_draws
        ends, better = list[Found](), list[Found]()
        while not self.is_agreed and first.has_turn:
            if size.is_hurried and first.nearly_agree and not ends:
                shared = self._on_more() if is_more else few
                ends, is_near = self._early(few, shared, first.found)
                is_double = is_near and times_best(ends) >= self._n_confirmed
                if is_double:
                    better = self._bettered(few, shared, first, ends, _CROSSED_EARLY)
                if is_double and not better:
                    self.is_agreed = all(np.array_equal(f.labels, ends[0].labels) for f in ends)
                    return shared
            first.take_turn()
            self.is_agreed = first.agree
        if is_more and shared is few and not self.clock.is_up():
            shared = self._on_more()
        elif shared is few:
            self.found += first.found
        self._carry_on(few, shared, first, ends, better)
        return shared

    def _first(self, few: Problem) -> First:
        """The first runs, after the first of their turns."""
        first = First(self.size, few, self.starts, self._stage(), self.rng)
        first.take_turn()
        self.is_agreed = first.agree
        return first

    def _stage(self) -> Runs:
        """Runs on other draws than those before."""
        self.stages.append(Runs(self.size.limit, self.n_jobs, self.clock, self.size.n_draws))
        self.found = []
        return self.stages[-1]

    def _on_more(self) -> Problem:
        """The problem on more draws, for runs that are a new stage."""
        self._stage()
        return problem(self.loss, self.evidence, max_draws=self.size.max_draws)

    def _early(self, few: Problem, shared: Problem, found: list[Found]) -> tuple[list[Found], bool]:
        """Carry the best of the ends of some first runs on at once, and see what meets them.

        First runs on the same draws count. Not so where ends are far below where quick runs end,
        which then tell little: whether they are near is said, too.
        """
        leaders = self._ranked(few, best_of(found, _POOL))
        others = [shared.items.compress(f.labels) for f in leaders]
        if shared is few:
            quick = leaders[0].value
            ends = self._carried(shared, [leaders[0].again], others, False, known=found)
        else:
            starts = [f.again for f in leaders[:_LEADERS]] + self.starts.anew(_ALSO)
            ends = self._carried(shared, starts, others, True, is_early=True)
            quick = min((f.value for f in self.found[: len(starts)]), default=np.inf)
        if not ends or self.clock.is_up():
            return ends, False
        best = min(f.value for f in ends)
        if quick > best + _NEAR * abs(best):
            return best_of(ends, _LEADERS), False
        return ends + self._met(shared, ends, quick, 2), True

    @property
    def _n_confirmed(self) -> int:
        """How many runs must meet the best."""
        return _CONFIRMED_BENT if self.size.is_bent else _CONFIRMED

    def _met(self, shared: Problem, ends: list[Found], quick: float, n_times: int) -> list[Found]:
        """The best end again, as often as quick runs from nothing meet it, or what is below it.

        They meet it where they end as low as the quick run did that led there. Some are made, and
        again up to so many times, until enough have met it.
        """
        best, met = min(ends, key=lambda f: f.value), list[Found]()
        bar = quick + _LEVEL * abs(quick)
        for _ in range(n_times):
            if times_best(ends + met) >= self._n_confirmed or self.clock.is_up():
                break
            tasks = [(*start, self.size.light) for start in self.starts.anew(_ANEW)]
            found = self._runs(shared, tasks, softens=True)
            met += [min(one, best, key=lambda f: f.value) for one in found if one.value <= bar]
        return met

    def _bettered(
        self, few: Problem, shared: Problem, first: First, ends: list[Found], n_starts: int
    ) -> list[Found]:
        """What is better than where runs ended, put together from what all ends share."""
        if not ends:
            return []
        best = min(ends, key=lambda f: f.value)
        pool = [best, *best_of(ends, _POOL), *best_of(first.found, _POOL)]
        crossing = self._crossed(few, shared, pool, n_starts)
        return [f for f in crossing if f.value < best.value - 1e-9 * abs(best.value)]

    def _carry_on(
        self, few: Problem, shared: Problem, first: First, ends: list[Found], more: list[Found]
    ) -> None:
        """Carry the best of the first runs, and more, on until enough have ended at the best."""
        size = self.size
        self.is_agreed &= not size.is_matrix_small
        self.is_rugged = first.are_rugged
        pool = best_of(first.found, _POOL)
        n_litters = 0 if self.is_agreed else first.n_litters(shared)
        if not (self.is_agreed or n_litters or few is shared):
            pool = self._brood(few, first.runs).bred(pool, first.n_litters(few))
        crossing = self._crossed(few, shared, pool, _CROSSED)
        if n_litters and first.breed_at_once:
            pool = self._ranked(few, best_of(pool + crossing + more, BREEDERS))
            if shared is not few:
                pool = self._brood(shared, self.stages[-1]).settled(pool)
            self._breed(shared, ends + pool, n_litters)
            return
        leaders = self._ranked(few, best_of(pool + crossing + more, _POOL + _LEADERS))
        self.is_agreed &= first.is_at_best(leaders[0])  # else few draws had misled them
        if self.is_agreed:
            below = self._contradicted(shared, first, leaders[0], ends)
            if not below:
                return
            self.is_agreed, leaders = False, below + leaders
        others = [shared.items.compress(f.labels) for f in leaders]
        enough = first.enough(is_crossed=bool(crossing))
        for starts, is_new in self._rounds(first, leaders, shared is not few, bool(n_litters)):
            known = first.found if shared is few and size.is_brief else ()
            ends += self._carried(shared, starts, others, is_new, known=known)
            if self._is_enough(shared, ends, enough, shared is not few) or self.clock.is_up():
                break
            others = self._pooled(shared, ends, others)
        else:
            if n_litters:
                self._breed(shared, self.found, n_litters)
                return
        for _ in range(_AGAIN if crossing and not self.size.is_brief else 0):
            better = self._bettered(few, shared, first, self.found, _CROSSED)
            if not better or self.clock.is_up():
                break
            ends += self._carried(shared, [f.again for f in better], others, False)
        self.is_agreed = all(np.array_equal(f.labels, ends[0].labels) for f in ends)

    def _contradicted(
        self, shared: Problem, first: First, agreed: Found, ends: list[Found]
    ) -> list[Found]:
        """Carry on what first runs agree on; what quick runs from nothing on more draws find below.

        If there is any, few draws misled all. Short runs that agree on all draws on not too many
        clusters are not carried on, but for a ratio of what the partition changes: of some hundred
        none was led elsewhere.
        """
        size, is_more = self.size, shared is not first.shared
        is_certain = (size.is_bent or not size.is_hurried) and not first.are_many
        if size.on_draws and size.is_brief and not is_more and is_certain:
            return []
        ends += self._carried(shared, [agreed.again], [], False)
        if not (is_more and ends):
            return []
        best = min(f.value for f in ends)
        met = best_of(self._met(shared, ends, best, 3), _LEADERS)
        return met if met and is_below(met, best) else []

    def _is_enough(self, shared: Problem, ends: list[Found], enough: int, is_more: bool) -> bool:
        """Whether as many long runs as are enough ended at the best.

        Where runs are short and the loss bends, runs from nothing must meet it, too; ``ends`` grows
        by those. More must end in one or two clusters, as few draws may merge all.
        """
        if is_more and all(int(f.labels.max()) < _MERGED for f in best_of(ends, 1)):
            enough *= 2
        n_best = times_best(ends)
        if n_best < enough or not (self.size.is_brief and self.size.is_bent):
            return n_best >= enough
        ends += self._met(shared, ends, min(f.value for f in ends), 2)
        return times_best(ends) >= enough

    def _brood(self, shared: Problem, runs: Runs) -> Brood:
        return Brood(self.size, self.starts, shared, runs, self.rng)

    def _breed(self, shared: Problem, ends: list[Found], n_litters: int) -> None:
        """Breed the ends of runs, and others from nothing, until two broods agree on the best."""
        brood = self._brood(shared, self.stages[-1])
        pool = self._bred(brood, brood.filled(ends), n_litters)
        for _ in range(_BROODS if pool else 0):
            other = [] if self.clock.is_up() else self._bred(brood, brood.filled([]), n_litters)
            if not other or np.array_equal(other[0].labels, pool[0].labels):
                break
            pool = self._bred(brood, best_of(pool + other, BREEDERS), n_litters)

    def _bred(self, brood: Brood, pool: list[Found], n_litters: int) -> list[Found]:
        """Breed ends of runs, carry the best on, and again as long as that helps."""
        best, n_long = np.inf, 2
        self.found += pool
        while pool and is_below(pool, best) and not self.clock.is_up():
            pool = brood.bred(pool, n_litters)
            self.found += pool
            if not is_below(pool, best):
                break
            best, starts = pool[0].value, [f.again for f in pool[:n_long]]
            others = [brood.shared.items.compress(f.labels) for f in pool]
            pool = best_of(pool + self._carried(brood.shared, starts, others, False), BREEDERS)
            n_long = 1
        return pool

    @staticmethod
    def _pooled(shared: Problem, ends: list[Found], others: list[Labels]) -> list[Labels]:
        """Partitions to take clusters from: the best ends of long runs, then those of before."""
        best = [shared.items.compress(f.labels) for f in best_of(ends, _POOL)]
        known = {labels.tobytes(): labels for labels in (*best, *others)}
        return list(known.values())[:_POOL]

    def _crossed(
        self, few: Problem, shared: Problem, ends: list[Found], n_starts: int
    ) -> list[Found]:
        """The best ways to put together what these ends share, if the loss bends or is linear."""
        left = self.clock.left()
        is_known = self.size.is_bent or not self.size.is_curved
        if self.is_agreed or not is_known or (left is not None and left < _CROSSING):
            return []
        if not (isinstance(few, DrawsProblem) and isinstance(shared, DrawsProblem)):
            return []
        labels = [f.labels for f in ends]
        rng = self.rng.spawn(1)[0]
        found = crossed(few, shared, labels, self.size.limit, rng, _LEADERS, n_starts)
        return [Found(*one, "crossing") for one in found]

    def _rounds(
        self, first: First, leaders: list[Found], is_more: bool, are_bred: bool
    ) -> Iterator[tuple[list[Start], bool]]:
        """Yield starts to carry further together, and whether no run on these draws was there.

        Those are the best, those that come next, and then others where that is quick.
        """
        size = self.size
        n_rounds = 2 if swept(size.work, leaders) <= _SWEPT else 1
        for a in range(0, min(len(leaders), n_rounds * _LEADERS), _LEADERS):
            yield [f.again for f in leaders[a : a + _LEADERS]], is_more
        is_usual = size.on_draws and not size.has_many_draws and not first.are_capped
        n_fresh = _FRESH + first.are_scattered if is_usual else _FRESH_CAREFUL
        n_fresh = n_fresh if first.are_quick else int(size.is_quick_once)
        for _ in range(0 if are_bred else n_fresh):
            yield self.starts.fresh(self.rng, size.is_bent), True

    def _carried(
        self, shared: Problem, starts: list[Start], others: list[Labels], is_new: bool,
        *, is_early: bool = False, known: Sequence[Found] = (),
    ) -> list[Found]:  # fmt: skip
        """Run quickly from starts that are new, and carry the best on; return where that led.

        A run that goes on from where several had come together counts for each of them, unless
        these saw few of many draws; ``known`` are some that were there before. If it ``is_early``
        bends are not rounded off again, and what is far above the best is not carried on.
        """
        size = self.size
        n_best = 4 if size.is_product and is_new else 2 if size.on_draws else _LEADERS
        if is_new:
            tasks = [(*start, size.light) for start in starts]
            known = self._runs(shared, tasks, softens=not is_early)
            ends = best_of(known, n_best)
            if is_early and ends:
                ends = [f for f in ends if f.value <= ends[0].value + _FAR * abs(ends[0].value)]
            n_best = 1 if ends and swept(size.work, ends) > _SWEPT_TWICE else n_best
            starts = [f.again for f in ends]
        if not starts:
            return []
        tasks = [(*start, self.settings.moves) for start in starts[:n_best]]
        is_thorough = size.is_bent and size.is_brief
        patience = size.patience(starts, self.is_agreed, self.is_rugged)
        begun: list[Any] = [labels for _, labels in starts]
        n_clusters = 1 + max(int(labels.max()) for labels in begun)
        is_long = self.clock.time_limit is not None and size.work * n_clusters > _CROSSED_LONG
        how = {"is_thorough": is_thorough, "crosses": not (size.is_brief or is_long)}
        found = self._runs(shared, tasks, patience, others=others, **how)
        if size.has_many_draws:
            return found
        met = [sum(np.array_equal(f.labels, labels) for f in known) for labels in begun]
        return [end for end, n in zip(found, met, strict=False) for _ in range(max(1, n))]

    def _ranked(self, shared: Problem, some: list[Found]) -> list[Found]:
        """Ends of runs on some of the draws, the best on all of them first."""
        is_all = not isinstance(shared, DrawsProblem) or shared.m == self.size.n_draws
        if len(some) < 2 or is_all or self.clock.is_up():
            return some
        labels = np.stack([one.labels for one in some])
        values = losses.expected(self.loss, labels, self.evidence)
        return [some[i] for i in np.argsort(values, kind="stable")]

    def best_so_far(self) -> Candidate | None:
        """The best end of a run, of those on fewer draws if there is no other, or nothing."""
        for stage in reversed(self.stages):
            if stage.ended:
                best = min(stage.ended, key=lambda f: f.value)
                return Candidate(best.labels, info=self._about(best))
        return None

    def _about(self, found: Found) -> dict[str, Any]:
        return {"start": found.start, "history": tuple(self.clock.history)}

    def _polished(self, shared: Problem) -> Iterator[Candidate]:
        """Polish on all draws and single items what was found on fewer draws, merged items."""
        n_draws = self.size.n_draws
        is_all = not isinstance(shared, DrawsProblem) or shared.m == n_draws
        if is_all and not shared.items.are_merged:
            for one in best_of(self.found, 1 if self.settings.n_runs is None else len(self.found)):
                yield Candidate(one.labels, expected_loss=one.value, info=self._about(one))
            return
        n_leaders = 3 if self.size.is_bent else 2
        ends = best_of(self.found, n_leaders if self.is_agreed else 8)
        leaders = self._ranked(shared, ends)[:n_leaders]
        if not self._is_in_time(shared, leaders) or not validate.has_free(
            8 * shared.n_items * n_draws
        ):
            yield Candidate(leaders[0].labels, info=self._about(leaders[0]))
            return
        self._polish(leaders, is_all=is_all)
        for one in best_of(self.found, 1):
            yield Candidate(one.labels, expected_loss=one.value, info=self._about(one))

    def _is_in_time(self, shared: Problem, leaders: list[Found]) -> bool:
        """Whether there is time to count all draws against what was found, and then some."""
        left = self.clock.left()
        if left is None or self.clock.is_up() or not isinstance(shared, DrawsProblem):
            return not self.clock.is_up()
        is_in_time = left > _COUNTING * shared.n_items * self.size.n_draws
        self.clock.has_ended_work |= not is_in_time
        return is_in_time

    def _polish(self, leaders: list[Found], *, is_all: bool) -> None:
        """Run on all draws and single items from the best; if the draws are new, rebuild too."""
        size, moves = self.size, self.settings.moves
        work = size.n_items * size.n_draws
        is_heavy = swept(work, leaders) > _SWEPT
        if work > _POLISHED or is_all or is_heavy:
            moves = size.light
        n_columns = 1 + int(leaders[0].labels.max())
        whole = problem(self.loss, self.evidence, merge=False, n_columns=n_columns)
        self._stage()
        n_cells = size.n_draws * n_columns
        is_light = work > _REBUILT or n_cells > _REBUILT_CELLS
        if self.is_agreed and (is_light or not size.has_many_draws):
            self._runs(whole, [(*leaders[0].again, size.light)])
        # nothing to rebuild where all the draws change nothing
        is_same = bool(self.found) and np.array_equal(self.found[0].labels, leaders[0].labels)
        if not (is_same or (self.found and is_heavy)):
            n_leaders = 1 if is_heavy or self.is_agreed else len(leaders)
            tasks = [(*one.again, moves) for one in leaders[:n_leaders]]
            self._runs(whole, tasks, patience=1.0)

    def _runs(
        self, shared: Problem, tasks: Sequence[Task], patience: float | None = None, **how: Any
    ) -> list[Found]:
        """Do the runs, add where they ended, and return that."""
        patience = self.settings.patience if patience is None else patience
        ends = self.stages[-1].of(shared, tasks, self.rng, patience=patience, **how)
        self.found += ends
        return ends
