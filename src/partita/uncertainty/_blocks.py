"""What is known of items and clusters from draws that are gone over in blocks of items."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels
from partita.distributed import blocks, map_items
from partita.draws import Draws, SparseCounts, contingency, offsets_of, own_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray

_LOOKUPS = 10_000_000  # labels looked at in one compiled call


def streamed_vi_shares(
    labels: NDArray[np.int64], draws: Draws, *, n_jobs: int = 1
) -> NDArray[np.float64]:
    """Each item's share of the expected variation of information, shape (n,)."""
    offsets = offsets_of(draws)
    (counts,) = contingency(draws, [labels], n_jobs=n_jobs, label="items")
    rows = np.log2(np.maximum(counts.row_sizes(), 1))
    columns = np.log2(counts.column_sizes(offsets))
    if isinstance(counts, SparseCounts):
        values = np.repeat(rows, np.diff(counts.starts)) + columns[counts.columns]
        values -= 2.0 * np.log2(counts.counts)
    else:
        values = rows[:, None] + columns - 2.0 * np.log2(np.maximum(counts.table, 1))
    found = own_values(draws, labels, counts, values, n_jobs=n_jobs)
    return np.asarray(np.maximum(found, 0.0) / draws.n_items)


def overlap_tables(
    labels: NDArray[np.int64], draws: Draws, n_jobs: int
) -> Callable[[slice], NDArray[Any]]:
    """A function from a run of draws to their tables of counts, (draws, most clusters, K)."""
    offsets = offsets_of(draws)
    (counts,) = contingency(draws, [labels], n_jobs=n_jobs, label="aligning")
    most = int(draws.n_clusters.max())

    def table(part: slice) -> NDArray[np.int32]:
        out = np.zeros((part.stop - part.start, most, counts.shape[1]), dtype=np.int32)
        for one, m in zip(out, range(part.start, part.stop), strict=True):
            one[: draws.n_clusters[m]] = counts.rows(int(offsets[m]), int(offsets[m + 1]))
        return out

    return table


def streamed_deal(
    draws: Draws, mapping: NDArray[np.int64], n_columns: int, n_jobs: int
) -> NDArray[np.float64]:
    """The share of the draws that has item i in a cluster mapped to column k, (n, n_columns)."""
    shared = (draws.probabilities, mapping, n_columns)
    parts = map_items(dealt, draws.labels, shared=shared, n_jobs=n_jobs, label="memberships")
    return np.concatenate(list(parts))


def dealt(
    block: IntArray, items: slice, weights: FloatArray, mapping: NDArray[np.int64], n_columns: int
) -> NDArray[np.float64]:
    """The shares of the items of a block."""
    out = np.zeros((block.shape[1], n_columns))
    for part in blocks(block.shape[0], max(1, _LOOKUPS // block.shape[1])):
        kernels.streaming.alignment_deal(block[part], weights[part], mapping[part], out)
    return out
