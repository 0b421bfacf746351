"""Symmetric least-squares NMF, V ≈ BᵀB: exact line searches towards a HALS answer."""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import fused_jit
from partita.kernels.nmf_hals import ETA, GROW, GROW_CAP, _dot, _extrapolate, sweep

GRID = 8
POLISH = 3


@fused_jit
def least(a, b, c, d):
    """Where at⁴ + bt³ + ct² + dt is least on [0, 1]: the best of a grid, then Newton steps."""
    best = 0.0
    value = 0.0
    for i in range(1, GRID + 1):
        t = i / GRID
        f = t * (d + t * (c + t * (b + t * a)))
        if f < value:
            best, value = t, f
    for _ in range(POLISH):
        curve = 2.0 * c + best * (6.0 * b + best * 12.0 * a)
        if curve <= 0.0:
            break
        t = best - (d + best * (2.0 * c + best * (3.0 * b + best * 4.0 * a))) / curve
        t = min(1.0, max(0.0, t))
        f = t * (d + t * (c + t * (b + t * a)))
        if f < value:
            best, value = t, f
    return best, value


@fused_jit
def _step(V, norm2, n_sweeps, B):
    """One step in place; the objective after it."""
    P = np.dot(B, V)
    G = np.dot(B, B.T)
    D = B.copy()
    sweep(P, G, D, B.shape[0], n_sweeps)
    for k in range(B.shape[0]):
        for i in range(B.shape[1]):
            D[k, i] -= B[k, i]
    Q = np.dot(D, V)
    cross = np.dot(B, D.T)
    own = np.dot(D, D.T)
    mixed = cross + cross.T
    a = 0.5 * _dot(own, own)
    b = _dot(mixed, own)
    c = _dot(G, own) + 0.5 * _dot(mixed, mixed) - _dot(Q, D)
    d = _dot(G, mixed) - 2.0 * _dot(P, D)
    here = 0.5 * (norm2 - 2.0 * _dot(P, B) + _dot(G, G))
    t, gain = least(a, b, c, d)
    for k in range(B.shape[0]):
        for i in range(B.shape[1]):
            B[k, i] += t * D[k, i]
    return here + gain


@fused_jit
def advance(V, norm2, n_sweeps, B, By, scalars, per_look, tolerance, n_looks):
    """Iterate in place until a look sees too small a fall; as :func:`nmf_hals.advance`."""
    it = 0
    beta, cap, last = scalars[0], scalars[1], scalars[2]
    before = last
    for it in range(1, n_looks * per_look + 1):
        Bn = By.copy()
        now = _step(V, norm2, n_sweeps, Bn)
        if now > last:
            By[:] = B
            cap = beta
            beta *= ETA
        else:
            _extrapolate(Bn, B, beta, By)
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
