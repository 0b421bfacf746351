"""Parts of clusters: halves, and two items that belong together; see ``greedy_draws``."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner
from partita.kernels.mixture_random import below

_DRAWS = 150  # that tell how often items are together
_ROUNDS = 2  # in which items go to the half that they are nearer to
_FEW, _FEW_DRAWS = 24, 75  # members of a cluster up to which mates are found, and draws for that
_LOOSE = 0.6  # share of being with its mate that an item may be with the rest, to leave with it


@inner
def _list_members(labels, k, members):
    """Fill ``members`` with the items of a cluster; how many they are."""
    found = 0
    for i in range(labels.shape[0]):
        if labels[i] == k:
            members[found] = i
            found += 1
    return found


@inner
def _together(i, members, rows, alpha, stride, out):
    """The weight of the draws, every so many of them, in which the members are with item i."""
    mine = rows[i]
    for a in range(members.shape[0]):
        row, total = rows[members[a]], 0.0
        for m in range(0, row.shape[0], stride):
            total += alpha[m] if row[m] == mine[m] else 0.0
        out[a] = total


@inner
def _far_apart(seed, members, rows, alpha, stride, near, far):
    """Fill ``near`` and ``far`` with how much members are with either of two that seldom are."""
    first = members[below(seed, members.shape[0])]
    _together(first, members, rows, alpha, stride, near)
    _together(members[np.argmin(near)], members, rows, alpha, stride, near)
    _together(members[np.argmin(near)], members, rows, alpha, stride, far)


@inner
def _nearer(members, column, rows, weight, counts, alpha, stride, inside, shared):
    """Put each of the members into the half that it is more with; say whether any changed.

    Nothing changes where all would be in one.
    """
    size, rest, n_draws = 0, 0, rows.shape[1]
    for a in range(members.shape[0]):
        i = members[a]
        if inside[i]:
            size += weight[i]
            for m in range(0, n_draws, stride):
                shared[rows[i, m]] += weight[i]
        else:
            rest += weight[i]
    goes, n_in = np.empty(members.shape[0], np.bool_), 0
    for a in range(members.shape[0]):
        i, with_in, with_all = members[a], 0.0, 0.0
        for m in range(0, n_draws, stride):
            r = rows[i, m]
            with_in += alpha[m] * shared[r]
            with_all += alpha[m] * counts[column, r]
        goes[a] = with_in * rest > (with_all - with_in) * size
        n_in += goes[a]
    is_changed = False
    for a in range(members.shape[0]):
        i = members[a]
        for m in range(0, n_draws, stride):
            shared[rows[i, m]] = 0
        if 0 < n_in < members.shape[0] and inside[i] != goes[a]:
            inside[i], is_changed = goes[a], True
    return is_changed


@inner
def halve(seed, labels, sizes, rows, weight, counts, alpha, inside, shared):
    """Mark one half of every cluster: the items that are seldom with the others of it.

    Of many draws some are enough for that.
    """
    n, stride = labels.shape[0], max(1, rows.shape[1] // _DRAWS)
    members, near, far = np.empty(n, np.int64), np.empty(n), np.empty(n)
    inside[:] = False
    for k in range(sizes.shape[0]):
        found = _list_members(labels, k, members)
        if found < 2:
            continue
        some = members[:found]
        _far_apart(seed, some, rows, alpha, stride, near[:found], far[:found])
        for a in range(found):
            inside[members[a]] = far[a] > near[a]
        for _ in range(_ROUNDS):
            if not _nearer(some, k, rows, weight, counts, alpha, stride, inside, shared):
                break


@inner
def find_mates(labels, sizes, rows, weight, alpha, mates):
    """Fill ``mates`` with the item that each is most with in its cluster, -1 if none.

    There is none in large clusters, and where an item is nearly as much with the rest, on average.
    """
    n, stride = labels.shape[0], max(1, rows.shape[1] // _FEW_DRAWS)
    members, near = np.empty(n, np.int64), np.empty(n)
    mates[:] = -1
    for k in range(sizes.shape[0]):
        found = _list_members(labels, k, members)
        for a in range(found if 3 < found <= _FEW else 0):
            i = members[a]
            _together(i, members[:found], rows, alpha, stride, near)
            near[a], total, best = 0.0, 0.0, -1
            for b in range(found):
                total += weight[members[b]] * near[b]
                if b != a and (best < 0 or near[b] > near[best]):
                    best = b
            rest = sizes[k] - weight[i] - weight[members[best]]
            if total - weight[members[best]] * near[best] < _LOOSE * near[best] * rest:
                mates[i] = members[best]
