"""Merging two clusters while another is split, where the loss bends in e; see ``greedy_draws``.

A merger raises e and a split lowers it, so each alone may be held back by what e costs where both
would pay. Splits are halves of clusters, and what clusters share with those of other partitions.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit
from partita.kernels.greedy_merges import best_mergers, merge_gains
from partita.kernels.greedy_pairs import POINTS, _cost
from partita.kernels.mixture_random import below

_ROUNDS = 2  # in which items go to the half that they are nearer to
_SPLITS = 100  # that are looked at, at most
_MERGERS = 64  # the same, the best
_MIXED, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
HALF = -1  # the source of a split that is none of the other partitions


@inner
def _together(i, members, rows, alpha32, out):
    """The weight of the draws in which each of the members is with item i."""
    mine = rows[i]
    for a in range(members.shape[0]):
        row = rows[members[a]]
        x, y = np.float32(0.0), np.float32(0.0)
        whole = row.shape[0] // 2 * 2
        for m in range(0, whole, 2):
            x += alpha32[m] if row[m] == mine[m] else np.float32(0.0)
            y += alpha32[m + 1] if row[m + 1] == mine[m + 1] else np.float32(0.0)
        if whole < row.shape[0] and row[whole] == mine[whole]:
            x += alpha32[whole]
        out[a] = x + y


@inner
def _far_apart(seed, members, rows, alpha32, near, far):
    """Fill ``near`` and ``far`` with how much members are with either of two that seldom are."""
    _together(members[below(seed, members.shape[0])], members, rows, alpha32, near)
    _together(members[np.argmin(near)], members, rows, alpha32, near)
    _together(members[np.argmin(near)], members, rows, alpha32, far)


@inner
def _nearer(members, column, rows, weight, counts, alpha, inside, shared):
    """Put each of the members into the half that it is more with; say whether any changed.

    Nothing changes where all would be in one.
    """
    size, rest = 0, 0
    for a in range(members.shape[0]):
        i = members[a]
        if inside[i]:
            size += weight[i]
            for r in rows[i]:
                shared[r] += weight[i]
        else:
            rest += weight[i]
    goes, n_in = np.empty(members.shape[0], np.bool_), 0
    for a in range(members.shape[0]):
        i, with_in, with_all = members[a], 0.0, 0.0
        for m in range(rows.shape[1]):
            r = rows[i, m]
            with_in += alpha[m] * shared[r]
            with_all += alpha[m] * counts[r, column]
        goes[a] = with_in * rest > (with_all - with_in) * size
        n_in += goes[a]
    is_changed = False
    for a in range(members.shape[0]):
        i = members[a]
        for r in rows[i]:
            shared[r] = 0
        if 0 < n_in < members.shape[0] and inside[i] != goes[a]:
            inside[i], is_changed = goes[a], True
    return is_changed


@inner
def _halve(seed, labels, sizes, rows, weight, counts, alpha32, alpha, inside, shared):
    """Mark one half of every cluster: the items that are seldom with the others of it."""
    n = labels.shape[0]
    members, near, far = np.empty(n, np.int64), np.empty(n), np.empty(n)
    inside[:] = False
    for k in range(sizes.shape[0]):
        found = 0
        for i in range(n):
            if labels[i] == k:
                members[found] = i
                found += 1
        if found < 2:
            continue
        some = members[:found]
        _far_apart(seed, some, rows, alpha32, near[:found], far[:found])
        for a in range(found):
            inside[members[a]] = far[a] > near[a]
        for _ in range(_ROUNDS):
            if not _nearer(some, k, rows, weight, counts, alpha, inside, shared):
                break


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
def split_gain(items, rows, weight, cell, counts, labels, sizes, alpha, shared):
    """What Σ alpha j gains, and e, if some items of a cluster were a cluster of their own.

    ``shared``, one for each row of counts, is zero.
    """
    gain, size, column = 0.0, 0, labels[items[0]]
    for i in items:
        size += weight[i]
        for r in rows[i]:
            shared[r] += weight[i]
    for i in items:
        for m in range(rows.shape[1]):
            r = rows[i, m]
            if shared[r] > 0:
                c = np.int64(counts[r, column])
                gain += alpha[m] * (cell[c - shared[r]] + cell[shared[r]] - cell[c])
                shared[r] = 0
    whole = sizes[column]
    return gain, cell[whole - size] + cell[size] - cell[whole]


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
    rows, weight, cell, counts, labels, sizes, alpha, slope, others, inside, shared, ids, gains,
    rises,
):  # fmt: skip
    """Fill ``ids``, ``gains`` on the linear loss and ``rises`` of e with splits; return how many.

    A block that several partitions share with a cluster is taken once.
    """
    n, found = labels.shape[0], 0
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
            gain, rises[found] = split_gain(
                items[:n_items], rows, weight, cell, counts, labels, sizes, alpha, shared
            )
            gains[found] = gain - slope * rises[found]
            found += 1
    return found


@jit
def plans(
    seed, rows, weight, cell, counts, labels, sizes, j, totals, offsets, alpha32, alpha, slope, t,
    p, num, den, w_total, n_total, others, hopeless, inside, found,
):  # fmt: skip
    """Fill ``found`` with the pairs of a split and a merger that cost least, the best first.

    Those by which the loss would rise above ``hopeless`` are left out. ``inside`` becomes one half
    of every cluster. Returns how many there are.
    """
    shared = np.zeros(counts.shape[0], np.int64)
    _halve(seed, labels, sizes, rows, weight, counts, alpha32, alpha, inside, shared)
    ids, gains, rises = np.empty((_SPLITS, 2), np.int64), np.empty(_SPLITS), np.empty(_SPLITS)
    n_splits = _splits(
        rows, weight, cell, counts, labels, sizes, alpha, slope, others, inside, shared, ids, gains,
        rises,
    )  # fmt: skip
    merging = np.zeros((sizes.shape[0], sizes.shape[0]))
    merge_gains(counts, offsets, 0, t.shape[0], alpha, cell, merging)
    pairs, costs = np.empty((_MERGERS, 2), np.int64), np.empty(_MERGERS)
    n_mergers = best_mergers(merging, slope, sizes, cell, pairs, costs)
    raised, widest = np.empty(n_mergers), 0.0
    for q in range(n_mergers):
        a, b = sizes[pairs[q, 0]], sizes[pairs[q, 1]]
        raised[q] = cell[a + b] - cell[a] - cell[b]
        widest = max(widest, raised[q])
    for s in range(n_splits):
        widest = max(widest, -rises[s])
    bent = np.empty(2 * POINTS + 1)
    _cost(widest, slope, t, p, j, totals[0], num, den, w_total, n_total, bent)
    n_found, values = 0, np.empty(found.shape[0])
    for s in range(n_splits):
        for q in range(n_mergers):
            value = gains[s] - costs[q]
            if value <= 0.0:
                break
            place = (rises[s] + raised[q]) / widest * POINTS + POINTS
            g = min(max(np.int64(place), 0), 2 * POINTS - 1)
            value -= bent[g] + (place - g) * (bent[g + 1] - bent[g])
            if value < -hopeless:
                continue
            at = _insert(value, values, n_found, found.shape[0])
            if at >= 0:
                n_found = min(n_found + 1, found.shape[0])
                for b in range(n_found - 1, at, -1):
                    found[b] = found[b - 1]
                found[at, :2], found[at, 2:] = ids[s], pairs[q]
    return n_found
