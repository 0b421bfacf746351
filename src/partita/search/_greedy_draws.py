"""A partition under a loss on draws, with what is needed to change it an item at a time."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels, validate
from partita.losses import RatioLoss
from partita.partitions import distinct_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.losses import Combination
    from partita.typing import IntArray

LANES = 8
_CALL = 20_000_000  # table entries read in one compiled call, some ten milliseconds


def _compiled() -> Any:
    """The compiled moves; they know arrays, not types."""
    return kernels.greedy_draws


def _zeros(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Zeros whose rows start on cache lines."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return np.asarray(raw[start : start + size].view(dtype).reshape(shape))


def _gumbel(rng: np.random.Generator, shape: tuple[int, int], heat: float) -> NDArray[np.float32]:
    """Gumbel variables times ``heat``: the largest of scores plus them is a Gibbs draw."""
    noise = rng.standard_exponential(shape, dtype=np.float32)
    np.log(np.maximum(noise, np.float32(1e-30), out=noise), out=noise)
    return np.multiply(noise, np.float32(-heat), out=noise)


def coefficients(combination: Combination) -> NDArray[np.float64]:
    """(t, e, j, w, least, product, n) as an array."""
    return np.array(astuple(combination), dtype=np.float64)


class DrawsProblem:
    """What all runs on the same draws share: rows, weights, tables, the linear form of the loss.

    Parameters
    ----------
    draws : Draws
        Distinct and weighted.
    loss : RatioLoss
    merge : bool
        Treat items that share a column of every draw as one weighted item.
    """

    def __init__(self, draws: Draws, loss: RatioLoss, *, merge: bool = True) -> None:
        self.draws, self.loss, self.n_items = draws, loss, draws.n_items
        columns = np.ascontiguousarray(draws.labels.T)
        self.members, self.weight = _duplicates(columns) if merge else _singles(self.n_items)
        self.n, self.m = self.weight.size, draws.n_draws
        firsts = np.unique(self.members, return_index=True)[1]
        self.offsets = np.concatenate([[0], np.cumsum(draws.n_clusters)]).astype(np.int64)
        validate.fits_in_memory(
            f"The search over {self.m:,} draws of {self.n_items:,} items",
            4 * self.n * self.m + 6 * LANES * int(self.offsets[-1]),
            "thin the draws.",
        )
        self.rows = np.empty((self.n, self.m), dtype=np.uint32)
        np.add(columns[firsts], self.offsets[:-1], out=self.rows, casting="unsafe")
        self.cell = loss.table(self.n_items)
        self.step = np.append(np.diff(self.cell), 0.0).astype(np.float32)
        self.p = draws.probabilities
        self.t = kernels.contingency.marginal(draws.labels, self.cell)
        self.num, self.den = coefficients(loss.numerator), coefficients(loss.denominator)
        self.w, self.total = float(self.cell[-1]), float(self.n_items)
        self.is_linear = not self.den[[1, 2, 4, 5]].any()
        self.alpha, self.slope = self._at_draws()
        self.curve, self.bends = self._curve()

    def _at_draws(self) -> tuple[NDArray[np.float64], float]:
        """-∂/∂j and ∂/∂e of the loss where the estimate is the draw itself, e = j = t."""
        t, ratio = self.t, 1 / self.w if self.w else 0.0
        basis = np.stack([t, t, t, 0 * t + self.w, t, t * t * ratio, 0 * t + self.total])
        bottom = self.den @ basis
        if not self.is_linear:  # a draw that is its own extreme has no scale; lend it a usual one
            usual = np.median(bottom[bottom > 0]) if (bottom > 0).any() else 1.0
            bottom = np.maximum(bottom, 0.05 * usual)
        bottom = np.where(bottom > 0, bottom, np.inf)
        top_e = self.num[1] + 0.5 * self.num[4] + self.num[5] * t * ratio
        return -self.p * self.num[2] / bottom, float((self.p * top_e / bottom).sum())

    def _curve(self) -> tuple[NDArray[np.float64], bool]:
        """Prefix sums for Σ_m q_m min(t_m, e), the part of a linear loss that bends in e."""
        if not (self.is_linear and self.num[4]):
            return np.zeros((3, 1)), False
        return self._curve_at(np.zeros(1)), True

    def _curve_at(self, shifts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The curve if every draw bent in equal parts at t plus each of the shifts."""
        bottom = self.den[0] * self.t + self.den[3] * self.w + self.den[6] * self.total
        order = np.argsort(self.t, kind="stable")
        q = np.tile((self.p * self.num[4] / bottom)[order] / shifts.size, shifts.size)
        t = (self.t[order] + shifts[:, None]).ravel()
        order = np.argsort(t, kind="stable")  # sorted stretches, which it merges
        curve = np.zeros((3, t.size + 1))
        curve[0, :-1] = t[order]
        curve[1, 1:], curve[2, 1:] = np.cumsum((q * t)[order]), np.cumsum(q[order])
        return curve

    def rounded(self, width: float) -> NDArray[np.float64]:
        """The curve with every bend spread over ``width`` on either side."""
        return self._curve_at(width * np.linspace(-0.875, 0.875, 8)) if self.bends else self.curve

    @property
    def bent_slope(self) -> float:
        """∂/∂e of a linear loss less the part that bends."""
        if not self.bends:
            return self.slope
        return self.slope - 0.5 * float(self.curve[2, -1])

    def state(self) -> DrawsState:
        """Return a fresh state, every item in no cluster."""
        return DrawsState(self)

    def compress(self, labels: IntArray) -> NDArray[np.int64]:
        """One label for each weighted item: that of its first member."""
        firsts = np.unique(self.members, return_index=True)[1]
        return np.asarray(labels, dtype=np.int64)[firsts]

    def expand(self, labels: IntArray) -> NDArray[np.int64]:
        """One label for each item."""
        return np.asarray(labels[self.members], dtype=np.int64)


