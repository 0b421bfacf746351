"""One partition, or two, as label vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import kernels, validate
from partita.distributed import blocks
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import IntArray

_DENSE_RANGE = 1 << 20  # label ranges up to this are renumbered through a table


def smallest_dtype(n_values: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned dtype that holds ``n_values`` numbers from 0 on."""
    if n_values <= 1 << 8:
        return np.uint8
    return np.uint16 if n_values <= 1 << 16 else np.uint32


def canonical(labels: Any) -> NDArray[np.int64]:
    """Number the clusters 0, 1, ... by first appearance.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Any integers or strings.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> canonical([7, 7, -1, 3, -1])
    array([0, 0, 1, 2, 1])
    >>> canonical(["b", "a", "b"])
    array([0, 1, 0])
    """
    array = validate.labels("labels", labels)
    low, high = int(array.min()), int(array.max())
    if high - low >= _DENSE_RANGE:
        _, array = np.unique(array, return_inverse=True)
        low, high = 0, int(array.max())
    out = np.empty((1, array.size), dtype=np.int64)
    kernels.labels.renumber(_codes(array[None, :], low), high - low + 1, out)
    return out.ravel()


def canonical_rows(labels: IntArray) -> IntArray:
    """Number the clusters of every row by first appearance, in the smallest unsigned dtype.

    Parameters
    ----------
    labels : ndarray of integers, shape (m, n)

    Returns
    -------
    ndarray of uint8, uint16 or uint32, shape (m, n)
        ``labels`` itself if it is canonical and a file mapped read-only: draws that were streamed
        to disk may be larger than memory.
    """
    if _is_mapped(labels) and labels.dtype.kind == "u" and _are_canonical(labels):
        return labels
    low, high = int(labels.min()), int(labels.max())
    if high - low >= _DENSE_RANGE:
        _, inverse = np.unique(labels, return_inverse=True)
        labels, low = inverse.reshape(labels.shape), 0
        high = int(labels.max())
    span = high - low + 1
    rows = blocks(labels.shape[0], max(1, 10_000_000 // labels.shape[1]))
    counts = np.empty(labels.shape[0], dtype=np.int64)
    for part in rows:
        counts[part] = kernels.labels.count_clusters(_codes(labels[part], low), span)
    out = np.empty(labels.shape, dtype=smallest_dtype(int(counts.max())))
    for part in rows:
        kernels.labels.renumber(_codes(labels[part], low), span, out[part])
    return out


def distinct_rows(rows: IntArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct rows, by hashing and then by comparing in full.

    Parameters
    ----------
    rows : ndarray of unsigned integers, shape (m, n)

    Returns
    -------
    first : ndarray of int64
        Where each distinct row appears first, in that order.
    owner : ndarray of int64, shape (m,)
        Which of them each row equals.
    """
    random, hashes = np.random.default_rng(0), np.empty(len(rows), dtype=np.uint64)
    parts = blocks(len(rows), max(1, 10_000_000 // rows.shape[1]))
    while True:  # a second time only if two rows share a hash, one chance in some 2^63
        keys = random.integers(0, 2**64, rows.shape[1], dtype=np.uint64)
        for part in parts:
            kernels.labels.hash_rows(rows[part], keys, hashes[part])
        _, first, owner = np.unique(hashes, return_index=True, return_inverse=True)
        if all(np.array_equal(rows[part], rows[first[owner[part]]]) for part in parts):
            break
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[owner]


def _is_mapped(labels: IntArray) -> bool:
    """Whether an array is a view of a file mapped for reading alone."""
    base: Any = labels
    while base is not None:
        if isinstance(base, np.memmap):
            return not base.flags.writeable
        base = getattr(base, "base", None)
    return False


def _are_canonical(labels: IntArray) -> bool:
    for part in blocks(labels.shape[0], max(1, 10_000_000 // labels.shape[1])):
        codes = labels[part].astype(np.int64)
        span = int(codes.max()) + 1
        if span > labels.shape[1]:
            return False
        numbered = np.empty_like(codes)
        kernels.labels.renumber(codes, span, numbered)
        if not np.array_equal(codes, numbered):
            return False
    return True


def _codes(labels: IntArray, low: int) -> NDArray[np.int64]:
    """Labels counted from ``low``; exact for unsigned 64-bit input too."""
    if labels.dtype == np.uint64:
        return np.ascontiguousarray((labels - np.uint64(low)).astype(np.int64))
    return np.ascontiguousarray(labels.astype(np.int64) - low)


def n_clusters(labels: IntArray) -> int:
    """Return how many clusters a partition has."""
    return int(np.unique(labels).size)


def contingency(a: Any, b: Any) -> NDArray[np.int64]:
    """Count the items in each cluster of ``a`` and each cluster of ``b``.

    Examples
    --------
    >>> contingency([0, 0, 1, 1], [0, 1, 1, 1])
    array([[1, 1],
           [0, 2]])
    """
    rows = canonical(a)
    cols = canonical(validate.labels("b", b, n_items=rows.size))
    shape = (int(rows.max()) + 1, int(cols.max()) + 1)
    return np.bincount(rows * shape[1] + cols, minlength=shape[0] * shape[1]).reshape(shape)


def meet(a: Any, b: Any) -> NDArray[np.int64]:
    """Return the coarsest partition finer than both: together here and together there.

    Examples
    --------
    >>> meet([0, 0, 1, 1], [0, 1, 1, 1])
    array([0, 1, 2, 2])
    """
    rows = canonical(a)
    cols = canonical(validate.labels("b", b, n_items=rows.size))
    return canonical(rows * (int(cols.max()) + 1) + cols)


def join(a: Any, b: Any) -> NDArray[np.int64]:
    """Return the finest partition coarser than both: linked by a chain of shared clusters.

    Examples
    --------
    >>> join([0, 0, 1, 2], [0, 1, 1, 2])
    array([0, 0, 0, 1])
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = canonical(a)
    cols = canonical(validate.labels("b", b, n_items=rows.size))
    n_rows = int(rows.max()) + 1
    size = n_rows + int(cols.max()) + 1
    graph = coo_array((np.ones(rows.size), (rows, cols + n_rows)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    return canonical(component[rows])


def bell_number(n: int) -> int:
    """Count the partitions of ``n`` items.

    Examples
    --------
    >>> [bell_number(n) for n in range(1, 9)]
    [1, 2, 5, 15, 52, 203, 877, 4140]
    """
    row = [1]
    for _ in range(validate.integer("n", n, least=1) - 1):
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
    return row[-1]


def enumerate_partitions(n: int) -> NDArray[np.int64]:
    """Return every partition of ``n`` items, each canonical, in lexicographic order.

    Examples
    --------
    >>> enumerate_partitions(3)
    array([[0, 0, 0],
           [0, 0, 1],
           [0, 1, 0],
           [0, 1, 1],
           [0, 1, 2]])
    """
    if validate.integer("n", n, least=1) > 13:
        raise InvalidValueError(
            f"`n` must be at most 13 to list every partition; got {n}, which has "
            f"{bell_number(n):,}."
        )
    rows = np.zeros((1, 1), dtype=np.int64)
    for _ in range(n - 1):
        options = rows.max(axis=1) + 2
        repeated = np.repeat(rows, options, axis=0)
        starts = np.repeat(np.cumsum(options) - options, options)
        rows = np.column_stack([repeated, np.arange(repeated.shape[0]) - starts])
    return rows
