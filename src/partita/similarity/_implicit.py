"""A similarity that is the draws: π̂ = Σ_m w_m Z_m Z_mᵀ, never formed unless asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.draws import cluster_sums, own_sums, pick_items, spread, streams
from partita.parallel import blocks, map_blocks
from partita.similarity._counting import block, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import FloatArray, IntArray

_WORK = 10_000_000  # label look-ups in some ten milliseconds
_PAIR = 24  # pairs of items whose labels are compared in the time of one cell of a table
_READ = 1 << 28  # labels that are read from a store at a time


@dataclass(frozen=True, eq=False)
class Implicit:
    """π̂ as the draws that it averages."""

    draws: Draws

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.draws.n_items

    @cached_property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.draws.n_clusters)])

    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x in O(nMr): sum x within the clusters of every draw, then give each item its sums."""
        if streams(self.draws):
            groups = cluster_sums(self.draws, x, x.shape[1], n_jobs=n_jobs)
            return spread(self.draws, groups, n_jobs=n_jobs)
        labels, offsets = np.ascontiguousarray(self.draws.labels), self._offsets
        weights = self.draws.probabilities
        values = np.ascontiguousarray(x, dtype=np.float64)
        sums = np.zeros((int(offsets[-1]), x.shape[1]))
        out = np.zeros(values.shape)

        def gather(part: slice) -> None:
            _core.gather(labels[part], offsets[part], values, sums)

        def give(part: slice) -> None:
            _core.spread(labels, offsets, weights, sums, part.start, part.stop, out)

        for total, cost, work in (
            (labels.shape[0], labels.shape[1], gather),
            (labels.shape[1], labels.shape[0], give),
        ):
            parts = blocks(total, _WORK // (cost * max(1, x.shape[1])))
            for _ in map_blocks(work, parts, n_jobs=n_jobs):
                pass
        return out

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols], counted from the draws."""
        labels: Any = self.draws.labels
        if not isinstance(labels, np.ndarray):
            both, where = np.unique(np.concatenate([rows, cols]), return_inverse=True)
            labels = pick_items(labels, both)
            rows, cols = where[: rows.size], where[rows.size :]
        return block(labels, self._weights, rows, cols)

    @property
    def _weights(self) -> NDArray[np.float64] | None:
        return None if self.draws.weights is None else self.draws.probabilities

    def dense(self, dtype: Any, n_jobs: int) -> FloatArray:
        """The whole matrix: exact counts over the number of draws, or weighted sums."""
        labels: Any = self.draws.labels
        n, m = self.n_items, self.draws.n_draws
        if isinstance(labels, np.ndarray) or n * m <= _READ:
            return counted(np.asarray(labels), self._weights, dtype, n_jobs)
        out = np.zeros((n, n))  # of draws in a store, some at a time
        for part in blocks(m, max(1, _READ // n)):
            weights = None if self._weights is None else self._weights[part]
            size = part.stop - part.start if weights is None else float(weights.sum())
            if not size:
                continue
            found = counted(labels[part], weights, np.float64, n_jobs)
            for rows in blocks(n, 256):  # no third matrix
                share = found[rows] * size
                out[rows] += np.rint(share) if weights is None else share
        out /= m if self._weights is None else self._weights.sum()
        np.fill_diagonal(out, 1.0)
        return out.astype(dtype, copy=False)

    def own_sums(self, labels: IntArray, n_clusters: int, n_jobs: int) -> NDArray[np.float64]:
        """Σ_j x_ij π̂_ij for every item i, from one contingency table a draw: O(nM)."""
        return own_sums(self.draws, labels, n_jobs=n_jobs)

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Σ_j π̂_ij for every item i: the mean size of its cluster."""
        return self.own_sums(np.zeros(self.n_items, dtype=np.int64), 1, 1)

    def frobenius2(self) -> float:
        """Σ_ij π̂_ij² = Σ_mm' w_m w_m' Σ_rs n_rs², or row by row where that is cheaper."""
        distinct = self.draws.unique()
        is_quick = self._weights is None and isinstance(self.draws.labels, np.ndarray)
        if self.n_items * self.draws.n_draws < (_PAIR if is_quick else 1) * distinct.n_draws**2:
            return self._by_rows()
        square = np.arange(self.n_items + 1, dtype=np.float64) ** 2
        labels = np.ascontiguousarray(distinct.labels)
        sizes, w = distinct.n_clusters, distinct.probabilities
        total = 0.0
        for part in blocks(distinct.n_draws, _WORK // (self.n_items * distinct.n_draws)):
            some = labels[part].astype(np.uint32)
            joint = _core.joint_sums(labels, sizes, some, sizes[part], square)
            total += float(w[part] @ joint @ w)
        return total

    def _by_rows(self) -> float:
        """Σ_ij π̂_ij², both halves of the matrix from one."""
        items, total = np.arange(self.n_items), 0.0
        for rows in blocks(self.n_items, 256):
            part = self.block(items[rows], items[rows.start :])
            own = part[:, : part.shape[0]]
            total += 2.0 * float(np.vdot(part, part)) - float((own * own).sum())
        return total
