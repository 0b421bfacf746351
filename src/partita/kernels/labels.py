"""Label vectors, a row a draw."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit

_GOLDEN, _ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)


@jit
def renumber(labels, low, span, most, out, counts):
    """Write each row's clusters numbered by first appearance into ``out``, and count them.

    Labels are in ``low .. low + span - 1``; a row of more than ``most`` clusters is the last to be
    looked at.
    """
    m, n = labels.shape
    number = np.full(span, -1, dtype=np.int64)  # less than what rows before began with: not seen
    for r in range(m):
        begin = following = r * n
        for i in range(n):
            c = np.uint64(labels[r, i] - low)  # unsigned: an index that cannot wrap around
            k = number[c]
            if k < begin:
                k = number[c] = following
                following += 1
            out[r, i] = k - begin
        counts[r] = following - begin
        if counts[r] > most:
            break


@jit
def hash_rows(rows, start, seed, out):
    """``out[r]`` becomes the sum of ``keys[i] * (rows[r, i] + 1)``, modulo 2^64.

    The keys are those that SplitMix64 gives for the numbers ``start + i``, others for each seed.
    """
    m, n = rows.shape
    keys = np.empty(n, dtype=np.uint64)
    for i in range(n):
        z = _GOLDEN * np.uint64(start + i + 1) + _ODD * np.uint64(seed)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys[i] = z ^ (z >> np.uint64(31))
    for r in range(m):
        total = np.uint64(0)
        for i in range(n):
            total += keys[i] * (np.uint64(rows[r, i]) + np.uint64(1))
        out[r] = total


@jit
def group(hashes):
    """Where each different hash is first, in that order, and which of them each hash is."""
    bits = 1
    while 1 << bits < 2 * hashes.size:
        bits += 1
    slots = np.full(1 << bits, -1, dtype=np.int64)
    first, owner = np.empty(hashes.size, dtype=np.int64), np.empty(hashes.size, dtype=np.int64)
    k = 0
    for r in range(hashes.size):
        at = np.int64(hashes[r] >> np.uint64(64 - bits))
        while slots[at] >= 0 and hashes[first[slots[at]]] != hashes[r]:
            at = (at + 1) & ((1 << bits) - 1)
        if slots[at] < 0:
            slots[at] = k
            first[k] = r
            k += 1
        owner[r] = slots[at]
    return first[:k].copy(), owner


@jit
def first_seen(codes, start, out):
    """``out[r, c]`` becomes the least of itself and ``start + i`` over the items i of code c."""
    m, n = codes.shape
    for r in range(m):
        for i in range(n):
            c = codes[r, i]
            if out[r, c] > start + i:
                out[r, c] = start + i


@jit
def translate(codes, numbers, out):
    """``out[r, i]`` becomes ``numbers[r, codes[r, i]]``."""
    m, n = codes.shape
    for r in range(m):
        for i in range(n):
            out[r, i] = numbers[r, codes[r, i]]
