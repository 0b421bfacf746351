"""How large a greedy search is, and of what kind: what its plan is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from partita.search._greedy_kinds import SMALL
from partita.search._greedy_problem import is_bent, is_curved, on_draws
from partita.search._greedy_runs import QUICK

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import RatioLoss
    from partita.search._greedy_kinds import Start

_FEW_DRAWS = 150  # that the first runs see
_AT_ONCE = 50_000  # items times draws up to which they see all that there are
_MANY_DRAWS = 3_000  # beyond these the best on some may not be so on all, and starts that agree err
_CHEAP = 40_000  # items times 100 up to which all starts are taken under a loss on the similarity
_QUICK = 250_000  # items times draws up to which more are begun where first runs disagree
_QUICK_ONCE = 400_000  # and up to which once, or under a loss that bends as often
_HURRIED = 0.5  # share of the patience where little is tried
FEW_CLUSTERS = 8  # up to which one start may end elsewhere than the others
MANY_CLUSTERS = 24  # beyond which ends that agree tell less


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


@dataclass(frozen=True)
class Size:
    """What follows from the settings, the loss and the evidence before anything is run."""

    settings: Settings
    loss: RatioLoss
    evidence: Evidence

    @cached_property
    def limit(self) -> int:
        """The most clusters there may be."""
        return min(self.settings.max_clusters or self.n_items, self.n_items)

    @cached_property
    def n_items(self) -> int:
        """Items."""
        return self.evidence.n_items

    @cached_property
    def n_draws(self) -> int:
        """Different draws; none where the search needs only the similarity."""
        return self.evidence.distinct.n_draws if self.on_draws else 0

    @cached_property
    def on_draws(self) -> bool:
        """Whether runs keep counts against the draws."""
        return on_draws(self.loss, self.evidence)

    @cached_property
    def is_bent(self) -> bool:
        """Whether the loss bends in e."""
        return is_bent(self.loss)

    @cached_property
    def is_curved(self) -> bool:
        """Whether the loss bends, or is a ratio of what the partition changes."""
        return is_curved(self.loss)

    @cached_property
    def is_product(self) -> bool:
        """Whether the loss is adjusted for chance, as OMARI and PEAR are."""
        return bool(self.loss.denominator.product)

    @cached_property
    def max_draws(self) -> int | None:
        """The draws that the best runs see, None for all."""
        asked, n = self.settings.max_draws, self.n_items
        if not self.on_draws or asked is not None or self.settings.n_runs is not None:
            return asked
        most = max(250, min(1_000, 400_000 // n))
        if self.is_curved:
            most = min(most, max(500, 200_000 // n))
        if self.has_many_draws:
            most = max(500, min(1_500, 600_000 // n))
        return most if self.n_draws > 1.5 * most else None

    @cached_property
    def few_draws(self) -> int | None:
        """The draws that the first runs see, None for all."""
        max_draws = self.max_draws
        if self.on_draws and self.work <= _AT_ONCE:
            return max_draws
        is_many = min(self.n_draws, max_draws or self.n_draws) > 1.5 * _FEW_DRAWS
        return _FEW_DRAWS if self.settings.max_draws is None and is_many else max_draws

    @cached_property
    def has_many_draws(self) -> bool:
        """Whether there are so many that some of them may mislead."""
        return self.n_draws > _MANY_DRAWS

    @cached_property
    def work(self) -> int:
        """Items times the draws that the best runs see."""
        n_draws = self.n_draws if self.on_draws else 100
        return self.n_items * min(n_draws, self.max_draws or n_draws)

    @cached_property
    def is_matrix_small(self) -> bool:
        """Whether runs go through a similarity so small that agreement need not do.

        As where they are cheap, and under Binder's loss.
        """
        return not self.on_draws and self.work <= _CHEAP

    @cached_property
    def is_cheap(self) -> bool:
        """Whether runs are so quick that all starts are taken, agree or not."""
        return self.loss.needs == "similarity" and self.work <= _CHEAP

    @cached_property
    def is_brief(self) -> bool:
        """Whether there are so few items and draws that runs are short."""
        return self.work <= SMALL

    @cached_property
    def is_hurried(self) -> bool:
        """Whether less is tried: short runs under NVI, ID and NID, where more seldom finds more."""
        return self.work <= _QUICK and self.is_curved and not self.is_product and self.on_draws

    @cached_property
    def is_quick(self) -> bool:
        """Whether there is time to begin again where the first runs disagree."""
        most = _QUICK_ONCE if self.is_bent else _QUICK if self.on_draws else SMALL
        return self.work <= most

    @cached_property
    def is_quick_once(self) -> bool:
        """Whether there is time for that once."""
        return self.work <= _QUICK_ONCE

    @cached_property
    def light(self) -> tuple[str, ...]:
        """The moves of a quick run."""
        moves = self.settings.moves
        return tuple(move for move in moves if move in QUICK) or moves

    def patience(self, starts: Sequence[Start], is_agreed: bool, is_rugged: bool) -> float:
        """How patient to be with changes of clusters: less where runs agree, or are short."""
        patience = self.settings.patience * (2 if self.is_product else 1)
        hurry = _HURRIED if self.is_hurried and not is_rugged else 1.0
        if not is_agreed:
            return patience * hurry
        n_clusters = 1 + max(int(labels.max()) for _, labels in starts if labels is not None)
        few, many = FEW_CLUSTERS, MANY_CLUSTERS
        if self.is_brief and not (self.is_bent or self.is_product):
            few, many = MANY_CLUSTERS, self.n_items
        if n_clusters <= few:
            return patience * 0.5 * hurry
        return patience * (1.0 if n_clusters <= many else 2.0 * hurry)
