"""A loss on draws, as the compiled moves want it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels, validate
from partita.draws import offsets_of
from partita.losses import RatioLoss
from partita.search._greedy_counts import CALL
from partita.search._greedy_items import Items
from partita.search._greedy_state import DrawsState
from partita.search._greedy_tables import Tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws


_ALIKE = 10_000  # items, beyond which no matrix of their similarities is held
_ALIKE_DRAWS = 32  # and items for each draw
_ALIKE_TOTAL = 1 << 16  # and items that weighted ones stand for: sums are of 32 bits
_REPEATED = 6  # times as many draws, up to which those of some weight are repeated instead
_KINDS = 4_000_000  # entries of the tables of what items of each weight add


class DrawsProblem:
    """What all runs on the same draws share: rows, weights, tables, the linear form of the loss.

    Parameters
    ----------
    draws : Draws
        Distinct and weighted.
    loss : RatioLoss
    merge : bool
        Treat items that share a column of every draw as one weighted item.
    n_columns : int, optional
        Clusters of what is only to be swept over a few times: of few, no similarities are made.
    """

    def __init__(
        self, draws: Draws, loss: RatioLoss, *, merge: bool = True, n_columns: int | None = None
    ) -> None:
        self._columns = n_columns
        self.draws, self.loss, self.n_items = draws, loss, draws.n_items
        columns = np.ascontiguousarray(draws.labels.T)
        self.items = Items(self.n_items, columns if merge else None, _KINDS // self.n_items)
        self.weight = self.items.weight
        self.n, self.m = self.weight.size, draws.n_draws
        self.offsets = offsets_of(draws)
        validate.fits_in_memory(
            f"The search over {self.m:,} draws of {self.n_items:,} items",
            4 * self.n * self.m + 32 * int(self.offsets[-1]) + 6 * self._n_alike**2,
            "thin the draws.",
        )
        self.usual = int(1.5 * (int(self.offsets[-1]) / self.m))
        columns = columns[self.items.firsts] if self.items.are_merged else columns
        self.rows = np.add(columns, self.offsets[:-1].astype(np.uint32), dtype=np.uint32)
        cell = loss.table(self.n_items)
        self.cell = np.append(cell, 2 * cell[-1] - cell[-2] if cell.size > 1 else cell[-1])
        self.p = draws.probabilities
        self.edges = np.cumsum(self.p)
        self.t = kernels.contingency.marginal(draws.labels, self.cell)
        self.num, self.den = loss.numerator.coefficients, loss.denominator.coefficients
        self.w, self.total = float(cell[-1]), float(self.n_items)
        self.is_linear = not self.den[[1, 2, 4, 5]].any()
        self.alpha, self.slope = self._at_draws()
        self.reach = np.zeros(3)
        cast(Any, kernels.greedy_draws).measure(self.alpha, self.p, self.reach)
        self.curve, self.bends = self._curve()
        self._knots, self._above = self.curve[0, :-1].copy(), self.curve[2, -1] - self.curve[2]
        self.bent_slope = self.slope - 0.5 * float(self.curve[2, -1])
        kinds, kind = np.unique(self.weight, return_inverse=True)
        self.steps = self._steps(kinds)
        self.shape = self.t, self.p, self.num, self.den, self.w, self.total
        self.line = self.is_linear, self.curve, self.bends, self.doubt
        self.lines = self._lines()
        self.is_bounded = self._is_bounded()
        self.like = self._likeness()
        self.given = (
            self.rows, self.weight, kind.astype(np.int64), self.cell, self.steps, self.like,
        )  # fmt: skip
        self._spare: list[Tables] = []

    @property
    def _n_alike(self) -> int:
        """Items whose similarities are held, all or none."""
        is_small = self.n <= min(_ALIKE, _ALIKE_DRAWS * self.m) and self.n_items < _ALIKE_TOTAL
        if is_small and self._columns is not None:
            is_small = self.n * (self.m / 100 + 5) < 2 * self.m * self._columns
        return self.n if is_small else 0

    def _steps(self, weights: NDArray[np.int64]) -> NDArray[np.float64]:
        """What an item of each weight adds to cell of every count that it can come to."""
        counts = np.arange(self.cell.size)
        above = np.minimum(counts + weights[:, None], self.cell.size - 1)
        return np.asarray(self.cell[above] - self.cell[counts])

    def _lines(self) -> NDArray[np.float32]:
        """The steps, and how much more the next of each is, as far as they go."""
        steps = np.maximum.accumulate(self.steps, axis=1)  # there are none beyond all items
        lines = np.zeros((2, *steps.shape), dtype=np.float32)
        lines[0] = steps
        lines[1, :, :-1] = np.diff(steps)
        return lines

    def _is_bounded(self) -> bool:
        """Whether similarities bound what items add.

        They do if cell is convex, and what one more item adds concave.
        """
        step = np.diff(self.cell[:-1])
        noise = 1e-9 * (1 + np.abs(self.cell).max())
        is_convex = np.all(step >= -noise) and np.all(np.diff(step) >= -noise)
        return bool(is_convex and np.all(np.diff(step, 2) <= noise))

    def _likeness(self) -> NDArray[np.uint16]:
        """How often items are together, rounded up; nothing if items are too many."""
        n = self._n_alike if self.is_bounded else 0
        like = np.empty((n, n), dtype=np.uint16)
        if n == 0:
            return like
        labels, weights = self.draws.labels[:, self.items.firsts], None
        times = np.round(self.p / self.p.min()) if self.p.min() > 0 else np.zeros(1)
        if np.allclose(times * self.p.min(), self.p, 1e-9) and times.sum() <= _REPEATED * self.m:
            labels = np.repeat(labels, times.astype(np.int64), axis=0)
        else:
            weights = self.p
        plan = kernels.similarity.plan(labels, weights, np.float32)
        for strip in plan.strips:
            plan.fill(strip)
        cast(Any, kernels.greedy_near).round_up(plan.out, like)
        return like

    def _at_draws(self) -> tuple[NDArray[np.float64], float]:
        """-∂/∂j and ∂/∂e of the loss where the estimate is the draw itself, e = j = t."""
        t, ratio = self.t, 1 / self.w if self.w else 0.0
        by_t, by_e, by_j, by_w, by_least, by_product, by_n = self.den.tolist()
        bottom = (by_t + by_e + by_j + by_least) * t + by_product * (t * t * ratio)
        bottom += by_w * self.w + by_n * self.total
        if not self.is_linear:  # a draw that is its own extreme has no scale; lend it a usual one
            usual = np.median(bottom[bottom > 0]) if (bottom > 0).any() else 1.0
            bottom = np.maximum(bottom, 0.05 * usual)
        bottom = np.where(bottom > 0, bottom, np.inf)
        top_e = self.num[1] + 0.5 * self.num[4] + self.num[5] * t * ratio
        return -self.p * self.num[2] / bottom, float((self.p * top_e / bottom).sum())

    def _curve(self) -> tuple[NDArray[np.float64], bool]:
        """Prefix sums for Σ_m q_m min(t_m, e), the part of a linear loss that bends in e.

        The rows are those that :func:`partita.kernels.greedy_bend.bend` reads.
        """
        if not (self.is_linear and self.num[4]):
            return np.zeros((5, 1)), False
        bottom = self.den[0] * self.t + self.den[3] * self.w + self.den[6] * self.total
        order = np.argsort(self.t, kind="stable")
        q, t = (self.p * self.num[4] / bottom)[order], self.t[order]
        curve = np.zeros((5, t.size + 1))
        curve[0, :-1] = t
        curve[1, 1:], curve[2, 1:] = np.cumsum(q * t), np.cumsum(q)
        edges, noise = np.linspace(t[0], t[-1], t.size + 1), 1e-9 * (1 + abs(t[-1]))
        curve[0, -1] = t.size / (t[-1] - t[0]) if t[-1] > t[0] else 0.0
        curve[3, :-1] = np.searchsorted(t, edges[:-1] - noise)
        curve[4, :-1] = np.searchsorted(t, edges[1:] + noise, "right")
        curve[3, 0], curve[4, -2] = 0, t.size
        return curve, True

    @property
    def is_rough(self) -> bool:
        """Whether the loss bends in e: moves that change e stick at the bend of every draw."""
        return self.bends or bool(self.den[4])

    def slope_at(self, e: float) -> float:
        """∂/∂e of a linear loss that bends; ``bent_slope`` is that of the part that does not."""
        return self.bent_slope + float(self._above[self._knots.searchsorted(e, "right")])

    def quick(
        self,
        partitions: NDArray[np.int64],
        seeds: NDArray[np.uint64],
        limit: int,
        n_sweeps: int,
        *bent: Any,
    ) -> NDArray[np.float64]:
        """Sweep and merge from each row, all -1 for nothing yet; rows become where that ends.

        ``bent`` is how bends are rounded off, of a loss that bends. Returns the losses there,
        recomputed and by the running totals, and a number that is not positive for a run that took
        too long for a call and has more to do; of shape (3, runs).
        """
        tables = self._spare.pop() if self._spare else Tables(self, self.n + 1)
        values = np.empty((3, partitions.shape[0]))
        runs: Any = kernels.greedy_draws_bent if self.is_rough else kernels.greedy_draws_runs
        scratch = (
            (np.empty(self.m), np.empty(self.m)), np.zeros(3, dtype=np.int64),
            np.empty(self.n, dtype=np.int64),
        )  # fmt: skip
        runs.quick(
            partitions, seeds, n_sweeps, CALL, *(bent if self.is_rough else ()), limit,
            self.offsets, self.given, tables.held, tables.near,
            (self.alpha.copy(), self.reach.copy()), self.shape, self.line,
            (self.alpha, self.reach, self.slope, self.bent_slope), scratch, values,
        )  # fmt: skip
        self._spare.append(tables)
        return values

    @property
    def alone(self) -> float:
        """The loss where every item is alone."""
        e = float(self.cell[self.weight].sum())
        return float(
            cast(Any, kernels.greedy_draws).expected(
                self.t, self.p, np.full(self.m, e), e, self.num, self.den, self.w, self.total
            )
        )

    @property
    def count_type(self) -> type:
        """The type of counts of items."""
        return np.uint16 if self.n_items < 1 << 16 else np.uint32

    @property
    def doubt(self) -> float:
        """How near to staying, in shares of what an item contributes, a move is looked at."""
        return 2.0 if self.n_items <= 32 else 1 / self.n_items

    def state(self) -> DrawsState:
        """Return a fresh state, every item in no cluster."""
        return DrawsState(self)
