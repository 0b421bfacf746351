"""Moving items between the clusters of an estimate, scored against every draw at once.

The state of one run: ``counts[r, k]``, the items that the draw cluster r (one row for each
cluster of each draw) shares with cluster k; ``table[r, k]``, what one more item there would add
to cell; ``labels`` (-1: in no cluster), ``sizes``, ``j`` (one total a draw) and
``totals`` = (e, Σ_m alpha_m j_m). Column k of a row is a cluster, or free if its size is 0.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit
from partita.kernels.greedy_vector import weighted_rows


@jit
def tabulate(counts, step, table):
    """``table`` becomes ``step[counts]``."""
    for r in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            table[r, k] = step[counts[r, k]]


@jit
def load(rows, weight, labels, counts):
    """Count the items of every draw cluster in every cluster of ``labels``."""
    counts[:] = 0
    for i in range(rows.shape[0]):
        k = labels[i]
        if k >= 0:
            for r in rows[i]:
                counts[r, k] += weight[i]


@jit
def joint(counts, offsets, cell, j):
    """``j[m]`` becomes the sum of cell over draw m's rows."""
    for m in range(j.shape[0]):
        total = 0.0
        for r in range(offsets[m], offsets[m + 1]):
            for k in range(counts.shape[1]):
                total += cell[counts[r, k]]
        j[m] = total


@jit
def _add(row, k, w, cell, step, counts, table, j, alpha):
    """Put an item of weight ``w`` (taken out if negative) into column k; return the gain in Σαj."""
    gain = 0.0
    column = np.uint64(k)
    for m in range(row.shape[0]):
        r = row[m]
        before = np.uint64(counts[r, column])
        after = before + np.uint64(w)
        counts[r, column] = after
        table[r, column] = step[after]
        change = cell[after] - cell[before]
        j[m] += change
        gain += alpha[m] * change
    return gain


@jit
def move(items, targets, rows, weight, cell, step, counts, table, labels, sizes, j, alpha, totals):
    """Move each item to its target cluster; -1 takes it out of all."""
    for a in range(items.shape[0]):
        i, k, old, w = items[a], targets[a], labels[items[a]], weight[items[a]]
        if old == k:
            continue
        if old >= 0:
            totals[1] += _add(rows[i], old, -w, cell, step, counts, table, j, alpha)
            totals[0] += cell[sizes[old] - w] - cell[sizes[old]]
            sizes[old] -= w
        if k >= 0:
            totals[1] += _add(rows[i], k, w, cell, step, counts, table, j, alpha)
            totals[0] += cell[sizes[k] + w] - cell[sizes[k]]
            sizes[k] += w
        labels[i] = k


@jit
def _gains(row, w, cell, step32, counts, table, alpha32, block, gains):
    """Σ_m alpha_m of what the item would add to cell in every column."""
    width = table.shape[1]
    if w == 1:
        weighted_rows(table, row, alpha32, width, block, gains)
        return
    gains[:] = 0.0
    for m in range(row.shape[0]):
        r = row[m]
        for k in range(width):
            c = np.int64(counts[r, k])
            gains[k] += alpha32[m] * (cell[c + w] - cell[c])


@jit
def _own(row, k, w, cell, counts, alpha, own):
    """What the item adds to cell where it is, draw by draw, and the weighted sum of it."""
    total = 0.0
    column = np.uint64(k)
    for m in range(row.shape[0]):
        c = np.uint64(counts[row[m], column])
        own[m] = cell[c] - cell[c - np.uint64(w)]
        total += alpha[m] * own[m]
    return total


@jit
def _gain(row, k, w, cell, counts, alpha):
    """Σ_m alpha_m of what the item would add to cell in column k, in full precision."""
    total = 0.0
    column = np.uint64(k)
    for m in range(row.shape[0]):
        c = np.uint64(counts[row[m], column])
        total += alpha[m] * (cell[c + np.uint64(w)] - cell[c])
    return total


@jit
def _free(sizes, limit):
    """The first free column, or -1 if there are ``limit`` clusters or no column is left."""
    found = -1
    active = 0
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            active += 1
        elif found < 0:
            found = k
    return found if active < limit else -1


@jit
def bend(e, curve, bends):
    """Σ_m q_m min(t_m, e) from sorted t (row 0), prefix sums of q·t (1) and of q (2)."""
    if not bends:
        return 0.0
    last = curve.shape[1] - 1
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if curve[0, middle] <= e:
            low = middle + 1
        else:
            high = middle
    return curve[1, low] + e * (curve[2, last] - curve[2, low])


