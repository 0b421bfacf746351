"""Least-squares NMF: extrapolated alternating coordinate descent, a chunk of iterations a call.

Both factors are held as (K, n) arrays, A = Wᵀ and B = H, so that every inner loop runs along
contiguous memory. The similarity is symmetric, so the same code updates either.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import fast_jit, fused_jit

ETA, GROW, GROW_CAP = 0.5, 1.3, 1.05


@fused_jit
def sweep(P, G, B, free, n_sweeps):
    """Minimise ½ tr(BᵀGB) - tr(PᵀB) over B >= 0, a row at a time; rows from ``free`` on stay."""
    K, n = B.shape
    rest = np.empty(n)
    for _ in range(n_sweeps):
        for k in range(free):
            if G[k, k] <= 1e-300:
                continue
            inverse = 1.0 / G[k, k]
            b = B[k]
            p = P[k]
            for i in range(n):
                rest[i] = p[i]
            for m in range(0, K - K % 4, 4):  # four rows for each pass over ``rest``
                g0, g1, g2, g3 = G[k, m], G[k, m + 1], G[k, m + 2], G[k, m + 3]
                b0, b1, b2, b3 = B[m], B[m + 1], B[m + 2], B[m + 3]
                for i in range(n):
                    rest[i] -= (g0 * b0[i] + g1 * b1[i]) + (g2 * b2[i] + g3 * b3[i])
            for m in range(K - K % 4, K):
                g0, b0 = G[k, m], B[m]
                for i in range(n):
                    rest[i] -= g0 * b0[i]
            for i in range(n):
                z = b[i] + rest[i] * inverse
                b[i] = z if z > 0.0 else 0.0


@fast_jit
def _dot(X, Y):
    total = 0.0
    for k in range(X.shape[0]):
        for i in range(X.shape[1]):
            total += X[k, i] * Y[k, i]
    return total


@fused_jit
def _add(X, Y):
    for k in range(X.shape[0]):
        for i in range(X.shape[1]):
            X[k, i] += Y[k, i]


@fused_jit
def _single(X, V):
    """X V in single precision, four rows of V at a time: for few rows of X faster than BLAS."""
    K, n = X.shape
    out = np.zeros((K, n), np.float32)
    for j in range(0, n - n % 4, 4):
        v0, v1, v2, v3 = V[j], V[j + 1], V[j + 2], V[j + 3]
        for k in range(K):
            x0, x1, x2, x3 = X[k, j], X[k, j + 1], X[k, j + 2], X[k, j + 3]
            o = out[k]
            for i in range(n):
                o[i] += (x0 * v0[i] + x1 * v1[i]) + (x2 * v2[i] + x3 * v3[i])
    for j in range(n - n % 4, n):
        v0 = V[j]
        for k in range(K):
            x0, o = X[k, j], out[k]
            for i in range(n):
                o[i] += x0 * v0[i]
    return out


@fused_jit
def _product(V, values, residual, rest, X):
    """X V, where V is dense, or U diag(values) Uᵀ + diag(residual) + rest with V holding Uᵀ.

    ``rest`` is in single precision: it is small, and its product is what takes the time.
    """
    if values.size == 0:
        return np.dot(X, V)
    inner = np.dot(X, V.T)
    for k in range(inner.shape[0]):
        for r in range(inner.shape[1]):
            inner[k, r] *= values[r]
    out = np.dot(inner, V)
    for k in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[k, i] += X[k, i] * residual[i]
    if rest.size > 0:
        _add(out, _single(X.astype(np.float32), rest))
    return out


@fused_jit
def _extrapolate(new, old, beta, out):
    for k in range(new.shape[0]):
        for i in range(new.shape[1]):
            z = new[k, i] + beta * (new[k, i] - old[k, i])
            out[k, i] = z if z > 0.0 else 0.0


@fused_jit
def advance(
    V, values, residual, rest, shift, norm2, fixed, n_sweeps,
    A, B, Ay, By, scalars, per_look, tolerance, n_looks,
):  # fmt: skip
    """Iterate in place until a look sees too small a fall; return the iterations done.

    A look comes every ``per_look`` iterations, at most ``n_looks`` times. A, B are the accepted
    factors, Ay, By the extrapolated ones; ``scalars`` holds the extrapolation weight, its cap,
    the objective, and the least that a fall is measured against. The last ``fixed`` rows of B
    never change.
    ``shift`` (2, K, n), where it is not empty, is what the products with A and with B lack.
    """
    K = A.shape[0]
    corrected = shift.shape[0] == 2
    it = 0
    beta, cap, last = scalars[0], scalars[1], scalars[2]
    before = scalars[2]
    for it in range(1, n_looks * per_look + 1):
        Bn = By.copy()
        An = Ay.copy()
        P = _product(V, values, residual, rest, Ay)
        if corrected:
            _add(P, shift[0])
        sweep(P, np.dot(Ay, Ay.T), Bn, K - fixed, n_sweeps)
        P = _product(V, values, residual, rest, Bn)
        if corrected:
            _add(P, shift[1])
        G = np.dot(Bn, Bn.T)
        sweep(P, G, An, K, n_sweeps)
        now = 0.5 * (norm2 - 2.0 * _dot(P, An) + _dot(np.dot(An, An.T), G))
        if corrected:
            now -= _dot(shift[0], Bn)
        if now > last:
            Ay[:] = A
            By[:] = B
            cap = beta
            beta *= ETA
        else:
            _extrapolate(An, A, beta, Ay)
            _extrapolate(Bn, B, beta, By)
            A[:] = An
            B[:] = Bn
            last = now
            cap = min(1.0, GROW_CAP * cap)
            beta = min(cap, GROW * beta)
        if it % per_look == 0:
            if before - last <= tolerance * max(last, scalars[3]):
                break
            before = last
    scalars[0], scalars[1], scalars[2] = beta, cap, last
    return it