def _singles(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.arange(n), np.ones(n, dtype=np.int64)


def _duplicates(columns: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which weighted item each item belongs to, and how many items each stands for."""
    first, members = distinct_rows(columns)
    if first.size > 0.95 * members.size:
        return _singles(members.size)
    return members, np.bincount(members)


class DrawsState:
    """One run's partition under a loss on draws."""

    def __init__(self, problem: DrawsProblem) -> None:
        self.problem = p = problem
        self.labels = np.full(p.n, -1, dtype=np.int64)
        self.j, self.alpha = np.zeros(p.m), p.alpha.copy()
        self.alpha32 = self.alpha.astype(np.float32)
        self.slope = p.slope
        self.totals, self.quiet = np.zeros(2), np.zeros(1, dtype=np.int64)
        self._own, self._trial = np.zeros(p.m), np.zeros(p.m)
        self._value = np.inf
        self.counts: NDArray[Any] = np.zeros((0, 0))
        self.sizes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._grow(0)

    def _grow(self, n_columns: int) -> None:
        """Make room for ``n_columns`` clusters and one more."""
        p = self.problem
        width = LANES * ((n_columns + n_columns // 4) // LANES + 1)
        rows = int(p.offsets[-1])
        dtype = np.uint16 if p.n_items < 1 << 16 else np.uint32
        counts, sizes = _zeros((rows, width), dtype), np.zeros(width, dtype=np.int64)
        if n_columns:
            counts[:, : self.sizes.size], sizes[: self.sizes.size] = self.counts, self.sizes
        self.counts, self.sizes = counts, sizes
        self.table = _zeros((rows, width), np.float32)
        _compiled().tabulate(self.counts, p.step, self.table)
        self._block, self._gains = np.zeros(width, dtype=np.float32), np.zeros(width)

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(np.count_nonzero(self.sizes))

    def load(self, labels: IntArray) -> None:
        """Start from labels 0 .. K - 1; -1 is in no cluster."""
        p = self.problem
        self.labels[:] = labels
        n_clusters = int(labels.max()) + 1
        if n_clusters >= self.sizes.size or 2 * n_clusters + 2 * LANES < self.sizes.size:
            self.sizes = np.zeros(0, dtype=np.int64)
            self.counts = _zeros((int(p.offsets[-1]), 0), np.uint16)
            self._grow(n_clusters)
        inside = self.labels >= 0
        self.sizes[:] = 0
        np.add.at(self.sizes, self.labels[inside], p.weight[inside])
        _compiled().load(p.rows, p.weight, self.labels, self.counts)
        _compiled().tabulate(self.counts, p.step, self.table)
        self.refresh()

    def refresh(self) -> None:
        """Recompute every total from the counts, and the linear form at this partition."""
        p = self.problem
        _compiled().joint(self.counts, p.offsets, p.cell, self.j)
        self.totals[0] = p.cell[self.sizes].sum()
        self.linearise()

    def linearise(self) -> None:
        """Recompute the value, and the linear form of the loss, from the totals."""
        p = self.problem
        e = float(self.totals[0])
        if not p.is_linear:
            self.slope = _compiled().linearise(
                p.t, p.p, self.j, e, p.num, p.den, p.w, p.total, self.alpha32, self.alpha
            )
        self.totals[1] = self.alpha @ self.j
        self._value = _compiled().expected(p.t, p.p, self.j, e, p.num, p.den, p.w, p.total)

    @property
    def is_complete(self) -> bool:
        """Whether every item is in a cluster."""
        return bool(self.labels.min() >= 0)

    @property
    def value(self) -> float:
        """The expected loss, from the running totals."""
        return float(self._value)

    @property
    def sweep_cost(self) -> int:
        """Table entries that a sweep over all items reads."""
        return self.problem.n * self.problem.m * self.sizes.size

    def _items(self, items: IntArray) -> list[IntArray]:
        """The items in runs that a compiled call finishes quickly."""
        cost = self.problem.m * self.sizes.size
        size = max(1, _CALL // cost)
        return [items[i : i + size] for i in range(0, items.size, size)]

    def _tables(self) -> tuple[Any, ...]:
        p = self.problem
        return (
            p.rows, p.weight, p.cell, p.step, self.counts, self.table, self.labels, self.sizes,
            self.j,
        )  # fmt: skip

    def allocate(self, items: IntArray, limit: int) -> None:
        """Put items that are in no cluster into the best, one after another.

        The loss is taken as linear: about this partition, or about the draws if most items are
        in no cluster yet.
        """
        p = self.problem
        if 2 * items.size > p.n:
            self.alpha[:], self.slope = p.alpha, p.slope
            self.alpha32[:] = self.alpha
        slope = self.slope
        for part in self._items(items):
            done = 0
            while done < part.size:
                done = _compiled().allocate(
                    part, done, *self._tables(), self.alpha32, self.alpha, slope, limit,
                    self.totals, self._block, self._gains,
                )  # fmt: skip
                if done < part.size:
                    self._grow(self.sizes.size)
        self.linearise()

    def sweep(self, items: IntArray, limit: int) -> int:
        """Reassign each item to its best cluster; return how many moved."""
        moves = 0
        for part in self._items(items):
            done = 0
            while done < part.size:
                done, moved = self._sweep(part, done, limit)
                moves += moved
                if done < part.size:
                    self._grow(self.sizes.size)
        return moves

    def _sweep(self, items: IntArray, begin: int, limit: int) -> tuple[int, int]:
        p = self.problem
        if p.is_linear:
            done, moved = _compiled().sweep_linear(
                items, begin, *self._tables(), self.alpha32, self.alpha, p.bent_slope, p.curve,
                p.bends, limit, self.totals, self._block, self._gains, self._own, self.quiet,
            )  # fmt: skip
            self._value = self._loss(self.j, float(self.totals[0]))
            return int(done), int(moved)
        doubt = 2.0 if p.n_items <= 32 else 8 / p.n_items
        done, moved, self.slope, self._value = _compiled().sweep_ratio(
            items, begin, *self._tables(), self.alpha32, self.alpha, self.slope, p.t, p.p, p.num,
            p.den, p.w, p.total, self.value, doubt, limit, self.totals, self._block, self._gains,
            self._own, self._trial, self.quiet,
        )  # fmt: skip
        return int(done), int(moved)

    @property
    def stride(self) -> float:
        """What e loses where an item leaves its cluster, on average over the items."""
        cell, sizes = self.problem.cell, self.sizes[self.sizes > 0]
        return float(sizes @ (cell[sizes] - cell[sizes - 1])) / self.problem.n_items

    def anneal(
        self, items: IntArray, limit: int, heat: float, width: float, rng: np.random.Generator
    ) -> None:
        """Reassign each item at random, likelier the lower the loss: a Gibbs sweep at ``heat``.

        The bends of min(t, e) are rounded off within ``width``.
        """
        p, compiled = self.problem, cast(Any, kernels.greedy_anneal)
        slope, rise, curve = p.bent_slope, 0.0, p.rounded(width)
        if not p.is_linear:
            slope, rise = compiled.soften(
                p.t, p.p, self.j, float(self.totals[0]), width, p.num, p.den, p.w, p.total,
                self.alpha32, self.alpha,
            )  # fmt: skip
        for part in self._items(items):
            done = 0
            while done < part.size:
                noise = _gumbel(rng, (part.size - done, self.sizes.size), heat)
                done, slope, rise = compiled.anneal(
                    part, done, noise, *self._tables(), self.alpha32, self.alpha, slope, rise,
                    curve, p.bends, p.t, p.p, p.num, p.den, p.w, p.total, not p.is_linear, width,
                    limit, self.totals, self._block, self._gains, self._own,
                )  # fmt: skip
                if done < part.size:
                    self._grow(self.sizes.size)
        self.linearise()

    @property
    def is_rough(self) -> bool:
        """Whether the loss bends in e: moves that change e stick at the bend of every draw."""
        return self.problem.bends or bool(self.problem.den[4])

    def _loss(self, j: NDArray[np.float64], e: float) -> float:
        """The loss at totals j and e."""
        p = self.problem
        return float(_compiled().expected(p.t, p.p, j, e, p.num, p.den, p.w, p.total))

    def move(self, items: IntArray, targets: IntArray) -> None:
        """Move items to clusters, -1 for none; totals follow, the value only when all are in."""
        if targets.size and int(targets.max()) >= self.sizes.size:
            self._grow(int(targets.max()))
        part = max(1, _CALL // (8 * self.problem.m))
        for a in range(0, items.size, part):
            _compiled().move(
                items[a : a + part], targets[a : a + part], *self._tables(), self.alpha, self.totals
            )
        if self.is_complete:
            self.linearise()

    def save(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What :meth:`restore` needs to come back here."""
        return self.labels.copy(), self.j.copy()

    def restore(self, saved: tuple[NDArray[np.int64], NDArray[np.float64]]) -> None:
        """Go back to where :meth:`save` was called."""
        changed = np.flatnonzero(self.labels != saved[0])
        self.move(changed, saved[0][changed])
        self.j[:] = saved[1]
        self.linearise()

    def merge_values(
        self, n_exact: int = 8, least_size: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The loss after merging pairs of clusters: (pairs, 2) columns and their values.

        All pairs of clusters of ``least_size`` are ranked by the loss linearised here; the best
        ``n_exact`` are returned.
        """
        p = self.problem
        width = self.sizes.size
        gains = np.zeros((width, width))
        size = max(1, _CALL // (8 * width * max(1, int(p.offsets[-1]) // p.m)))
        for m in range(0, p.m, size):
            end = min(m + size, p.m)
            _compiled().merge_gains(self.counts, p.offsets, m, end, self.alpha, p.cell, gains)
        active = np.flatnonzero(self.sizes >= least_size)
        a, b = np.tril_indices(active.size, -1)
        pairs = np.stack([active[a], active[b]], axis=1)
        s, u = self.sizes[pairs[:, 0]], self.sizes[pairs[:, 1]]
        risen = p.cell[s + u] - p.cell[s] - p.cell[u]
        scores = self.slope * risen - gains[pairs[:, 0], pairs[:, 1]]
        best = np.argsort(scores, kind="stable")[:n_exact]
        values = [self._if_merged(int(a), int(b)) for a, b in pairs[best]]
        return pairs[best], np.array(values)

    def _if_merged(self, a: int, b: int) -> float:
        p = self.problem
        _compiled().merged(self.counts, p.offsets, a, b, p.cell, self._own)
        s, u = self.sizes[a], self.sizes[b]
        e = self.totals[0] + p.cell[s + u] - p.cell[s] - p.cell[u]
        return self._loss(self.j + self._own, float(e))
