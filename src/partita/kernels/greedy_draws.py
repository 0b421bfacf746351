"""Moving items between the clusters of an estimate, scored against every draw at once.

What a partition is, and what it is counted in, are ``given`` and ``held`` (see ``greedy_counts``);
``near`` bounds what an item would gain (``greedy_near``). ``slant`` = (alpha, reach) is the loss
made linear in j, ``shape`` = (t, p, num, den, w, n) the loss, ``line`` = (is_linear, curve, bends,
doubt) how it is judged, and ``trial`` = (own, trial) scratch, one entry a draw.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_bend import bend
from partita.kernels.greedy_counts import ALWAYS, WIDE, fresh_column, shift, slanted
from partita.kernels.greedy_near import best_column, own_gain, two_best


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


@jit
def allocate(items, begin, given, held, near, slant, slope, limit):
    """Put items that are in no cluster where Σ alpha j - slope e gains most, one after another.

    Returns the number done; fewer than asked for when no free column is left.
    """
    items, given, held, near, slant = bare((items, given, held, near, slant))
    alpha, reach = slant
    sizes, book = held[2], held[5]
    for a in range(begin, items.shape[0]):
        fresh = fresh_column(book, sizes, limit)
        if fresh == -2:
            return a
        best, _ = best_column(
            items[a], -1, fresh, slope, 0.0, 0.0, np.int64(-1), -np.inf, given, held, near, alpha,
            reach,
        )  # fmt: skip
        shift(items[a], best, given, held)
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
def measure(alpha, p, reach):
    """What is known of alpha as a whole, for bounds; see ``greedy_near``."""
    above, most, total = 0.0, 0.0, 0.0
    for m in range(alpha.shape[0]):
        total += alpha[m]
        above += max(alpha[m], 0.0)
        if p[m] > 0.0:
            most = max(most, alpha[m] / p[m])
    reach[0], reach[1], reach[2] = above, most / above if above > 0.0 else 0.0, total


@jit
def slopes(j, e, width, shape, slant, marks):
    """Alpha becomes -d expected / d j_m, min(t, e) rounded off within ``width`` of its bend.

    Returns d expected / d e, and how much the rounding makes it rise with e.
    """
    j, shape, slant, marks = bare((j, shape, slant, marks))
    t, p, num, den, w, n = shape
    alpha, reach = slant
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
        alpha[m] = -(top_j - loss * bottom_j) * inverse
        slope[m] = (
            top_e + top_least * below + top_te * t[m]
            - loss * (bottom_e + bottom_least * below + bottom_te * t[m])
        ) * inverse  # fmt: skip
        rise[m] = (loss * bottom_least - top_least) * inverse * (half if is_near else 0.0)
    _weigh(alpha, p, reach)
    slanted(marks)
    return dot(p, slope), dot(p, rise)


@inner
def _weigh(alpha, p, reach):
    """Multiply alpha by p, and measure it."""
    a, b, c, most, other = 0.0, 0.0, 0.0, 0.0, 0.0
    whole = alpha.shape[0] // 2 * 2
    for m in range(0, whole, 2):
        most = alpha[m] if alpha[m] > most else most
        other = alpha[m + 1] if alpha[m + 1] > other else other
        alpha[m] *= p[m]
        alpha[m + 1] *= p[m + 1]
        a += alpha[m]
        b += alpha[m + 1]
        c += (alpha[m] if alpha[m] > 0.0 else 0.0) + (alpha[m + 1] if alpha[m + 1] > 0.0 else 0.0)
    for m in range(whole, alpha.shape[0]):
        most = max(most, alpha[m])
        alpha[m] *= p[m]
        a += alpha[m]
        c += max(alpha[m], 0.0)
    reach[0], reach[1], reach[2] = c, max(most, other) / c if c > 0.0 else 0.0, a + b


@inner
def _own(i, given, held, own):
    """What item i adds to cell where it is, draw by draw."""
    rows, weight, _, cell, _, _ = given
    counts, labels = held[0], held[1]
    column, lift = np.uint64(labels[i]), np.uint64(weight[i])
    for m in range(rows.shape[1]):
        c = np.uint64(counts[column, rows[i, m]])
        own[m] = cell[c] - cell[c - lift]


@inner
def _moved(i, k, given, held, trial):
    """``trial`` becomes j with item i moved to column k."""
    rows, weight, _, cell, _, _ = given
    counts, j = held[0], held[3]
    column, lift = np.uint64(k), np.uint64(weight[i])
    own, there = trial
    for m in range(rows.shape[1]):
        c = np.uint64(counts[column, rows[i, m]])
        there[m] = j[m] - own[m] + (cell[c + lift] - cell[c])


@inner
def _better(i, fresh, first, second, base, value, given, held, shape, trial):
    """The column of least loss, evaluated exactly, and that loss; -1 if none is below ``value``.

    Only ``first`` and ``second`` are tried, all columns if ``first`` is -2; e is ``base`` without
    the item.
    """
    w, cell, old = given[1][i], given[3], held[1][i]
    sizes, t, p, num, den, w_total, n_total = held[2], *shape
    best, least = np.int64(-1), value
    bar = value - 1e-12 * max(1.0, value)
    _own(i, given, held, trial[0])
    for q in range(sizes.shape[0] if first == -2 else 2):
        k = q if first == -2 else (second if q else first)
        if k < 0 or k == old or (sizes[k] == 0 and k != fresh):
            continue
        _moved(i, k, given, held, trial)
        e = base + cell[sizes[k] + w] - cell[sizes[k]]
        found = expected(t, p, trial[1], e, num, den, w_total, n_total)
        if found < bar:
            best, least, bar = np.int64(k), found, found
    return best, least


@inner
def _rest(like, quiet, book):
    """Where all was quiet, but not all columns were looked at, look at all once more."""
    if quiet[0] >= quiet[1] and like.shape[0] == 0 and quiet[2] == 0 and book[WIDE] < ALWAYS:
        book[WIDE] = 1 - book[WIDE]
        quiet[0] *= 1 - book[WIDE]


@jit
def sweep(
    items, begin, end, given, held, near, slant, slope, limit, line, shape, value, trial, quiet
):  # fmt: skip
    """Reassign items one at a time, each to the best cluster, a new one included.

    Visits ``begin`` to ``end`` are made, going round the items.

    If the loss ``is_linear`` in j, the cost is slope·e + bend(e) - Σ alpha j. Otherwise that is the
    loss linearised about the present state; where the best column is within ``doubt`` (a share of
    what the item contributes) of staying, the best two, or with ``doubt`` ≥ 1 all, are evaluated
    exactly, and only an exact gain moves the item.
    ``quiet`` counts visits since the last move, those that are enough, and says whether these need
    not look at all columns.
    Returns (how far it came, slope, value); it stops short when no free column is left.
    """
    items, given, held, near, slant, line, shape, trial, quiet = bare(
        (items, given, held, near, slant, line, shape, trial, quiet)
    )
    weight, cell = given[1], given[3]
    labels, sizes, j, totals, book, marks = held[1], held[2], held[3], held[4], held[5], held[6]
    alpha, reach = slant
    is_linear, curve, bends, doubt = line
    n = items.shape[0]
    for a in range(begin, end):
        if quiet[0] >= quiet[1]:
            break
        i = items[a % n]
        w, old = weight[i], labels[i]
        fresh = fresh_column(book, sizes, limit)
        if fresh == -2:
            return a, slope, value
        fresh = -1 if sizes[old] == w else fresh
        base = totals[0] + cell[sizes[old] - w] - cell[sizes[old]]
        quiet[0] += 1
        if doubt >= 1.0:
            best, value = _better(i, fresh, -2, -2, base, value, given, held, shape, trial)
        else:
            lost = own_gain(i, given, held, near, alpha)
            cost = slope * (totals[0] - base) + bend(totals[0], curve, bends)
            stay = lost - cost
            bar = stay
            if not is_linear:
                bar -= doubt * (abs(lost) + abs(cost)) + 1e-15
            best, most, second, next_most = two_best(
                i, old, fresh, slope, base, bar, line, given, held, near, alpha, reach
            )
            if is_linear:
                best = best if most > stay + 1e-11 * (abs(lost) + abs(stay)) else -1
            elif best >= 0:
                second = second if next_most > stay else -1
                best, value = _better(
                    i, fresh, best, second, base, value, given, held, shape, trial
                )
        if best < 0:
            _rest(given[5], quiet, book)
            continue
        shift(i, best, given, held)
        quiet[0] = 0
        book[WIDE] = ALWAYS if book[WIDE] == ALWAYS else 0
        if not is_linear:
            slope = slopes(j, totals[0], 0.0, shape, slant, marks)[0]
    return end, slope, value
