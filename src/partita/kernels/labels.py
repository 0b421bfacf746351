"""Label vectors, a row a draw."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import jit


@jit
def count_clusters(codes, span):
    """Count the distinct codes, each in ``0 .. span - 1``, of every row."""
    m, n = codes.shape
    seen = np.full(span, -1, dtype=np.int64)
    out = np.zeros(m, dtype=np.int64)
    for r in range(m):
        for i in range(n):
            c = codes[r, i]
            if seen[c] != r:
                seen[c] = r
                out[r] += 1
    return out


@jit
def renumber(codes, span, out):
    """Write each row's clusters numbered by first appearance into ``out``."""
    m, n = codes.shape
    seen = np.full(span, -1, dtype=np.int64)
    number = np.zeros(span, dtype=np.int64)
    for r in range(m):
        following = 0
        for i in range(n):
            c = codes[r, i]
            if seen[c] != r:
                seen[c] = r
                number[c] = following
                following += 1
            out[r, i] = number[c]


@jit
def hash_rows(rows, keys, out):
    """``out[r]`` becomes the sum of ``keys[i] * (rows[r, i] + 1)``, modulo 2^64."""
    m, n = rows.shape
    for r in range(m):
        total = np.uint64(0)
        for i in range(n):
            total += keys[i] * (np.uint64(rows[r, i]) + np.uint64(1))
        out[r] = total


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
