"""What an item would add in every column, bounded from how similar it is to the items there.

Σ_m alpha_m cell'(c_m), where c_m are the items of a column that draw m puts with this one and
cell' is what one more adds, is at most A cell'(Σ_m alpha_m c_m / A), A = Σ alpha, if cell' is
concave (Jensen). The mean of c_m over the draws is the sum of the item's similarities to the
column, which a move changes by one of them. So a visit looks at all draws for the columns alone
whose bound is high enough: mostly none besides its own.

``like`` holds similarities in units of 1 / ONE, rounded up, weighted as the draws are. ``near`` =
(own, stamps, shared, bound, lines): ``own[i]`` is what item i adds where it is, remembered under
the marks ``stamps[i]``; ``shared`` and ``bound`` are scratch, one entry a column; ``lines`` are
what items of each kind add to cell, and the differences of that. ``reach`` is (Σ alpha+, the most
that alpha+ / p is over that, Σ alpha): by how much sums may fall short of what draws weighted by
alpha would give.

Where there is no ``like``, as items are too many or cell' is not concave, some of the draws say
what is near, unless ``book[WIDE]`` says to look at all columns.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import hot, jit
from partita.kernels.greedy_bend import bend, tangent
from partita.kernels.greedy_counts import ALPHA, COLUMNS, HIGH, WIDE

ONE = 1 << 15  # units that a similarity of 1 is
_LIFTED = 1 + 2e-6  # by which a bound in single precision is raised, so that it is one
_SAMPLED = 32  # draws that tell which columns to look at, where there is no ``like``
_SHARE, _DOUBT = 1.5, 0.06  # by which, and by what share of a column, their sums are raised


@jit
def round_up(matrix, out):
    """``out`` becomes similarities in units of 1 / ONE, rounded up."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.uint16(min(np.ceil(matrix[i, j] * np.float32(ONE)), np.float32(ONE)))


