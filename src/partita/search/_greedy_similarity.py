"""A partition under a loss on the similarity, with what is needed to change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels
from partita.losses import RatioLoss
from partita.search._greedy_items import Items
from partita.search._greedy_proposals import SETTLED
from partita.search._greedy_state import never

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_proposals import Given, Proposals
    from partita.similarity import Similarity
    from partita.typing import IntArray

_CALL = 20_000_000


def _compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.greedy_similarity


class SimilarityProblem:
    """What all runs on the same similarity share: the matrix, t, and the shape of h = cell(x)/x.

    Parameters
    ----------
    similarity : Similarity
    loss : RatioLoss
    merge : bool
        Treat items of the same row, which are together in every draw, as one weighted item.
    """

    def __init__(
        self, similarity: Similarity, loss: RatioLoss, *, merge: bool = False, n_jobs: int = 1
    ) -> None:
        matrix = np.ascontiguousarray(similarity.to_dense(n_jobs=n_jobs), dtype=np.float64).view()
        self.n_items = similarity.n_items
        is_worth_a_look = merge and np.unique(similarity.row_sums).size < self.n_items
        self.items = Items(self.n_items, matrix.view(np.uint64) if is_worth_a_look else None)
        if self.items.are_merged:
            matrix = np.ascontiguousarray(matrix[np.ix_(self.items.firsts, self.items.firsts)])
        matrix.setflags(write=False)
        self.matrix, self.weight, self.loss = matrix, self.items.weight, loss
        self.n = self.weight.size
        self.cell = loss.table(self.n_items)
        self.shape, self.grid = _shape(loss, self.n_items)
        self.t = float((loss.cell(similarity.row_sums) / similarity.row_sums).sum())
        self.num, self.den = loss.numerator.coefficients, loss.denominator.coefficients
        self.is_linear = not self.den[[1, 2, 4, 5]].any()
        self.alpha = -float(self.num[2])
        ratio = self.t / float(self.cell[-1]) if self.cell[-1] else 0.0
        self.slope = float(self.num[1] + 0.5 * self.num[4] + self.num[5] * ratio)

    def state(self) -> SimilarityState:
        """Return a fresh state, every item in no cluster."""
        return SimilarityState(self)

    def quick(
        self, partitions: NDArray[np.int64], seeds: NDArray[np.uint64], limit: int, n_sweeps: int
    ) -> NDArray[np.float64]:
        """Sweep and merge from each row, all -1 for nothing yet; rows become where that ends.

        Returns the losses there, recomputed and by the running totals, of shape (2, runs).
        """
        return self._ran("quick", partitions, seeds, (n_sweeps,), limit)

    def thorough(
        self,
        partitions: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        limit: int,
        n_sweeps: int,
        *how: Any,
    ) -> NDArray[np.float64]:
        """Change clusters from where quick runs ended; see :meth:`quick`."""
        return self._ran("thorough", partitions, seeds, (*how, self.is_linear, n_sweeps), limit)

    def _ran(
        self,
        name: str,
        partitions: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        how: tuple[Any, ...],
        limit: int,
    ) -> NDArray[np.float64]:
        values = np.empty((2, partitions.shape[0]))
        getattr(kernels.greedy_similarity_runs, name)(
            partitions, seeds, *how, self.matrix, self.weight, self.cell, self.shape, self.grid,
            self.alpha, self.slope, self.t, self.num, self.den, limit, values,
        )  # fmt: skip
        return values


def _shape(loss: RatioLoss, n: int) -> tuple[int, NDArray[np.float64]]:
    """Find out whether h(x) = cell(x)/x is affine, a logarithm, or needs a grid."""
    kinds = _compiled()
    x = np.linspace(1.0, max(n, 2), 257)
    y = np.asarray(loss.cell(x), dtype=np.float64) / x
    noise = 1e-12 * (np.abs(y) + np.abs(y).max())
    for shape, base in ((kinds.AFFINE, x), (kinds.LOG, np.log2(x))):
        rise = (y[-1] - y[0]) / (base[-1] - base[0])
        start = y[0] - rise * base[0]
        if (np.abs(start + rise * base - y) <= noise).all():
            return shape, np.array([[start], [rise]])
    points = 1 + np.arange(-2, kinds.GRID * max(n - 1, 1) + 4) / kinds.GRID
    values = np.asarray(loss.cell(points), dtype=np.float64) / points
    slopes = (8 * (values[3:-1] - values[1:-3]) - (values[4:] - values[:-4])) / 12
    return kinds.ANY, np.stack([values[2:-2], slopes])


def _width(n_clusters: int) -> int:
    """The columns of tables for this many clusters."""
    return max(n_clusters, 7) + 1 + max(n_clusters, 7) // 2


class SimilarityState:
    """One run's partition under a loss on the similarity."""

    def __init__(self, problem: SimilarityProblem) -> None:
        self.problem = problem
        self.labels = np.full(problem.n, -1, dtype=np.int64)
        self.own, self.totals = np.ones(problem.n), np.zeros(2)
        self.quiet = np.array([0, 1 << 62])
        self._value, self._valued_at = np.inf, [np.nan, np.nan]
        self._linear, self._linear_at = (problem.alpha, problem.slope), (np.nan, np.nan)
        self._widen(_width(0))

    def _widen(self, width: int) -> None:
        """Make this many columns, all of them empty."""
        self.sizes, self.sums = np.zeros(width, dtype=np.int64), np.zeros((width, self.problem.n))
        self._gains, self._logs = np.zeros(width), np.zeros(width)

    def grow(self, n_columns: int) -> None:
        """Make room for ``n_columns`` clusters and some more, keeping those there are."""
        sizes, sums = self.sizes, self.sums
        self._widen(_width(n_columns))
        self.sizes[: sizes.size], self.sums[: sizes.size] = sizes, sums

    n_fitted = 0

    def fit(self, most: float = 1.5) -> None:
        """Nothing is gained by fewer columns."""

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(np.count_nonzero(self.sizes))

    @property
    def is_complete(self) -> bool:
        """Whether every item is in a cluster."""
        return bool(self.labels.min() >= 0)

    @property
    def value(self) -> float:
        """The expected loss, from the running totals."""
        at = self.totals.tolist()
        if at != self._valued_at:
            self._value, self._valued_at = self._loss(*at), at
        return self._value

    def _loss(self, e: float, j: float) -> float:
        p = self.problem
        return float(_compiled().loss(p.t, e, j, p.num, p.den, float(p.cell[-1]), float(p.n_items)))

    def load(self, labels: IntArray) -> None:
        """Start from labels 0 .. K - 1; -1 is in no cluster.

        The number of columns follows from K alone: what ran before must not matter.
        """
        self.labels[:] = labels
        width = _width(int(labels.max()) + 1)
        if width != self.sizes.size:
            self._widen(width)
        self._sum()
        self.refresh()

    def _sum(self) -> None:
        """Recompute the sums and the sizes from the labels."""
        p = self.problem
        _compiled().load(p.matrix, p.weight, self.labels, self.sums, self.own, self.sizes)

    def refresh(self) -> None:
        """Recompute the totals from the sums."""
        p = self.problem
        self.totals[0] = p.cell[self.sizes].sum()
        self.totals[1] = _compiled().joint(p.weight, self.labels, self.own, p.shape, p.grid)

    def recomputed(self) -> float:
        """The expected loss from the labels alone, which the sums follow."""
        self._sum()
        self.refresh()
        return self.value

    @property
    def visits(self) -> int:
        """Items that a compiled call may visit to end soon."""
        return max(1, _CALL // (5 * self.problem.n))

    def _tables(self) -> tuple[Any, ...]:
        p = self.problem
        return (
            p.matrix, p.weight, self.labels, self.sums, self.own, self.sizes, p.cell, p.shape,
            p.grid,
        )  # fmt: skip

    def allocate(self, items: IntArray, limit: int, is_up: Callable[[], bool] = never) -> None:
        """Put items that are in no cluster into the best, one after another.

        When time is up the rest go to the largest cluster.
        """
        p = self.problem
        alpha, slope = (p.alpha, p.slope) if 2 * items.size > p.n else self._linear
        done = 0
        while done < items.size:
            end = min(items.size, done + self.visits)
            done = _compiled().allocate(
                items[:end], done, *self._tables(), alpha, slope, limit, self.totals, self._gains,
                self._logs,
            )  # fmt: skip
            if done < items.size and is_up():
                self.move(items[done:], np.full(items.size - done, self.sizes.argmax()))
                break
            if done < end:
                self.grow(self.sizes.size)
        self.refresh()

    is_rough = has_chains = False

    def shake(self, proposals: Proposals | Given, limit: int, bar: float) -> int:
        """Attempt what is proposed until the loss is below ``bar``; return what came of it.

        If it is not below, all is as it was, or the clusters are the same in other columns.
        """
        p = self.problem
        self._linearise()
        return int(
            cast(Any, kernels.greedy_similarity_attempt).shake(
                *proposals.arguments, self.visits, SETTLED, bar, *self._tables(), p.alpha, p.slope,
                *self._linear, p.t, p.num, p.den, limit, self.totals, self._gains, self._logs,
                self.quiet,
            )
        )  # fmt: skip

    def _linearise(self) -> None:
        """Take the slopes of a loss that is not linear here, unless they were taken here."""
        at = float(self.totals[0]), float(self.totals[1])
        if not self.problem.is_linear and at != self._linear_at:
            self._linear, self._linear_at = self._slopes(*at), at

    def _slopes(self, e: float, j: float) -> tuple[float, float]:
        """-∂/∂j and ∂/∂e of the loss, by differences."""
        at, de, dj = self._loss(e, j), 1e-6 * max(abs(e), 1.0), 1e-6 * max(abs(j), 1.0)
        return -(self._loss(e, j + dj) - at) / dj, (self._loss(e + de, j) - at) / de

    def sweep(
        self, items: IntArray, limit: int, n_sweeps: int = 1, is_up: Callable[[], bool] = never
    ) -> None:
        """Reassign each item to its best cluster, again and again until quiet or up."""
        p, done, last = self.problem, 0, n_sweeps * items.size
        while done < last and self.quiet[0] < self.quiet[1] and not is_up():
            end = min(last, done + self.visits)
            done = _compiled().sweep(
                items, done, end, *self._tables(), p.t, p.num, p.den, limit, self.totals,
                self._gains, self._logs, self.quiet,
            )  # fmt: skip
            if done < end:
                self.grow(self.sizes.size)

    def move(self, items: IntArray, targets: IntArray) -> None:
        """Move items to clusters, -1 for none."""
        if targets.size and int(targets.max()) >= self.sizes.size:
            self.grow(int(targets.max()))
        p = self.problem
        if self.is_complete:
            self._linearise()
        _compiled().move(
            items, targets, p.matrix, p.weight, self.labels, self.sums, self.own, self.sizes
        )
        if self.is_complete:
            self.refresh()

    def save(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What :meth:`restore` needs to come back here."""
        return self.labels.copy(), self.totals.copy()

    def restore(self, saved: tuple[NDArray[np.int64], NDArray[np.float64]]) -> None:
        """Go back to where :meth:`save` was called."""
        changed = np.flatnonzero(self.labels != saved[0])
        self.move(changed, saved[0][changed])

    def merge_values(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The loss after merging each pair of clusters: (pairs, 2) columns and their values."""
        p, k = self.problem, self.n_clusters
        pairs, values = np.empty((k * (k - 1) // 2, 2), dtype=np.int64), np.empty(k * (k - 1) // 2)
        _compiled().merged(
            p.weight, self.labels, self.sums, self.own, self.sizes, p.cell, p.shape, p.grid, p.t,
            p.num, p.den, self.totals, pairs, values,
        )  # fmt: skip
        return pairs, values

    def merge(self, pairs: NDArray[np.int64]) -> bool:
        """Merge the pairs of clusters that pay, each cluster once; return whether any did."""
        p = self.problem
        found = _compiled().merge(
            pairs, p.weight, self.labels, self.sums, self.own, self.sizes, p.cell, p.shape,
            p.grid, p.t, p.num, p.den, self.totals,
        )  # fmt: skip
        return bool(found)
