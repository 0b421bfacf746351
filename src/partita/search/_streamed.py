"""Changing a partition of items too many to hold, in rounds that never raise the loss.

A round scores every item's best move with all the others in place: a pure function of a block of
items and of one table of counts. The moves are then made together, the loss is taken anew, and if
it has not fallen only the better half of them is tried, and so on. So are clusters made and merged,
many at a time. Blocks may be on any thread or machine, and the answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from partita.draws import contingency
from partita.parallel import map_items
from partita.partitions import canonical
from partita.search._scoring import Rows, best_mergers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.losses import RatioLoss
    from partita.search._problem import Watch
    from partita.search._scoring import Counts
    from partita.typing import FloatArray, IntArray

_ROUNDS = 100
_HALVINGS = 8
_FEWER = 3  # halvings of clusters made together
_SMALL = 8  # items of a cluster that may change places with those of another as a whole
_LONELY = 10  # items that are many enough to make clusters of while others still move
_SEEN = 3  # draws whose clusters are tried as parts of ours


class StreamedState:
    """A partition of all items, with its counts against every draw."""

    def __init__(self, labels: IntArray, draws: Draws, loss: RatioLoss, n_jobs: int) -> None:
        self.draws, self.n_jobs = draws, n_jobs
        self.labels = canonical(labels).astype(np.int32)
        self.counts = self._count(self.labels)
        self.rows = Rows(draws, loss, self.counts.row_sizes())
        self.value = self.rows.value(*self.rows.totals(self.counts))
        self.fewest = 1  # clusters that there must be
        self._looked_at: dict[int, NDArray[np.int64]] = {}
        self._n_founded = 0

    @property
    def n_clusters(self) -> int:
        """The number of clusters; the column after theirs is nobody's."""
        return self.counts.shape[1] - 1

    def _count(self, labels: IntArray) -> Counts:
        """Counts with one column to spare."""
        (counts,) = contingency(self.draws, [labels], n_jobs=self.n_jobs, label="polish")
        return counts.widened(counts.shape[1] + 1)

    def offer(self, labels: IntArray) -> bool:
        """Take other labels if their loss is less."""
        offered = canonical(labels).astype(np.int32)
        if int(offered.max()) + 1 < min(self.fewest, self.n_clusters):
            return False
        counts = self._count(offered)
        value = self.rows.value(*self.rows.totals(counts))
        if not value < self.value - 1e-12 * max(1.0, abs(self.value)):
            return False
        self.labels, self.counts, self.value = offered, counts, value
        return True

    def best_moves(self, limit: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Every item's best cluster with the others in place, and the gain."""
        scoring = self.rows.scoring(self.counts, limit)
        parts = list(
            map_items(
                scoring.work, self.draws.labels, along=(self.labels,), shared=scoring.shared,
                n_jobs=self.n_jobs, label="polish",
            )
        )  # fmt: skip
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def sweep(self, limit: int) -> bool:
        """One round of moves made together; whether the loss fell."""
        best, gains = self.best_moves(limit)
        free = self.n_clusters
        moves = np.flatnonzero((best != self.labels) & (best != free) & (gains > 0))
        moving = self._one_way(moves, best, gains)
        moving = moving[np.argsort(-gains[moving], kind="stable")]
        lonely = np.flatnonzero((best == free) & (gains > 0))
        moved = False
        for _ in range(_HALVINGS):
            if not moving.size:
                break
            labels = self.labels.copy()
            labels[moving] = best[moving]
            if moved := self.offer(labels):
                break
            moving = moving[: moving.size // 2]
        if not lonely.size or (moved and lonely.size < _LONELY + self.n_clusters // 50):
            return moved
        return self._found_clusters(lonely, gains[lonely], limit) or moved

    def _one_way(
        self, moving: NDArray[np.intp], best: IntArray, gains: FloatArray
    ) -> NDArray[np.intp]:
        """Leave out those who would change places with others, where clusters are small.

        Of two clusters whose items would each go to the other, those who gain less stay.
        """
        here, there, width = self.labels[moving].astype(np.int64), best[moving], self.n_clusters
        codes, inverse = np.unique(here * width + there, return_inverse=True)
        gained = np.append(np.bincount(inverse, gains[moving], codes.size), 0.0)
        back = codes % width * width + codes // width
        at = np.minimum(np.searchsorted(codes, back), max(0, codes.size - 1))
        returned = gained[np.where(codes[at] == back, at, codes.size)] if codes.size else gained[:0]
        gives_way = (returned > gained[:-1]) | ((returned == gained[:-1]) & (back < codes))
        sizes = np.bincount(self.labels)
        is_small = np.minimum(sizes[here], sizes[there]) <= _SMALL
        return np.asarray(moving[~(is_small & gives_way[inverse])])

    def _found_clusters(self, lonely: IntArray, gains: FloatArray, limit: int) -> bool:
        """Make clusters of those who would rather be alone: as they are in a draw, or each its own.

        All such, then half of them, those first that gain most, and so on; whether any were made.
        """
        self._n_founded += 1
        room = limit - self.n_clusters
        for group in (self._draw(self._n_founded % _SEEN)[lonely], np.arange(lonely.size)):
            gained = np.bincount(group, gains)
            best = np.argsort(-gained, kind="stable")[: np.count_nonzero(gained)][: max(0, room)]
            for _ in range(_FEWER):
                if not best.size:
                    break
                column = np.full(gained.size, -1)
                column[best] = np.arange(best.size) + self.n_clusters
                labels = self.labels.copy()
                labels[lonely] = np.where(column[group] < 0, labels[lonely], column[group])
                if self.offer(labels):
                    return True
                best = best[: best.size // 2]
        return False

    def _draw(self, number: int) -> NDArray[np.int64]:
        """One of a few draws, spread over all."""
        if number not in self._looked_at:
            at = (2 * number + 1) * self.draws.n_draws // (2 * _SEEN)
            self._looked_at[number] = np.asarray(self.draws.labels[at], dtype=np.int64)
        return self._looked_at[number]

    def merge(self) -> bool:
        """Merge pairs of clusters while that helps; whether any was."""
        any_merged = False
        while any(self.offer(labels) for labels in self._merged()):
            any_merged = True
        return any_merged

    def _merged(self) -> Iterator[NDArray[np.int32]]:
        """The labels after mergers: of all pairs that gain, of half of them, and so on."""
        pairs = best_mergers(self.rows, self.counts.without_empty())
        for _ in range(_HALVINGS):
            if not pairs:
                break
            column = np.arange(self.n_clusters, dtype=np.int32)
            column[[one for one, _ in pairs]] = [other for _, other in pairs]
            yield column[self.labels]
            pairs = pairs[: len(pairs) // 2]


def settle(state: StreamedState, limit: int, watch: Watch, *, fewest: int = 1) -> int:
    """Make rounds of moves and mergers until none helps; return how many.

    There are never more than ``limit`` clusters, and no fewer than ``fewest`` if there were.
    """
    made, state.fewest = 0, fewest
    for made in range(1, _ROUNDS + 1):  # noqa: B007
        if watch.is_up():
            break
        before = state.value
        moved = state.sweep(limit)
        watch.note(state.value)
        if moved and before - state.value >= 1e-9 * abs(before):
            continue
        if not state.merge():
            break
    return made