@hot
def _estimate(i, given, held, shared):
    """Estimate the sums of item i from some of the draws, high enough to be over them mostly."""
    rows, counts, sizes, high = given[0], held[0], held[2], held[5][HIGH]
    stride = max(1, rows.shape[1] // _SAMPLED)
    n_seen = (rows.shape[1] - 1) // stride + 1
    doubt, share = (0.0, 1.0) if stride == 1 else (_DOUBT, _SHARE)
    for k in range(high):
        total = np.int64(0)
        for m in range(0, rows.shape[1], stride):
            total += np.int64(counts[np.uint64(k), rows[i, m]])
        mean = share * total / n_seen + doubt * sizes[k]
        shared[k] = np.int32(min(ONE * mean + 1.0, 2.0e9))


@hot
def bring(i, given, held, near):
    """``shared`` becomes how like item i is to the items of every column together."""
    sums, shared, high = held[7], near[2], held[5][HIGH]
    if given[5].shape[0] > 0:
        for k in range(high):
            shared[k] = sums[np.uint64(k), i]
    elif held[5][WIDE] == 0:
        _estimate(i, given, held, shared)


@hot
def gain(i, k, given, counts, alpha):
    """Σ_m alpha_m of what item i would add to cell in column k, where it is not."""
    rows, _, kind, _, steps, _ = given
    column, q = np.uint64(k), np.uint64(kind[i])
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = rows.shape[1] // 4 * 4
    for m in range(0, whole, 4):
        a += alpha[m] * steps[q, counts[column, rows[i, m]]]
        b += alpha[m + 1] * steps[q, counts[column, rows[i, m + 1]]]
        c += alpha[m + 2] * steps[q, counts[column, rows[i, m + 2]]]
        d += alpha[m + 3] * steps[q, counts[column, rows[i, m + 3]]]
    for m in range(whole, rows.shape[1]):
        a += alpha[m] * steps[q, counts[column, rows[i, m]]]
    return (a + b) + (c + d)


@hot
def own_gain(i, given, held, near, alpha):
    """Σ_m alpha_m of what item i adds to cell where it is."""
    rows, weight, kind, _, steps, _ = given
    counts, marks, own, stamps = held[0], held[6], near[0], near[1]
    k = held[1][i]
    if stamps[i, 0] == marks[COLUMNS + k] and stamps[i, 1] == marks[ALPHA]:
        return own[i]
    column, q, w = np.uint64(k), np.uint64(kind[i]), np.uint64(weight[i])
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = rows.shape[1] // 4 * 4
    for m in range(0, whole, 4):
        a += alpha[m] * steps[q, np.uint64(counts[column, rows[i, m]]) - w]
        b += alpha[m + 1] * steps[q, np.uint64(counts[column, rows[i, m + 1]]) - w]
        c += alpha[m + 2] * steps[q, np.uint64(counts[column, rows[i, m + 2]]) - w]
        d += alpha[m + 3] * steps[q, np.uint64(counts[column, rows[i, m + 3]]) - w]
    for m in range(whole, rows.shape[1]):
        a += alpha[m] * steps[q, np.uint64(counts[column, rows[i, m]]) - w]
    own[i] = (a + b) + (c + d)
    stamps[i, 0], stamps[i, 1] = marks[COLUMNS + k], marks[ALPHA]
    return own[i]


@hot
def _bound(q, scale, most, slope, half, freed, high, sizes, shared, lines, bound):
    """Fill ``bound`` for an item of kind q, in single precision; see :func:`bounds`."""
    last = np.float32(lines.shape[2] - 1)
    for k in range(high):
        mean = np.float32(shared[k]) * scale
        mean = mean if mean < last else last
        whole = np.int32(mean)
        f = np.uint32(whole)
        added = most * (lines[0, q, f] + (mean - np.float32(whole)) * lines[1, q, f])
        rise = lines[0, q, np.uint64(sizes[k])] - freed
        bound[k] = added - (slope + half * rise) * rise


@hot
def bounds(i, slope, half, freed, reach, given, held, near):
    """``bound[k]`` becomes at least what item i gains in column k, less what e costs there.

    e rises by what the item adds to the size less ``freed``; the cost of that is linear and, with
    ``half``, quadratic. Free columns, and the item's own, have no meaning.
    """
    shared, bound, high = near[2], near[3], held[5][HIGH]
    bring(i, given, held, near)
    if held[5][WIDE] > 0:
        bound[:high] = np.inf
    else:
        _bound(
            np.uint64(given[2][i]), np.float32(_LIFTED * reach[1] / ONE),
            np.float32(_LIFTED * reach[0]), np.float32(slope), np.float32(half), np.float32(freed),
            high, held[2], shared, near[4], bound,
        )  # fmt: skip


@hot
def best_column(
    i, old, fresh, slope, half, freed, best, most, given, held, near, alpha, reach
):  # fmt: skip
    """The column, other than ``old``, where item i gains most less what e costs, and how much.

    ``best`` and ``most`` if none is above that. ``fresh`` is a free column, or negative.
    """
    weight, cell = given[1], given[3]
    counts, sizes, high = held[0], held[2], held[5][HIGH]
    bound, w = near[3], weight[i]
    bounds(i, slope, half, freed, reach, given, held, near)
    if fresh >= 0:
        rise = cell[w] - freed
        score = reach[2] * cell[w] - (slope + half * rise) * rise
        if score > most:
            best, most = fresh, score
    first, top = np.int64(-1), np.float32(-np.inf)
    for k in range(high):
        if (bound[k] > top or first < 0) and k != old and sizes[k] > 0:
            first, top = k, bound[k]
    if first < 0 or (bound[first] <= most and best >= 0):
        return best, most
    rise = cell[sizes[first] + w] - cell[sizes[first]] - freed
    score = gain(i, first, given, counts, alpha) - (slope + half * rise) * rise
    if score > most or best < 0:
        best, most = first, score
    least = np.float32(most)
    for k in range(high):
        if bound[k] >= least and k != old and k != first and sizes[k] > 0:
            rise = cell[sizes[k] + w] - cell[sizes[k]] - freed
            score = gain(i, k, given, counts, alpha) - (slope + half * rise) * rise
            if score > most:
                best, most, least = k, score, np.float32(score)
    return best, most


@hot
def two_best(i, old, fresh, slope, base, bar, line, given, held, near, alpha, reach):
    """The two columns, other than ``old``, where item i gains most, and how much.

    ``line`` is how the cost of e bends; e is ``base`` without the item. Those are found that gain
    more than ``bar``.
    """
    weight, cell = given[1], given[3]
    counts, sizes, high = held[0], held[2], held[5][HIGH]
    bound, w = near[3], weight[i]
    _, curve, bends, _ = line
    floor, fall, is_above = tangent(base, curve, bends)
    first, second, most, next_most = np.int64(-1), np.int64(-1), bar, bar
    if fresh >= 0:
        most = reach[2] * cell[w] - slope * cell[w] - bend(base + cell[w], curve, bends)
        first = fresh
        if most <= bar:
            first, most = np.int64(-1), bar
    is_free = bends and not is_above
    bounds(i, 0.0 if is_free else slope + fall, 0.0, 0.0, reach, given, held, near)
    least = np.float32(-np.inf if is_free else next_most + floor)
    for k in range(high):
        if not bound[k] >= least or k == old or sizes[k] == 0:
            continue
        rise = cell[sizes[k] + w] - cell[sizes[k]]
        score = gain(i, k, given, counts, alpha) - slope * rise
        score -= bend(base + rise, curve, bends)
        if score > most:
            second, next_most = first, most
            first, most = k, score
        elif score > next_most:
            second, next_most = k, score
        least = least if is_free else np.float32(next_most + floor)
    return first, most, second, next_most
