"""Sums over draws of any size and place: each a pure function of a block of items, then added up.

Row ``offsets[m] + c`` of a table stands for cluster c of draw m; Z is the (n, R) indicator of who
is in which. ZᵀX adds up over blocks of items, ZG is made a block at a time, and that is all that
losses, factors, searches and credible balls need of draws too many to hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.draws._missing import missing_text
from partita.errors import InvalidValueError
from partita.parallel import blocks, map_items, sum_items

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws._draws import Draws
    from partita.typing import Doubles, FloatArray, IntArray

_LOOKUPS = 20_000_000  # label look-ups in one call of the core, some tens of milliseconds
_SPARSE = 2_000_000  # the same in one of SciPy's
_LARGE = MOST_HELD = 50_000_000  # labels up to which draws are taken whole


def streams(draws: Draws) -> bool:
    """Whether draws are gone over in blocks of items: they are in a store, or large."""
    labels: Any = draws.labels
    return not isinstance(labels, np.ndarray) or not is_few(draws)


def is_few(draws: Draws) -> bool:
    """Whether the labels are so few that a search may as well have them all in memory."""
    return draws.n_items * draws.n_draws <= _LARGE


def offsets_of(draws: Draws) -> NDArray[np.int64]:
    """Where the rows of each draw begin, and the number of rows R at the end."""
    if draws.observed is not None:
        raise InvalidValueError(missing_text("This", draws))
    offsets = np.zeros(draws.n_draws + 1, dtype=np.int64)
    np.cumsum(draws.n_clusters, out=offsets[1:])
    return offsets


def counted(block: IntArray, items: slice, *rest: Any) -> tuple[NDArray[np.int32], ...]:
    """The items of every cluster of every draw in every cluster of some partitions, in a block.

    ``rest`` is the block's part of each partition, the offsets, and their numbers of clusters.
    """
    *partitions, offsets, sizes = rest
    tables = []
    for labels, n_clusters in zip(partitions, sizes, strict=True):
        table = np.zeros((int(offsets[-1]), n_clusters), dtype=np.int32)
        wanted = np.ascontiguousarray(labels, dtype=np.uint32)
        for part in _draws_at_once(block):
            _core.count(block[part], offsets[part], wanted, table)
        tables.append(table)
    return tuple(tables)


def counts_in(
    block: IntArray, offsets: NDArray[np.int64], labels: IntArray, n_clusters: int
) -> NDArray[np.int32]:
    """The items of every cluster of every draw in every cluster of ``labels``, in a block."""
    return counted(block, slice(0, block.shape[1]), labels, offsets, (n_clusters,))[0]


def cluster_sums(
    draws: Draws, x: Any, width: int, *, n_jobs: int = 1, label: str = "cluster sums"
) -> Doubles:
    """ZᵀX, shape (R, width): the sum of the rows of X in every cluster of every draw."""
    return sum_items(
        gathered, draws.labels, along=(x,), shared=(offsets_of(draws), width), n_jobs=n_jobs,
        label=label,
    )  # fmt: skip


def gathered(
    block: IntArray, items: slice, x: Doubles, offsets: NDArray[np.int64], width: int
) -> Doubles:
    """A block's share of ZᵀX."""
    out = np.zeros((int(offsets[-1]), width))
    x = np.ascontiguousarray(x, dtype=np.float64)
    for part in _draws_at_once(block, width):
        _core.gather(block[part], offsets[part], x, out)
    return out


def spread(draws: Draws, table: Doubles, *, n_jobs: int = 1, label: str = "spreading") -> Doubles:
    """Z diag(w) G, shape (n, width), for a table G (R, width)."""
    shared = (offsets_of(draws), draws.probabilities, np.ascontiguousarray(table, np.float64))
    parts = map_items(scattered, draws.labels, shared=shared, n_jobs=n_jobs, label=label)
    return np.concatenate(list(parts))


def scattered(
    block: IntArray, items: slice, offsets: NDArray[np.int64], weights: FloatArray, table: Any
) -> Doubles:
    """A block of Z diag(w) G, for a table G that is whole or one of SciPy's sparse arrays."""
    n, width = block.shape[1], table.shape[1]
    out = np.zeros((n, width))
    shares = np.ascontiguousarray(weights, dtype=np.float64)
    if not isinstance(table, np.ndarray):
        for part in blocks(n, max(1, _SPARSE // block.shape[0])):
            out[part] = (_membership(block[:, part], offsets, shares, table) @ table).toarray()
        return out
    values = np.ascontiguousarray(table, dtype=np.float64)
    for part in _draws_at_once(block, width):
        _core.spread(block[part], offsets[part], shares[part], values, 0, n, out)
    return out


def _membership(block: IntArray, offsets: NDArray[np.int64], weights: Doubles, table: Any) -> Any:
    """Z diag(w) of a block of items as a sparse array."""
    from scipy.sparse import csr_array

    n_draws, n = block.shape
    rows = (block.T + offsets[:n_draws]).ravel()
    ends = n_draws * np.arange(n + 1)
    return csr_array((np.tile(weights, n), rows, ends), (n, table.shape[0]))


def own_of(
    block: IntArray, items: slice, labels: IntArray, offsets: NDArray[np.int64], weights: Doubles,
    table: Any,
) -> Doubles:  # fmt: skip
    """Σ_m w_m table[row, own cluster] for the items of a block."""
    n = block.shape[1]
    out = np.zeros(n)
    if not isinstance(table, np.ndarray):
        for part in blocks(block.shape[0], max(1, _SPARSE // n)):
            rows = (block[part] + offsets[part][:, None]).ravel()
            own = table[rows, np.tile(labels, rows.size // n)].reshape(-1, n)
            out += (weights[part][:, None] * own).sum(axis=0)
        return out
    wanted = np.ascontiguousarray(labels, dtype=np.uint32)
    for part in _draws_at_once(block):
        _core.own(block[part], offsets[part], weights[part], wanted, table, out)
    return out


def labels_at_most(labels: Any) -> int:
    """One more than the largest label."""
    return int(np.max(labels)) + 1


def _draws_at_once(block: IntArray, width: int = 1) -> list[slice]:
    """Draws in runs that a call of the core finishes quickly."""
    each = block.shape[1] * max(1, width // 4)
    size = max(4, _LOOKUPS // max(1, each))
    return blocks(block.shape[0], size - size % 4)
