"""Tables of counts in which most cells are empty: only the others are kept, row after row.

A row stands for a cluster of a draw, a column for a cluster of a partition. ``columns`` and
``counts`` from ``starts[r]`` to ``starts[r + 1]`` are row r, its columns in increasing order.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit


@jit
def count(block, n_clusters, order, labels, starts, columns, counts):
    """Count a block of some draws; return how many cells are not empty.

    Parameters
    ----------
    block : (m, n) labels of the draws, of ``n_clusters`` each
    order : (n,) the items in the order of the partition's labels
    labels : (n,) the partition's labels in that order
    starts : (rows + 1,) written; columns, counts : (m * n,) written
    """
    m, n = block.shape
    most = 0
    for a in range(m):
        most = max(most, n_clusters[a])
    following = np.zeros(most + 1, dtype=np.int64)
    sorted_labels = np.empty(n, dtype=np.int32)
    at = row = 0
    for a in range(m):
        _by_cluster(block[a], n_clusters[a], order, labels, following, sorted_labels)
        begin = 0
        for c in range(n_clusters[a]):
            starts[row] = at
            row += 1
            last = np.int32(-1)
            for i in range(begin, following[c]):
                if sorted_labels[i] == last:
                    counts[at - 1] += 1
                else:
                    last = sorted_labels[i]
                    columns[at] = last
                    counts[at] = 1
                    at += 1
            begin = following[c]
    starts[row] = at
    return at


@inner
def _by_cluster(draw, n_clusters, order, labels, following, out):
    """``out`` becomes the labels cluster by cluster; ``following[c]`` where cluster c ends."""
    for c in range(n_clusters + 1):
        following[c] = 0
    for i in range(draw.size):
        following[np.int64(draw[i]) + 1] += 1
    for c in range(n_clusters):
        following[c + 1] += following[c]
    for i in range(draw.size):
        c = np.int64(draw[order[i]])
        out[following[c]] = labels[i]
        following[c] += 1


@jit
def plus_starts(starts, columns, other_starts, other_columns, out):
    """``out`` becomes where the rows of the sum of two tables start."""
    at = 0
    for row in range(starts.size - 1):
        out[row] = at
        p, p_end = starts[row], starts[row + 1]
        q, q_end = other_starts[row], other_starts[row + 1]
        at += p_end - p + q_end - q
        while p < p_end and q < q_end:
            a, b = columns[p], other_columns[q]
            at -= a == b
            p += a <= b
            q += b <= a
    out[starts.size - 1] = at


@jit
def plus(starts, columns, counts, other_starts, other_columns, other_counts, new, out, numbers):
    """Write the sum of two tables, whose rows start at ``new``, to columns ``out`` and numbers."""
    for row in range(starts.size - 1):
        at = new[row]
        p, p_end = starts[row], starts[row + 1]
        q, q_end = other_starts[row], other_starts[row + 1]
        while p < p_end or q < q_end:
            is_first = q == q_end or (p < p_end and columns[p] <= other_columns[q])
            is_second = p == p_end or (q < q_end and other_columns[q] <= columns[p])
            number = 0
            if is_first:
                out[at] = columns[p]
                number += counts[p]
                p += 1
            if is_second:
                out[at] = other_columns[q]
                number += other_counts[q]
                q += 1
            numbers[at] = number
            at += 1


@jit
def joint(starts, counts, offsets, cell, out):
    """``out[m]`` becomes Σ cell[count] over the rows of draw m."""
    for m in range(out.shape[0]):
        total = 0.0
        for p in range(starts[offsets[m]], starts[offsets[m + 1]]):
            total += cell[counts[p]]
        out[m] = total


@jit
def by_column(starts, columns, counts, offsets, alpha, cell, out):
    """Add alpha[m] cell[count] to ``out`` at the column of every cell."""
    for m in range(offsets.size - 1):
        for p in range(starts[offsets[m]], starts[offsets[m + 1]]):
            out[columns[p]] += alpha[m] * cell[counts[p]]


@jit
def merged(starts, columns, counts, offsets, alpha, cell, partner, out):
    """Add to ``out[k]`` what j gains, weighted by alpha, where column k and its partner are one.

    ``partner[k]`` is another column, or -1.
    """
    here = np.zeros(partner.size, dtype=np.int64)
    for m in range(offsets.size - 1):
        for row in range(offsets[m], offsets[m + 1]):
            first, last = starts[row], starts[row + 1]
            for p in range(first, last):
                here[columns[p]] = counts[p]
            for p in range(first, last):
                other = partner[columns[p]]
                if other >= 0 and here[other] > 0:
                    mine, its = counts[p], here[other]
                    out[columns[p]] += alpha[m] * (cell[mine + its] - cell[mine] - cell[its])
            for p in range(first, last):
                here[columns[p]] = 0


@jit
def own(block, offsets, weights, labels, starts, columns, values, out):
    """Add Σ_m weights[m] values[cell of i's row in m and column labels[i]] to ``out[i]``."""
    m, n = block.shape
    for a in range(m):
        base, w, draw = offsets[a], weights[a], block[a]
        for i in range(n):
            row = np.int64(base + draw[i])
            out[i] += w * values[_find(columns, starts[row], starts[row + 1], labels[i])]


@inner
def _find(columns, first, last, wanted):
    """Where a column is in a row that has it."""
    while last - first > 1:
        middle = (first + last) // 2
        if columns[middle] <= wanted:
            first = middle
        else:
            last = middle
    return first


@jit
def best_moves(
    items, offsets, alpha, starts, columns, counts, step, labels, leaves, enters, cheapest, out,
    gains,
):  # fmt: skip
    """Find where each item would lower a linear loss most, all the others staying put.

    As ``streaming.best_moves``. Of many columns only those are visited that an item meets in some
    draw, and ``cheapest``, the best to enter of those that it does not meet. ``items`` is
    (n, n_draws).
    """
    n, m = items.shape
    width = enters.size
    sums, is_met = np.zeros(width), np.zeros(width, dtype=np.bool_)
    met = np.empty(width, dtype=np.int64)
    lift = step - step[0]
    base = 0.0
    for a in range(m):
        base += alpha[a] * step[0]
    for i in range(n):
        here, n_met = labels[i], -1
        if width <= 8 * m:
            kept = _sums(items[i], offsets, alpha, starts, columns, counts, lift, step, here, sums)
        else:
            met[0], is_met[cheapest] = cheapest, True
            kept, n_met = _sums_met(
                items[i], offsets, alpha, starts, columns, counts, lift, step, here, sums, met,
                is_met,
            )  # fmt: skip
        best, least = here, 0.0
        fixed = leaves[here] - base + kept
        for at in range(width if n_met < 0 else n_met):
            k = at if n_met < 0 else met[at]
            change = fixed + enters[k] - sums[k]
            if change <= least and k != here and (change < least or (least < 0 and k < best)):
                best, least = k, change
            sums[k], is_met[k] = 0.0, False
        out[i] = best
        gains[i] = -least


@inner
def _sums(draws, offsets, alpha, starts, columns, counts, lift, step, here, sums):
    """Add to ``sums`` what an item brings to every column; return what it leaves behind."""
    kept = 0.0
    for a in range(draws.size):
        row, weight = np.int64(offsets[a] + draws[a]), alpha[a]
        for p in range(starts[row], starts[row + 1]):
            sums[columns[p]] += weight * lift[counts[p]]
            if columns[p] == here:
                kept += weight * step[counts[p] - 1]
    return kept


@inner
def _sums_met(
    draws, offsets, alpha, starts, columns, counts, lift, step, here, sums, met, is_met
):  # fmt: skip
    """The same; ``met`` becomes the columns that the item meets, after the first of them."""
    kept, n_met = 0.0, 1
    for a in range(draws.size):
        row, weight = np.int64(offsets[a] + draws[a]), alpha[a]
        for p in range(starts[row], starts[row + 1]):
            k = columns[p]
            if not is_met[k]:
                met[n_met], is_met[k] = k, True
                n_met += 1
            sums[k] += weight * lift[counts[p]]
            if k == here:
                kept += weight * step[counts[p] - 1]
    return kept, n_met


@jit
def nearest(items, offsets, weights, starts, columns, counts, sizes, out):
    """Find the column whose items are together with each item most often on average.

    ``items`` is (n, n_draws); ``sizes`` are those of the columns. An item that meets nobody goes to
    column 0.
    """
    n, m = items.shape
    sums, is_met = np.zeros(sizes.size), np.zeros(sizes.size, dtype=np.bool_)
    met = np.empty(sizes.size, dtype=np.int64)
    for i in range(n):
        n_met = 0
        for a in range(m):
            row = np.int64(offsets[a] + items[i, a])
            for p in range(starts[row], starts[row + 1]):
                k = columns[p]
                if not is_met[k]:
                    met[n_met], is_met[k] = k, True
                    n_met += 1
                sums[k] += weights[a] * counts[p]
        best, most = 0, 0.0
        for at in range(n_met):
            k = met[at]
            mean = sums[k] / sizes[k]
            if mean > most or (mean == most and k < best):
                best, most = k, mean
            sums[k], is_met[k] = 0.0, False
        out[i] = best
