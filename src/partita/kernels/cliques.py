"""Inequalities of clique partitioning: which are violated, what they charge."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def violated(x, d, start, stop, tolerance, best, via):
    """For middles j in ``start .. stop - 1``, the worst of x_ij + x_jk - x_ik ≤ 1 for each (i, k).

    A triangle whose two joining pairs both cost something to join cannot bind and is passed over.
    ``best[i, k]`` and ``via[i, k]`` hold the largest violation so far and its j, for i < k.
    """
    n = x.shape[0]
    near = np.empty(n, dtype=np.int64)
    for j in range(start, stop):
        found = 0
        for i in range(n):
            if i != j and x[j, i] > tolerance:
                near[found] = i
                found += 1
        for a in range(found):
            i = near[a]
            xij, dij = x[j, i], d[j, i]
            for b in range(a + 1, found):
                k = near[b]
                violation = xij + x[j, k] - x[i, k] - 1.0
                if violation > tolerance and violation > best[i, k] and (dij < 0 or d[j, k] < 0):
                    best[i, k] = violation
                    via[i, k] = j


@jit
def stars(x, start, stop, tolerance, least, leaves):
    """For centres in ``start .. stop - 1``, the worst star of three leaves or more that is found.

    From every item that x puts near the centre but not with it, leaves are added in the order of
    their nearness, as long as Σ_j x_cj - Σ_{j<k} x_jk rises. A star is written to a row of
    ``leaves``, which holds -1, where that sum exceeds 1 by more than ``least``.
    """
    n = x.shape[0]
    near, own = np.empty(n, dtype=np.int64), np.empty(leaves.shape[1], dtype=np.int64)
    for centre in range(start, stop):
        found = 0
        for j in range(n):
            if j != centre and tolerance < x[centre, j] < 1 - tolerance:
                near[found] = j
                found += 1
        ordered = near[:found][np.argsort(-x[centre, near[:found]], kind="mergesort")]
        worst = 1.0 + least
        for first in ordered:
            own[0], size, total = first, 1, x[centre, first]
            for j in ordered:
                if size == own.size:
                    break
                gain = x[centre, j]
                for a in range(size):
                    gain -= x[own[a], j]
                if j != first and gain > tolerance:
                    own[size] = j
                    size, total = size + 1, total + gain
            if size >= 3 and total > worst:
                worst = total
                leaves[centre, :size] = own[:size]
                leaves[centre, size:] = -1


@jit
def charge(d, members, starts, y, out):
    """``out`` becomes d plus what stars charge, above the diagonal.

    Star a is ``members[starts[a] : starts[a + 1]]``, its centre first; see
    :mod:`partita.search._program`.
    """
    out[:] = d
    for a in range(y.shape[0]):
        centre = members[starts[a]]
        for b in range(starts[a] + 1, starts[a + 1]):
            leaf = members[b]
            out[min(centre, leaf), max(centre, leaf)] += y[a]
            for c in range(b + 1, starts[a + 1]):
                out[min(leaf, members[c]), max(leaf, members[c])] -= y[a]
