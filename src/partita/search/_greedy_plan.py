"""How many runs, from where, on how many draws, and what is done with the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from partita import losses, validate
from partita.search._common import Candidate
from partita.search._greedy_clock import Clock
from partita.search._greedy_crossing import are_few, crossed
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_ends import Found, best_of, gathered, swept, times_best, unseen
from partita.search._greedy_kinds import SMALL, Starts
from partita.search._greedy_problem import is_bent, is_curved, on_draws, problem
from partita.search._greedy_runs import QUICK, Runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import RatioLoss
    from partita.search._greedy_kinds import Start
    from partita.search._greedy_problem import Problem
    from partita.search._greedy_runs import Task

    Labels: TypeAlias = NDArray[np.int64]


_FEW_DRAWS = 150  # that the first runs see
_MANY_DRAWS = 3_000  # beyond these the best on some may not be so on all, and starts that agree err
_FEW_CLUSTERS = 8  # up to which one start may end elsewhere than the others
_MANY_CLUSTERS = 24  # beyond which starts that agree are rebuilt twice as much, in long runs
_LEVEL = 1e-4  # relative difference of losses on few draws that are taken to agree
_LEVEL_BENT = 1e-5  # the same of a loss that bends
_NOISE = 0.02  # relative difference of losses on few draws that may be the other way on all
_LEADERS = 3  # of these that are carried on to more draws at a time
_RUGGED = 0.34  # share of first runs that ended where no other did, from which on more are made
_ENOUGH, _ENOUGH_CAREFUL, _ENOUGH_CAPPED = 3, 4, 6  # that end at the best, else two, are enough
_CROSSED = 2  # times that ends are crossed again
_CROSSING = 0.05  # seconds of a limit that must be left for it
_ANEW = 2  # runs from nothing on more draws, where those on few agree and there are many
_MERGED = 2  # clusters up to which that is done of any draws: on few these may be too few
_JOINED = {"gathered", "one"}  # starts for where others go astray, so they need not agree
_GATHERED = 2  # ends whose single items are put together
_FRESH, _FRESH_CAREFUL = 2, 5  # times that more are begun; on a similarity, or under a cap
_CHEAP = 40_000  # items times 100 up to which all starts are taken under a loss on the similarity
_QUICK = 250_000  # items times draws up to which that is done
_QUICK_ONCE = 400_000  # and up to which once, or under a loss that bends as often
_POOL = 12  # ends of first runs from which others take clusters over
_SCORING = 1e-8  # seconds for each item and draw, to score what was found at last
_REBUILT = 1_000_000  # items times draws up to which few clusters are rebuilt on all of many draws
_REBUILT_CELLS = 80_000  # and draws times clusters
_POLISHED = 4_000_000  # items times draws up to which polishing rebuilds clusters too
_SWEPT_TWICE = 50_000_000  # and times clusters, up to which more than one run is long
_SWEPT = 100_000_000  # the same, beyond which only the best are carried further


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
        self.rng, self.clock = rng, clock
        self.limit = min(settings.max_clusters or evidence.n_items, evidence.n_items)
        is_sized = settings.n_runs is None
        self.starts = Starts(settings.starts, loss, evidence, self.limit, clock, is_sized)
        self.found: list[Found] = []
        self.runs = Runs(self.limit, n_jobs, clock)
        self.earlier: Candidate | None = None
        self.is_agreed = False
        n, self.on_draws, self.is_bent = evidence.n_items, on_draws(loss, evidence), is_bent(loss)
        self.max_draws = settings.max_draws
        if self.on_draws and settings.max_draws is None and settings.n_runs is None:
            most = max(250, min(1_000, 400_000 // n))
            if is_curved(loss):
                most = min(most, max(500, 200_000 // n))
            if evidence.distinct.n_draws > _MANY_DRAWS:
                most = max(500, min(1_500, 600_000 // n))
            self.max_draws = most if evidence.distinct.n_draws > 1.5 * most else None
        clock.reserve(_SCORING * n * (evidence.distinct.n_draws if self.on_draws else n))

    def run(self) -> Iterator[Candidate]:
        """Yield what was found, the best last polished on everything."""
        n_runs = self.settings.n_runs
        if n_runs is not None:
            shared = problem(self.loss, self.evidence, max_draws=self.max_draws)
            moves = self.settings.moves
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
            if int(labels.max()) < self.limit:
                yield Candidate(labels, info={"start": name, "history": tuple(self.clock.history)})

    def _sized(self) -> Problem:
        """Some quick runs on few draws, fewer on more, and the best of those carried further."""
        shared = problem(self.loss, self.evidence, max_draws=self._few)
        self._begin(shared)
        is_capped = self._is_capped
        is_rugged = (unseen(self.found) > _RUGGED or is_capped) and self._is_quick
        pool = best_of(self.found, _POOL)
        few, is_more = shared, self._few != self.max_draws and not self.clock.is_up()
        if is_more:
            shared = problem(self.loss, self.evidence, max_draws=self.max_draws)
        crossing = self._crossed(few, shared, pool)
        is_whole = bool(crossing) and are_few([f.labels for f in pool])
        leaders = self._ranked(best_of(pool + crossing, len(pool) + len(crossing)))
        if is_more:
            self._turn()
        others = [shared.items.compress(f.labels) for f in leaders if not self.is_agreed]
        ends, enough = list[Found](), self._enough(is_rugged, is_capped, bool(crossing))
        for starts, is_new in self._rounds(leaders, is_more):
            ends += self._carried(shared, starts, others, is_new)
            if self.is_agreed or is_whole or times_best(ends) >= enough or self.clock.is_up():
                break
        for _ in range(_CROSSED if crossing else 0):
            better = self._bettered(few, shared, pool)
            if not better or self.clock.is_up():
                break
            ends += self._carried(shared, better, others, False)
        self.is_agreed = all(np.array_equal(f.labels, ends[0].labels) for f in ends)
        return shared

    def _enough(self, is_rugged: bool, is_capped: bool, is_crossed: bool) -> int:
        """How many long runs must end at the best.

        The blocks of few items and draws that ends share, put together anew, tell enough.
        """
        if not is_rugged or (is_crossed and self._is_brief):
            return 2
        if is_capped:
            return _ENOUGH_CAPPED
        is_careful = (self.is_bent or not self.on_draws) and not is_crossed
        return _ENOUGH_CAREFUL if is_careful else _ENOUGH

    def _crossed(self, few: Problem, shared: Problem, ends: list[Found]) -> list[Found]:
        """The best ways to put together what these ends share, where the loss bends."""
        left = self.clock.left()
        if self.is_agreed or not self.is_bent or (left is not None and left < _CROSSING):
            return []
        if not (isinstance(few, DrawsProblem) and isinstance(shared, DrawsProblem)):
            return []
        labels = [f.labels for f in ends]
        found = crossed(few, shared, labels, self.limit, self.rng.spawn(1)[0], _LEADERS)
        return [Found(*one, "crossing") for one in found]

    def _bettered(self, few: Problem, shared: Problem, pool: list[Found]) -> list[Start]:
        """What crossing again, with the ends on these draws, puts together better than any."""
        best = min(self.found, key=lambda f: f.value)
        crossing = self._crossed(few, shared, best_of(self.found, len(self.found)) + pool)
        bar = best.value - 1e-9 * abs(best.value)
        return [f.again for f in crossing if f.value < bar]

    def _rounds(self, leaders: list[Found], is_more: bool) -> Iterator[tuple[list[Start], bool]]:
        """Yield starts to carry further together, and whether no run on these draws was there.

        That is the best one if the first runs agree, with some from nothing if they saw few of
        many draws, or if they merged nearly all on few; else the best, those that come next, and
        then others where that is quick.
        """
        if self.is_agreed:
            is_merged = is_more and int(leaders[0].labels.max()) < _MERGED
            anew = self.starts.anew(_ANEW if self._has_many_draws or is_merged else 0)
            yield [leaders[0].again, *anew], bool(anew)
            return
        n_rounds = 2 if swept(self._work, leaders) <= _SWEPT else 1
        for a in range(0, min(len(leaders), n_rounds * _LEADERS), _LEADERS):
            yield [f.again for f in leaders[a : a + _LEADERS]], is_more
        n_fresh = _FRESH if self.on_draws and not self._is_capped else _FRESH_CAREFUL
        for _ in range(n_fresh if self._is_quick else int(self._work <= _QUICK_ONCE)):
            yield self.starts.fresh(self.rng, self.is_bent), True

    def _carried(
        self, shared: Problem, starts: list[Start], others: list[Labels], is_new: bool
    ) -> list[Found]:
        """Run quickly from starts that are new, and carry the best on; return where that led."""
        is_product = bool(self.loss.denominator.product)
        n_best = 4 if is_product and is_new else 2 if self.on_draws else _LEADERS
        if is_new:
            n_before = len(self.found)
            self._runs(shared, [(*start, self._light) for start in starts], softens=True)
            ends = best_of(self.found[n_before:], n_best)
            n_best = 1 if ends and swept(self._work, ends) > _SWEPT_TWICE else n_best
            starts = [f.again for f in ends]
        tasks = [(*start, self.settings.moves) for start in starts[:n_best]]
        patience, n_before = self._hardness(starts) * self.settings.patience, len(self.found)
        is_thorough = self.is_bent and self._is_brief
        self._runs(shared, tasks, patience, others=others, is_thorough=is_thorough)
        return self.found[n_before:]

    def _hardness(self, starts: list[Start]) -> float:
        """How patient to be with changes of clusters: less where the first runs agree."""
        is_product = bool(self.loss.denominator.product)
        if not self.is_agreed or self._is_cheap:
            return 3.0 if is_product else 2.0 if self.is_bent and self._is_brief else 1.0
        n_clusters = 1 + max(int(labels.max()) for _, labels in starts if labels is not None)
        levels = (_FEW_CLUSTERS, _MANY_CLUSTERS)
        if self._is_brief and not (self.is_bent or is_product):
            levels = (_MANY_CLUSTERS, self.evidence.n_items)
        hardness = 0.5 if n_clusters <= levels[0] else 1.0 if n_clusters <= levels[1] else 2.0
        return hardness * (2 if is_product else 1)

    @property
    def _is_quick(self) -> bool:
        """Whether there is time to begin again where the first runs disagree."""
        most = _QUICK_ONCE if self.is_bent else _QUICK if self.on_draws else SMALL
        return self._work <= most

    @property
    def _is_brief(self) -> bool:
        """Whether there are so few items and draws that runs are short."""
        return self._work <= SMALL

    @property
    def _light(self) -> tuple[str, ...]:
        """The moves of a quick run."""
        moves = self.settings.moves
        return tuple(move for move in moves if move in QUICK) or moves

    def _begin(self, shared: Problem) -> None:
        """Run from a few starts and, unless they agree, from the others; if cheap from all."""
        counts = self.starts.counts(self._work, self.is_bent, self._is_cheap)
        few = self.starts.at_first(counts, self.is_bent)
        turns = [([0] * len(counts), counts)] if self._is_cheap else [(None, few), (few, counts)]
        for (done, counted), rng in zip(turns, self.rng.spawn(len(turns)), strict=True):
            starts = [one for kind in self.starts.of_kinds(counted, rng, done) for one in kind]
            if not starts and not self.found and done:
                starts = [("sequential", None)]
            tasks = [(*start, self._light) for start in starts]
            self._runs(shared, tasks, softens=True, is_stepwise=done is not None)
            self._gather(shared)
            self.is_agreed = self._agrees()
            if self.is_agreed or self.clock.is_up():
                return

    def _gather(self, shared: Problem) -> None:
        """Run from ends that leave many items alone, once all of these are together.

        And from one cluster, if it is better than those ends or nearly as good.
        """
        n_done = sum(f.start == "gathered" for f in self.found)
        labels = gathered([f for f in self.found if f.start not in _JOINED], _GATHERED)[n_done:]
        tasks = [("gathered", each, self._light) for each in labels]
        if self.clock.is_up():
            return
        if self.found and not any(f.start == "one" for f in self.found):
            state, best = shared.state(), min(f.value for f in self.found)
            state.load(np.zeros(state.labels.size, dtype=np.int64))
            if state.value < best + _NOISE * abs(best):
                tasks.append(("one", np.zeros(self.evidence.n_items, np.int64), self._light))
        self._runs(shared, tasks)

    def _agrees(self) -> bool:
        """Whether starts of two kinds ended at the best, and all did.

        One may have ended elsewhere if there are few clusters and the loss does not bend. Of many
        draws the first runs see too few for agreement on many clusters.
        """
        if not self.found:
            return False
        if self._is_capped:
            return False
        best = min(self.found, key=lambda f: f.value)
        level = 1e-9 if self._few is None else _LEVEL_BENT if self.is_bent else _LEVEL
        bar = best.value + level * abs(best.value)
        same = {f.start for f in self.found if f.value <= bar} - _JOINED
        others = [f for f in self.found if f.value > bar and f.start not in _JOINED]
        if len(same) < 2:
            return False
        if self.is_bent:
            return not others
        if int(best.labels.max()) < _FEW_CLUSTERS:
            noise = best.value + _NOISE * abs(best.value)
            return len(others) <= 1 and (self._few is None or all(f.value > noise for f in others))
        return not others and not self._has_many_draws

    @property
    def _is_capped(self) -> bool:
        """Whether the best has as many clusters as it may: items are then held where they are."""
        best = min(self.found, key=lambda f: f.value, default=None)
        return best is not None and int(best.labels.max()) + 1 == self.limit < self.evidence.n_items

    @property
    def _has_many_draws(self) -> bool:
        return self.on_draws and self.evidence.distinct.n_draws > _MANY_DRAWS

    @property
    def _few(self) -> int | None:
        """The draws that the first runs see, None for all."""
        n_draws = self.evidence.distinct.n_draws if self.on_draws else 0
        is_many = min(n_draws, self.max_draws or n_draws) > 1.5 * _FEW_DRAWS
        return _FEW_DRAWS if self.settings.max_draws is None and is_many else self.max_draws

    def _ranked(self, some: list[Found]) -> list[Found]:
        """Ends of runs on some of the draws, the best on all of them first."""
        if len(some) > 1 and self.clock.share < 1 and not self.clock.is_up():
            labels = np.stack([one.labels for one in some])
            values = losses.expected(self.loss, labels, self.evidence)
            some = [some[i] for i in np.argsort(values, kind="stable")]
        return some

    def _turn(self) -> None:
        """Forget where runs ended, as those that follow are on other draws, but for the best."""
        self.earlier = self.best_so_far()
        self.found, self.runs.ended = [], []

    def best_so_far(self) -> Candidate | None:
        """The best end of a run, of those on fewer draws if there is no other, or nothing."""
        if not self.runs.ended:
            return self.earlier
        best = min(self.runs.ended, key=lambda f: f.value)
        return Candidate(best.labels, info=self._about(best))

    def _about(self, found: Found) -> dict[str, Any]:
        return {"start": found.start, "history": tuple(self.clock.history)}

    def _polished(self, shared: Problem) -> Iterator[Candidate]:
        """Polish on all draws and single items what was found on fewer draws, merged items."""
        n_draws = self.evidence.distinct.n_draws if self.on_draws else 0
        is_all = not isinstance(shared, DrawsProblem) or shared.m == n_draws
        if is_all and not shared.items.are_merged:
            for one in best_of(self.found, 1 if self.settings.n_runs is None else len(self.found)):
                yield Candidate(one.labels, expected_loss=one.value, info=self._about(one))
            return
        n_leaders = 3 if self.is_bent else 2
        leaders = self._ranked(best_of(self.found, n_leaders if self.is_agreed else 8))[:n_leaders]
        n_bytes = 8 * shared.n_items * n_draws
        if self.clock.is_up() or not validate.has_free(n_bytes):
            yield Candidate(leaders[0].labels, info=self._about(leaders[0]))
            return
        moves = self.settings.moves
        work = self.evidence.n_items * n_draws
        is_heavy = swept(work, leaders) > _SWEPT
        if work > _POLISHED or is_all or is_heavy:
            moves = self._light
        whole = problem(self.loss, self.evidence, merge=False)
        self._turn()
        n_cells = n_draws * (1 + int(leaders[0].labels.max()))
        is_light = work > _REBUILT or n_cells > _REBUILT_CELLS
        if self.is_agreed and (is_light or not self._has_many_draws):
            self._runs(whole, [(*leaders[0].again, self._light)])
        # nothing to rebuild where all the draws change nothing
        is_same = bool(self.found) and np.array_equal(self.found[0].labels, leaders[0].labels)
        if not (is_same or (self.found and is_heavy)):
            n_leaders = 1 if is_heavy or self.is_agreed else n_leaders
            tasks = [(*one.again, moves) for one in leaders[:n_leaders]]
            self._runs(whole, tasks, patience=1.0)
        for one in best_of(self.found, 1):
            yield Candidate(one.labels, expected_loss=one.value, info=self._about(one))

    def _runs(
        self, shared: Problem, tasks: Sequence[Task], patience: float | None = None, **how: Any
    ) -> None:
        """Do the runs and add where they ended."""
        if isinstance(shared, DrawsProblem):
            self.clock.share = shared.m / self.evidence.distinct.n_draws
        patience = self.settings.patience if patience is None else patience
        self.found += self.runs.of(shared, tasks, self.rng, patience=patience, **how)

    @property
    def _work(self) -> int:
        """Items times the draws that the runs see."""
        n_draws = self.evidence.distinct.n_draws if self.on_draws else 100
        return self.evidence.n_items * min(n_draws, self.max_draws or n_draws)

    @property
    def _is_cheap(self) -> bool:
        """Whether runs are so quick that all starts are taken, agree or not."""
        return self.loss.needs == "similarity" and self._work <= _CHEAP
