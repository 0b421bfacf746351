"""Contingency tables of a partition with every draw, whole or with the empty cells left out.

Row ``offsets[m] + c`` stands for cluster c of draw m, a column for a cluster of the partition.
Where both have hundreds of clusters nearly every cell is empty: a row of s items has at most s that
are not, and such a table is one of SciPy's sparse arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import validate
from partita.draws._blocks import counted, labels_at_most, offsets_of, own_of
from partita.parallel import blocks, map_items, plus

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from partita.draws._draws import Draws
    from partita.typing import Doubles, IntArray

    Counts: TypeAlias = "DenseCounts | SparseCounts"

_CELLS = 50_000_000  # of a table that is kept whole
_LOOKUPS = 4_000_000  # labels counted, or cells visited, in one call of NumPy or SciPy
_PASS = 1 << 28  # bytes of tables counted in one pass over the draws
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
        sums = np.empty(self.shape[0])
        for part in blocks(self.shape[0], max(1, _LOOKUPS // self.shape[1])):
            sums[part] = cell[self.table[part]].sum(axis=1)
        return np.add.reduceat(sums, offsets[:-1])

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

    def valued(self, cell: Doubles) -> Doubles:
        """The table with cell(count) in place of its counts."""
        return np.asarray(cell[self.table])

    def coordinates(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32]]:
        """The row, the column and the count of each cell that is not empty."""
        row, column = np.nonzero(self.table)
        return row, column, self.table[row, column]

    def without_empty(self) -> SparseCounts:
        """The same table without its empty cells."""
        from scipy.sparse import csr_array

        return SparseCounts(csr_array(self.table))


@dataclass(frozen=True, eq=False)
class SparseCounts:
    """A table without its empty cells, columns in order; ``+`` adds two of the same rows."""

    cells: csr_array[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """(R, K)."""
        return (int(self.cells.shape[0]), int(self.cells.shape[1]))

    def __add__(self, other: SparseCounts) -> SparseCounts:
        most = self.cells.nnz + other.cells.nnz
        validate.fits_in_memory(
            f"A table of up to {most:,} cells of clusters of draws by clusters", 8 * most,
            "thin the draws, or ask about partitions into fewer clusters.",
        )  # fmt: skip
        return SparseCounts(self.cells + other.cells)

    def row_sizes(self) -> NDArray[np.int64]:
        """The items in every cluster of every draw."""
        return np.asarray(self.cells.sum(axis=1), dtype=np.int64)

    def column_sizes(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items in every cluster of the partition."""
        return np.asarray(self.cells[: int(offsets[1])].sum(axis=0), dtype=np.int64)

    def joint(self, offsets: NDArray[np.int64], cell: Doubles) -> Doubles:
        """Σ cell(count) over the cells of each draw."""
        out = np.empty(offsets.size - 1)
        for some in self.runs(offsets):
            edges = self.cells.indptr[offsets[some.start : some.stop + 1]]
            values = cell[self.cells.data[edges[0] : edges[-1]]]
            out[some] = np.add.reduceat(values, edges[:-1] - edges[0])
        return out

    def by_column(self, offsets: NDArray[np.int64], alpha: Doubles, cell: Doubles) -> Doubles:
        """Σ alpha_m cell(count) over the cells of each column."""
        out = np.zeros(self.shape[1])
        for some in self.runs(offsets):
            edges = self.cells.indptr[offsets[some.start : some.stop + 1]]
            cells = slice(edges[0], edges[-1])
            values = np.repeat(alpha[some], np.diff(edges)) * cell[self.cells.data[cells]]
            out += np.bincount(self.cells.indices[cells], values, out.size)
        return out

    def runs(self, offsets: NDArray[np.int64]) -> list[slice]:
        """Draws in runs that a call of NumPy finishes quickly."""
        each = max(1, self.cells.nnz // (offsets.size - 1))
        return blocks(offsets.size - 1, max(1, _LOOKUPS // each))

    def widened(self, n_columns: int) -> SparseCounts:
        """The same with empty columns, so that there are ``n_columns``."""
        return self._with(self.cells.data, n_columns)

    def coordinates(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32]]:
        """The row, the column and the count of each cell that is not empty."""
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.cells.indptr))
        return row, self.cells.indices, self.cells.data

    def without_empty(self) -> SparseCounts:
        """The table itself."""
        return self

    def rows(self, first: int, last: int) -> NDArray[np.int32]:
        """Some of the rows, with all their cells."""
        return np.asarray(self.cells[first:last].toarray())

    def valued(self, cell: Doubles) -> csr_array[Any]:
        """The table with cell(count) in place of its counts; cell(0) must be 0."""
        return self._with(cell[self.cells.data], self.shape[1]).cells

    def _with(self, data: NDArray[Any], n_columns: int) -> SparseCounts:
        from scipy.sparse import csr_array

        like = self.cells
        return SparseCounts(
            csr_array((data, like.indices, like.indptr), (like.shape[0], n_columns))
        )


