"""Moving items between the clusters of an estimate, scored against every draw at once.

The state of one run: ``counts[r, k]``, the items that the draw cluster r (one row for each
cluster of each draw) shares with cluster k; ``table[r, k]``, what one more item there would add
to cell; ``labels`` (-1: in no cluster), ``sizes``, ``j`` (one total a draw) and
``totals`` = (e,). Column k of a row is a cluster, or free if its size is 0. ``marks`` say when
columns last changed; what items would gain in them is remembered in ``memo``; see ``greedy_memo``.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_bend import bend, tangent
from partita.kernels.greedy_memo import (
    is_old,
    is_own_old,
    look,
    place,
    renew,
    renew_own,
    touch,
)

_CLOSE = 1e-4  # share of what an item contributes within which single precision does not judge


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
def derive(counts, offsets, cell, step, table, j):
    """``table`` becomes ``step[counts]``, and ``j[m]`` the sum of cell over draw m's rows."""
    for m in range(j.shape[0]):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums at once, as elsewhere: one waits for itself
        for r in range(offsets[m], offsets[m + 1]):
            for k in range(0, counts.shape[1], 4):
                p, q, s, u = counts[r, k], counts[r, k + 1], counts[r, k + 2], counts[r, k + 3]
                table[r, k], table[r, k + 1] = step[p], step[q]
                table[r, k + 2], table[r, k + 3] = step[s], step[u]
                a += cell[p]
                b += cell[q]
                c += cell[s]
                d += cell[u]
        j[m] = (a + b) + (c + d)


@jit
def joint(counts, offsets, cell, j):
    """``j[m]`` becomes the sum of cell over draw m's rows."""
    for m in range(j.shape[0]):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for r in range(offsets[m], offsets[m + 1]):
            for k in range(0, counts.shape[1], 4):
                a += cell[counts[r, k]]
                b += cell[counts[r, k + 1]]
                c += cell[counts[r, k + 2]]
                d += cell[counts[r, k + 3]]
        j[m] = (a + b) + (c + d)


@inner
def _add(row, k, w, cell, step, counts, table, j, marks):
    """Put an item of weight ``w`` (taken out if negative) into column k."""
    touch(k, marks)
    column = np.uint64(k)
    for m in range(row.shape[0]):
        r = row[m]
        before = np.uint64(counts[r, column])
        after = before + np.uint64(w)
        counts[r, column] = after
        table[r, column] = step[after]
        j[m] += cell[after] - cell[before]


@inner
def _shift(row, old, k, w, cell, step, counts, table, sizes, j, totals, marks):
    """Move an item from column ``old`` to column k, -1 standing for none."""
    if old >= 0:
        _add(row, old, -w, cell, step, counts, table, j, marks)
        totals[0] += cell[sizes[old] - w] - cell[sizes[old]]
        sizes[old] -= w
    if k >= 0:
        _add(row, k, w, cell, step, counts, table, j, marks)
        totals[0] += cell[sizes[k] + w] - cell[sizes[k]]
        sizes[k] += w


@jit
def move(items, targets, rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks):
    """Move each item to its target cluster; -1 takes it out of all."""
    for a in range(items.shape[0]):
        i, k = items[a], targets[a]
        if labels[i] != k:
            _shift(
                rows[i], labels[i], k, weight[i], cell, step, counts, table, sizes, j, totals, marks
            )
            labels[i] = k