@jit
def allocate(
    items, begin, rows, weight, cell, step, counts, table, labels, sizes, j,
    alpha32, alpha, slope, limit, totals, block, gains,
):  # fmt: skip
    """Put items that are in no cluster where Σ alpha j - slope e gains most, one after another.

    Returns the number done; fewer than asked for when no free column is left.
    """
    for a in range(begin, items.shape[0]):
        i = items[a]
        w = weight[i]
        fresh = _free(sizes, limit)
        if fresh < 0 and (sizes > 0).sum() < limit:
            return a
        _gains(rows[i], w, cell, step, counts, table, alpha32, block, gains)
        best, most = -1, -np.inf
        for k in range(sizes.shape[0]):
            if sizes[k] > 0 or k == fresh:
                score = gains[k] - slope * (cell[sizes[k] + w] - cell[sizes[k]])
                if score > most:
                    best, most = k, score
        totals[1] += _add(rows[i], best, w, cell, step, counts, table, j, alpha)
        totals[0] += cell[sizes[best] + w] - cell[sizes[best]]
        sizes[best] += w
        labels[i] = best
    return items.shape[0]


@jit
def sweep_linear(
    items, begin, rows, weight, cell, step, counts, table, labels, sizes, j,
    alpha32, alpha, slope, curve, bends, limit, totals, block, gains, own, quiet,
):  # fmt: skip
    """Reassign items one at a time, each to the best cluster, a new one included.

    The cost is slope·e + bend(e) - Σ alpha j. ``quiet`` counts visits since the last move.
    Returns (how far it came, moves); it stops short when no free column is left.
    """
    moves = 0
    for a in range(begin, items.shape[0]):
        i = items[a]
        w, old = weight[i], labels[i]
        fresh = _free(sizes, limit)
        if fresh < 0 and (sizes > 0).sum() < limit:
            return a, moves
        if sizes[old] == w:
            fresh = -1
        _gains(rows[i], w, cell, step, counts, table, alpha32, block, gains)
        mine = _own(rows[i], old, w, cell, counts, alpha, own)
        base = totals[0] + cell[sizes[old] - w] - cell[sizes[old]]
        stay = mine - slope * (totals[0] - base) - bend(totals[0], curve, bends)
        best, most = -1, -np.inf
        for k in range(sizes.shape[0]):
            if k != old and (sizes[k] > 0 or k == fresh):
                de = cell[sizes[k] + w] - cell[sizes[k]]
                score = gains[k] - slope * de - bend(base + de, curve, bends)
                if score > most:
                    best, most = k, score
        scale = abs(mine) + abs(stay)
        quiet[0] += 1
        if best < 0 or most < stay - 1e-5 * scale:
            continue
        if most < stay + 1e-5 * scale:  # too close for float32: compare in full
            most += _gain(rows[i], best, w, cell, counts, alpha) - gains[best]
            if most <= stay + 1e-11 * scale:
                continue
        totals[1] += _add(rows[i], old, -w, cell, step, counts, table, j, alpha)
        sizes[old] -= w
        totals[1] += _add(rows[i], best, w, cell, step, counts, table, j, alpha)
        totals[0] = base + cell[sizes[best] + w] - cell[sizes[best]]
        sizes[best] += w
        labels[i] = best
        moves += 1
        quiet[0] = 0
    return items.shape[0], moves


@jit
def expected(t, p, j, e, num, den, w, n):
    """Σ_m p_m loss(t_m, e, j_m); ``num`` and ``den`` multiply (t, e, j, w, least, product, n)."""
    top0 = num[1] * e + num[3] * w + num[6] * n
    bottom0 = den[1] * e + den[3] * w + den[6] * n
    top_t, bottom_t = num[0], den[0]
    if w != 0.0:
        top_t += num[5] * e / w
        bottom_t += den[5] * e / w
    noise = 64 * 2.220446049250313e-16 * (abs(w) + n)
    total = 0.0
    for m in range(t.shape[0]):
        least = min(t[m], e)
        top = top0 + top_t * t[m] + num[2] * j[m] + num[4] * least
        bottom = bottom0 + bottom_t * t[m] + den[2] * j[m] + den[4] * least
        bad = (abs(top) <= noise) | (bottom <= 0.0)
        total += 0.0 if bad else p[m] * top / bottom
    return total


@jit
def linearise(t, p, j, e, num, den, w, n, alpha32, alpha):
    """``alpha`` becomes -d expected / d j_m; returns d expected / d e."""
    ratio = 1.0 / w if w != 0.0 else 0.0
    slope = 0.0
    for m in range(t.shape[0]):
        least, below = min(t[m], e), 1.0 if e < t[m] else 0.0
        product = t[m] * e * ratio
        top = (num[0] * t[m] + num[1] * e + num[2] * j[m] + num[3] * w + num[4] * least
               + num[5] * product + num[6] * n)  # fmt: skip
        bottom = (den[0] * t[m] + den[1] * e + den[2] * j[m] + den[3] * w + den[4] * least
                  + den[5] * product + den[6] * n)  # fmt: skip
        inverse = 1.0 / bottom if bottom > 1e-9 * abs(w) else 0.0
        loss = top * inverse
        top_e = num[1] + num[4] * below + num[5] * t[m] * ratio
        bottom_e = den[1] + den[4] * below + den[5] * t[m] * ratio
        alpha[m] = -p[m] * (num[2] - loss * den[2]) * inverse
        alpha32[m] = alpha[m]
        slope += p[m] * (top_e - loss * bottom_e) * inverse
    return slope


