"""Each draw's clusters against the reported ones: how much they share, and which is which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws._blocks import offsets_of
from partita.draws._counts import contingency
from partita.draws._draws import Draws
from partita.draws._log_weights import component_order, in_order, probabilities
from partita.errors import InvalidValueError
from partita.parallel import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Doubles

METHODS = ("align", "items", "conditional")
_CELLS = 1 << 22  # log weights looked at together


@dataclass(frozen=True, eq=False)
class Reported:
    """The reported clusters: their names, in order, and the cluster of each item, K if left out."""

    names: NDArray[Any]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Any, n_items: int) -> Reported:
        """An Estimate, a Chips or labels, of which -1 stands for items that are left out."""
        given = validate.labels("labels", getattr(partition, "labels", partition), n_items=n_items)
        words = np.asarray(getattr(partition, "labels", partition))
        raw = words.astype(np.str_) if words.dtype.kind in "OUST" else given
        names, labels = np.unique(raw, return_inverse=True)
        if raw.dtype.kind == "i" and names[0] == -1:
            names, labels = names[1:], np.where(labels == 0, names.size - 1, labels - 1)
        if not names.size:
            raise InvalidValueError(
                "`labels` must put at least one item in a cluster; got -1 only."
            )
        return cls(names, labels.astype(np.int64))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of items of each cluster."""
        return np.bincount(self.labels, minlength=self.names.size)[: self.names.size]


@dataclass(frozen=True, eq=False)
class Overlap:
    """What each cluster of each draw, a row, has in common with each reported cluster.

    Parameters
    ----------
    counts : ndarray, shape (R, K)
        The items of a row in each reported cluster; expected numbers for a marginalised mixture.
    sizes : ndarray, shape (R,)
        All items of a row.
    offsets : ndarray of int64, shape (n_draws + 1,)
        The rows of draw m are ``offsets[m]:offsets[m + 1]``.
    reported : Reported
    matched : ndarray of int64, shape (R,), optional
        The reported cluster that each row was aligned with, -1 for none; by the Hungarian
        algorithm if None.
    """

    counts: NDArray[Any]
    sizes: NDArray[Any]
    offsets: NDArray[np.int64]
    reported: Reported
    matched: NDArray[np.int64] | None = None

    @property
    def draw(self) -> NDArray[np.int64]:
        """The draw of each row."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def shares(self, method: str) -> Doubles:
        """How much each row counts for each reported cluster, shape (R, K).

        A parameter of cluster k in a draw is the sum over the draw's rows of share times the row's
        parameter; the shares sum to 1, or are all zero where the draw says nothing of the cluster.
        """
        if method == "items":
            return np.asarray(self.counts / self.reported.sizes)
        out = np.zeros(self.counts.shape)
        if method == "conditional":
            kept = self.counts.sum(axis=1)[:, None]
            stands = (self.counts == self.reported.sizes) & (kept == self.reported.sizes)
            out[stands] = 1.0
        else:
            matched = self._hungarian() if self.matched is None else self.matched
            rows = np.flatnonzero(matched >= 0)
            out[rows, matched[rows]] = 1.0
        return out

    def memberships(
        self, log_weights: Doubles, columns: NDArray[np.int64], weights: Doubles, method: str
    ) -> Doubles:
        """P(a new item is in each reported cluster, or in none), shape (n_new, K + 1).

        What joins a row is in the cluster that the row is aligned with (``"align"``), or where a
        companion picked at random from the row is (``"items"``).

        Parameters
        ----------
        log_weights : ndarray, shape (n_draws, n_new, n_components)
            log(weight of the component) + log density of the new item under it.
        columns : ndarray of int64, shape (R,)
            The component of each row. Components without a row are no reported cluster.
        weights : ndarray, shape (n_draws,)
            Of the draws. Each row of the result sums to their sum.
        method : {"align", "items"}
        """
        m, n_new, width = log_weights.shape
        if method == "align":
            chances = self.shares(method)
        else:
            chances = self.counts / np.maximum(self.sizes, np.finfo(float).tiny)[:, None]
        draw = self.draw
        chances = chances * weights[draw, None]
        out = np.zeros((n_new, self.reported.names.size))
        for part in blocks(m, max(1, _CELLS // (n_new * width))):
            order = component_order(log_weights[part])
            found = probabilities(in_order(log_weights[part], order))
            rows = slice(self.offsets[part.start], self.offsets[part.stop])
            owner = draw[rows] - part.start
            at = np.argsort(order, axis=1)[owner, columns[rows]]
            out += found[owner, :, at].T @ chances[rows]
        none = np.maximum(weights.sum() - out.sum(axis=1), 0.0)
        return np.column_stack([out, none])

    def _hungarian(self) -> NDArray[np.int64]:
        """Match one to one so that most items agree; -1 where nothing is in common (Kuhn 1955)."""
        from scipy.optimize import linear_sum_assignment

        # Where every row of a draw prefers another column, these are the best match.
        out = self.counts.argmax(axis=1)
        wanted = self.draw * self.counts.shape[1] + out
        clashes = np.bincount(wanted)[wanted] > 1
        out[self.counts[np.arange(out.size), out] == 0] = -1
        hard = np.flatnonzero(np.logical_or.reduceat(clashes, self.offsets[:-1]))
        for start, stop in zip(self.offsets[hard], self.offsets[hard + 1], strict=True):
            out[start:stop] = -1
            rows, columns = linear_sum_assignment(self.counts[start:stop], maximize=True)
            common = self.counts[start + rows, columns] > 0
            out[start + rows[common]] = columns[common]
        return np.asarray(out)


def overlap_of_draws(reported: Reported, draws: Draws) -> Overlap:
    """Count the items of every cluster of every draw in every reported one."""
    k = reported.names.size
    (found,) = contingency(draws, [reported.labels])
    counts = found.rows(0, found.shape[0])
    return Overlap(counts[:, :k], counts.sum(axis=1), offsets_of(draws), reported)
