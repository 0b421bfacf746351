"""A loss on draws, or on their similarity, as the core searches it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import _core, validate
from partita.errors import InvalidTypeError
from partita.losses import RatioLoss, name_of
from partita.parallel import Stop, progress
from partita.partitions import canonical, distinct_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import Loss
    from partita.typing import IntArray

    Labels: TypeAlias = NDArray[np.int64]
    Settings: TypeAlias = Mapping[str, Any]

_DENSE_ITEMS = 5_000  # beyond this many, Binder's loss goes through the draws, if there are any
_WORTH = 0.95  # share of the items that may be left where merging identical ones pays


@dataclass
class Watch:
    """The clock of one search, and what the core said on the way."""

    clock: Stop
    label: str = "greedy"
    history: list[tuple[float, float, float]] = field(default_factory=list)
    interrupt: KeyboardInterrupt | None = None
    is_late: bool = False

    @contextmanager
    def over(self) -> Iterator[_core.Stop]:
        """Show progress, and keep Ctrl-C for after the block, which ends with the best so far."""
        with progress(None, self.label) as bar:

            def told(done: float, best: float) -> None:
                if np.isfinite(best):
                    self.note(best)
                    bar.advance(1, f"loss {best:.6g}")

            stop = _core.Stop(self.clock.left(), told)
            yield stop
        try:
            stop.rethrow()
        except KeyboardInterrupt as interrupt:
            self.interrupt = type(interrupt)(*interrupt.args)  # without a traceback, which is long
        else:
            self.is_late |= stop.was_up

    def is_up(self) -> bool:
        """Whether the time is over; asked where there is more to do."""
        late = self.clock.is_late()
        self.is_late |= late
        return late

    def note(self, value: float) -> None:
        """Remember that a partition of this loss was found now."""
        self.history.append((time.monotonic() - self.clock.began, value, 1.0))

    def history_to(self, value: float) -> tuple[tuple[float, float, float], ...]:
        """The losses on the way to this one; of some of the draws, they may have been lower."""
        kept: list[tuple[float, float, float]] = []
        for one in self.history:
            if one[1] >= value and (not kept or one[1] < kept[-1][1]):
                kept.append(one)
        return tuple(kept)


@dataclass(frozen=True, eq=False)
class Problem:
    """What the core searches; identical items may be one there, with a weight.

    Parameters
    ----------
    core : SearchProblem
        The draws or the similarity, the loss as data, and how many clusters are allowed.
    firsts, members : ndarray, optional
        The first of each set of identical items, and which of these sets every item is in.
    """

    core: _core.SearchProblem
    firsts: Labels | None = None
    members: Labels | None = None

    @property
    def is_merged(self) -> bool:
        """Whether identical items are one."""
        return self.members is not None

    def search(
        self, starts: Sequence[IntArray], settings: Settings, rng: np.random.Generator,
        stop: _core.Stop, *, n_jobs: int = 1,
    ) -> list[tuple[Labels, float]]:  # fmt: skip
        """Return the best partitions that a search ends with, the best first, and their losses."""
        rows = self._rows(starts) if len(starts) else None
        return self._found(
            self.core.search(
                starts=rows, settings=dict(settings), seed=_seed(rng), n_threads=n_jobs, stop=stop
            )
        )

    def descend(
        self, starts: Sequence[IntArray], settings: Settings, rng: np.random.Generator,
        stop: _core.Stop, *, anew: bool = False, n_jobs: int = 1,
    ) -> list[tuple[Labels, float]]:  # fmt: skip
        """Return where a descent from each start ends, the best first, and the losses there.

        With ``anew`` the items are first put in one by one.
        """
        ends = self.core.descend(
            self._rows(starts), anew=anew, settings=dict(settings), seed=_seed(rng),
            n_threads=n_jobs, stop=stop,
        )  # fmt: skip
        return sorted(self._found(ends), key=lambda end: end[1])

    def _rows(self, starts: Sequence[IntArray]) -> NDArray[np.int32]:
        rows = np.stack([canonical(one) for one in starts])
        rows = rows if self.firsts is None else rows[:, self.firsts]
        return np.ascontiguousarray(rows, dtype=np.int32)

    def _found(self, ends: list[Any]) -> list[tuple[Labels, float]]:
        members = slice(None) if self.members is None else self.members
        return [(canonical(np.asarray(labels)[members]), float(value)) for labels, value in ends]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 63))


def problem(
    loss: RatioLoss, evidence: Evidence, limits: tuple[int, int], *, merge: bool = True
) -> Problem:
    """Return the problem of a loss on evidence that is in memory.

    ``limits`` are the least and the most clusters that are allowed. Identical items are not merged
    where more clusters are wanted than there are different ones.
    """
    n, (least, most) = evidence.n_items, limits
    given: dict[str, Any]
    if on_draws(loss, evidence):
        draws = evidence.distinct
        validate.fits_in_memory(
            f"The search over {draws.n_draws:,} draws of {n:,} items",
            8 * n * draws.n_draws + 8 * n**2,
            "thin the draws.",
        )
        firsts, members = _identical(np.ascontiguousarray(draws.labels.T), merge, least)
        labels = draws.labels if firsts is None else draws.labels[:, firsts]
        given = {"labels": np.ascontiguousarray(labels), "weights": draws.probabilities}
    else:
        _check_shape(loss, n)
        matrix = evidence.similarity.to_dense(n_jobs=evidence.n_jobs)
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        may_be = merge and np.unique(evidence.similarity.row_sums).size < n
        firsts, members = _identical(matrix.view(np.uint32), may_be, least)
        if firsts is not None:
            matrix = np.ascontiguousarray(matrix[np.ix_(firsts, firsts)])
        given = {"similarity": matrix, "on_similarity": True}
    n_kinds = n if firsts is None else firsts.size
    core = _core.SearchProblem(
        loss.table(n).tolist(), loss.numerator.coefficients.tolist(),
        loss.denominator.coefficients.tolist(), **given,
        item_weights=None if members is None else np.bincount(members).tolist(),
        least_clusters=least, most_clusters=min(most, n_kinds),
    )  # fmt: skip
    return Problem(core, firsts, members)


def check(loss: Loss) -> RatioLoss:
    """Return the loss if the core can follow it from one partition to the next, or say what to do.

    What it costs to move an item must follow from (t, e, j).
    """
    if not isinstance(loss, RatioLoss):
        raise InvalidTypeError(
            "`loss` must be one that a greedy search can score while it changes a partition an "
            f"item at a time; got {name_of(loss)!r}. Use a search that only scores whole "
            "partitions, such as 'draws' or 'average', or subclass partita.losses.RatioLoss."
        )
    return loss


def on_draws(loss: RatioLoss, evidence: Evidence) -> bool:
    """Whether the search keeps counts against the draws rather than sums of the similarity."""
    if loss.needs == "either":
        return evidence.has_draws and not evidence.has_dense and evidence.n_items > _DENSE_ITEMS
    return loss.needs == "draws"


def _check_shape(loss: RatioLoss, n: int) -> None:
    """Refuse a loss on the similarity whose cell(x)/x the core does not know."""
    x = np.linspace(1.0, max(n, 2), 257)
    y = np.asarray(loss.cell(x), dtype=np.float64) / x
    noise = 1e-12 * (np.abs(y) + np.abs(y).max())
    line = y[0] + (y[-1] - y[0]) / (x[-1] - 1) * (x - 1)
    if not any((np.abs(base - y) <= noise).all() for base in (line, np.log2(x))):
        raise InvalidTypeError(
            f"`loss` {name_of(loss)!r} has a `cell` that a greedy search does not follow on a "
            "similarity: cell(x)/x must be linear or log2(x) there. Let it need 'draws', or use a "
            "search that only scores whole partitions, such as 'average'."
        )


def _identical(rows: NDArray[Any], merge: bool, least: int) -> tuple[Labels | None, Labels | None]:
    """The first of each set of equal rows and which set each row is in; None if few are equal."""
    if not merge:
        return None, None
    firsts, members = distinct_rows(rows)
    pays = least <= firsts.size <= _WORTH * len(rows)
    return (firsts, members) if pays else (None, None)
