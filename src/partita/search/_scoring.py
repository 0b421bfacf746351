"""What a move of an item, or of a cluster, does to the loss, from counts against every draw.

A table of counts (:mod:`partita.draws`) is whole or without its empty cells; what is said of it is
the same, and how it is said is decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita.draws import DenseCounts, SparseCounts, offsets_of, own_of, scattered
from partita.losses import Basis, RatioLoss
from partita.parallel import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.losses import Combination
    from partita.typing import Doubles, IntArray

    Counts: TypeAlias = DenseCounts | SparseCounts
    Scored: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]

_CELLS = 1_000_000  # items times clusters that are scored together


@dataclass(frozen=True, eq=False)
class Linear:
    """The expected loss at (e, j), and what one more in e and in each j changes it by."""

    value: float
    alpha: Doubles
    slope: float


@dataclass(frozen=True, eq=False)
class Scoring:
    """A function of a block of items, its labels and ``shared`` that scores their moves."""

    work: Callable[..., Any]
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

    def scoring(self, counts: Counts, limit: int) -> Scoring:
        """How a block of items is scored with all the others in place; a column is nobody's."""
        form = self.linear(*self.totals(counts))
        sizes = counts.column_sizes(self.offsets)
        enters = form.slope * self.step[sizes]
        free = np.flatnonzero(sizes == 0)
        enters[free if int((sizes > 0).sum()) >= limit else free[1:]] = np.inf
        leaves = form.slope * (self.cell[np.maximum(sizes - 1, 0)] - self.cell[sizes])
        gained, lost = self.step - self.step[0], np.append(self.step[0], self.step)
        tables = counts.valued(gained), counts.valued(lost[:-1] - self.step[0])
        return Scoring(moves, (self.offsets, form.alpha, *tables, leaves, enters))

    def allocation(self, counts: Counts) -> Scoring:
        """How a block of items is put where the loss of those counted and it is least."""
        form = self.linear(*self.totals(counts))
        enters = form.slope * self.step[counts.column_sizes(self.offsets)]
        table = counts.valued(self.step - self.step[0])
        return Scoring(allocated, (self.offsets, form.alpha, table, enters))


def moves(
    block: IntArray, items: slice, labels: IntArray, offsets: NDArray[np.int64], alpha: Doubles,
    gained: Any, lost: Any, leaves: Doubles, enters: Doubles,
) -> Scored:  # fmt: skip
    """The best cluster of every item of a block, and by how much the loss would fall.

    Of one item more, a cell gains ``gained``; of one less, it loses ``lost``; both less what an
    empty cell gains, which leaves the difference as it is.
    """
    n = block.shape[1]
    best, gains = labels.astype(np.int32), np.zeros(n, dtype=np.float32)
    for part in blocks(n, _CELLS // enters.size):
        few, here = np.ascontiguousarray(block[:, part]), labels[part]
        change = enters - scattered(few, part, offsets, alpha, gained)
        every = np.arange(here.size)
        change[every, here] = np.inf
        there = change.argmin(axis=1)
        fall = -(
            change[every, there] + leaves[here] + own_of(few, part, here, offsets, alpha, lost)
        )
        gains[part] = np.maximum(fall, 0.0)
        best[part] = np.where(fall > 0, there, here)
    return best, gains


def allocated(
    block: IntArray, items: slice, offsets: NDArray[np.int64], alpha: Doubles, gained: Any,
    enters: Doubles,
) -> NDArray[np.int32]:  # fmt: skip
    """The cluster that every item of a block enters at least loss."""
    out = np.empty(block.shape[1], dtype=np.int32)
    for part in blocks(out.size, _CELLS // enters.size):
        few = np.ascontiguousarray(block[:, part])
        out[part] = (enters - scattered(few, part, offsets, alpha, gained)).argmin(axis=1)
    return out


def best_mergers(rows: Rows, counts: SparseCounts) -> list[tuple[int, int]]:
    """Pairs of clusters, none in two, whose merger lowers the linear loss, the best first.

    Each cluster is looked at with the one that it is most together with.
    """
    sizes = counts.column_sizes(rows.offsets)
    form = rows.linear(*rows.totals(counts))
    weights = np.repeat(rows.draws.probabilities, np.diff(rows.offsets))
    cells = counts.cells.astype(np.float64)
    near = (cells.T @ (cells.multiply(weights[:, None]).tocsr())).tocoo()
    apart = near.row != near.col
    a, b, together = near.row[apart], near.col[apart], near.data[apart]
    together = together / (sizes[a] * sizes[b].astype(np.float64))
    order = np.lexsort((b, -together, a))
    first = np.unique(a[order], return_index=True)[1]
    k, partner = a[order][first], b[order][first]
    gains = np.zeros(k.size)
    for some in counts.runs(rows.offsets):
        at, alpha = rows.offsets[some.start : some.stop + 1], form.alpha[some]
        of_draws = counts.cells[int(at[0]) : int(at[-1])]
        mine, its = SparseCounts(of_draws[:, k]), SparseCounts(of_draws[:, partner])
        for sign, table in ((1.0, mine + its), (-1.0, mine), (-1.0, its)):
            gains += sign * table.by_column(at - at[0], alpha, rows.cell)
    s, u = sizes[k], sizes[partner]
    gains -= form.slope * (rows.cell[s + u] - rows.cell[s] - rows.cell[u])
    found, taken = [], np.zeros(sizes.size, dtype=bool)
    for at in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)]:
        one, other = int(k[at]), int(partner[at])
        if not (taken[one] or taken[other]):
            taken[[one, other]] = True
            found.append((one, other))
    return found
