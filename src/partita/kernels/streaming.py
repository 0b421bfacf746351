"""Blocks of items of draws: what is counted, summed and scored without seeing the other items.

A row stands for a cluster of a draw: row ``offsets[m] + c`` for cluster c of draw m, R rows in all.
``block`` is (n_draws, some items), C order. Loops go over a few hundred items at a time, so that
what belongs to them stays in the cache while the draws pass.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import fused_jit, jit
from partita.kernels.greedy_vector import weighted_rows

STEP = 256  # items whose numbers stay in the cache


@jit
def count(block, offsets, labels, out):
    """Add 1 to ``out[row, labels[i]]`` for every draw and item; four draws at a time.

    Counting one draw is a chain of increments that wait for each other; four fill the wait.
    """
    m, n = block.shape
    whole = m - m % 4
    for a in range(0, whole, 4):
        p, q, r, s = offsets[a], offsets[a + 1], offsets[a + 2], offsets[a + 3]
        w, x, y, z = block[a], block[a + 1], block[a + 2], block[a + 3]
        for i in range(n):
            k = np.uint64(labels[i])
            out[np.uint64(p + w[i]), k] += 1
            out[np.uint64(q + x[i]), k] += 1
            out[np.uint64(r + y[i]), k] += 1
            out[np.uint64(s + z[i]), k] += 1
    for a in range(whole, m):
        p, w = offsets[a], block[a]
        for i in range(n):
            out[np.uint64(p + w[i]), np.uint64(labels[i])] += 1


@jit
def gather(block, offsets, x, out):
    """Add row i of x to ``out[row]`` for every draw and item: a block's share of Zᵀx."""
    m, n = block.shape
    width = x.shape[1]
    for start in range(0, n, STEP):
        stop = min(n, start + STEP)
        for a in range(m):
            base = offsets[a]
            draw = block[a]
            for i in range(start, stop):
                row = np.uint64(base + draw[i])
                for j in range(width):
                    out[row, j] += x[i, j]


@jit
def _rows(block, offsets, start, stop, rows):
    """``rows[i, m]`` becomes the row of item ``start + i`` in draw m."""
    m = block.shape[0]
    for a in range(0, m, 64):
        end = min(m, a + 64)
        for i in range(start, stop):
            for b in range(a, end):
                rows[i - start, b] = np.uint32(offsets[b] + block[b, i])


@fused_jit
def spread(block, offsets, weights, table, out):
    """Add Σ_m weights[m] table[row of i in m] to ``out[i]``: a block of Z diag(w) table.

    Four draws at a time, so that what is added up is fetched and put back once for four.
    """
    m, n = block.shape
    width = table.shape[1]
    whole = m - m % 4
    for start in range(0, n, STEP):
        stop = min(n, start + STEP)
        for a in range(0, whole, 4):
            p, q, r, s = offsets[a], offsets[a + 1], offsets[a + 2], offsets[a + 3]
            e, f, g, h = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
            w, x, y, z = block[a], block[a + 1], block[a + 2], block[a + 3]
            for i in range(start, stop):
                first, second = table[np.uint64(p + w[i])], table[np.uint64(q + x[i])]
                third, fourth = table[np.uint64(r + y[i])], table[np.uint64(s + z[i])]
                to = out[i]
                for j in range(width):
                    to[j] += (e * first[j] + f * second[j]) + (g * third[j] + h * fourth[j])
        for a in range(whole, m):
            base, weight, draw = offsets[a], weights[a], block[a]
            for i in range(start, stop):
                row = np.uint64(base + draw[i])
                for j in range(width):
                    out[i, j] += weight * table[row, j]


@jit
def own(block, offsets, weights, labels, table, out):
    """Add Σ_m weights[m] table[row of i in m, labels[i]] to ``out[i]``."""
    m, n = block.shape
    for a in range(m):
        base, w, draw = offsets[a], weights[a], block[a]
        for i in range(n):
            out[i] += w * table[np.uint64(base + draw[i]), np.uint64(labels[i])]


@jit
def joint(counts, offsets, cell, out):
    """``out[m]`` becomes Σ cell[count] over the rows of draw m."""
    for m in range(out.shape[0]):
        total = 0.0
        for r in range(offsets[m], offsets[m + 1]):
            for k in range(counts.shape[1]):
                total += cell[counts[r, k]]
        out[m] = total


@jit
def best_moves(block, offsets, alpha, table, lost, labels, leaves, enters, out, gains):
    """Find where each item would lower a linear loss most, all the others staying put.

    Moving item i from a to b changes the loss by ``leaves[a] + enters[b]`` less Σ_m alpha[m] times
    what the counts of its rows gain in column b (``table``) and lose in column a (``lost``).

    Parameters
    ----------
    alpha : (n_draws,) float32
    table, lost : (R, width) float32
    labels : (n,) where the items are
    leaves, enters : (width,) float64; ``enters`` is infinite for columns that are not to be used

    Writes the best column, or the item's own, to ``out`` and the fall of the loss to ``gains``.
    """
    m, n = block.shape
    width = table.shape[1]
    rows = np.empty((64, m), dtype=np.uint32)
    buffer = np.empty(width, dtype=np.float32)
    sums = np.empty(width, dtype=np.float64)
    for start in range(0, n, 64):
        stop = min(n, start + 64)
        _rows(block, offsets, start, stop, rows)
        for i in range(start, stop):
            mine = rows[i - start]
            weighted_rows(table, mine, alpha, width, buffer, sums)
            here = np.uint64(labels[i])
            kept = 0.0
            for a in range(m):
                kept += alpha[a] * lost[mine[a], here]
            best, least = labels[i], 0.0
            for k in range(width):
                if k != labels[i]:
                    change = leaves[here] + enters[k] - sums[k] + kept
                    if change < least:
                        best, least = k, change
            out[i] = best
            gains[i] = -least


@jit
def alignment_deal(block, weights, mapping, out):
    """Add weights[m] to ``out[i, mapping[m, c]]`` where item i is in cluster c of draw m."""
    m, n = block.shape
    for start in range(0, n, STEP):
        stop = min(n, start + STEP)
        for a in range(m):
            w, draw, to = weights[a], block[a], mapping[a]
            for i in range(start, stop):
                out[i, to[draw[i]]] += w