def is_sparse(n_rows: int, n_columns: int) -> bool:
    """Whether a table of this shape is kept without its empty cells; for the shape to say."""
    return n_rows * n_columns > _CELLS


def contingency(
    draws: Draws, partitions: Sequence[Any], *, n_jobs: int = 1, label: str = "counting"
) -> Iterator[Counts]:
    """Yield the table of each partition, labelled 0 .. K - 1, with every draw.

    Tables that fit into a quarter of a gigabyte are counted in one pass over the draws.
    """
    offsets = offsets_of(draws)
    sizes = [labels_at_most(one) for one in partitions]
    sparse = [is_sparse(int(offsets[-1]), size) for size in sizes]
    size_of = [4 * int(offsets[-1]) * size for size in sizes]
    costs = [_PASS // _TOGETHER if s else size for s, size in zip(sparse, size_of, strict=True)]
    start = 0
    while start < len(sizes):
        stop = start + 1
        while stop < len(sizes) and sparse[stop] == sparse[start]:
            if sum(costs[start : stop + 1]) > _PASS:
                break
            stop += 1
        work, by = (sparsely_counted, draws.n_clusters) if sparse[start] else (counted, offsets)
        found: Any = None
        for part in map_items(
            work, draws.labels, along=partitions[start:stop], shared=(by, tuple(sizes[start:stop])),
            n_jobs=n_jobs, label=label, add=True,
        ):  # fmt: skip
            found = plus(found, part)
        for one in found:
            yield one if sparse[start] else DenseCounts(one)
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
    from scipy.sparse import csr_array, vstack

    order = np.argsort(labels, kind="stable")
    in_order = np.asarray(labels)[order]
    found = []
    for part in blocks(block.shape[0], max(1, _LOOKUPS // block.shape[1])):
        ends = np.cumsum(n_clusters[part])
        rows = block[part][:, order] + (ends - n_clusters[part])[:, None]
        cells = rows.ravel(), np.tile(in_order, len(rows))
        shape = int(ends[-1]), n_columns
        found.append(csr_array((np.ones(rows.size, dtype=np.int32), cells), shape))
    return SparseCounts(vstack(found, format="csr"))


def own_values(
    draws: Draws, labels: IntArray, counts: Counts, cell: Doubles, *, n_jobs: int = 1,
    label: str = "items",
) -> Doubles:  # fmt: skip
    """Σ_m w_m cell(count) of item i's own cell in draw m, for every item i; cell(0) must be 0."""
    parts = map_items(
        own_of, draws.labels, along=(labels,),
        shared=(offsets_of(draws), draws.probabilities, counts.valued(cell)), n_jobs=n_jobs,
        label=label,
    )  # fmt: skip
    return np.concatenate(list(parts))


def own_sums(draws: Draws, labels: IntArray, *, n_jobs: int = 1) -> Doubles:
    """Σ_j x_ij π̂_ij for every item i, with x_ij = 1 where ``labels`` agree."""
    (counts,) = contingency(draws, [labels], n_jobs=n_jobs)
    return own_values(draws, labels, counts, np.arange(draws.n_items + 1.0), n_jobs=n_jobs)
