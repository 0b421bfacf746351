"""What a move of an item, or of a cluster, does to the loss, from counts against every draw.

A table of counts (:mod:`partita.draws`) is whole or without its empty cells; what is said of it is
the same, and how it is said is decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita import _core
from partita.draws import DenseCounts, SparseCounts, offsets_of
from partita.losses import Basis, RatioLoss
from partita.parallel import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.losses import Combination
    from partita.typing import Doubles, IntArray

    Counts: TypeAlias = DenseCounts | SparseCounts
    Scored: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]

_LANES = 8
_LOOKUPS = 5_000_000


@dataclass(frozen=True, eq=False)
class Linear:
    """The expected loss at (e, j), and what one more in e and in each j changes it by."""

    value: float
    alpha: Doubles
    slope: float


@dataclass(frozen=True, eq=False)
class Scoring:
    """A function of a block of items, its labels and ``shared`` that scores their moves."""

    work: Callable[..., Scored]
    shared: tuple[Any, ...]


class Rows:
    """The draws of a problem as rows of clusters, and the totals of a loss over them.

    Parameters
    ----------
    draws : Draws
        Distinct and weighted.
    loss : RatioLoss
    sizes : ndarray, shape (R,)
        Of every cluster of every draw, among the items that are counted.
    """

    def __init__(self, draws: Draws, loss: RatioLoss, sizes: IntArray) -> None:
        self.draws, self.loss, self.offsets = draws, loss, offsets_of(draws)
        self.n_items = int(sizes[: self.offsets[1]].sum())
        self.cell = loss.table(self.n_items)
        self.step = np.append(np.diff(self.cell), 0.0)
        self.t = np.add.reduceat(self.cell[sizes], self.offsets[:-1])

    def totals(self, counts: Counts) -> tuple[float, Doubles]:
        """The sums e and j of a table of counts."""
        e = float(self.cell[counts.column_sizes(self.offsets)].sum())
        return e, counts.joint(self.offsets, self.cell)

    def value(self, e: Any, j: Doubles) -> float:
        """The expected loss at totals e and j."""
        ratio = self.loss.ratio(Basis(self.t, e, j, self.cell[-1], self.n_items))
        return float(ratio @ self.draws.probabilities)

    def linear(self, e: float, j: Doubles) -> Linear:
        """The loss and its slopes at totals e and j."""
        basis = Basis(self.t, e, j, float(self.cell[-1]), self.n_items)
        top, bottom = self.loss.numerator, self.loss.denominator
        n, d = np.asarray(top(basis), float), np.asarray(bottom(basis), float) + 0 * self.t
        safe = np.where(d > 0, d, np.inf)
        p = self.draws.probabilities

        def slope(c: Combination) -> Any:
            half = np.where(self.t < e, 0.0, np.where(self.t > e, 1.0, 0.5))
            product = self.t / basis.w if basis.w else 0.0
            return c.e + c.least * half + c.product * product

        by_j = (top.j * d - n * bottom.j) / safe**2
        by_e = (slope(top) * d - n * slope(bottom)) / safe**2
        return Linear(self.value(e, j), -p * by_j, float(p @ by_e))

    def scoring(self, counts: Counts, limit: int, *, allocate: bool = False) -> Scoring:
        """How a block of items is scored with all the others in place.

        With ``allocate`` all items come from a column of nobody, and none may stay there.
        """
        form = self.linear(*self.totals(counts))
        width = counts.shape[1]
        full = width + 1  # one column at least belongs to nobody
        if isinstance(counts, DenseCounts):
            full += -full % _LANES
        sizes = np.zeros(full, dtype=np.int64)
        sizes[:width] = counts.column_sizes(self.offsets)
        enters = form.slope * self.step[sizes]
        free = np.flatnonzero(sizes == 0)
        shut = allocate or int((sizes > 0).sum()) >= limit
        enters[free if shut else free[1:]] = np.inf
        if allocate:
            leaves = np.full(full, -10.0)
        else:
            leaves = form.slope * (self.cell[np.maximum(sizes - 1, 0)] - self.cell[sizes])
        if isinstance(counts, SparseCounts):
            return self._sparse(counts, form.alpha, leaves, enters)
        table = np.zeros((counts.shape[0], full), dtype=np.float32)
        table[:, :width] = self.step[counts.table]
        lost = np.zeros_like(table)
        if not allocate:
            lost[:, :width] = self.step[np.maximum(counts.table - 1, 0)]
        shared = (self.offsets, form.alpha.astype(np.float32), table, lost, leaves, enters)
        return Scoring(moves, shared)

    def _sparse(
        self,
        counts: SparseCounts,
        alpha: Doubles,
        leaves: Doubles,
        enters: Doubles,
    ) -> Scoring:
        lengths = np.diff(counts.starts)
        looked = int(lengths @ counts.row_sizes()) / (self.n_items * self.draws.n_draws)
        size = max(1, int(_LOOKUPS / (looked * self.draws.n_draws)))
        return Scoring(sparse_moves, (self.offsets, alpha, counts, self.step, leaves, enters, size))


def moves(
    block: IntArray, items: slice, labels: IntArray, offsets: NDArray[np.int64],
    alpha: NDArray[np.float32], table: NDArray[np.float32], lost: NDArray[np.float32],
    leaves: Doubles, enters: Doubles,
) -> Scored:  # fmt: skip
    """The best cluster of every item of a block, and by how much the loss would fall."""
    n = block.shape[1]
    best, gains = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float32)
    here = np.ascontiguousarray(labels, dtype=np.int64)
    for part in blocks(n, max(64, _LOOKUPS // block.shape[0])):
        few = np.ascontiguousarray(block[:, part])
        best[part], gains[part] = _core.best_moves(
            few, offsets, alpha, table, lost, here[part], leaves, enters
        )
    return best, gains


def sparse_moves(
    block: IntArray, items: slice, labels: IntArray, offsets: NDArray[np.int64],
    alpha: Doubles, counts: SparseCounts, step: Doubles, leaves: Doubles,
    enters: Doubles, size: int,
) -> Scored:  # fmt: skip
    """The same from a table without its empty cells, ``size`` items at a time.

    Cluster by cluster: its items are in the same rows mostly, which are in the cache then.
    """
    n = block.shape[1]
    best, gains = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.float32)
    order = np.argsort(labels, kind="stable")
    cheapest = int(np.argmin(enters))
    for part in blocks(n, size):
        at = order[part]
        few = np.ascontiguousarray(block[:, at].T)
        here = np.asarray(labels[at], dtype=np.int64)
        best[at], gains[at] = _core.best_moves_sparsely(
            few, offsets, alpha, counts.arrays, step, here, leaves, enters, cheapest
        )
    return best, gains


def best_mergers(rows: Rows, counts: SparseCounts) -> list[tuple[int, int]]:
    """Pairs of clusters, none in two, whose merger lowers the linear loss, the best first.

    Each cluster is looked at with the one that it is most together with.
    """
    from scipy.sparse import csr_array

    sizes = counts.column_sizes(rows.offsets)
    form = rows.linear(*rows.totals(counts))
    weights = np.repeat(rows.draws.probabilities, np.diff(rows.offsets))
    cells = csr_array((counts.counts.astype(float), counts.columns, counts.starts), counts.shape)
    near = (cells.T @ (cells.multiply(weights[:, None]).tocsr())).tocoo()
    apart = near.row != near.col
    a, b, together = near.row[apart], near.col[apart], near.data[apart]
    together = together / (sizes[a] * sizes[b].astype(np.float64))
    order = np.lexsort((b, -together, a))
    first = np.unique(a[order], return_index=True)[1]
    partner = np.full(sizes.size, -1, dtype=np.int64)
    partner[a[order][first]] = b[order][first]
    gains = np.zeros(sizes.size)
    for some in counts.runs(rows.offsets):
        at = rows.offsets[some.start : some.stop + 1]
        _core.merged(counts.arrays, at, form.alpha[some], rows.cell, partner, gains)
    k = np.flatnonzero(partner >= 0)
    s, u = sizes[k], sizes[partner[k]]
    gains = gains[k] - form.slope * (rows.cell[s + u] - rows.cell[s] - rows.cell[u])
    found, taken = [], np.zeros(sizes.size, dtype=bool)
    for at in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]:
        one, other = int(k[at]), int(partner[k[at]])
        if not (taken[one] or taken[other]):
            taken[[one, other]] = True
            found.append((one, other))
    return found