@inner
def dot(x, y):
    """Σ x y, in four sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = x.shape[0] // 4 * 4
    for m in range(0, whole, 4):
        a += x[m] * y[m]
        b += x[m + 1] * y[m + 1]
        c += x[m + 2] * y[m + 2]
        d += x[m + 3] * y[m + 3]
    for m in range(whole, x.shape[0]):
        a += x[m] * y[m]
    return (a + b) + (c + d)


@inner
def _own(row, k, w, cell, counts, alpha, own):
    """What the item adds to cell where it is, draw by draw, and the weighted sum of it."""
    column, lift = np.uint64(k), np.uint64(w)
    for m in range(row.shape[0]):
        c = np.uint64(counts[row[m], column])
        own[m] = cell[c] - cell[c - lift]
    return dot(alpha, own)


@inner
def _gain(row, k, w, cell, counts, alpha):
    """Σ_m alpha_m of what the item would add to cell in column k, in full precision."""
    total = 0.0
    column = np.uint64(k)
    for m in range(row.shape[0]):
        c = np.uint64(counts[row[m], column])
        total += alpha[m] * (cell[c + np.uint64(w)] - cell[c])
    return total


@inner
def _free(sizes, limit):
    """The first free column, -1 if there are ``limit`` clusters, -2 if no column is left."""
    found = -2
    active = 0
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            active += 1
        elif found < 0:
            found = k
    return found if active < limit else -1


@jit
def allocate(
    items, begin, rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks,
    alpha32, slope, limit, memo,
):  # fmt: skip
    """Put items that are in no cluster where Σ alpha j - slope e gains most, one after another.

    Returns the number done; fewer than asked for when no free column is left.
    """
    known, _, stamps, last, block = memo
    look(alpha32, marks, last)
    for a in range(begin, items.shape[0]):
        i = items[a]
        w = weight[i]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return a
        x = place(i, stamps)
        if is_old(x, marks, stamps):
            renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block)
        best, most = -1, -np.inf
        for k in range(sizes.shape[0]):
            if sizes[k] > 0 or k == fresh:
                score = known[x, k] - slope * (cell[sizes[k] + w] - cell[sizes[k]])
                if score > most:
                    best, most = k, score
        _shift(rows[i], labels[i], best, w, cell, step, counts, table, sizes, j, totals, marks)
        labels[i] = best
    return items.shape[0]


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
    top_j, bottom_j, top_least, bottom_least = num[2], den[2], num[4], den[4]
    loss = np.empty(t.shape[0])
    for m in range(t.shape[0]):
        least = min(t[m], e)
        top = top0 + top_t * t[m] + top_j * j[m] + top_least * least
        bottom = bottom0 + bottom_t * t[m] + bottom_j * j[m] + bottom_least * least
        bad = (abs(top) <= noise) | (bottom <= 0.0)
        loss[m] = (0.0 if bad else top) / (1.0 if bad else bottom)
    return dot(p, loss)


@jit
def slopes(t, p, j, e, width, num, den, w, n, alpha32, alpha):
    """``alpha`` becomes -d expected / d j_m, min(t, e) rounded off within ``width`` of its bend.

    Returns d expected / d e, and how much the rounding makes it rise with e.
    """
    ratio = 1.0 / w if w != 0.0 else 0.0
    top0 = num[1] * e + num[3] * w + num[6] * n
    bottom0 = den[1] * e + den[3] * w + den[6] * n
    top_t, bottom_t = num[0] + num[5] * e * ratio, den[0] + den[5] * e * ratio
    top_j, bottom_j, top_least, bottom_least = num[2], den[2], num[4], den[4]
    top_e, bottom_e, top_te, bottom_te = num[1], den[1], num[5] * ratio, den[5] * ratio
    half, floor = 0.5 / width if width > 0.0 else 0.0, 1e-9 * abs(w)
    slope, rise = np.empty(t.shape[0]), np.empty(t.shape[0])
    for m in range(t.shape[0]):
        gap = t[m] - e
        is_near = abs(gap) < width
        below = 0.5 + gap * half if is_near else (1.0 if gap > 0 else 0.0)
        least = t[m] - width * below * below if is_near else min(t[m], e)
        top = top0 + top_t * t[m] + top_j * j[m] + top_least * least
        bottom = bottom0 + bottom_t * t[m] + bottom_j * j[m] + bottom_least * least
        is_good = bottom > floor
        inverse = (1.0 if is_good else 0.0) / (bottom if is_good else 1.0)
        loss = top * inverse
        alpha[m] = -p[m] * (top_j - loss * bottom_j) * inverse
        alpha32[m] = alpha[m]
        slope[m] = (
            top_e + top_least * below + top_te * t[m]
            - loss * (bottom_e + bottom_least * below + bottom_te * t[m])
        ) * inverse  # fmt: skip
        rise[m] = (loss * bottom_least - top_least) * inverse * (half if is_near else 0.0)
    return dot(p, slope), dot(p, rise)


@inner
def _two_best(x, known, sizes, cell, w, base, slope, curve, bends, old, fresh):
    """The two columns, other than ``old``, where the item would gain most, and how much."""
    first, second, most, next_most = -1, -1, -np.inf, -np.inf
    floor, fall, is_above = tangent(base, curve, bends)
    for k in range(sizes.shape[0]):
        if k != old and (sizes[k] > 0 or k == fresh):
            de = cell[sizes[k] + w] - cell[sizes[k]]
            score = known[x, k] - slope * de
            if is_above and score - floor - fall * de < next_most:
                continue
            score -= bend(base + de, curve, bends)
            if score > most:
                second, next_most = first, most
                first, most = k, score
            elif score > next_most:
                second, next_most = k, score
    return first, most, second, next_most


@inner
def _moved(row, k, w, cell, counts, j, own, trial):
    """``trial`` becomes j with the item moved to column k."""
    column = np.uint64(k)
    for m in range(row.shape[0]):
        c = np.uint64(counts[row[m], column])
        trial[m] = j[m] - own[m] + (cell[c + np.uint64(w)] - cell[c])


@inner
def _better(
    row, w, old, fresh, first, second, cell, counts, sizes, j, base, t, p, num, den, w_total,
    n_total, value, own, trial,
):  # fmt: skip
    """The column of least loss, evaluated exactly, and that loss; -1 if none is below ``value``.

    Only ``first`` and ``second`` are tried, all columns if ``first`` is -2.
    """
    best, least = -1, value
    bar = value - 1e-12 * max(1.0, value)
    for k in range(sizes.shape[0]):
        is_open = first == -2 and k != old and (sizes[k] > 0 or k == fresh)
        if k in (first, second) or is_open:
            _moved(row, k, w, cell, counts, j, own, trial)
            e = base + cell[sizes[k] + w] - cell[sizes[k]]
            found = expected(t, p, trial, e, num, den, w_total, n_total)
            if found < bar:
                best, least, bar = k, found, found
    return best, least


@jit
def sweep(
    items, begin, end, rows, weight, cell, step, counts, table, labels, sizes, j, totals, marks,
    alpha32, alpha, slope, limit, memo, own, curve, bends, t, p, num, den, w_total, n_total,
    is_linear, value, doubt, trial, quiet,
):  # fmt: skip
    """Reassign items one at a time, each to the best cluster, a new one included.

    Visits ``begin`` to ``end`` are made, going round the items.

    If the loss ``is_linear`` in j, the cost is slope·e + bend(e) - Σ alpha j. Otherwise that is the
    loss linearised about the present state; where the best column is within ``doubt`` (a share of
    what the item contributes) of staying, the best two, or with ``doubt`` ≥ 1 all, are evaluated
    exactly, and only an exact gain moves the item.
    ``quiet`` counts visits since the last move, and those that are enough.
    Returns (how far it came, slope, value); it stops short when no free column is left.
    """
    n = items.shape[0]
    known, near, stamps, last, block = memo
    look(alpha32, marks, last)
    for a in range(begin, end):
        if quiet[0] >= quiet[1]:
            break
        i = items[a % n]
        w, old = weight[i], labels[i]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return a, slope, value
        if sizes[old] == w:
            fresh = -1
        x = place(i, stamps)
        if is_old(x, marks, stamps):
            renew(x, i, rows, w, cell, counts, table, alpha32, marks, known, stamps, block)
        base = totals[0] + cell[sizes[old] - w] - cell[sizes[old]]
        first, most, second, next_most = _two_best(
            x, known, sizes, cell, w, base, slope, curve, bends, old, fresh
        )
        cost = slope * (totals[0] - base) + bend(totals[0], curve, bends)
        quiet[0] += 1
        if w == 1 and doubt < 1.0:
            if is_own_old(x, old, marks, stamps):
                renew_own(x, i, rows, old, w, cell, step, counts, alpha32, marks, near, stamps)
            held = near[x]
            margin = _CLOSE * (abs(held) + abs(held - cost))
            if not is_linear:
                margin += doubt * (abs(held) + abs(cost))
            if most < held - cost - margin:
                continue
        lost = _own(rows[i], old, w, cell, counts, alpha, own)
        stay = lost - cost
        scale = abs(lost) + abs(stay)
        if is_linear:
            best = first if most > stay - 1e-5 * scale else -1
            if best >= 0 and most < stay + 1e-5 * scale:  # too close for float32: compare in full
                most += _gain(rows[i], best, w, cell, counts, alpha) - known[x, best]
                best = best if most > stay + 1e-11 * scale else -1
        else:
            if doubt >= 1.0:
                first = -2
            elif most <= stay - doubt * (abs(lost) + abs(cost)) - 1e-15:
                continue
            second = second if next_most > stay else -1
            best, value = _better(
                rows[i], w, old, fresh, first, second, cell, counts, sizes, j, base, t, p, num,
                den, w_total, n_total, value, own, trial,
            )  # fmt: skip
        if best < 0:
            continue
        _shift(rows[i], old, best, w, cell, step, counts, table, sizes, j, totals, marks)
        labels[i] = best
        quiet[0] = 0
        if not is_linear:
            slope = slopes(
                t, p, j, totals[0], 0.0, num, den, w_total, n_total, alpha32, alpha
            )[0]  # fmt: skip
            look(alpha32, marks, last)
    return end, slope, value
