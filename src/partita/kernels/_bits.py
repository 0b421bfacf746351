"""Compare labels of few values by their bits, 64 draws in a word: the compiled part.

Two labels differ where any of their bits do. With bit p of an item's labels in all draws as a
string of words, 64 draws of a pair take four ``xor`` and a count of ones, where comparing label
by label takes 64 comparisons. Past the last draw all bits are 0, and so agree.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from partita.kernels._compile import inner, jit

PLANES = 4
MOST_LABELS = 1 << PLANES
_WORDS = 8  # strings are as long as whole vectors
_AT_ONCE = 10_000_000  # labels taken apart in one call
_COPIES = np.uint64(1 | 1 << 15 | 1 << 30 | 1 << 45)  # a product with it has bit p at 16 p
_LOWEST = np.uint64(1 | 1 << 16 | 1 << 32 | 1 << 48)


def planes(labels):
    """Take labels below 16 apart.

    Parameters
    ----------
    labels : (n_draws, n_items) uint8, C-contiguous

    Returns
    -------
    (n_items, 4, words) uint64, in words the draws in order, the first in the lowest bit
    """
    n_draws, n_items = labels.shape
    words = -(-n_draws // (64 * _WORDS)) * _WORDS
    out = np.zeros((n_items, PLANES, 4 * words), dtype=np.uint16)
    rows = max(1, _AT_ONCE // (16 * n_items))
    for start in range(0, -(-n_draws // 16), rows):
        _take_apart(labels, start, min(start + rows, -(-n_draws // 16)), out)
    return out.view(np.uint64)


@jit
def _take_apart(labels, start, stop, out):
    """Write the bits of draws ``16 * start .. 16 * stop - 1``, sixteen at a time."""
    n_draws, n_items = labels.shape
    bits = np.empty(n_items, dtype=np.uint64)
    for block in range(start, stop):
        bits[:] = 0
        for d in range(min(16, n_draws - 16 * block)):
            draw = labels[16 * block + d]
            for i in range(n_items):
                bits[i] |= (np.uint64(draw[i]) * _COPIES & _LOWEST) << np.uint64(d)
        for i in range(n_items):
            for p in range(PLANES):
                out[i, p, block] = np.uint16(bits[i] >> np.uint64(16 * p))


@jit
def fill(planes, n_draws, strip, out):
    """Write the share of draws in which pairs of a strip agree, both ways round."""
    for top in range(strip[0], min(strip[1], strip[3]), 4):
        _fill_four(planes, n_draws, top, strip[1] - 1, max(strip[2], top), strip[3], out)


@inner
def _fill_four(planes, n_draws, a, last, left, right, out):
    """Compare four rows, or what there is of them, with some columns: each is read but once."""
    b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
    a0, a1, a2, a3 = planes[a, 0], planes[a, 1], planes[a, 2], planes[a, 3]
    b0, b1, b2, b3 = planes[b, 0], planes[b, 1], planes[b, 2], planes[b, 3]
    c0, c1, c2, c3 = planes[c, 0], planes[c, 1], planes[c, 2], planes[c, 3]
    d0, d1, d2, d3 = planes[d, 0], planes[d, 1], planes[d, 2], planes[d, 3]
    for j in range(left, right):
        j0, j1, j2, j3 = planes[j, 0], planes[j, 1], planes[j, 2], planes[j, 3]
        s = t = u = v = np.uint64(0)
        for k in range(j0.size):
            w, x, y, z = j0[k], j1[k], j2[k], j3[k]
            s += _ones((a0[k] ^ w) | (a1[k] ^ x) | (a2[k] ^ y) | (a3[k] ^ z))
            t += _ones((b0[k] ^ w) | (b1[k] ^ x) | (b2[k] ^ y) | (b3[k] ^ z))
            u += _ones((c0[k] ^ w) | (c1[k] ^ x) | (c2[k] ^ y) | (c3[k] ^ z))
            v += _ones((d0[k] ^ w) | (d1[k] ^ x) | (d2[k] ^ y) | (d3[k] ^ z))
        for i, differ in ((a, s), (b, t), (c, u), (d, v)):
            out[i, j] = out[j, i] = (n_draws - np.int64(differ)) / n_draws


@intrinsic
def _ones(_, word):
    """The number of bits of a word that are 1."""

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate
