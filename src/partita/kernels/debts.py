"""Triangles that pay debts: a dual method for clique partitioning, around a partition.

A pair's slack is what it would cost to treat it otherwise than the partition does; if negative, it
is a debt. A triangle inequality that holds with equality at the partition moves slack: one of its
pairs gains what the two others give. The sum of the debts is how far the multipliers are from
proving that the partition is optimal. Their squares are made least, a triangle at a time.

Items come in the order of their clusters, so that a cluster is a range.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit


@inner
def _payment(gainer, one, other):
    """What a triangle should move so that the squares of its pairs' debts are least.

    Of all payments that leave no debt, the one nearest to none.
    """
    poorer = min(one, other)
    if poorer >= -gainer:
        return min(max(-gainer, 0.0), poorer)
    return min(0.5 * (poorer - gainer), (one + other - gainer) / 3.0)


@inner
def _payer(slack, i, k, first, last, room, best):
    """The item of ``first .. last - 1`` that can pay most to (i, k), if more than ``room``.

    Of those who can pay it all, the one who would have most left to do so.
    """
    debt = -slack[i, k]
    for j in range(first, last):
        one, other = slack[i, j], slack[k, j]
        most = min(0.5 * (min(one, other) + debt), (one + other + debt) / 3.0)
        if most > room and j not in (i, k):
            room, best = most, j
    return room, best


@jit
def pay(slack, first, last, start, stop, least, times, triangles, paid, found):
    """Have every pair of rows ``start .. stop - 1`` with more debt than ``least`` paid.

    At most ``times`` triangles a pair, each where most can be given. ``slack`` is symmetric, an
    item's cluster the range ``first[i] .. last[i] - 1``. A triangle is written after ``found`` as
    the places in ``slack`` of the pair that gains and of the two that give; returns how many
    there are now.
    """
    n = slack.shape[0]
    for i in range(start, stop):
        for k in range(i + 1, n):
            for _ in range(times):
                if slack[i, k] >= -least or found == paid.shape[0]:
                    break
                room, j = _payer(slack, i, k, first[i], last[i], -np.inf, -1)
                if first[k] != first[i]:
                    room, j = _payer(slack, i, k, first[k], last[k], room, j)
                if j < 0:
                    break
                amount = _payment(slack[i, k], slack[i, j], slack[j, k])
                if amount <= 0.1 * least:
                    break
                for u, v, change in ((i, k, amount), (i, j, -amount), (j, k, -amount)):
                    slack[u, v] += change
                    slack[v, u] += change
                triangles[found, 0] = i * n + k
                triangles[found, 1] = min(i, j) * n + max(i, j)
                triangles[found, 2] = min(j, k) * n + max(j, k)
                paid[found] = amount
                found += 1
    return found


@jit
def balance(slack, triangles, paid):
    """Let every triangle pay more, or take back, as is best now; ``slack`` above the diagonal."""
    flat = slack.ravel()
    for t in range(paid.shape[0]):
        gainer, one, other = triangles[t]
        amount = _payment(flat[gainer], flat[one], flat[other])
        amount = max(amount, -paid[t])
        if amount != 0.0:
            paid[t] += amount
            flat[gainer] += amount
            flat[one] -= amount
            flat[other] -= amount


@jit
def forget(triangles, paid):
    """Move the triangles that pay to the front; return how many they are."""
    kept = 0
    for t in range(paid.shape[0]):
        if paid[t] > 0:
            paid[kept] = paid[t]
            triangles[kept] = triangles[t]
            kept += 1
    return kept


@jit
def mirror(slack):
    """Copy what is above the diagonal below it; return the sum of the debts and their number."""
    n = slack.shape[0]
    debt, count = 0.0, 0
    for i in range(n):
        for k in range(i + 1, n):
            value = slack[i, k]
            slack[k, i] = value
            if value < 0:
                debt -= value
                count += 1
    return debt, count
