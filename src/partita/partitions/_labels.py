"""One partition, or two, as label vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.errors import InvalidValueError
from partita.parallel import blocks

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
    array, low, span = _in_range(validate.labels("labels", labels))
    out, count = np.empty((1, array.size), dtype=np.int64), np.empty(1, dtype=np.int64)
    _core.renumber(_native(array[None, :]), low, span, out, count)
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
    return counted_rows(labels)[0]


def counted_rows(labels: IntArray) -> tuple[IntArray, NDArray[np.int64]]:
    """Return :func:`canonical_rows`, and the number of clusters of each."""
    if _is_mapped(labels) and labels.dtype.kind == "u":
        counts = _counts_if_canonical(labels)
        if counts is not None:
            return labels, counts
    labels, low, span = _in_range(labels)
    counts = np.zeros(labels.shape[0], dtype=np.int64)
    for dtype in (np.uint8, np.uint16, np.uint32):
        out, most = np.empty(labels.shape, dtype=dtype), np.iinfo(dtype).max + 1
        for part in _row_blocks(labels):
            _core.renumber(_native(labels[part]), low, span, out[part], counts[part])
            if counts[part].max() > most:
                break
        else:
            break
    return out, counts


def first_values(labels: IntArray, values: NDArray[Any]) -> NDArray[Any]:
    """Return the value of the first item of every cluster, row after row.

    Parameters
    ----------
    labels : ndarray of integers, shape (m, n)
        Canonical.
    values : ndarray, shape (m, n)

    Examples
    --------
    >>> raw = np.array([[7, 7, 3], [2, 9, 2]])
    >>> first_values(canonical_rows(raw), raw)
    array([7, 3, 2, 9])
    """
    parts = []
    for part in _row_blocks(labels):
        rows = labels[part]
        is_first = np.ones(rows.shape, dtype=bool)
        np.greater(rows[:, 1:], np.maximum.accumulate(rows, axis=1)[:, :-1], out=is_first[:, 1:])
        parts.append(np.asarray(values[part])[is_first])
    return np.concatenate(parts)


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
    hashes, seed = np.empty(len(rows), dtype=np.uint64), 0
    while True:  # a second time only if two rows share a hash, one chance in some 2^63
        for part in _row_blocks(rows):
            hashes[part] = hash_rows(rows[part], 0, seed)
        first, owner = grouped(hashes)
        same = np.flatnonzero(first[owner] != np.arange(owner.size))
        parts = [same[part] for part in _row_blocks(rows[: same.size])]
        if all(np.array_equal(rows[some], rows[first[owner[some]]]) for some in parts):
            return first, owner
        seed += 1


def hash_rows(rows: IntArray, start: int, seed: int) -> NDArray[np.uint64]:
    """Return a hash of each row that adds up over blocks of columns.

    It is Σ key_i (label_i + 1) modulo 2⁶⁴. The keys are what SplitMix64 gives for the numbers of
    the columns, the first of which is ``start``, others for each seed.
    """
    z = np.arange(start + 1, start + 1 + rows.shape[1], dtype=np.uint64)
    z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1342543DE82EF95 * seed % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    keys = z ^ (z >> np.uint64(31))
    return np.asarray(rows.astype(np.uint64) @ keys + keys.sum(dtype=np.uint64))


def grouped(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each different hash is first, in that order, and which of them each hash is."""
    order = np.argsort(hashes)
    in_order = hashes[order]
    is_new = np.append(True, in_order[1:] != in_order[:-1])
    first = np.minimum.reduceat(order, np.flatnonzero(is_new))
    number = np.empty_like(first)
    number[np.argsort(first)] = np.arange(first.size)
    owner = np.empty_like(order)
    owner[order] = number[np.cumsum(is_new) - 1]
    return np.sort(first), owner


def _is_mapped(labels: IntArray) -> bool:
    """Whether an array is a view of a file mapped for reading alone."""
    base: Any = labels
    while base is not None:
        if isinstance(base, np.memmap):
            return not base.flags.writeable
        base = getattr(base, "base", None)
    return False


def _counts_if_canonical(labels: IntArray) -> NDArray[np.int64] | None:
    """The number of clusters of each row, or None if they are numbered otherwise."""
    counts = np.empty(labels.shape[0], dtype=np.int64)
    for part in _row_blocks(labels):
        rows = _native(labels[part])
        span = int(rows.max()) + 1
        if span > labels.shape[1]:
            return None
        numbered = np.empty(rows.shape, dtype=np.int64)
        _core.renumber(rows, 0, span, numbered, counts[part])
        if not np.array_equal(rows, numbered):
            return None
    return counts


def _row_blocks(rows: IntArray) -> list[slice]:
    """Rows that are gone over together."""
    return blocks(rows.shape[0], max(1, 1_000_000 // rows.shape[1]))


def _in_range(labels: IntArray) -> tuple[IntArray, int, int]:
    """Labels that a table has room for and int64 holds, the least of them, and how far they go."""
    low, high = int(labels.min()), int(labels.max())
    if high - low >= _DENSE_RANGE:
        _, inverse = np.unique(labels, return_inverse=True)
        labels = inverse.reshape(labels.shape)
        low, high = 0, int(labels.max())
    elif high > np.iinfo(np.int64).max:
        labels, low, high = labels - np.uint64(low), 0, high - low
    return labels, low, high - low + 1


def _native(labels: IntArray) -> IntArray:
    """Labels as the core takes them: in C order and in the byte order of this machine."""
    return np.ascontiguousarray(labels, dtype=labels.dtype.newbyteorder("="))


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
    return extended(np.zeros((1, 1), dtype=np.int64), n - 1)


def extended(rows: NDArray[np.int64], n_more: int) -> NDArray[np.int64]:
    """Return every canonical partition that begins with one of the rows and has so many more items.

    In the order of the rows, those of one in lexicographic order.
    """
    for _ in range(n_more):
        options = rows.max(axis=1) + 2
        repeated = np.repeat(rows, options, axis=0)
        starts = np.repeat(np.cumsum(options) - options, options)
        rows = np.column_stack([repeated, np.arange(repeated.shape[0]) - starts])
    return rows


def matched_labels(reference: Any, labels: Any) -> NDArray[np.int64]:
    """Renumber a partition so that its clusters have the numbers of those they overlap most.

    Clusters are matched one to one so that most items agree; those left without a match are
    numbered after all of the reference's.

    Parameters
    ----------
    reference, labels : array-like of shape (n,)

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> matched_labels([0, 0, 1, 1, 1], [0, 1, 2, 2, 2])
    array([0, 2, 1, 1, 1])
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array

    names, base = np.unique(validate.labels("reference", reference), return_inverse=True)
    own = canonical(validate.labels("labels", labels, n_items=base.size))
    shape = (int(own.max()) + 1, names.size)
    table = coo_array((np.ones(own.size), (own, base)), shape=shape).toarray()
    rows, columns = linear_sum_assignment(table, maximize=True)
    useful = table[rows, columns] > 0
    number = np.full(shape[0], -1, dtype=np.int64)
    number[rows[useful]] = names[columns[useful]]
    free = np.setdiff1d(np.arange(shape[0]), rows[useful])
    number[free] = names.max() + 1 + np.arange(free.size)
    return number[own]
