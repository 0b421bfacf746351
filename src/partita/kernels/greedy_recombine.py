"""Splitting a cluster, alone or while two others merge; see ``greedy_draws``.

Where the loss bends in e, a merger raises e and a split lowers it, so each alone may be held back
by what e costs where both would pay. Splits are halves of clusters, two items that belong together,
and what clusters share with those of other partitions. A half may also go over to another cluster.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._bare import bare
from partita.kernels._compile import inner, jit
from partita.kernels.greedy_counts import HIGH
from partita.kernels.greedy_draws import expected
from partita.kernels.greedy_merges import best_mergers, merge_gains
from partita.kernels.greedy_near import ONE
from partita.kernels.greedy_pairs import POINTS, _cost
from partita.kernels.greedy_parts import find_mates, halve

_SPLITS = 100  # that are looked at, at most
_MERGERS = 64  # the same, the best
_MIXED, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
HALF, PAIR = -1, -2  # sources of a split that are none of the other partitions
ALONE = -1  # in place of the clusters that merge, where a split is alone


@inner
def block(source, item, labels, others, inside, items):
    """Fill ``items`` with what a split takes from the cluster of an item; how many they are.

    Those are the items that are with it in one of the other partitions, or in the same half.
    """
    found = 0
    for i in range(labels.shape[0]):
        if labels[i] != labels[item]:
            continue
        if (
            inside[i] == inside[item]
            if source == HALF
            else others[source, i] == others[source, item]
        ):
            items[found] = i
            found += 1
    return found


@inner
def _key(items):
    """A number for a set of items, another for nearly every other set."""
    total = np.uint64(0)
    for i in items:
        x = np.uint64(i + 1) * _MIXED
        total += (x ^ (x >> _SHIFT)) * _MIXED
    return total


@jit
def split_gain(items, given, held, shared, more):
    """What e gains if some items of a cluster were a cluster of their own; ``more`` is what j does.

    ``shared``, one for each row of counts, is zero.
    """
    rows, weight, _, cell, _, _ = given
    counts, labels, sizes = held[0], held[1], held[2]
    size, column = 0, labels[items[0]]
    more[:] = 0.0
    for i in items:
        size += weight[i]
        for r in rows[i]:
            shared[r] += weight[i]
    for i in items:
        for m in range(rows.shape[1]):
            r = rows[i, m]
            if shared[r] > 0:
                c = np.int64(counts[column, r])
                more[m] += cell[c - shared[r]] + cell[shared[r]] - cell[c]
                shared[r] = 0
    whole = sizes[column]
    return cell[whole - size] + cell[size] - cell[whole]


@inner
def _insert(value, values, found, most):
    """Make room for a value in a descending list of at most so many; where, -1 if it is too low."""
    if found == most and value <= values[found - 1]:
        return -1
    at = min(found, most - 1)
    while at > 0 and values[at - 1] < value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value
    return at


@inner
def _splits(
    slope, given, held, alpha, shape, others, inside, shared, ids, gains, rises, values
):  # fmt: skip
    """Fill ``ids``, ``gains`` on the linear loss, ``rises`` of e and ``values`` of the loss.

    Returns how many splits there are. A block that several partitions share with a cluster is
    taken once. The value of a split that leaves an item alone is infinite: sweeps look at those.
    """
    labels, sizes, j, e = held[1], held[2], held[3], held[4][0]
    t, p, num, den, w_total, n_total = shape
    n, found, more = labels.shape[0], 0, np.empty(j.shape[0])
    items, is_done, keys = (
        np.empty(n, np.int64),
        np.empty(n, np.bool_),
        np.empty(_SPLITS, np.uint64),
    )
    wholes = np.zeros(sizes.shape[0], np.int64)
    for i in range(n):
        wholes[labels[i]] += 1
    for source in range(HALF, others.shape[0]):
        is_done[:] = False
        for i in range(n):
            if is_done[i] or (source == HALF and not inside[i]) or found == _SPLITS:
                continue
            n_items = block(source, i, labels, others, inside, items)
            is_done[items[:n_items]] = True
            if n_items == wholes[labels[i]] or (n_items < 2 and source != HALF):
                continue
            key, is_known = _key(items[:n_items]), False
            for b in range(found):
                is_known |= keys[b] == key
            if is_known:
                continue
            keys[found], ids[found, 0], ids[found, 1] = key, source, i
            rises[found] = split_gain(items[:n_items], given, held, shared, more)
            gains[found] = alpha @ more - slope * rises[found]
            more += j
            values[found] = np.inf
            if 1 < n_items < wholes[labels[i]] - 1:
                values[found] = expected(t, p, more, e + rises[found], num, den, w_total, n_total)
            found += 1
    return found


@inner
def _nearest(items, old, size, slope, given, held, near, slant, means, best):
    """Fill ``best`` with the clusters, other than its own, where a block should gain most.

    As if a cluster were with all of the block in as large a share of the draws as their items are
    on average. -1 stands for none.
    """
    weight, cell, sizes, high = given[1], given[3], held[2], held[5][HIGH]
    means[:] = 0.0
    for i in items:
        for k in range(high):
            means[k] += weight[i] * held[7][k, i]
    best[:], most, next_most = -1, -np.inf, -np.inf
    for k in range(high):
        if k == old or sizes[k] == 0:
            continue
        added = cell[sizes[k] + size] - cell[sizes[k]] - cell[size]
        score = added * (slant[1][0] * means[k] / (size * sizes[k] * ONE) - slope)
        if score > most:
            best[1], next_most = best[0], most
            best[0], most = k, score
        elif score > next_most:
            best[1], next_most = k, score


@inner
def _transfers(
    slope, given, held, near, slant, shape, others, inside, shared, here, bar, values, n_found,
    found,
):  # fmt: skip
    """Add to the plans found those by which a half of a cluster goes over to another near it."""
    rows, weight, _, cell, _, _ = given
    counts, labels, sizes, j, totals = held[0], held[1], held[2], held[3], held[4]
    t, p, num, den, w_total, n_total = shape
    n, m, n_rows = labels.shape[0], j.shape[0], counts.shape[1]
    items, is_done, more = np.empty(n, np.int64), np.zeros(n, np.bool_), np.empty(m)
    touched, draws = np.empty(n_rows, np.uint32), np.empty(n_rows, np.int64)
    means, best = np.empty(sizes.shape[0]), np.empty(2, np.int64)
    for i in range(n):
        if is_done[i]:
            continue
        n_items = block(HALF, i, labels, others, inside, items)
        is_done[items[:n_items]] = True
        old, size, n_touched = labels[i], 0, 0
        for a in range(n_items):
            size += weight[items[a]]
        if size == sizes[old] or n_items == 1:
            continue
        for a in range(n_items):
            for b in range(m):
                r = rows[items[a], b]
                if shared[r] == 0:
                    touched[n_touched], draws[n_touched] = r, b
                    n_touched += 1
                shared[r] += weight[items[a]]
        _nearest(items[:n_items], old, size, slope, given, held, near, slant, means, best)
        for k in best:
            if k < 0:
                continue
            more[:] = j
            for b in range(n_touched):
                x, r = shared[touched[b]], touched[b]
                c, d = np.int64(counts[old, r]), np.int64(counts[k, r])
                more[draws[b]] += cell[c - x] - cell[c] + cell[d + x] - cell[d]
            rise = cell[sizes[old] - size] - cell[sizes[old]]
            rise += cell[sizes[k] + size] - cell[sizes[k]]
            value = here - expected(t, p, more, totals[0] + rise, num, den, w_total, n_total)
            if value >= -bar:
                n_found = _propose(value, (np.int64(HALF), i), k, ALONE, values, n_found, found)
        for b in range(n_touched):
            shared[touched[b]] = 0
    return n_found


@inner
def _pairs(given, held, shape, mates, shared, here, values, n_found, found):
    """Add to the plans found those that pay and by which two mates begin a cluster."""
    labels, j, e = held[1], held[3], held[4][0]
    t, p, num, den, w_total, n_total = shape
    both, more = np.empty(2, np.int64), np.empty(j.shape[0])
    for i in range(labels.shape[0]):
        if mates[i] < 0 or (mates[mates[i]] == i and mates[i] < i):
            continue
        both[0], both[1] = i, mates[i]
        rise = split_gain(both, given, held, shared, more)
        more += j
        value = here - expected(t, p, more, e + rise, num, den, w_total, n_total)
        if value > 0.0:
            n_found = _propose(value, (np.int64(PAIR), i), ALONE, ALONE, values, n_found, found)
    return n_found


@inner
def _bent(rise, widest, bent):
    """What a change of e costs, read off a grid."""
    place = rise / widest * POINTS + POINTS
    g = min(max(np.int64(place), 0), 2 * POINTS - 1)
    return bent[g] + (place - g) * (bent[g + 1] - bent[g])


@inner
def _propose(value, split, first, second, values, n_found, found):
    """Put a plan in its place among those found; return how many there are."""
    at = _insert(value, values, n_found, found.shape[0])
    if at < 0:
        return n_found
    n_found = min(n_found + 1, found.shape[0])
    for b in range(n_found - 1, at, -1):
        found[b] = found[b - 1]
    found[at, 0], found[at, 1], found[at, 2], found[at, 3] = split[0], split[1], first, second
    return n_found


@jit
def plans(
    seed, slope, given, held, near, slant, shape, offsets, others, hopeless, bar, pairs_too,
    alone_too, inside, mates, found,
):  # fmt: skip
    """Fill ``found`` with the splits that cost least, the best first, and the mergers to make.

    Splits are alone if ``alone_too``, and with a merger if ``pairs_too``; halves that go to another
    cluster are among them. Those by which the loss would rise by more than ``bar`` are left out, by
    more than ``hopeless`` those with a merger, and two mates that do not pay at once.
    ``inside`` becomes one half of every cluster, ``mates`` what items could leave theirs with.
    Returns how many there are.
    """
    seed, given, held, near, slant, shape, offsets, others, inside, mates, found = bare(
        (seed, given, held, near, slant, shape, offsets, others, inside, mates, found)
    )
    rows, weight, _, cell, _, _ = given
    counts, labels, sizes, j, totals = held[0], held[1], held[2], held[3], held[4]
    t, p, num, den, w_total, n_total = shape
    alpha = slant[0]
    shared = np.zeros(counts.shape[1], np.int64)
    halve(seed, labels, sizes, rows, weight, counts, alpha, inside, shared)
    ids, gains, rises = np.empty((_SPLITS, 2), np.int64), np.empty(_SPLITS), np.empty(_SPLITS)
    here, after = expected(t, p, j, totals[0], num, den, w_total, n_total), np.empty(_SPLITS)
    n_splits = _splits(
        slope, given, held, alpha, shape, others, inside, shared, ids, gains, rises, after
    )
    pairs, costs, n_mergers = np.empty((_MERGERS, 2), np.int64), np.empty(_MERGERS), 0
    if pairs_too:
        merging = np.empty((sizes.shape[0], sizes.shape[0]))
        merge_gains(counts, sizes, offsets, 1, alpha, cell, merging)
        n_mergers = best_mergers(merging, slope, sizes, cell, pairs, costs)
    raised, widest = np.empty(n_mergers), 1e-300
    for q in range(n_mergers):
        a, b = sizes[pairs[q, 0]], sizes[pairs[q, 1]]
        raised[q] = cell[a + b] - cell[a] - cell[b]
        widest = max(widest, raised[q])
    for s in range(n_splits):
        widest = max(widest, -rises[s])
    bent = np.empty(2 * POINTS + 1)
    if n_mergers > 0:
        _cost(widest, slope, t, p, j, totals[0], num, den, w_total, n_total, bent)
    n_found, values = 0, np.empty(found.shape[0])
    for s in range(n_splits):
        if alone_too and here - after[s] >= -bar:
            n_found = _propose(here - after[s], ids[s], ALONE, ALONE, values, n_found, found)
        for q in range(n_mergers):
            value = gains[s] - costs[q]
            if value <= 0.0:
                break
            value -= _bent(rises[s] + raised[q], widest, bent)
            if value >= -hopeless:
                n_found = _propose(value, ids[s], pairs[q, 0], pairs[q, 1], values, n_found, found)
    if alone_too:
        find_mates(labels, sizes, rows, weight, alpha, mates)
        n_found = _pairs(given, held, shape, mates, shared, here, values, n_found, found)
    if given[5].shape[0] == 0:
        return n_found
    return _transfers(
        slope, given, held, near, slant, shape, others, inside, shared, here, bar, values, n_found,
        found,
    )  # fmt: skip
