"""A dendrogram as n nested partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.partitions._labels import smallest_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree over the items; cutting it gives one partition for each number of clusters.

    Node ``i < n`` is item ``i``; node ``n + t`` is the t-th merge. In ``order`` the items of a
    node are neighbours: those of node v are ``order[first[v] : first[v] + size[v]]``, its left
    child's before its right child's.

    Parameters
    ----------
    children : ndarray of int64, shape (n - 1, 2)
        The two nodes that each merge joins.
    heights : ndarray, shape (n - 1,)
        The height of each merge, not decreasing.
    """

    children: NDArray[np.int64]
    heights: NDArray[np.float64]

    @classmethod
    def from_linkage(cls, Z: NDArray[np.float64]) -> Tree:
        """Take over the (n - 1, 4) array of ``scipy.cluster.hierarchy.linkage``."""
        return cls(np.ascontiguousarray(Z[:, :2], dtype=np.int64), Z[:, 2].copy())

    @property
    def n_items(self) -> int:
        """The number of leaves."""
        return len(self.children) + 1

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Items below each of the 2n - 1 nodes."""
        size = [1] * self.n_items
        for left, right in self.children.tolist():
            size.append(size[left] + size[right])
        return np.array(size, dtype=np.int64)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Where the items of each node start in ``order``."""
        size, first = self.size.tolist(), [0] * (2 * self.n_items - 1)
        node = len(first)
        for left, right in reversed(self.children.tolist()):
            node -= 1
            first[left] = first[node]
            first[right] = first[node] + size[left]
        return np.array(first, dtype=np.int64)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The items, such that every node is a run of neighbours."""
        order = np.empty(self.n_items, dtype=np.int64)
        order[self.first[: self.n_items]] = np.arange(self.n_items)
        return order

    def items(self, node: int) -> NDArray[np.int64]:
        """The items below a node."""
        return self.order[self.first[node] : self.first[node] + self.size[node]]

    def runs(self, most: int) -> Iterator[slice]:
        """Cut the merges, as nodes, into runs that join ``most`` ordered pairs of items or fewer.

        A run has one merge at least, however many it joins.
        """
        pairs = np.cumsum(2 * self.size[self.children].prod(axis=1))
        start, done = 0, 0
        while start < pairs.size:
            stop = max(start + 1, int(np.searchsorted(pairs, done + most, side="right")))
            yield slice(self.n_items + start, self.n_items + stop)
            start, done = stop, int(pairs[stop - 1])

    def cuts(self, max_clusters: int) -> Iterator[NDArray[np.unsignedinteger[Any]]]:
        """Yield the labels of the cuts into 1, 2, ..., ``max_clusters`` clusters.

        Each is the one before with one cluster split, so all n of them cost O(n²) in all. The
        numbering is by the order of the splits, not canonical.
        """
        labels = np.zeros(self.n_items, dtype=smallest_dtype(max_clusters))
        yield labels.copy()
        for k in range(1, max_clusters):
            right = self.children[self.n_items - 1 - k, 1]
            start = self.first[right]
            labels[self.order[start : start + self.size[right]]] = k
            yield labels.copy()

    def cut(self, n_clusters: int) -> NDArray[np.unsignedinteger[Any]]:
        """Return the labels of the cut into ``n_clusters`` clusters."""
        validate.integer("n_clusters", n_clusters, least=1, most=self.n_items)
        return next(islice(self.cuts(n_clusters), n_clusters - 1, None))

    def cut_at(self, height: float) -> NDArray[np.unsignedinteger[Any]]:
        """Return the labels when every merge at or below ``height`` is made."""
        return self.cut(1 + int(np.count_nonzero(self.heights > height)))

    def accumulate(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum node values over the clusters of every cut.

        Parameters
        ----------
        values : ndarray, shape (..., 2n - 1)
            One value for each node.

        Returns
        -------
        ndarray, shape (..., n)
            Entry k - 1 is the sum over the k clusters of the cut into k.
        """
        n = self.n_items
        out = np.empty((*values.shape[:-1], n), dtype=values.dtype)
        out[..., 0] = values[..., -1]
        left, right = self.children[::-1, 0], self.children[::-1, 1]
        out[..., 1:] = values[..., left] + values[..., right] - values[..., : n - 1 : -1]
        np.cumsum(out, axis=-1, out=out)
        return out
