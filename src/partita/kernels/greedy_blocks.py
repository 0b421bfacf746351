"""Moving blocks of items together: what two partitions share; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import fresh_column, shift
from partita.kernels.greedy_draws import expected


@inner
def _columns(members, n_members, labels, tally):
    """Count the members in every column; return the columns that hold any, ascending."""
    tally[:] = 0
    for a in range(n_members):
        tally[labels[members[a]]] += 1
    return np.flatnonzero(tally)


@inner
def _fullest(tally, column):
    """The column other than this that holds most members; -1 if there is none."""
    best, most = -1, 0
    for k in range(tally.shape[0]):
        if k != column and tally[k] > most:
            best, most = k, tally[k]
    return best


@jit
def cross(parts, other, given, held, limit, shape, value):
    """Move blocks of items together as they are in ``other``, part by part; keep each that helps.

    A block is what a part of ``other`` shares with a cluster; it goes to where most of that part
    is, or to a cluster of its own. Returns the loss afterwards.
    """
    parts, other, given, held, shape = bare((parts, other, given, held, shape))
    weight, labels, sizes, j, totals, book = given[1], held[1], held[2], held[3], held[4], held[5]
    t, p, num, den, w_total, n_total = shape
    n = labels.shape[0]
    members, block = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    tally, kept = np.zeros(sizes.shape[0], dtype=np.int64), np.empty_like(j)
    for part in parts:
        n_members = 0
        for i in range(n):
            if other[i] == part:
                members[n_members] = i
                n_members += 1
        for column in _columns(members, n_members, labels, tally):
            n_block, size = 0, 0
            for a in range(n_members):
                if labels[members[a]] == column:
                    block[n_block] = members[a]
                    n_block += 1
                    size += weight[members[a]]
            if n_block == 0:
                continue
            fresh = fresh_column(book, sizes, limit) if sizes[column] > size else -1
            for target in (_fullest(tally, column), fresh):
                if target < 0:
                    continue
                kept[:], e = j, totals[0]
                for i in block[:n_block]:
                    shift(i, target, given, held)
                found = expected(t, p, j, totals[0], num, den, w_total, n_total)
                if found < value - 1e-11 * max(1.0, abs(value)):
                    value = found
                    tally[target] += tally[column]
                    tally[column] = 0
                    break
                for i in block[:n_block]:
                    shift(i, column, given, held)
                j[:], totals[0] = kept, e
    return value
