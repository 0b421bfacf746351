"""Soft memberships of a hard partition, without a factorisation: align every draw with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import Draws, contingency, gathered, offsets_of, scattered
from partita.errors import InvalidValueError
from partita.io import Shown, to_dataset
from partita.parallel import blocks, map_blocks, map_items, progress
from partita.uncertainty._given import item_index, labels_of, n_columns, one_hot, positive_draws

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from partita.typing import Doubles, IntArray

_CELLS = 4_000_000  # cells of the tables of one block of draws
_WORK = 10_000_000  # labels looked at in some twenty milliseconds

Table = Callable[[slice], "NDArray[Any]"]


@dataclass(repr=False, frozen=True, eq=False)
class AlignedMemberships(Shown):
    """P(item i in cluster k), by alignment.

    Parameters
    ----------
    labels : ndarray of int64, shape (n,)
        The partition whose clusters these are.
    memberships : ndarray, shape (n, K)
        Column k belongs to label k.
    elsewhere : ndarray, shape (n,)
        What is left: the probability that an item is in a cluster that matches none.
    matched : ndarray of int64, shape (n_draws, most clusters of a draw)
        The cluster that each cluster of each draw, as ``draws`` numbers them, is matched with; K
        where it is none. For the parameters of clusters see :func:`cluster_parameters`.
    draws : Draws
        Those of positive weight.
    """

    labels: NDArray[np.int64]
    memberships: NDArray[np.float64]
    elsewhere: NDArray[np.float64]
    matched: NDArray[np.int64]
    draws: Draws

    @property
    def entropy(self) -> NDArray[np.float64]:
        """The entropy, in bits, of where each item goes, shape (n,)."""
        p = np.column_stack([self.memberships, self.elsewhere])
        return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1) + 0.0)

    def relabelled(self) -> NDArray[np.int64]:
        """Return the draws in the numbering of the partition, -1 for elsewhere."""
        rows = np.arange(self.draws.n_draws)[:, None]
        found = self.matched[rows, self.draws.labels]
        return np.where(found == self.memberships.shape[1], -1, found)

    def to_xarray(self) -> xr.Dataset:
        """Return labels, memberships and elsewhere with the dimensions ``item``, ``cluster``."""
        variables = {
            "labels": (["item"], self.labels),
            "memberships": (["item", "cluster"], self.memberships),
            "elsewhere": (["item"], self.elsewhere),
        }
        return to_dataset(variables, {}, self.draws.item_names)

    def to_frame(self) -> pd.DataFrame:
        """Return one row an item: its cluster, its memberships, and elsewhere."""
        import pandas as pd

        columns: dict[str, Any] = {"cluster": self.labels}
        for k in range(self.memberships.shape[1]):
            columns[f"membership_{k}"] = self.memberships[:, k]
        columns["elsewhere"] = self.elsewhere
        return pd.DataFrame(columns, index=item_index(self.draws))


def align_memberships(
    labels: Any,
    draws: Any,
    *,
    method: str = "hungarian",
    max_iter: int = 100,
    n_jobs: int | None = -1,
) -> AlignedMemberships:
    r"""Return the probability that each item is in each cluster of a partition.

    ``"hungarian"`` matches the clusters of every draw one to one with those of the partition so
    that most items agree; items in a cluster left without a match, or matched with nothing in
    common, are elsewhere. ``"stephens"`` is for draws of at most as many clusters as the
    partition: starting there, draws and the matrix q of memberships are fitted to each other in
    turn, each draw relabelled by the permutation that minimises
    :math:`-\sum_i \log q_{i, \nu(z_i)}`, until nothing changes.

    Parameters
    ----------
    labels : array-like of shape (n,) or Estimate
    draws : Draws or anything that can become one
    method : {"hungarian", "stephens"}
    max_iter : int
        Rounds of ``"stephens"`` at most.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    AlignedMemberships

    References
    ----------
    Kuhn (1955), The Hungarian method for the assignment problem. Stephens (2000), Dealing with
    label switching in mixture models, J. R. Statist. Soc. B 62, algorithm 2.

    Examples
    --------
    >>> aligned = align_memberships([0, 0, 1, 1], [[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 1, 2]])
    >>> aligned.memberships.round(3)
    array([[1.   , 0.   ],
           [0.667, 0.333],
           [0.   , 1.   ],
           [0.   , 0.667]])
    >>> aligned.elsewhere.round(3)
    array([0.   , 0.   , 0.   , 0.333])
    """
    given = positive_draws(draws, "align_memberships")
    center = labels_of(labels, given)
    validate.choice("method", method, ("hungarian", "stephens"))
    validate.integer("max_iter", max_iter, least=1)
    n_jobs = validate.n_jobs(n_jobs)
    k = n_columns(center)
    most = int(given.n_clusters.max())
    if method == "stephens" and most > k:
        raise InvalidValueError(
            f"`method` 'stephens' needs draws of at most as many clusters as the partition, {k}; "
            f"got draws of up to {most}. Use 'hungarian'."
        )
    if method == "stephens":
        mapping = _stephens(center, given, k, max_iter, n_jobs)
    else:
        mapping = _hungarian(center, given, k, n_jobs)
    shares = _dealt(given, mapping, k + 1, n_jobs)
    return AlignedMemberships(center, shares[:, :k], shares[:, k], mapping, given)


def _hungarian(center: NDArray[np.int64], draws: Draws, k: int, n_jobs: int) -> NDArray[np.int64]:
    offsets = offsets_of(draws)
    (counts,) = contingency(draws, [center], n_jobs=n_jobs, label="aligning")
    most = int(draws.n_clusters.max())

    def table(part: slice) -> NDArray[np.int32]:
        out = np.zeros((part.stop - part.start, most, k), dtype=np.int32)
        for one, m in zip(out, range(part.start, part.stop), strict=True):
            one[: draws.n_clusters[m]] = counts.rows(int(offsets[m]), int(offsets[m + 1]))
        return out

    return _matched(table, draws, k, n_jobs, keep_empty=False)


def _stephens(
    center: NDArray[np.int64], draws: Draws, k: int, max_iter: int, n_jobs: int
) -> NDArray[np.int64]:
    """Alternate between q and the permutations; half a draw of smoothing keeps log q finite."""
    smooth = 0.5 / draws.n_draws
    q = (one_hot(center) + smooth) / (1 + k * smooth)
    mapping = np.full((draws.n_draws, k), -1, dtype=np.int64)
    with progress(None, "relabelling") as bar:
        for _ in range(max_iter):
            logs = np.log(q)

            def table(part: slice, logs: NDArray[np.float64] = logs) -> NDArray[np.float64]:
                block = np.ascontiguousarray(draws.labels[part])
                starts = k * np.arange(len(block) + 1)
                return gathered(block, slice(None), logs, starts, k).reshape(-1, k, k)

            found = _matched(table, draws, k, n_jobs, keep_empty=True)
            if np.array_equal(found, mapping):
                break
            mapping = found
            q = (_dealt(draws, mapping, k, n_jobs) + smooth) / (1 + k * smooth)
            bar.advance()
    return mapping


def _matched(
    table: Table, draws: Draws, k: int, n_jobs: int, *, keep_empty: bool
) -> NDArray[np.int64]:
    """Match the clusters of every draw with 0 .. k-1 so that the sum of its table is largest."""
    from scipy.optimize import linear_sum_assignment

    most = int(draws.n_clusters.max())
    mapping = np.full((draws.n_draws, max(most, k if keep_empty else 1)), k, dtype=np.int64)

    def work(part: slice) -> None:
        for r, one in zip(range(part.start, part.stop), table(part), strict=True):
            rows, columns = linear_sum_assignment(one, maximize=True)
            useful = np.ones(rows.size, dtype=bool) if keep_empty else one[rows, columns] > 0
            mapping[r, rows[useful]] = columns[useful]

    size = min(_CELLS // (most * k), _WORK // (draws.n_items * (k if keep_empty else 1)), 500)
    for _ in map_blocks(work, blocks(draws.n_draws, size), n_jobs=n_jobs, label="aligning"):
        pass
    return mapping


def _dealt(
    draws: Draws, mapping: NDArray[np.int64], n_columns: int, n_jobs: int
) -> NDArray[np.float64]:
    """The share of the draws that has item i in a cluster mapped to column k."""
    shared = (draws.probabilities, mapping, n_columns)
    parts = map_items(_deal, draws.labels, shared=shared, n_jobs=n_jobs, label="memberships")
    return np.asarray(np.minimum(np.concatenate(list(parts)), 1.0))


def _deal(
    block: IntArray, items: slice, weights: Doubles, mapping: NDArray[np.int64], n_columns: int
) -> Doubles:
    """The shares of the items of a block."""
    out = np.zeros((block.shape[1], n_columns))
    most = mapping.shape[1]
    for part in blocks(block.shape[0], max(1, _WORK // max(block.shape[1], most * n_columns))):
        into = np.eye(n_columns)[mapping[part].ravel()]  # a row for each cluster of each draw
        starts = most * np.arange(len(mapping[part]) + 1)
        out += scattered(block[part], items, starts, weights[part], into)
    return out
