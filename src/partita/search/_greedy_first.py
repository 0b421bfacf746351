"""The first runs of a greedy search, quick and on few draws, and whether their ends agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_ends import best_of, gathered, swept, unseen
from partita.search._greedy_size import FEW_CLUSTERS, MANY_CLUSTERS

if TYPE_CHECKING:
    from partita.search._greedy_ends import Found
    from partita.search._greedy_kinds import Starts
    from partita.search._greedy_problem import Problem
    from partita.search._greedy_runs import Runs, Task
    from partita.search._greedy_size import Size

_LEVEL = 1e-4  # relative difference of losses on few draws that are taken to agree
_LEVEL_BENT = 1e-5  # the same of a loss that bends
_NOISE = 0.02  # relative difference of losses on few draws that may be the other way on all
_JOINED = {
    "gathered",
    "one",
    "singletons",
}  # starts for where others go astray, so they need not agree
_NOT_FAR = 0.2  # relative difference of losses, up to which a start with all items alone is made
_FEW_OF_ALL = 0.3  # share of the items, up to which clusters are few for that
_SWEPT_ALONE = 5_000_000  # items times items times draws, beyond which that would take too long
_GATHERED = 2  # ends whose single items are put together
_RUGGED = 0.34  # share of runs that ended where no other did, from which on more are made
_RUGGED_MANY = 0.1  # the same of many clusters, where the loss does not bend
_NEARLY, _NEARLY_BENT = 0.5, 0.4  # the same, up to which they nearly agree
_SCATTERED = 0.5  # the same, beyond which still more are made
_ENOUGH, _ENOUGH_CAREFUL, _ENOUGH_ADJUSTED, _ENOUGH_CAPPED = (
    3,
    4,
    5,
    6,
)  # ends at the best, else two; on a similarity the first of these is the least
_MORE = 2  # more than that, on draws, where most of the runs ended where no other did
_SWEPT_QUICK = 12_000_000  # items times draws times clusters, up to which long runs are quick
_BRED = 300_000_000  # the same, for all litters
_LITTERS, _LEAST_BRED = 150, 12  # at most, and below which they are not worth it


class First:
    """Runs from starts of every kind, in two turns unless the first ends agree; all if cheap."""

    def __init__(
        self, size: Size, shared: Problem, starts: Starts, runs: Runs, rng: np.random.Generator
    ) -> None:
        self.size, self.shared, self.starts, self.runs, self.rng = size, shared, starts, runs, rng
        self.found: list[Found] = []
        counts = starts.counts(size.work, size.is_bent, size.is_cheap)
        few = starts.at_first(counts, size.is_bent, size.is_brief)
        turns = [([0] * len(counts), counts)] if size.is_cheap else [(None, few), (few, counts)]
        self._turns = [(*turn, rng) for turn, rng in zip(turns, rng.spawn(len(turns)), strict=True)]

    @property
    def has_turn(self) -> bool:
        """Whether there are starts left, and time, or nothing was found yet."""
        return bool(self._turns) and not (self.found and self.runs.clock.is_up())

    def take_turn(self) -> None:
        """Run quickly from the starts whose turn it is."""
        done, counted, rng = self._turns.pop(0)
        starts = [one for kind in self.starts.of_kinds(counted, rng, done) for one in kind]
        if not starts and not self.found and done:
            starts = [("sequential", None)]
        tasks = [(*start, self.size.light) for start in starts]
        self._run(tasks, softens=True, is_stepwise=done is not None)
        if not self.runs.clock.is_up():
            self._run(self._gathered() + self._one() + self._alone())

    def _run(self, tasks: Sequence[Task], **how: bool) -> None:
        patience = self.size.settings.patience
        self.found += self.runs.of(self.shared, tasks, self.rng, patience=patience, **how)

    def _gathered(self) -> list[Task]:
        """Ends that leave many items alone, all of these together."""
        n_done = sum(f.start == "gathered" for f in self.found)
        labels = gathered([f for f in self.found if f.start not in _JOINED], _GATHERED)[n_done:]
        return [("gathered", each, self.size.light) for each in labels]

    def _one(self) -> list[Task]:
        """One cluster, if it is better than all ends or nearly as good."""
        if not self.found or any(f.start == "one" for f in self.found):
            return []
        state, best = self.shared.state(), min(f.value for f in self.found)
        state.load(np.zeros(state.labels.size, dtype=np.int64))
        if state.value >= best + _NOISE * abs(best):
            return []
        return [("one", np.zeros(self.size.n_items, dtype=np.int64), self.size.light)]

    def _alone(self) -> list[Task]:
        """Every item alone, where that is quick and not much worse than the few clusters found.

        Under a loss that is a ratio of what the partition changes all may end with few clusters
        where many are better.
        """
        if not self.size.is_curved or not isinstance(self.shared, DrawsProblem) or not self.found:
            return []
        best, n = min(self.found, key=lambda f: f.value), self.shared.n
        if n * n * self.shared.m > _SWEPT_ALONE:
            return []
        is_known = any(f.start == "singletons" for f in self.found)
        if is_known or int(best.labels.max()) + 1 > _FEW_OF_ALL * n or self.size.limit < n:
            return []
        if self.shared.alone >= (1 + _NOT_FAR) * best.value:
            return []
        return [("singletons", np.arange(self.size.n_items), self.size.light)]

    @property
    def agree(self) -> bool:
        """Whether starts of two kinds ended at the best, and all did.

        One may have ended elsewhere if there are few clusters and the loss does not bend. Short
        runs on some of the draws, and those on few of many, do not tell for many clusters.
        """
        if not self.found or self.are_capped:
            return False
        best, is_all = min(self.found, key=lambda f: f.value), self.size.few_draws is None
        same = {f.start for f in self.found if self.is_at_best(f)} - _JOINED
        others = [f for f in self._told if not self.is_at_best(f)]
        if len(same) < 2:
            return False
        is_told = is_all or not (self.size.is_brief and self.are_many)
        if self.size.is_bent:
            return not others and is_told
        if int(best.labels.max()) < FEW_CLUSTERS:
            noise = best.value + _NOISE * abs(best.value)
            return len(others) <= 1 and (is_all or all(f.value > noise for f in others))
        return not others and not self.size.has_many_draws and is_told

    def is_at_best(self, one: Found) -> bool:
        """Whether a run ended at the best, or so near that they are taken to agree."""
        best, is_all = min(f.value for f in self.found), self.size.few_draws is None
        level = 1e-9 if is_all else _LEVEL_BENT if self.size.is_bent else _LEVEL
        return one.value <= best + level * abs(best)

    @property
    def nearly_agree(self) -> bool:
        """Whether few of them ended where no other did, with not too many clusters to tell."""
        most = _NEARLY_BENT if self.size.is_bent else _NEARLY
        n_best = sum(map(self.is_at_best, self._told))
        return not (self.are_capped or self.are_many) and n_best > 1 and self._unseen <= most

    @property
    def _told(self) -> list[Found]:
        """The ends that tell how many places there are to end in: of starts made from no others."""
        return [f for f in self.found if f.start not in _JOINED]

    @property
    def _unseen(self) -> float:
        """The share of the nearly best of these where no other run ended."""
        bar = min((f.value for f in self._told), default=0.0)
        bar += _NOISE * abs(bar)
        return unseen([f for f in self._told if f.value <= bar])

    @property
    def breed_at_once(self) -> bool:
        """Whether to breed before more long runs: where a loss bends or is adjusted.

        Else so it is where runs are short and end with many clusters, or, but for NVI, are
        scattered; and where long runs disagree.
        """
        size = self.size
        is_far = self._unseen > _SCATTERED and not size.is_curved
        is_hard = size.is_brief and (is_far or self.are_many)
        return size.is_bent or size.is_product or is_hard

    @property
    def are_many(self) -> bool:
        """Whether the best has many clusters."""
        best = min(self.found, key=lambda f: f.value, default=None)
        return best is not None and int(best.labels.max()) >= MANY_CLUSTERS

    @property
    def are_capped(self) -> bool:
        """Whether the best has as many clusters as it may: items are then held where they are."""
        best = min(self.found, key=lambda f: f.value, default=None)
        return (
            best is not None and int(best.labels.max()) + 1 == self.size.limit < self.size.n_items
        )

    @property
    def are_quick(self) -> bool:
        """Whether there is time to begin again; under VI few clusters are quick, too."""
        size = self.size
        if size.is_quick or not size.on_draws or size.is_curved:
            return size.is_quick
        return swept(size.work, best_of(self.found, 1)) <= _SWEPT_QUICK

    @property
    def are_rugged(self) -> bool:
        """Whether many ended where no other did, or at a cap, and there is time for more."""
        return (self._unseen > _RUGGED or self.are_capped) and self.are_quick

    @property
    def are_scattered(self) -> bool:
        """Whether most ended where no other did, under a loss and of a size where more is tried."""
        size = self.size
        is_tried = size.is_brief if size.is_bent else size.is_curved and size.on_draws
        return is_tried and self._unseen > _SCATTERED

    def n_litters(self, shared: Problem) -> int:
        """How many litters there is time for on the draws of a problem; none if ends agree."""
        is_many = self.are_many and not self.size.is_bent
        if self.are_capped or self._unseen <= (_RUGGED_MANY if is_many else _RUGGED):
            return 0
        work = self.size.work
        if isinstance(shared, DrawsProblem):
            work = self.size.n_items * shared.m
        n_litters = _BRED // swept(work, best_of(self.found, 1))
        return min(_LITTERS, n_litters) if n_litters >= _LEAST_BRED else 0

    def enough(self, *, is_crossed: bool) -> int:
        """How many long runs must end at the best."""
        size = self.size
        if not self.are_rugged:
            return 2 if size.on_draws else _ENOUGH
        more = _MORE if self.are_scattered else 0
        if self.are_capped:
            return _ENOUGH_CAPPED + more
        if size.is_product and size.on_draws:
            return _ENOUGH_ADJUSTED + more
        is_careful = (size.is_bent or not size.on_draws) and not is_crossed
        return (_ENOUGH_CAREFUL if is_careful else _ENOUGH) + more