@jit
def _two_best(gains, sizes, cell, w, slope, old, fresh):
    """The two columns, other than ``old``, where the item would gain most, and how much."""
    first, second, most, next_most = -1, -1, -np.inf, -np.inf
    for k in range(sizes.shape[0]):
        if k != old and (sizes[k] > 0 or k == fresh):
            score = gains[k] - slope * (cell[sizes[k] + w] - cell[sizes[k]])
            if score > most:
                second, next_most = first, most
                first, most = k, score
            elif score > next_most:
                second, next_most = k, score
    return first, most, second, next_most


@jit
def _moved(row, k, w, cell, counts, j, own, trial):
    """``trial`` becomes j with the item moved to column k."""
    column = np.uint64(k)
    for m in range(row.shape[0]):
        c = np.uint64(counts[row[m], column])
        trial[m] = j[m] - own[m] + (cell[c + np.uint64(w)] - cell[c])


@jit
def sweep_ratio(
    items, begin, rows, weight, cell, step, counts, table, labels, sizes, j,
    alpha32, alpha, slope, t, p, num, den, w_total, n_total, value, doubt, limit, totals, block,
    gains, own, trial, quiet,
):  # fmt: skip
    """Reassign items one at a time under a loss that is no linear function of j.

    Candidates are scored with the loss linearised about the present state; where the best is
    within ``doubt`` (a share of what the item contributes) of staying, the best two, or with
    ``doubt`` ≥ 1 all, are evaluated exactly, and only an exact gain moves the item.
    Returns (how far it came, moves, slope, value).
    """
    moves = 0
    for a in range(begin, items.shape[0]):
        i = items[a]
        w, old = weight[i], labels[i]
        fresh = _free(sizes, limit)
        if fresh < 0 and (sizes > 0).sum() < limit:
            return a, moves, slope, value
        if sizes[old] == w:
            fresh = -1
        _gains(rows[i], w, cell, step, counts, table, alpha32, block, gains)
        mine = _own(rows[i], old, w, cell, counts, alpha, own)
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        stay = mine - slope * freed
        first, most, second, next_most = _two_best(gains, sizes, cell, w, slope, old, fresh)
        scale = doubt * (abs(mine) + abs(slope * freed)) + 1e-15
        quiet[0] += 1
        best, least = -1, value - 1e-12 * max(1.0, value)
        for k in range(sizes.shape[0]):
            tried = (k == first and most > stay - scale) or (k == second and next_most > stay)
            if doubt >= 1.0 and k != old and (sizes[k] > 0 or k == fresh):
                tried = True
            if tried:
                _moved(rows[i], k, w, cell, counts, j, own, trial)
                e = totals[0] - freed + cell[sizes[k] + w] - cell[sizes[k]]
                found = expected(t, p, trial, e, num, den, w_total, n_total)
                if found < least:
                    best, least = k, found
        if best < 0:
            continue
        _add(rows[i], old, -w, cell, step, counts, table, j, alpha)
        sizes[old] -= w
        _add(rows[i], best, w, cell, step, counts, table, j, alpha)
        totals[0] += cell[sizes[best] + w] - cell[sizes[best]] - freed
        sizes[best] += w
        labels[i] = best
        slope = linearise(t, p, j, totals[0], num, den, w_total, n_total, alpha32, alpha)
        value = least
        moves += 1
        quiet[0] = 0
    return items.shape[0], moves, slope, value


@jit
def merged(counts, offsets, a, b, cell, change):
    """``change[m]`` becomes what j_m would gain if clusters a and b were one."""
    for m in range(change.shape[0]):
        total = 0.0
        for r in range(offsets[m], offsets[m + 1]):
            x, y = np.uint64(counts[r, a]), np.uint64(counts[r, b])
            if x > 0 and y > 0:
                total += cell[x + y] - cell[x] - cell[y]
        change[m] = total


@jit
def merge_gains(counts, offsets, begin, end, alpha, cell, gains):
    """Add to ``gains[a, b]``, a > b, what Σ alpha j over some draws gains if a and b were one."""
    width = counts.shape[1]
    some = np.empty(width, dtype=np.int64)
    for m in range(begin, end):
        for r in range(offsets[m], offsets[m + 1]):
            found = 0
            for k in range(width):
                if counts[r, k] > 0:
                    some[found] = k
                    found += 1
            for a in range(1, found):
                x = np.uint64(counts[r, some[a]])
                for b in range(a):
                    y = np.uint64(counts[r, some[b]])
                    change = cell[x + y] - cell[x] - cell[y]
                    gains[some[a], some[b]] += alpha[m] * change
