"""Moving items into a cluster where only several of them together pay; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import HIGH, shift
from partita.kernels.greedy_draws import expected
from partita.kernels.greedy_near import bounds, gain, own_gain

_TARGETS = 24  # clusters that items are moved into, at most


@inner
def _hopes(slope, fresh, given, held, near, slant, hopes):
    """Fill ``hopes[k, i]`` with at least what item i would gain in column k, -inf if it may not."""
    weight, cell = given[1], given[3]
    labels, sizes, book = held[1], held[2], held[5]
    bound, reach = near[3], slant[1]
    hopes[:] = -np.inf
    for i in range(labels.shape[0]):
        w, old = weight[i], labels[i]
        lost = own_gain(i, given, held, near, slant[0])
        freed = cell[sizes[old]] - cell[sizes[old] - w]
        bounds(i, slope, 0.0, freed, reach, given, held, near)
        for k in range(book[HIGH]):
            if k != old and sizes[k] > 0:
                hopes[k, i] = bound[k] - lost
        if fresh >= 0 and sizes[old] > w:
            hopes[fresh, i] = reach[2] * cell[w] - lost - slope * (cell[w] - freed)


@inner
def _score(i, target, slope, given, held, near, alpha):
    """What item i would gain in a column, on the loss made linear."""
    weight, cell = given[1], given[3]
    labels, sizes = held[1], held[2]
    w, s = weight[i], sizes[labels[i]]
    rise = cell[sizes[target] + w] - cell[sizes[target]] - cell[s] + cell[s - w]
    lost = own_gain(i, given, held, near, alpha)
    return gain(i, target, given, held[0], alpha) - lost - slope * rise


@inner
def _nearest(target, hopes, slope, given, held, near, alpha, chosen, scores):
    """Fill ``chosen`` with the items that lose least in column ``target``; return their number."""
    found, most = 0, chosen.shape[0]
    for i in range(hopes.shape[0]):
        if hopes[i] == -np.inf or (found == most and hopes[i] <= scores[found - 1]):
            continue
        score = _score(i, target, slope, given, held, near, alpha)
        if found == most and score <= scores[found - 1]:
            continue
        at = min(found, most - 1)
        while at > 0 and scores[at - 1] < score:
            chosen[at], scores[at] = chosen[at - 1], scores[at - 1]
            at -= 1
        chosen[at], scores[at] = i, score
        found = min(found + 1, most)
    return found


@inner
def _next(chosen, done, found, target, slope, given, held, near, alpha):
    """Where in ``chosen``, from ``done`` on, the item stands that loses least in ``target`` now."""
    best, most = done, -np.inf
    for a in range(done, found):
        score = _score(chosen[a], target, slope, given, held, near, alpha)
        if score > most:
            best, most = a, score
    return best


@jit
def chains(
    n_nearest, depth, hopeless, given, held, near, slant, slope, fresh, shape, value, hopes
):  # fmt: skip
    """Move items into a cluster one after another, each time the one that loses least by it.

    This is tried with the clusters, and with ``fresh`` if that is not -1, that an item may lose
    least by going to. Only the ``n_nearest`` items move, ``depth`` of them at most, as long as the
    loss is below ``hopeless``. The best partition on the way is kept if it is better than
    ``value``; that ends it. Returns the loss.
    """
    given, held, near, slant, shape, hopes = bare((given, held, near, slant, shape, hopes))
    labels, sizes, j, totals = held[1], held[2], held[3], held[4]
    t, p, num, den, w_total, n_total = shape
    alpha = slant[0]
    _hopes(slope, fresh, given, held, near, slant, hopes)
    tops, chosen = np.full(sizes.shape[0], np.inf), np.empty(n_nearest, dtype=np.int64)
    for k in range(sizes.shape[0]):
        tops[k] = -np.max(hopes[k])
    homes, kept, scores = np.empty(depth, dtype=np.int64), j.copy(), np.empty(n_nearest)
    e, bar = totals[0], value - 1e-11 * max(1.0, abs(value))
    for target in np.argsort(tops, kind="mergesort")[:_TARGETS]:
        if tops[target] == np.inf:
            break
        found = _nearest(target, hopes[target], slope, given, held, near, alpha, chosen, scores)
        best, least, moved = 0, bar, np.int64(0)
        while moved < min(found, depth):
            if moved > 0:
                a = _next(chosen, moved, found, target, slope, given, held, near, alpha)
                chosen[moved], chosen[a] = chosen[a], chosen[moved]
            i = chosen[moved]
            homes[moved] = labels[i]
            shift(i, target, given, held)
            moved += 1
            now = expected(t, p, j, totals[0], num, den, w_total, n_total)
            if now < least:
                best, least = moved, now
            if now > hopeless:
                break
        for a in range(moved - 1, best - 1, -1):
            shift(chosen[a], homes[a], given, held)
        if best > 0:
            return least
        j[:], totals[0] = kept, e
    return value
