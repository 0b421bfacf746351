"""Contingency tables of a partition with every draw, whole or with the empty cells left out.

Row ``offsets[m] + c`` stands for cluster c of draw m, a column for a cluster of the partition.
Where both have hundreds of clusters nearly every cell is empty: a row of s items has at most s that
are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import _core, validate
from partita.draws._blocks import joint_counts, labels_at_most, offsets_of, own_of
from partita.parallel import blocks, map_items, sum_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws._draws import Draws
    from partita.typing import Doubles, IntArray

    Counts: TypeAlias = "DenseCounts | SparseCounts"

_CELLS = 50_000_000  # of a table that is kept whole
_LOOKUPS = 4_000_000  # labels counted, or cells visited, in one call of the core
_TOGETHER = 4  # tables without their empty cells that are counted in one pass


@dataclass(frozen=True, eq=False)
class DenseCounts:
    """A table with all its cells, shape (R, K)."""

    table: NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, int]:
        """(R, K)."""
        return (int(self.table.shape[0]), int(self.table.shape[1]))

    def row_sizes(self) -> NDArray[np.int64]:
        """The items in every cluster of every draw."""
        return np.asarray(self.table.sum(axis=1))

    def column_sizes(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items in every cluster of the partition."""
        return np.asarray(self.table[: offsets[1]].sum(axis=0))

    def joint(self, offsets: NDArray[np.int64], cell: Doubles) -> Doubles:
        """Σ cell(count) over the cells of each draw."""
        return _core.cell_sums(self.table.ravel(), offsets * self.shape[1], cell)

    def by_column(self, offsets: NDArray[np.int64], alpha: Doubles, cell: Doubles) -> Doubles:
        """Σ alpha_m cell(count) over the cells of each column."""
        out = np.zeros(self.shape[1])
        weights = np.repeat(alpha, np.diff(offsets))
        for part in blocks(self.shape[0], max(1, _LOOKUPS // self.shape[1])):
            out += weights[part] @ cell[self.table[part]]
        return out

    def widened(self, n_columns: int) -> DenseCounts:
        """The same with empty columns, so that there are ``n_columns``."""
        more = np.zeros((self.shape[0], n_columns - self.shape[1]), np.int32)
        return DenseCounts(np.concatenate([self.table, more], axis=1))

    def rows(self, first: int, last: int) -> NDArray[np.int32]:
        """Some of the rows, with all their cells."""
        return np.asarray(self.table[first:last])

    def without_empty(self) -> SparseCounts:
        """The same table without its empty cells."""
        starts = np.concatenate([[0], np.cumsum((self.table > 0).sum(axis=1))])
        row, column = np.nonzero(self.table)
        return SparseCounts(starts, column.astype(np.int32), self.table[row, column], self.shape[1])


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """A table without its empty cells; ``+`` adds two of the same rows.

    Parameters
    ----------
    starts : ndarray of int64, shape (R + 1,)
        Where each row starts among the cells.
    columns, counts : ndarray of int32
        Of each cell; columns increase within a row.
    n_columns : int
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """(R, K)."""
        return self.starts.size - 1, self.n_columns

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """The table as the core takes it."""
        return self.starts, self.columns, self.counts

    def __add__(self, other: SparseCounts) -> SparseCounts:
        starts = _core.starts_of_sum(self.arrays, other.arrays)
        size = int(starts[-1])
        validate.fits_in_memory(
            f"A table of {size:,} cells of clusters of draws by clusters", 8 * size,
            "thin the draws, or ask about partitions into fewer clusters.",
        )  # fmt: skip
        columns, counts = np.empty(size, np.int32), np.empty(size, np.int32)
        _core.add_sparse(self.arrays, other.arrays, columns, counts)
        return SparseCounts(starts, columns, counts, self.n_columns)

    def row_sizes(self) -> NDArray[np.int64]:
        """The items in every cluster of every draw."""
        total = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return np.asarray(np.diff(total[self.starts]))

    def column_sizes(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items in every cluster of the partition."""
        last = self.starts[offsets[1]]
        found = np.bincount(self.columns[:last], self.counts[:last], self.n_columns)
        return found.astype(np.int64)

    def joint(self, offsets: NDArray[np.int64], cell: Doubles) -> Doubles:
        """Σ cell(count) over the cells of each draw."""
        return _core.cell_sums(self.counts, self.starts[offsets], cell)

    def by_column(self, offsets: NDArray[np.int64], alpha: Doubles, cell: Doubles) -> Doubles:
        """Σ alpha_m cell(count) over the cells of each column."""
        out = np.zeros(self.n_columns)
        for some in self.runs(offsets):
            edges = self.starts[offsets[some.start : some.stop + 1]]
            cells = slice(edges[0], edges[-1])
            values = np.repeat(alpha[some], np.diff(edges)) * cell[self.counts[cells]]
            out += np.bincount(self.columns[cells], values, out.size)
        return out

    def runs(self, offsets: NDArray[np.int64]) -> list[slice]:
        """Draws in runs that a call of the core finishes quickly."""
        each = max(1, self.columns.size // (offsets.size - 1))
        return blocks(offsets.size - 1, max(1, _LOOKUPS // each))

    def widened(self, n_columns: int) -> SparseCounts:
        """The same with empty columns, so that there are ``n_columns``."""
        return SparseCounts(self.starts, self.columns, self.counts, n_columns)

    def without_empty(self) -> SparseCounts:
        """The table itself."""
        return self

    def rows(self, first: int, last: int) -> NDArray[np.int32]:
        """Some of the rows, with all their cells."""
        out = np.zeros((last - first, self.n_columns), dtype=np.int32)
        cells = slice(self.starts[first], self.starts[last])
        row = np.repeat(np.arange(last - first), np.diff(self.starts[first : last + 1]))
        out[row, self.columns[cells]] = self.counts[cells]
        return out


def is_sparse(n_rows: int, n_columns: int) -> bool:
    """Whether a table of this shape is kept without its empty cells; for the shape to say."""
    return n_rows * n_columns > _CELLS


def contingency(
    draws: Draws, partitions: Sequence[Any], *, n_jobs: int = 1, label: str = "counting"
) -> Iterator[Counts]:
    """Yield the table of each partition, labelled 0 .. K - 1, with every draw."""
    offsets = offsets_of(draws)
    sizes = [labels_at_most(one) for one in partitions]
    start = 0
    while start < len(partitions):
        large = is_sparse(int(offsets[-1]), sizes[start])
        stop = start + 1
        while stop < len(partitions) and large == is_sparse(int(offsets[-1]), sizes[stop]):
            stop += 1
        if large:
            stop = min(stop, start + _TOGETHER)
            yield from sum_items(
                sparsely_counted, draws.labels, along=tuple(partitions[start:stop]),
                shared=(draws.n_clusters, tuple(sizes[start:stop])), n_jobs=n_jobs, label=label,
            )  # fmt: skip
        else:
            found = joint_counts(draws, partitions[start:stop], n_jobs=n_jobs, label=label)
            yield from (DenseCounts(one) for one in found)
        start = stop


def sparsely_counted(block: IntArray, items: slice, *rest: Any) -> tuple[SparseCounts, ...]:
    """The counts of a block; ``rest`` is its part of each partition, the sizes of both."""
    *partitions, n_clusters, sizes = rest
    return tuple(
        sparse_counts_in(block, n_clusters, labels, k)
        for labels, k in zip(partitions, sizes, strict=True)
    )


def sparse_counts_in(
    block: IntArray, n_clusters: NDArray[np.int64], labels: IntArray, n_columns: int
) -> SparseCounts:
    """The items of every cluster of every draw in every cluster of ``labels``, in a block."""
    order = np.argsort(labels, kind="stable")
    in_order = np.asarray(labels)[order].astype(np.int32)
    starts, columns, counts, done = [], [], [], 0
    for part in blocks(block.shape[0], max(1, _LOOKUPS // block.shape[1])):
        some = block[part]
        room = np.empty((2, some.size), dtype=np.int32)
        at = np.empty(int(n_clusters[part].sum()) + 1, dtype=np.int64)
        size = _core.count_sparsely(some, n_clusters[part], order, in_order, at, room[0], room[1])
        starts.append(at[:-1] + done)
        columns.append(room[0, :size].copy())
        counts.append(room[1, :size].copy())
        done += size
    return SparseCounts(
        np.concatenate([*starts, [done]]), np.concatenate(columns), np.concatenate(counts),
        n_columns,
    )  # fmt: skip


def own_values(
    draws: Draws, labels: IntArray, counts: Counts, values: Doubles, *, n_jobs: int = 1,
    label: str = "items",
) -> Doubles:  # fmt: skip
    """Σ_m w_m of the value of item i's own cell in draw m, for every item i.

    ``values`` are of the cells of ``counts``: the shape of its table, or one for each cell kept.
    """
    cells = (counts.starts, counts.columns) if isinstance(counts, SparseCounts) else ()
    parts = map_items(
        own_of_sparse if cells else own_of, draws.labels, along=(labels,),
        shared=(offsets_of(draws), draws.probabilities, *cells, values), n_jobs=n_jobs,
        label=label,
    )  # fmt: skip
    return np.concatenate(list(parts))


def own_of_sparse(
    block: IntArray, items: slice, labels: IntArray, offsets: NDArray[np.int64],
    weights: Doubles, starts: NDArray[np.int64], columns: NDArray[np.int32], values: Doubles,
) -> Doubles:  # fmt: skip
    """Σ_m w_m of the value of its own cell for the items of a block."""
    out = np.zeros(block.shape[1])
    wanted = np.ascontiguousarray(labels, dtype=np.int64)
    for part in blocks(block.shape[0], max(1, _LOOKUPS // block.shape[1])):
        _core.own_sparsely(
            block[part], offsets[part], weights[part], wanted, starts, columns, values, out
        )
    return out


def own_sums(draws: Draws, labels: IntArray, *, n_jobs: int = 1) -> Doubles:
    """Σ_j x_ij π̂_ij for every item i, with x_ij = 1 where ``labels`` agree."""
    (counts,) = contingency(draws, [labels], n_jobs=n_jobs)
    cells = counts.counts if isinstance(counts, SparseCounts) else counts.table
    return own_values(draws, labels, counts, cells.astype(np.float64), n_jobs=n_jobs)
