"""Small dense matrices, in place, with nothing allocated."""

from __future__ import annotations

import math

from partita.kernels._compile import inner


@inner
def cholesky(a):
    """Overwrite the lower triangle of ``a`` by L with LL' = a; return log det a, or nan."""
    p = a.shape[0]
    log_det = 0.0
    for j in range(p):
        d = a[j, j]
        for k in range(j):
            d -= a[j, k] * a[j, k]
        if not d > 0.0:
            return math.nan
        d = math.sqrt(d)
        a[j, j] = d
        log_det += math.log(d)
        for i in range(j + 1, p):
            s = a[i, j]
            for k in range(j):
                s -= a[i, k] * a[j, k]
            a[i, j] = s / d
    return 2.0 * log_det


@inner
def invert_lower(a):
    """Overwrite the lower triangle of ``a``, L, by its inverse."""
    p = a.shape[0]
    for j in range(p):
        a[j, j] = 1.0 / a[j, j]
        for i in range(j + 1, p):
            s = 0.0
            for k in range(j, i):
                s -= a[i, k] * a[k, j]
            a[i, j] = s / a[i, i]


@inner
def invert(a, out):
    """Write the inverse of the positive definite ``a`` to ``out``; ``a`` is overwritten.

    Returns log det a.
    """
    log_det = cholesky(a)
    invert_lower(a)
    p = a.shape[0]
    for i in range(p):
        for j in range(i + 1):
            s = 0.0
            for k in range(i, p):
                s += a[k, i] * a[k, j]
            out[i, j] = s
            out[j, i] = s
    return log_det


@inner
def eigen(a, vectors, values):
    """Eigenvectors (columns) and eigenvalues of the symmetric ``a`` by Jacobi rotations."""
    p = a.shape[0]
    for i in range(p):
        for j in range(p):
            vectors[i, j] = 0.0
        vectors[i, i] = 1.0
    for _ in range(60):
        off = 0.0
        diagonal = 0.0
        for i in range(p):
            diagonal += a[i, i] * a[i, i]
            for j in range(i):
                off += a[i, j] * a[i, j]
        if off <= 1e-30 * diagonal:
            break
        for i in range(p - 1):
            for j in range(i + 1, p):
                _rotate(a, vectors, i, j)
    for i in range(p):
        values[i] = a[i, i]


@inner
def _rotate(a, vectors, i, j):
    if a[i, j] == 0.0:
        return
    p = a.shape[0]
    theta = 0.5 * (a[j, j] - a[i, i]) / a[i, j]
    t = 1.0 / (abs(theta) + math.sqrt(1.0 + theta * theta))
    if theta < 0.0:
        t = -t
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    for k in range(p):
        x = a[k, i]
        y = a[k, j]
        a[k, i] = c * x - s * y
        a[k, j] = s * x + c * y
    for k in range(p):
        x = a[i, k]
        y = a[j, k]
        a[i, k] = c * x - s * y
        a[j, k] = s * x + c * y
    for k in range(p):
        x = vectors[k, i]
        y = vectors[k, j]
        vectors[k, i] = c * x - s * y
        vectors[k, j] = s * x + c * y
