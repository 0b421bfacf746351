"""What an item would add in every column, remembered until its columns change.

Columns come in blocks of eight. ``marks`` holds a counter that only ever grows, the mark of alpha
and one for every block: the counter as it was when the counts of the block last changed. Where a
partition is gone back to, its marks may be put back, too, but not the counter. So a mark stands for
one state of the counts.

``memo`` is (known, near, stamps, alpha, block): gains and what an item adds where it is, the marks
that they were computed under, the alpha that its mark stands for, and scratch. With one
row only nothing is remembered. A visit asks whether what there is ``is_old``, and only then calls
``renew``, with arrays that are read in place and no other calls: to count references to arrays, as
views and functions within functions do, would take as long as to sum eight columns.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner
from partita.kernels.greedy_vector import LANES, MOST, TERMS, sum_blocks

COUNTER, ALPHA, BLOCKS = 0, 1, 2  # of ``marks``, the last the first of those of blocks
_OWN = 0  # of ``stamps``, which are else as ``marks``
REMEMBERED = 4_000_000  # gains of items in columns, beyond which none is


@inner
def touch(k, marks):
    """Note that the counts of column k have changed."""
    marks[COUNTER] += 1
    marks[BLOCKS + np.uint64(k) // np.uint64(LANES)] = marks[COUNTER]


@inner
def forget(marks):
    """Note that all counts have changed."""
    for b in range(BLOCKS, marks.shape[0]):
        marks[COUNTER] += 1
        marks[b] = marks[COUNTER]


@inner
def look(alpha32, marks, last):
    """Note whether alpha has changed; to be called before gains are asked for."""
    for m in range(last.shape[0]):
        if last[m] != alpha32[m]:
            last[:] = alpha32
            marks[COUNTER] += 1
            marks[ALPHA] = marks[COUNTER]
            return


@inner
def put_back(before, alpha32, marks, last):
    """Note that counts and alpha are again what they were when marks were ``before``."""
    marks[ALPHA:] = before[ALPHA:]
    last[:] = alpha32


@inner
def place(i, stamps):
    """The row where item i is remembered."""
    return i if stamps.shape[0] > 1 else 0


@inner
def is_old(x, marks, stamps):
    """Whether anything has changed since the gains in row x were computed."""
    for b in range(ALPHA, marks.shape[0]):
        if stamps[x, b] != marks[b]:
            return True
    return stamps.shape[0] == 1


@inner
def renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block):
    """``known[x]`` becomes Σ_m alpha_m of what item i would add to cell in every column.

    Only blocks that have changed are summed, neighbours at once.
    """
    if stamps[x, ALPHA] != marks[ALPHA] or stamps.shape[0] == 1:
        for b in range(stamps.shape[1]):
            stamps[x, b] = -1
        stamps[x, ALPHA] = marks[ALPHA]
    n_draws, width, end = rows.shape[1], known.shape[1], np.int64(0)
    last = cell.shape[0] - 1
    while end < width:
        k = end
        while end < min(width, k + MOST * LANES):
            b = BLOCKS + end // LANES
            if stamps[x, b] == marks[b]:
                break
            stamps[x, b] = marks[b]
            end += LANES
        for c in range(k, end):
            known[x, c] = 0.0
        if k == end:
            end += LANES
        elif w == 1:
            for start in range(0, n_draws, TERMS):
                stop = min(n_draws, start + TERMS)
                sum_blocks(table, rows, alpha32, i * n_draws, start, stop, width, k, end, block)
                for c in range(k, end):
                    known[x, c] += block[c]
        else:
            for m in range(n_draws):
                for c in range(k, end):
                    before = np.int64(counts[rows[i, m], c])
                    after = min(before + w, last)  # where it is, which nobody reads, w are counted
                    known[x, c] += alpha32[m] * (cell[after] - cell[before])


@inner
def is_own_old(x, k, marks, stamps):
    """Whether alpha or the block of column k have changed since ``near[x]`` was computed."""
    mark = marks[BLOCKS + np.uint64(k) // np.uint64(LANES)]
    is_same = stamps[x, _OWN] == mark and stamps[x, ALPHA] == marks[ALPHA]
    return not is_same or stamps.shape[0] == 1


@inner
def renew_own(x, i, rows, k, w, cell, step, counts, alpha32, marks, near, stamps):
    """``near[x]`` becomes what item i adds to cell where it is, column k, as precise as gains."""
    if stamps[x, ALPHA] != marks[ALPHA]:
        for b in range(stamps.shape[1]):
            stamps[x, b] = -1
        stamps[x, ALPHA] = marks[ALPHA]
    stamps[x, _OWN] = marks[BLOCKS + np.uint64(k) // np.uint64(LANES)]
    column, one, lift = np.uint64(k), np.uint64(1), np.uint64(w)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = rows.shape[1] // 4 * 4 if w == 1 else 0
    for m in range(0, whole, 4):
        a += alpha32[m] * step[np.uint64(counts[rows[i, m], column]) - one]
        b += alpha32[m + 1] * step[np.uint64(counts[rows[i, m + 1], column]) - one]
        c += alpha32[m + 2] * step[np.uint64(counts[rows[i, m + 2], column]) - one]
        d += alpha32[m + 3] * step[np.uint64(counts[rows[i, m + 3], column]) - one]
    for m in range(whole, rows.shape[1]):
        count = np.uint64(counts[rows[i, m], column])
        a += alpha32[m] * (cell[count] - cell[count - lift])
    near[x] = (a + b) + (c + d)
