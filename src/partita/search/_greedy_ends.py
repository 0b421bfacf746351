"""Where the runs of a greedy search ended, and what their ends have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from partita.partitions import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_kinds import Start

    Labels: TypeAlias = NDArray[np.int64]


_ALONE = 0.1  # share of the items, above which those that are alone are many


class Found(NamedTuple):
    """Where a run ended."""

    value: float
    labels: Labels
    start: str

    @property
    def again(self) -> Start:
        """Its name and labels, to start there again."""
        return self.start, self.labels


def best_of(found: Sequence[Found], n: int) -> list[Found]:
    """The best ``n`` different ends of runs."""
    different: dict[bytes, Found] = {}
    for one in sorted(found, key=lambda f: f.value):
        different.setdefault(one.labels.tobytes(), one)
    return list(different.values())[:n]


def is_below(ends: Sequence[Found], value: float) -> bool:
    """Whether the first of some ends is lower than a loss by more than rounding."""
    return ends[0].value < value - 1e-11 * max(1.0, abs(ends[0].value))


def unseen(found: Sequence[Found]) -> float:
    """The share of runs that ended where no other did, which is Good and Turing's estimate.

    It is the chance that the next run ends where none has been.
    """
    keys = [one.labels.tobytes() for one in found]
    return sum(keys.count(key) == 1 for key in keys) / max(1, len(keys))


def swept(work: int, leaders: Sequence[Found]) -> int:
    """Items times draws times clusters: what a sweep looks at."""
    return work * (1 + int(leaders[0].labels.max()))


def times_best(ends: Sequence[Found]) -> int:
    """How many runs ended at the best; none where time was up before any began."""
    best = min(ends, key=lambda f: f.value, default=None)
    return sum(np.array_equal(f.labels, best.labels) for f in ends) if best else 0


def gathered(ends: Sequence[Found], n: int) -> list[Labels]:
    """The best ``n`` of the ends that leave many items alone, with all of these in one cluster.

    Where there is hardly any structure a loss may be low with every item alone, lower with most of
    them together, and high all the way between.
    """
    found: dict[bytes, Labels] = {}
    for end in best_of(ends, len(ends)):
        alone = np.bincount(end.labels)[end.labels] == 1
        if np.count_nonzero(alone) > max(1, _ALONE * alone.size) and len(found) < n:
            labels = canonical(np.where(alone, -1, end.labels))
            found.setdefault(labels.tobytes(), labels)
    return list(found.values())
