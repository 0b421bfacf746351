"""How many starts of each kind a greedy search takes, and the starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import validate
from partita.partitions import canonical
from partita.search import _greedy_starts as starting
from partita.search._greedy_clock import Clock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import RatioLoss

    Labels: TypeAlias = NDArray[np.int64]
    Start: TypeAlias = tuple[str, Labels | None]

STARTS = ("sequential", "draws", "losses", "average", "one", "random")  # if none is asked for
SMALL = 100_000  # items times draws up to which a bent loss is begun from many places
_DENSE_ITEMS = 5_000  # beyond this many, starts that need the matrix are left out
_ON_MATRIX = ("losses", "average", "complete", "nmf")  # those that need it
_PER_LABEL = 2e-11  # seconds for the matrix and a start from it, by items squared times draws
_MEDOIDS = 3  # draws that are chosen at a time
_AT_FIRST = 2  # starts of each of two kinds; if they agree there are no more
_AT_FIRST_BRIEF = 4  # of the first kind, where runs are short
_FRESH = {"sequential": 2, "draws": 2, "random": 4}  # of each kind left to chance, at a time
_FRESH_BENT = {"sequential": 3, "draws": 3, "random": 2}  # the same under a loss that bends


@dataclass
class Starts:
    """The starts of one search; one is a name and labels, None for a sequential allocation.

    ``is_sized`` says that their number follows from the posterior, not from ``n_runs``.
    """

    kinds: Sequence[Any]
    loss: RatioLoss
    evidence: Evidence
    limit: int
    clock: Clock
    is_sized: bool
    medoids: list[Labels] = field(default_factory=list)

    @property
    def _names(self) -> list[str]:
        """The kinds that are named, "" for labels and searches."""
        return [kind if isinstance(kind, str) else "" for kind in self.kinds]

    def each(self, n_runs: int, rng: np.random.Generator) -> list[Start]:
        """So many starts, going round the kinds."""
        kinds = self.of_kinds([n_runs for _ in self.kinds], rng, most=n_runs)
        if not any(kinds):
            kinds = [[("sequential", None)] * n_runs]
        out: list[Start] = []
        for r in range(max(map(len, kinds))):
            out += [kind[r] for kind in kinds if r < len(kind)]
        return out[:n_runs]

    def of_kinds(
        self,
        counts: Sequence[int],
        rng: np.random.Generator,
        done: Sequence[int] | None = None,
        most: int | None = None,
    ) -> list[list[Start]]:
        """So many starts of each kind, but for those ``done``, of ``most`` kinds."""
        kinds: list[list[Start]] = []
        for i, kind in enumerate(self.kinds):
            n_done = done[i] if done else 0
            is_enough = most is not None and sum(map(bool, kinds)) >= most
            if counts[i] <= n_done or is_enough or (any(kinds) and self.clock.is_up()):
                kinds.append([])
            else:
                kinds.append(self._of_kind(kind, counts[i], rng, n_done))
        return kinds

    def counts(self, work: int, is_bent: bool, is_cheap: bool) -> list[int]:
        """How many starts to take of each kind, given items times draws and the loss.

        Where runs are short, so must be the making of starts that nobody asked for.
        """
        usual = 2 if not is_bent or work <= SMALL else 1
        of_kind = {"sequential": 2, "random": 1 if is_bent else 2, "draws": 2}
        is_default = self._names == list(STARTS)
        if is_cheap and is_default:
            of_kind |= {"sequential": 6, "draws": 0, "losses": 0, "average": 1}
        elif not is_bent:
            of_kind["sequential"] = 4 if work <= SMALL else 2
            if is_default and work <= SMALL:
                of_kind |= {"losses": 1, "average": 0, "random": 1}
        elif work <= SMALL:
            of_kind |= {"sequential": 4, "draws": 3}
        else:
            of_kind["one"] = int("sequential" not in self._names)
        return [of_kind.get(kind, usual) if isinstance(kind, str) else usual for kind in self.kinds]

    def at_first(self, counts: Sequence[int], is_bent: bool, is_brief: bool) -> list[int]:
        """How many starts of each kind come first.

        A loss that bends is held where its draws are, so one of them is begun from another loss.
        """
        first = {0: _AT_FIRST_BRIEF if is_brief else _AT_FIRST, 1: _AT_FIRST}
        if is_bent and self._names[:3] == ["sequential", "draws", "losses"]:
            first |= {1: 1, 2: 1}
        return [min(n, first.get(k, 0)) for k, n in enumerate(counts)]

    def anew(self, n: int) -> list[Start]:
        """So many from nothing, if these are among the kinds."""
        return [("sequential", None)] * (n if "sequential" in self._names else 0)

    def fresh(self, rng: np.random.Generator, is_bent: bool) -> list[Start]:
        """Some more of the kinds that are left to chance."""
        found: list[Start] = []
        for kind, n in (_FRESH_BENT if is_bent else _FRESH).items():
            if kind not in self._names:
                continue
            if kind == "draws":
                draws = self.evidence.distinct.labels if self.evidence.has_draws else ()
                some = rng.integers(len(draws), size=n) if len(draws) else ()
                found += [(kind, canonical(draws[m])) for m in some]
            else:
                found += self._of_kind(kind, n, rng)
        return found

    def given(self) -> list[tuple[str, Labels]]:
        """Those that are labels themselves."""
        mine = [kind for kind in self.kinds if not isinstance(kind, str)]
        return [self._as_labels(kind) for kind in mine if not hasattr(kind, "candidates")]

    def _as_labels(self, start: Any) -> tuple[str, Labels]:
        labels = validate.labels("starts", start, n_items=self.evidence.n_items)
        return "labels", canonical(labels)

    def _of_kind(
        self, kind: Any, wanted: int, rng: np.random.Generator, n_done: int = 0
    ) -> list[Start]:
        """So many starts of a kind, but for the first ``n_done``."""
        if not isinstance(kind, str):
            if not hasattr(kind, "candidates"):
                return [] if n_done else [self._as_labels(kind)]
            found = starting.from_search(kind, self.loss, self.evidence, rng, self.clock, wanted)
            return [(type(kind).__name__, labels) for labels in found[n_done:]]
        if self.is_sized and kind in _ON_MATRIX and not self._affords_matrix():
            return []
        if kind == "sequential":
            return [(kind, None)] * (wanted - n_done)
        if kind == "losses":
            n = 2 * wanted - 1
            made = starting.from_losses(
                self.loss, self.evidence, rng, self.clock, n, self.limit, n_done
            )
        else:
            made = self._made(kind, wanted, rng)[n_done:]
        return [(kind, labels) for labels in made]

    def _affords_matrix(self) -> bool:
        """Whether there are few enough items for it, and time to make it; if not, note that."""
        evidence, left = self.evidence, self.clock.left()
        if evidence.n_items > _DENSE_ITEMS:
            return False
        if left is None or evidence.has_dense or not evidence.has_draws:
            return True
        is_in_time = _PER_LABEL * evidence.n_items**2 * evidence.draws.n_draws < left
        self.clock.has_ended_work |= not is_in_time
        return bool(is_in_time)

    def _made(self, kind: str, wanted: int, rng: np.random.Generator) -> list[Labels]:
        n = self.evidence.n_items
        if kind == "random":
            return [starting.random_labels(n, self.limit, rng) for _ in range(wanted)]
        if kind == "draws":
            if len(self.medoids) < wanted:
                self.medoids = starting.from_draws(self.loss, self.evidence, max(wanted, _MEDOIDS))
            return self.medoids[:wanted]
        if kind == "nmf":
            return starting.from_nmf(self.loss, self.evidence, rng, self.clock, wanted)
        if kind == "one":
            return [np.zeros(n, dtype=np.int64)][:wanted]
        if kind == "singletons":
            return [np.arange(n)]
        return starting.from_linkage(self.loss, self.evidence, kind, wanted, self.limit)
