"""Moving items between the clusters of an estimate, scored on the similarity alone.

The state of one run: ``sums[k, i]`` = Σ of P_ij over the items j of cluster k, ``own[i]`` the
entry of the item's own cluster, ``labels`` (-1: in no cluster), ``sizes`` and ``totals`` = (e, j)
with j = Σ_i h(own_i). An item counts ``weight`` times in every sum. ``shape`` says what h is: 0
affine, ``h = grid[0] + grid[1] x``; 1 a logarithm, ``h = grid[0] + grid[1] log2 x``; 2 anything,
given as values and slopes on a grid.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import inner, jit

AFFINE, LOG, ANY = 0, 1, 2
GRID = 128  # points of the grid in each unit


@jit
def h(x, shape, grid):
    """What an item contributes when it shares x items with its cluster, in expectation."""
    if shape == AFFINE:
        return grid[0, 0] + grid[1, 0] * x
    if shape == LOG:
        return grid[0, 0] + grid[1, 0] * np.log2(x)
    at = min(max(x - 1.0, 0.0) * GRID, grid.shape[1] - 1.000001)
    g = np.int64(at)
    u = at - g
    rise = grid[0, g + 1] - grid[0, g]
    bent = u * (
        grid[1, g] * (1 - u) * (1 - u) + rise * u * (3 - 2 * u) - grid[1, g + 1] * u * (1 - u)
    )
    return grid[0, g] + bent


@jit
def load(P, weight, labels, sums, own, sizes):
    """Fill the state from ``labels``."""
    n = labels.shape[0]
    sums[:] = 0.0
    sizes[:] = 0
    for i in range(n):
        k = labels[i]
        if k >= 0:
            sizes[k] += weight[i]
            for j in range(n):
                sums[k, j] += weight[i] * P[i, j]
    for i in range(n):
        own[i] = sums[labels[i], i] if labels[i] >= 0 else 1.0


@jit
def joint(weight, labels, own, shape, grid):
    """Σ over the items in clusters of h(own)."""
    total = 0.0
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            total += weight[i] * h(own[i], shape, grid)
    return total


@inner
def _gains(P, i, weight, labels, sums, own, shape, grid, gains, logs):
    """What j would gain if item i, out of its own cluster, were put into each."""
    n = labels.shape[0]
    width = sums.shape[0]
    old, w = labels[i], np.float64(weight[i])
    for k in range(width):
        alone = sums[k, i] - (w if k == old else 0.0)
        gains[k] = w * h(alone + w, shape, grid)
        logs[k] = 1.0
        if shape == AFFINE:
            gains[k] += w * (grid[1, 0] * alone)
    if shape == AFFINE:
        return
    for j in range(n):
        x, k = w * P[i, j], labels[j]
        if x <= 0.0 or k < 0 or j == i:
            continue
        before = own[j] - x if k == old else own[j]
        after = before + x
        if shape == LOG and weight[j] == 1:
            logs[k] *= after / before
            if logs[k] > 1e200:
                gains[k] += grid[1, 0] * np.log2(logs[k])
                logs[k] = 1.0
        elif shape == LOG:
            gains[k] += weight[j] * grid[1, 0] * np.log2(after / before)
        else:
            gains[k] += weight[j] * (h(after, shape, grid) - h(before, shape, grid))
    if shape == LOG:
        for k in range(width):
            if logs[k] != 1.0:
                gains[k] += grid[1, 0] * np.log2(logs[k])


@inner
def _shift(P, i, k, sign, weight, labels, sums, own, sizes):
    """Put item i into cluster k (sign 1) or take it out (-1)."""
    labels[i] = k if sign > 0 else -1
    sizes[k] += sign * weight[i]
    w = np.float64(sign * weight[i])
    for j in range(labels.shape[0]):
        sums[k, j] += w * P[i, j]
        if labels[j] == k:
            own[j] = sums[k, j]
    if sizes[k] == 0:
        sums[k, :] = 0.0


@jit
def move(items, targets, P, weight, labels, sums, own, sizes):
    """Move each item to its target cluster; -1 takes it out of all."""
    for a in range(items.shape[0]):
        i, k = items[a], targets[a]
        if labels[i] == k:
            continue
        if labels[i] >= 0:
            _shift(P, i, labels[i], -1, weight, labels, sums, own, sizes)
        if k >= 0:
            _shift(P, i, k, 1, weight, labels, sums, own, sizes)


@jit
def loss(t, e, j, num, den, w, n):
    """The loss at (t, e, j); ``num`` and ``den`` multiply (t, e, j, w, least, product, n)."""
    least = min(t, e)
    product = t * e / w if w != 0.0 else 0.0
    top = (num[0] * t + num[1] * e + num[2] * j + num[3] * w + num[4] * least + num[5] * product
           + num[6] * n)  # fmt: skip
    bottom = (den[0] * t + den[1] * e + den[2] * j + den[3] * w + den[4] * least
              + den[5] * product + den[6] * n)  # fmt: skip
    noise = 64 * 2.220446049250313e-16 * (abs(w) + n)
    if abs(top) <= noise or bottom <= 0.0:
        return 0.0
    return top / bottom


@inner
def _free(sizes, limit):
    """The first free column, -1 if there are ``limit`` clusters, -2 if no column is left."""
    found, active = -2, 0
    for k in range(sizes.shape[0]):
        if sizes[k] > 0:
            active += 1
        elif found < 0:
            found = k
    return found if active < limit else -1


@jit
def allocate(
    items, begin, P, weight, labels, sums, own, sizes, cell, shape, grid, alpha, slope, limit,
    totals, gains, logs,
):  # fmt: skip
    """Put items that are in no cluster where alpha j - slope e gains most, one after another.

    Returns the number done; fewer than asked for when no free column is left.
    """
    for a in range(begin, items.shape[0]):
        i, w = items[a], weight[items[a]]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return a
        _gains(P, i, weight, labels, sums, own, shape, grid, gains, logs)
        best, most = -1, -np.inf
        for k in range(sizes.shape[0]):
            if sizes[k] > 0 or k == fresh:
                score = alpha * gains[k] - slope * (cell[sizes[k] + w] - cell[sizes[k]])
                if score > most:
                    best, most = k, score
        totals[0] += cell[sizes[best] + w] - cell[sizes[best]]
        totals[1] += gains[best]
        _shift(P, i, best, 1, weight, labels, sums, own, sizes)
    return items.shape[0]


@jit
def sweep(
    items, begin, end, P, weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, limit,
    totals, gains, logs, quiet,
):  # fmt: skip
    """Reassign items one at a time, each to the best cluster, a new one included.

    Visits ``begin`` to ``end`` are made, going round the items. ``quiet`` counts visits since the
    last move, and those that are enough. Returns how far it came; it stops short when no free
    column is left.
    """
    n = cell.shape[0] - 1
    for a in range(begin, end):
        if quiet[0] >= quiet[1]:
            break
        i = items[a % items.shape[0]]
        old, w = labels[i], weight[i]
        fresh = _free(sizes, limit)
        if fresh == -2:
            return a
        if sizes[old] == w:
            fresh = -1
        _gains(P, i, weight, labels, sums, own, shape, grid, gains, logs)
        now = loss(t, totals[0], totals[1], num, den, cell[n], n)
        e0 = totals[0] + cell[sizes[old] - w] - cell[sizes[old]]
        j0 = totals[1] - gains[old]
        best, least = -1, now - 1e-13 * max(1.0, abs(now))
        for k in range(sizes.shape[0]):
            if k != old and (sizes[k] > 0 or k == fresh):
                e = e0 + cell[sizes[k] + w] - cell[sizes[k]]
                found = loss(t, e, j0 + gains[k], num, den, cell[n], n)
                if found < least:
                    best, least = k, found
        quiet[0] += 1
        if best < 0:
            continue
        totals[0] = e0 + cell[sizes[best] + w] - cell[sizes[best]]
        totals[1] = j0 + gains[best]
        _shift(P, i, old, -1, weight, labels, sums, own, sizes)
        _shift(P, i, best, 1, weight, labels, sums, own, sizes)
        quiet[0] = 0
    return end


@jit
def merged(weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals, pairs, values):
    """Fill ``pairs`` with those of clusters, and ``values`` with the loss if they were one."""
    width, n, found = sizes.shape[0], cell.shape[0] - 1, 0
    gains = np.zeros((width, width))
    for i in range(labels.shape[0]):
        a = labels[i]
        before = h(own[i], shape, grid)
        for b in range(width):
            if b != a and sizes[b] > 0 and sums[b, i] > 0.0:
                after = h(own[i] + sums[b, i], shape, grid)
                gains[max(a, b), min(a, b)] += weight[i] * (after - before)
    for a in range(width):
        for b in range(a):
            if sizes[a] > 0 and sizes[b] > 0:
                pairs[found, 0], pairs[found, 1] = a, b
                e = totals[0] + cell[sizes[a] + sizes[b]] - cell[sizes[a]] - cell[sizes[b]]
                values[found] = loss(t, e, totals[1] + gains[a, b], num, den, cell[n], n)
                found += 1


@jit
def merge(pairs, weight, labels, sums, own, sizes, cell, shape, grid, t, num, den, totals):
    """Merge the clusters of each pair, none of which was merged before, if that lowers the loss.

    Returns how many.
    """
    n, n_items, found = labels.shape[0], cell.shape[0] - 1, 0
    w, used = cell[n_items], np.zeros(sizes.shape[0], np.bool_)
    for q in range(pairs.shape[0]):
        a, b = pairs[q, 0], pairs[q, 1]
        if used[a] or used[b]:
            continue
        e = totals[0] + cell[sizes[a] + sizes[b]] - cell[sizes[a]] - cell[sizes[b]]
        j = totals[1]
        for i in range(n):
            if labels[i] == a or labels[i] == b:
                after = h(sums[a, i] + sums[b, i], shape, grid)
                j += weight[i] * (after - h(own[i], shape, grid))
        before = loss(t, totals[0], totals[1], num, den, w, n_items)
        if loss(t, e, j, num, den, w, n_items) >= before - 1e-11 * max(1.0, abs(before)):
            continue
        found += 1
        totals[0], totals[1], used[a], used[b] = e, j, True, True
        sizes[b] += sizes[a]
        sizes[a] = 0
        for i in range(n):
            sums[b, i] += sums[a, i]
            sums[a, i] = 0.0
            if labels[i] == a:
                labels[i] = b
            if labels[i] == b:
                own[i] = sums[b, i]
    return found
