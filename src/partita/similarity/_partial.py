"""A similarity from draws that leave items out: together over both there, a block at a time.

With o the items that are there, π̂_ij = Σ_m w_m o_mi o_mj 1{c_mi = c_mj} / Σ_m w_m o_mi o_mj. Both
sums come from shares of draws in which two items agree: in their labels, where all that is absent
has one label, and in being there. Items that are both absent agree in both, and cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError
from partita.parallel import blocks, map_blocks
from partita.similarity._backing import Backing
from partita.similarity._counting import block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import FloatArray, IntArray

_ROWS, _COLUMNS = 128, 2_048  # of a tile, which stays in the caches
_NONE = 1e-9  # a share of the weight that is rounding


@dataclass(frozen=True, eq=False)
class Partial(Backing):
    """π̂ of draws that leave items out.

    Parameters
    ----------
    draws : Draws
        With a mask.
    unobserved : float, optional
        What a pair counts as that no draw has both items of; an error if None.
    """

    draws: Draws
    unobserved: float | None = None

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self.draws.n_items

    @cached_property
    def _there(self) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
        """Which labels are there, as labels, and in what share of the draws each item is."""
        observed = np.asarray(self.draws.observed)
        return observed.view(np.uint8), self.draws.probabilities @ observed

    @property
    def _weights(self) -> NDArray[np.float64] | None:
        return None if self.draws.weights is None else self.draws.probabilities

    def together(self, rows: IntArray, cols: IntArray) -> NDArray[np.float64]:
        """How many draws have both items, or what share of their weight."""
        seen = self._seen(block(self._there[0], self._weights, rows, cols), rows, cols)
        return seen if self._weights is not None else np.round(seen * self.draws.n_draws)

    def _seen(self, alike: FloatArray, rows: IntArray, cols: IntArray) -> NDArray[np.float64]:
        """The share of draws that have both items, from that of those with both or neither."""
        there = self._there[1]
        seen = alike + (there[rows, None] - 1.0)
        seen += there[cols]
        seen *= 0.5
        return np.asarray(seen)

    def _tile(self, rows: IntArray, cols: IntArray, out: FloatArray) -> None:
        """Write π̂[rows][:, cols]."""
        weights = self._weights
        alike = block(self._there[0], weights, rows, cols)
        seen = self._seen(alike, rows, cols)
        agree = block(np.asarray(self.draws.labels), weights, rows, cols)
        agree -= alike
        agree += seen
        if weights is None:  # back to the counts, whose ratio is exact
            for shares in (agree, seen):
                shares *= self.draws.n_draws
                np.rint(shares, out=shares)
        if float(seen.min(initial=1.0)) < (_NONE if weights is not None else 0.5):
            self._fill(rows, cols, agree, seen)
        np.divide(agree, seen, out=out)
        if weights is not None:
            np.clip(out, 0.0, 1.0, out=out)

    def _fill(self, rows: IntArray, cols: IntArray, together: Any, seen: Any) -> None:
        """Give the pairs that no draw has both items of what they count as."""
        never = seen < (_NONE if self._weights is not None else 0.5)
        is_own = rows[:, None] == cols
        never &= ~is_own
        seen[is_own] = together[is_own] = 1.0
        if never.any():
            if self.unobserved is None:
                r, c = np.argwhere(never)[0]
                raise InvalidValueError(
                    f"`draws` never have items {int(rows[r])} and {int(cols[c])} together, so "
                    "nothing is known of this pair. Say what such pairs count as: "
                    "posterior_similarity(draws, unobserved=0.0), or make more draws."
                )
            together[never], seen[never] = self.unobserved, 1.0

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols]."""
        out = np.empty((len(rows), len(cols)))
        for top in blocks(len(rows), _ROWS):
            for left in blocks(len(cols), _COLUMNS):
                self._tile(rows[top], cols[left], out[top, left])
        return out

    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x, both halves of the matrix from one."""
        everyone = np.arange(self.n_items)

        def work(part: slice) -> tuple[FloatArray, FloatArray]:
            rows = self.block(everyone[part], everyone[part.start :])
            return rows @ x[part.start :], rows[:, len(rows) :].T @ x[part]

        out = np.zeros(x.shape)
        parts = blocks(self.n_items, _ROWS)
        found = map_blocks(work, parts, n_jobs=n_jobs, label="similarity")
        for part, (own, below) in zip(parts, found, strict=True):
            out[part] += own
            out[part.stop :] += below
        return out

    def own_sums(self, labels: IntArray, n_clusters: int, n_jobs: int) -> NDArray[np.float64]:
        """Σ_j x_ij π̂_ij for every item i."""
        out = np.empty(self.n_items)
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=n_clusters))
        for own in np.split(order, ends[:-1]):
            parts = blocks(own.size, _ROWS)

            def sums(part: slice, own: IntArray = own) -> NDArray[np.float64]:
                return np.asarray(self.block(own[part], own).sum(axis=1), dtype=np.float64)

            found = map_blocks(sums, parts, n_jobs=n_jobs)
            out[own] = np.concatenate([*found, np.empty(0)])
        return out
