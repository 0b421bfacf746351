"""Splitting a cluster, alone or while two others merge; see ``greedy_draws``.

Where the loss bends in e, a merger raises e and a split lowers it, so each alone may be held back
by what e costs where both would pay. Splits are halves of clusters, two items that belong together,
and what clusters share with those of other partitions. A half may also go over to another cluster.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_draws import expected
from partita.kernels.greedy_merges import best_mergers, merge_gains
from partita.kernels.greedy_pairs import POINTS, _cost
from partita.kernels.greedy_parts import find_mates, halve
from partita.kernels.greedy_vector import weighted_rows

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
def split_gain(items, rows, weight, cell, counts, labels, sizes, shared, more):
    """What e gains if some items of a cluster were a cluster of their own; ``more`` is what j does.

    ``shared``, one for each row of counts, is zero.
    """
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
                c = np.int64(counts[r, column])
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
    rows, weight, cell, counts, labels, sizes, j, e, alpha, slope, t, p, num, den, w_total, n_total,
    others, inside, shared, ids, gains, rises, values,
):  # fmt: skip
    """Fill ``ids``, ``gains`` on the linear loss, ``rises`` of e and ``values`` of the loss.

    Returns how many splits there are. A block that several partitions share with a cluster is
    taken once. The value of a split that leaves an item alone is infinite: sweeps look at those.
    """
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
            rises[found] = split_gain(
                items[:n_items], rows, weight, cell, counts, labels, sizes, shared, more
            )
            gains[found] = alpha @ more - slope * rises[found]
            more += j
            values[found] = np.inf
            if 1 < n_items < wholes[labels[i]] - 1:
                values[found] = expected(t, p, more, e + rises[found], num, den, w_total, n_total)
            found += 1
    return found


@inner
def _nearest(old, size, cell, sizes, slope, gains):
    """The cluster, other than its own, where a block gains most on the linear loss; -1 if none."""
    best, most = -1, -np.inf
    for k in range(sizes.shape[0]):
        if k != old and sizes[k] > 0:
            score = gains[k] - slope * (cell[sizes[k] + size] - cell[sizes[k]])
            if score > most:
                best, most = k, score
    return best


@inner
def _transfers(
    rows, weight, cell, counts, table, labels, sizes, j, e, alpha32, slope, t, p, num, den, w_total,
    n_total, others, inside, shared, here, bar, values, n_found, found,
):  # fmt: skip
    """Add to the plans found those by which a half of a cluster goes over to the nearest other."""
    n, m, width = labels.shape[0], j.shape[0], sizes.shape[0]
    items, is_done, more = np.empty(n, np.int64), np.zeros(n, np.bool_), np.empty(m)
    most = counts.shape[0]
    touched, draws = np.empty(most, np.uint32), np.empty(most, np.int64)
    weights, gains, scratch = (
        np.empty(most, np.float32),
        np.empty(width),
        np.empty(width, np.float32),
    )
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
        for b in range(n_touched):
            weights[b] = alpha32[draws[b]] * shared[touched[b]]
        weighted_rows(table, touched[:n_touched], weights[:n_touched], width, scratch, gains)
        k = _nearest(old, size, cell, sizes, slope, gains)
        more[:] = j
        for b in range(n_touched):
            r = touched[b]
            if k >= 0:
                x, c, d = shared[r], np.int64(counts[r, old]), np.int64(counts[r, k])
                more[draws[b]] += cell[c - x] - cell[c] + cell[d + x] - cell[d]
            shared[r] = 0
        if k < 0:
            continue
        rise = cell[sizes[old] - size] - cell[sizes[old]]
        rise += cell[sizes[k] + size] - cell[sizes[k]]
        value = here - expected(t, p, more, e + rise, num, den, w_total, n_total)
        if value >= -bar:
            n_found = _propose(value, (np.int64(HALF), i), k, ALONE, values, n_found, found)
    return n_found


@inner
def _pairs(
    rows, weight, cell, counts, labels, sizes, j, e, t, p, num, den, w_total, n_total, mates,
    shared, here, values, n_found, found,
):  # fmt: skip
    """Add to the plans found those that pay and by which two mates begin a cluster."""
    both, more = np.empty(2, np.int64), np.empty(j.shape[0])
    for i in range(labels.shape[0]):
        if mates[i] < 0 or (mates[mates[i]] == i and mates[i] < i):
            continue
        both[0], both[1] = i, mates[i]
        rise = split_gain(both, rows, weight, cell, counts, labels, sizes, shared, more)
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
    seed, rows, weight, cell, counts, table, labels, sizes, j, totals, offsets, alpha32, alpha,
    slope, t, p, num, den, w_total, n_total, others, hopeless, bar, pairs_too, alone_too, inside,
    mates, found,
):  # fmt: skip
    """Fill ``found`` with the splits that cost least, the best first, and the mergers to make.

    Splits are alone if ``alone_too``, and with a merger if ``pairs_too``; halves that go to another
    cluster are among them. Those by which the loss would rise by more than ``bar`` are left out, by
    more than ``hopeless`` those with a merger, and two mates that do not pay at once.
    ``inside`` becomes one half of every cluster, ``mates`` what items could leave theirs with.
    Returns how many there are.
    """
    shared = np.zeros(counts.shape[0], np.int64)
    halve(seed, labels, sizes, rows, weight, counts, alpha32, inside, shared)
    ids, gains, rises = np.empty((_SPLITS, 2), np.int64), np.empty(_SPLITS), np.empty(_SPLITS)
    here, after = expected(t, p, j, totals[0], num, den, w_total, n_total), np.empty(_SPLITS)
    n_splits = _splits(
        rows, weight, cell, counts, labels, sizes, j, totals[0], alpha, slope, t, p, num, den,
        w_total, n_total, others, inside, shared, ids, gains, rises, after,
    )  # fmt: skip
    pairs, costs, n_mergers = np.empty((_MERGERS, 2), np.int64), np.empty(_MERGERS), 0
    if pairs_too:
        merging = np.zeros((sizes.shape[0], sizes.shape[0]))
        merge_gains(counts, offsets, 0, t.shape[0], alpha, cell, merging)
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
        find_mates(labels, sizes, rows, weight, alpha32, mates)
        n_found = _pairs(
            rows, weight, cell, counts, labels, sizes, j, totals[0], t, p, num, den, w_total,
            n_total, mates, shared, here, values, n_found, found,
        )  # fmt: skip
    return _transfers(
        rows, weight, cell, counts, table, labels, sizes, j, totals[0], alpha32, slope, t, p, num,
        den, w_total, n_total, others, inside, shared, here, bar, values, n_found, found,
    )  # fmt: skip
