"""A partition counted against every draw, and what changes when an item or a cluster moves.

``given`` = (rows, weight, kind, cell, steps, like) is the problem: ``rows[i, m]`` the row of draw
m's cluster that item i is in, one row for each cluster of each draw; the weights of items; the
table of a loss, and what items of each ``kind``, which are those of one weight, add to it; how
``like`` items are (see ``greedy_near``), or nothing.

``held`` = (counts, labels, sizes, j, totals, book, marks, sums) is the partition. ``counts[k, r]``
are the items that row r shares with column k, which is a cluster, or free if its size is 0; ``j``
one total a draw, ``totals`` = (e,). ``labels`` are columns, -1 for no cluster. ``sums[k, i]`` is
how like item i is to those of column k together. Columns lie in memory one after another, since a
visit to an item reads the counts of few, but all draws of each. ``book`` counts the clusters, the
first free column, and the columns up to the last that is used (``HIGH``), and says whether all of
them are looked at where there is no ``like`` (``WIDE``).

``marks`` say when columns last changed: a counter that only ever grows, the mark of alpha, and
one for every column. Where a partition is gone back to its marks may be put back, but not the
counter, so a mark stands for one state of the counts.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit

ACTIVE, FREE, HIGH, WIDE = 0, 1, 2, 3  # of ``book``
ALWAYS = 2  # of ``book[WIDE]``: all columns are looked at whatever comes
COUNTER, ALPHA, COLUMNS = 0, 1, 2  # of ``marks``, the last the first of those of columns


@inner
def touch(k, marks):
    """Note that the counts of column k have changed."""
    marks[COUNTER] += 1
    marks[COLUMNS + k] = marks[COUNTER]


@inner
def slanted(marks):
    """Note that alpha has changed."""
    marks[COUNTER] += 1
    marks[ALPHA] = marks[COUNTER]


@jit
def slant_anew(held):
    """Note that alpha has changed."""
    slanted(held[6])


@inner
def _resize(k, w, cell, sizes, totals, book):
    """Note that column k holds w more, fewer if that is negative; keep the books of columns."""
    before = sizes[k]
    sizes[k] = after = before + w
    totals[0] += cell[after] - cell[before]
    if before == 0:
        book[ACTIVE] += 1
        book[HIGH] = max(book[HIGH], k + 1)
        while book[FREE] < sizes.shape[0] and sizes[book[FREE]] > 0:
            book[FREE] += 1
    elif after == 0:
        book[ACTIVE] -= 1
        book[FREE] = min(book[FREE], k)
        while book[HIGH] > 0 and sizes[book[HIGH] - 1] == 0:
            book[HIGH] -= 1


@inner
def fresh_column(book, sizes, limit):
    """The first free column, -1 if there are ``limit`` clusters, -2 if no column is left."""
    if book[ACTIVE] >= limit:
        return -1
    return book[FREE] if book[FREE] < sizes.shape[0] else -2


@inner
def _count_in(i, k, w, q, rows, steps, counts, j):
    """Count item i, of weight w and kind q, in column k."""
    column, kind = np.uint64(k), np.uint64(q)
    for m in range(rows.shape[1]):
        before = np.uint64(counts[column, rows[i, m]])
        counts[column, rows[i, m]] = before + np.uint64(w)
        j[m] += steps[kind, before]


@inner
def _count_out(i, k, w, q, rows, steps, counts, j):
    """Count it in column k no longer."""
    column, kind = np.uint64(k), np.uint64(q)
    for m in range(rows.shape[1]):
        after = np.uint64(counts[column, rows[i, m]]) - np.uint64(w)
        counts[column, rows[i, m]] = after
        j[m] -= steps[kind, after]


@inner
def _liken(i, k, w, like, sums):
    """Add how like item i is to all, ``w`` times, to column k."""
    weight, row, column = np.int32(w), np.uint64(i), np.uint64(k)
    for x in range(like.shape[1]):
        sums[column, x] = np.int32(sums[column, x] + weight * np.int32(like[row, x]))


@inner
def shift(i, k, given, held):
    """Move item i to column k, -1 standing for none."""
    rows, weight, kind, cell, steps, like = given
    counts, labels, sizes, j, totals, book, marks, sums = held
    w, old = weight[i], labels[i]
    if old >= 0:
        _count_out(i, old, w, kind[i], rows, steps, counts, j)
        _resize(old, -w, cell, sizes, totals, book)
        _liken(i, old, -w, like, sums)
        touch(old, marks)
    if k >= 0:
        _count_in(i, k, w, kind[i], rows, steps, counts, j)
        _resize(k, w, cell, sizes, totals, book)
        _liken(i, k, w, like, sums)
        touch(k, marks)
    labels[i] = k


@jit
def move(items, targets, given, held):
    """Move each item to its target cluster; -1 takes it out of all."""
    items, targets, given, held = bare((items, targets, given, held))
    labels = held[1]
    for a in range(items.shape[0]):
        if labels[items[a]] != targets[a]:
            shift(items[a], targets[a], given, held)


@jit
def clear(held):
    """Take all items out of all clusters."""
    counts, labels, sizes, j, totals, book, marks, sums = held
    for k in range(book[HIGH]):
        counts[k] = 0
        sums[k] = 0
        touch(k, marks)
    labels[:], sizes[:], j[:], totals[:] = -1, 0, 0.0, 0.0
    book[ACTIVE], book[FREE], book[HIGH] = 0, 0, 0
    book[WIDE] = ALWAYS if book[WIDE] == ALWAYS else 0


@jit
def load(new, given, held):
    """Begin with other labels, none of them beyond the columns; -1 is in no cluster."""
    new, given, held = bare((new, given, held))
    clear(held)
    for i in range(new.shape[0]):
        if new[i] >= 0:
            shift(i, new[i], given, held)


@inner
def pour(a, b, given, held):
    """Put all that column a holds into column b; j and e are left to the caller."""
    cell = given[3]
    counts, labels, sizes, _, totals, book, marks, sums = held
    e = totals[0]
    for r in range(counts.shape[1]):
        counts[b, r] += counts[a, r]
        counts[a, r] = 0
    for i in range(sums.shape[1]):
        sums[b, i] += sums[a, i]
        sums[a, i] = 0
    for i in range(labels.shape[0]):
        if labels[i] == a:
            labels[i] = b
    size = sizes[a]
    _resize(a, -size, cell, sizes, totals, book)
    _resize(b, size, cell, sizes, totals, book)
    touch(a, marks)
    touch(b, marks)
    totals[0] = e


@jit
def compact(given, held):
    """Leave no free column before one that is used."""
    book = held[5]
    while book[HIGH] > book[ACTIVE]:
        pour(book[HIGH] - 1, book[FREE], given, held)


@jit
def joint(counts, offsets, high, cell, j):
    """``j[m]`` becomes the sum of cell over the rows of draw m and the first columns."""
    j[:] = 0.0
    for k in range(high):
        for m in range(j.shape[0]):
            total = 0.0
            for r in range(offsets[m], offsets[m + 1]):
                total += cell[counts[k, r]]
            j[m] += total
