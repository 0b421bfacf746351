"""Triangle inequalities of clique partitioning: which are violated, what they bound."""

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
def reduced(d, triangles, y, out):
    """``out`` becomes d plus what the triangles (i, j, k), x_ij + x_jk - x_ik ≤ 1, charge."""
    n = d.shape[0]
    for i in range(n):
        for k in range(n):
            out[i, k] = d[i, k]
    total = 0.0
    for a in range(triangles.shape[0]):
        i, j, k = triangles[a]
        charge = y[a]
        total += charge
        out[min(i, j), max(i, j)] += charge
        out[min(j, k), max(j, k)] += charge
        out[min(i, k), max(i, k)] -= charge
    return total


@jit
def _partner(r, labels, i, k):
    """The third item of the bad triangle with most room around a pair the partition gets wrong."""
    best, room = -1, 0.0
    cut = labels[i] != labels[k]
    for j in range(r.shape[0]):
        if j in (i, k):
            continue
        if cut and labels[j] == labels[i]:
            slack = min(-r[i, j], r[j, k])
        elif cut and labels[j] == labels[k]:
            slack = min(r[i, j], -r[j, k])
        elif not cut and labels[j] == labels[i]:
            slack = min(-r[i, j], -r[j, k])
        else:
            continue
        if slack > room:
            best, room = j, slack
    return best, room


@jit
def pack(r, labels, pairs, share, triangles, y, found):
    """Charge the pairs that a partition gets wrong to triangles in which all else is right.

    If every such pair can be charged in full, the charges prove the partition optimal. ``r`` holds
    what is left of the costs, symmetric, and is changed in place; at most ``share`` of a
    triangle's room is used at a time. Writes (i, j, k), x_ij + x_jk - x_ik ≤ 1, and the charges
    after ``found``; returns how many there are now.
    """
    for a in range(pairs.shape[0]):
        i, k = pairs[a]
        for _ in range(16):
            left = abs(r[i, k])
            if left <= 1e-12 or found == y.shape[0]:
                break
            j, room = _partner(r, labels, i, k)
            if j < 0 or room <= 1e-12:
                break
            charge = min(left, max(share * room, 1e-4))
            charge = min(charge, room)
            repulsive_ik, repulsive_ij = r[i, k] > 0, r[i, j] > 0
            if repulsive_ik:
                triangles[found, 0], triangles[found, 1], triangles[found, 2] = i, j, k
            elif repulsive_ij:
                triangles[found, 0], triangles[found, 1], triangles[found, 2] = i, k, j
            else:
                triangles[found, 0], triangles[found, 1], triangles[found, 2] = j, i, k
            y[found] = charge
            found += 1
            for u, v in ((i, k), (i, j), (j, k)):
                change = -charge if r[u, v] > 0 else charge
                r[u, v] += change
                r[v, u] += change
    return found
