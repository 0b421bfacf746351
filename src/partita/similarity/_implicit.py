"""A similarity that is the draws: π̂ = Σ_m w_m Z_m Z_mᵀ, never formed unless asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core
from partita.draws import cluster_sums, own_sums, pick_items, spread
from partita.parallel import blocks
from partita.similarity._backing import Backing
from partita.similarity._counting import block, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import FloatArray, IntArray

_COUNTED, _WEIGHED = 50, 2  # items a draw up to which pairs of items cost less than pairs of draws
_TABLES = 10_000_000  # label look-ups for tables of draws by draws made together
_READ = 1 << 28  # labels that are read from a store at a time


@dataclass(frozen=True, eq=False)
class Implicit(Backing):
    """π̂ as the draws that it averages."""

    draws: Draws

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.draws.n_items

    @property
    def _weights(self) -> NDArray[np.float64] | None:
        return None if self.draws.weights is None else self.draws.probabilities

    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x in O(nMr): sum x within the clusters of every draw, then give each item its sums."""
        sums = cluster_sums(self.draws, x, x.shape[1], n_jobs=n_jobs)
        return spread(self.draws, sums, n_jobs=n_jobs)

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols], counted from the draws."""
        labels: Any = self.draws.labels
        if not isinstance(labels, np.ndarray):
            both, where = np.unique(np.concatenate([rows, cols]), return_inverse=True)
            labels = pick_items(labels, both)
            rows, cols = where[: rows.size], where[rows.size :]
        return block(labels, self._weights, rows, cols)

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

    def frobenius2(self) -> float:
        """Σ_ij π̂_ij² = Σ_mm' w_m w_m' Σ_rs n_rs², with n_rs the table of draws m and m'."""
        most = self.draws.n_draws * (_COUNTED if self._weights is None else _WEIGHED)
        if self.n_items <= most and isinstance(self.draws.labels, np.ndarray):
            return super().frobenius2()
        distinct = self.draws.unique()
        square = np.arange(self.n_items + 1, dtype=np.float64) ** 2
        labels = np.ascontiguousarray(distinct.labels)
        sizes, w = distinct.n_clusters, distinct.probabilities
        total = 0.0
        for part in blocks(distinct.n_draws, _TABLES // (self.n_items * distinct.n_draws)):
            some = labels[part].astype(np.uint32)
            joint = _core.joint_sums(labels, sizes, some, sizes[part], square)
            total += float(w[part] @ joint @ w)
        return total
