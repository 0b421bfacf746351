"""Changing a partition of items too many to hold, in rounds that never raise the loss.

A round scores every item's best move with all the others in place: a pure function of a block of
items and of one table of counts. The moves are then made together, the loss is taken anew, and if
it has not fallen only the better half of them is tried, and so on. So are clusters made, split and
merged, many at a time. Blocks may be on any thread or machine, and the answer is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from partita.draws import DenseCounts, contingency
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
_FEWER = 3  # halvings of clusters made or split together
_FEW_CLUSTERS = 60  # of which every pair is looked at, not only those most together
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
        found = self._found_clusters(lonely, gains[lonely], limit)
        return found or moved or self._found_cluster(lonely, gains)

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

    def _found_cluster(self, lonely: IntArray, gains: FloatArray) -> bool:
        """Make a cluster of those who would rather be alone and are mostly together."""
        seed = int(lonely[np.argmax(gains[lonely])])
        column = np.asarray(self.draws.labels[:, seed])
        parts = map_items(
            with_item, self.draws.labels, shared=(column, self.draws.probabilities),
            n_jobs=self.n_jobs,
        )  # fmt: skip
        together = np.concatenate(list(parts))
        labels = self.labels.copy()
        labels[lonely[together[lonely] > 0.5]] = self.n_clusters
        labels[seed] = self.n_clusters
        return self.offer(labels)

    def _draw(self, number: int) -> NDArray[np.int64]:
        """One of a few draws, spread over all."""
        if number not in self._looked_at:
            at = (2 * number + 1) * self.draws.n_draws // (2 * _SEEN)
            self._looked_at[number] = np.asarray(self.draws.labels[at], dtype=np.int64)
        return self._looked_at[number]

    def split(self, limit: int) -> bool:
        """Split clusters as some draw does, all at once that gain; whether any were."""
        return any(self._split(self._draw(number), limit) for number in range(_SEEN))

    def _split(self, draw: NDArray[np.int64], limit: int) -> bool:
        """Let what is second in number of each cluster in a draw leave it, where that helps."""
        k, room = self.n_clusters, limit - self.n_clusters
        leaving = _second_parts(self.labels, draw)
        if room < 1 or not leaving.any():
            return False
        rows = self.rows
        form = rows.linear(*rows.totals(self.counts))
        labels = np.where(leaving, self.labels + k, self.labels).astype(np.int32)
        (halves,) = contingency(self.draws, [labels], n_jobs=self.n_jobs, label="polish")
        halves = halves.widened(2 * k)
        before = self.counts.by_column(rows.offsets, form.alpha, rows.cell)[:k]
        after = halves.by_column(rows.offsets, form.alpha, rows.cell)
        sizes = rows.cell[halves.column_sizes(rows.offsets)]
        whole = rows.cell[self.counts.column_sizes(rows.offsets)[:k]]
        gains = after[:k] + after[k:] - before - form.slope * (sizes[:k] + sizes[k:] - whole)
        gaining = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)][:room]
        for _ in range(_FEWER):
            if not gaining.size:
                return False
            splits = np.zeros(k, dtype=bool)
            splits[gaining] = True
            if self.offer(np.where(leaving & splits[self.labels], labels, self.labels)):
                return True
            gaining = gaining[: gaining.size // 2]
        return False

    def merge(self) -> bool:
        """Merge pairs of clusters while that helps; whether any was."""
        any_merged = False
        while any(self.offer(labels) for labels in self._merged()):
            any_merged = True
        return any_merged

    def _merged(self) -> Iterator[NDArray[np.int32]]:
        """The labels after mergers: of all pairs that gain, of half of them; of the best pair."""
        pairs = best_mergers(self.rows, self.counts.without_empty())
        for _ in range(_HALVINGS):
            if not pairs:
                break
            column = np.arange(self.n_clusters, dtype=np.int32)
            column[[one for one, _ in pairs]] = [other for _, other in pairs]
            yield column[self.labels]
            pairs = pairs[: len(pairs) // 2]
        if isinstance(self.counts, DenseCounts) and self.n_clusters <= _FEW_CLUSTERS:
            pair = self._best_pair(self.counts)
            if pair is not None:
                yield np.where(self.labels == pair[0], np.int32(pair[1]), self.labels)

    def _best_pair(self, table: DenseCounts) -> tuple[int, int] | None:
        """The pair of clusters whose merger lowers the loss most."""
        rows, counts = self.rows, table.table[:, :-1]
        k = counts.shape[1]
        if k < 2:
            return None
        e, j = rows.totals(table)
        sizes = counts[: rows.offsets[1]].sum(axis=0)
        best, least = None, self.value
        for x, y in combinations(range(k), 2):
            gained = rows.cell[counts[:, x] + counts[:, y]]
            gained = gained - rows.cell[counts[:, x]] - rows.cell[counts[:, y]]
            risen = rows.cell[sizes[x] + sizes[y]] - rows.cell[sizes[x]] - rows.cell[sizes[y]]
            value = rows.value(e + risen, j + np.add.reduceat(gained, rows.offsets[:-1]))
            if value < least:
                best, least = (x, y), value
        return best


def _second_parts(labels: IntArray, draw: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which items are in the part of their cluster that is second in number in a draw."""
    width = int(draw.max()) + 1
    cells, inverse, sizes = np.unique(
        labels * np.int64(width) + draw, return_inverse=True, return_counts=True
    )
    order = np.lexsort((-sizes, cells // width))
    starts = np.diff(cells[order] // width, prepend=-1) > 0
    is_second = np.zeros(cells.size, dtype=bool)
    is_second[order[1:][starts[:-1] & ~starts[1:]]] = True
    return np.asarray(is_second[inverse])


def with_item(
    block: IntArray, items: slice, column: IntArray, weights: FloatArray
) -> NDArray[np.float64]:
    """The similarity of every item of a block to the item of labels ``column``."""
    return np.asarray(weights @ (block == column[:, None]))


def settle(state: StreamedState, limit: int, watch: Watch, *, fewest: int = 1) -> int:
    """Make rounds of moves, mergers and splits until none helps; return how many.

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
        if not state.merge() and not state.split(limit):
            break
    return made
