"""Kullback-Leibler NMF: a damped Newton step for each column, K x K at a time.

Factors are (K, n) arrays. For fixed A the divergence splits over the columns of B: column j
minimises Σ_i (t_i - V_ji log t_i) with t = Aᵀb. A column costs O(nK²) for its Hessian, which may
be an earlier one. A step is computed in the precision of V; in single precision it is twice as
quick, and its error is in a place where the divergence is flat.
"""

from __future__ import annotations

import numpy as np

from partita.kernels._compile import fast_jit, fused_jit

TINY = 1e-150
LEAST = 1e-15  # within the range of single precision, its square and fourth power too
STEEPEST = 1e-6
HALVINGS = 8
ETA, GROW, GROW_CAP = 0.5, 1.3, 1.05

_MANTISSA = 0x000FFFFFFFFFFFFF
_HALF = 0x3FE0000000000000
_SHIFT = 0x4330000000000000
_BIAS = 4503599627371518.0  # 2**52 + 1022
_LN2 = 0.6931471805599453


@fused_jit
def _gather(v, columns, A, values, out):
    """What a row of V has at some columns, and A there."""
    for i in range(columns.size):
        values[i] = v[columns[i]]
    for k in range(A.shape[0]):
        a, o = A[k], out[k]
        for i in range(columns.size):
            o[i] = a[columns[i]]


@fused_jit
def _mix(A, b, out, start, n):
    """Aᵀb + start, four rows of A for each pass over ``out``."""
    K = A.shape[0]
    for i in range(n):
        out[i] = start
    for k in range(0, K - K % 4, 4):
        a0, a1, a2, a3 = A[k], A[k + 1], A[k + 2], A[k + 3]
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        for i in range(n):
            out[i] += (a0[i] * b0 + a1[i] * b1) + (a2[i] * b2 + a3[i] * b3)
    for k in range(K - K % 4, K):
        a0, b0 = A[k], b[k]
        for i in range(n):
            out[i] += a0[i] * b0


@fast_jit
def _dots(A, u, out, n):
    """A u, four rows of A for each pass over u."""
    K = A.shape[0]
    for k in range(0, K - K % 4, 4):
        a0, a1, a2, a3 = A[k], A[k + 1], A[k + 2], A[k + 3]
        s0 = s1 = s2 = s3 = u.dtype.type(0.0)
        for i in range(n):
            s0 += a0[i] * u[i]
            s1 += a1[i] * u[i]
            s2 += a2[i] * u[i]
            s3 += a3[i] * u[i]
        out[k], out[k + 1], out[k + 2], out[k + 3] = s0, s1, s2, s3
    for k in range(K - K % 4, K):
        a0 = A[k]
        s0 = u.dtype.type(0.0)
        for i in range(n):
            s0 += a0[i] * u[i]
        out[k] = s0


@fast_jit
def _hessian(A, u, out, n):
    """A diag(u) Aᵀ, two rows by two at a time so that each load serves two products."""
    K = A.shape[0]
    for k in range(0, K - 1, 2):
        a0, a1 = A[k], A[k + 1]
        for m in range(k, K - 1, 2):
            b0, b1 = A[m], A[m + 1]
            s00 = s01 = s10 = s11 = u.dtype.type(0.0)
            for i in range(n):
                x0 = a0[i] * u[i]
                x1 = a1[i] * u[i]
                s00 += x0 * b0[i]
                s01 += x0 * b1[i]
                s10 += x1 * b0[i]
                s11 += x1 * b1[i]
            out[k, m] = out[m, k] = s00
            out[k, m + 1] = out[m + 1, k] = s01
            out[k + 1, m] = out[m, k + 1] = s10
            out[k + 1, m + 1] = out[m + 1, k + 1] = s11
    if K % 2:
        last = A[K - 1]
        for k in range(K):
            a = A[k]
            s = u.dtype.type(0.0)
            for i in range(n):
                s += a[i] * u[i] * last[i]
            out[k, K - 1] = out[K - 1, k] = s


@fused_jit
def _descend(hess, g, b, d, n_sweeps):
    """Minimise gᵀd + ½dᵀHd over b + d >= 0 by coordinates; g becomes the gradient at d."""
    zero = g.dtype.type(0.0)
    tiny = g.dtype.type(LEAST)
    for _ in range(n_sweeps):
        for k in range(b.size):
            h = hess[k, k]
            floor = -b[k] - d[k]
            step = floor if g[k] > zero else zero
            if h > tiny:
                step = max(-g[k] / h, floor)
            d[k] += step
            for m in range(b.size):
                g[m] += hess[k, m] * step


@fast_jit
def _damping(u, r, delta, slope, n):
    """The largest of 1, ½, ¼, ... at which the divergence cannot rise; no logarithm needed.

    With x = tδ/T, -log(1+x) + x <= ½x²/(1 + min(x, 0)), which bounds the change from above.
    """
    zero, one, half = u.dtype.type(0.0), u.dtype.type(1.0), u.dtype.type(0.5)
    steepest = u.dtype.type(STEEPEST)
    t = one
    for _ in range(HALVINGS):
        bound = zero
        for i in range(n):
            x = t * delta[i] * r[i]
            y = one + (x if x < zero else zero)
            y = y if y > steepest else steepest
            bound += u[i] * delta[i] * delta[i] / y
        if slope + half * t * bound <= zero:
            return t
        t *= half
    return zero


@fast_jit
def half(V, starts, columns, whole, B, hessians, fresh, n_sweeps, lo, hi):
    """One damped Newton step for the columns lo..hi of B, in place, with A = ``whole`` fixed.

    ``starts`` and ``columns`` say where V is not zero, if ``starts`` is not empty; elsewhere the
    divergence is linear, and all it takes is the sums over the rows of A. ``hessians`` (n, K, K)
    are computed if ``fresh``, else taken as they are: from not far away they serve as well, and
    the damping looks at the divergence where it is now.
    """
    K, n = whole.shape
    dtype = V.dtype.type
    mass = whole.sum(axis=1)
    skip = starts.size > 0
    A = np.empty_like(whole) if skip else whole
    v = np.empty(n, V.dtype)
    r = np.empty(n, V.dtype)
    u = np.empty(n, V.dtype)
    delta = np.empty(n, V.dtype)
    g = np.empty(K, V.dtype)
    g0 = np.empty(K, V.dtype)
    d = np.empty(K, V.dtype)
    b = np.empty(K, V.dtype)
    for j in range(lo, hi):
        b[:] = B[:, j]
        if skip:
            n = starts[j + 1] - starts[j]
            _gather(V[j], columns[starts[j] : starts[j + 1]], whole, v, A)
        else:
            v = V[j]
        _mix(A, b, r, dtype(LEAST), n)
        for i in range(n):
            r[i] = dtype(1.0) / r[i]
            u[i] = v[i] * r[i]
        _dots(A, u, g, n)
        for k in range(K):
            g[k] = g0[k] = mass[k] - g[k]
            d[k] = dtype(0.0)
        for i in range(n):
            u[i] *= r[i]
        if fresh:
            _hessian(A, u, hessians[j], n)
        _descend(hessians[j], g, b, d, n_sweeps)
        _mix(A, d, delta, dtype(0.0), n)
        slope = dtype(0.0)
        for k in range(K):
            slope += g0[k] * d[k]
        t = _damping(u, r, delta, slope, n)
        if t > dtype(0.0):
            for k in range(K):
                B[k, j] = max(dtype(0.0), b[k] + t * d[k])


@fast_jit
def divergence(V, starts, columns, whole, B, lo, hi):
    """Σ_ij t_ij - V_ij log t_ij over the columns lo..hi, t = AᵀB, with A and V as for ``half``.

    The logarithm is written out, exponent and mantissa and a series in (m-1)/(m+1), so that it
    runs four or eight at a time; its error is that of the last bits.
    """
    K, n = whole.shape
    mass = whole.sum(axis=1)
    skip = starts.size > 0
    A = np.empty_like(whole) if skip else whole
    v = np.empty(n)
    t = np.empty(n)
    b = np.empty(K)
    bits = t.view(np.int64)
    mantissa = np.empty(n, np.int64)
    exponent = np.empty(n, np.int64)
    mf = mantissa.view(np.float64)
    ef = exponent.view(np.float64)
    total = 0.0
    for j in range(lo, hi):
        b[:] = B[:, j]
        if skip:
            n = starts[j + 1] - starts[j]
            _gather(V[j], columns[starts[j] : starts[j + 1]], whole, v, A)
        else:
            v = V[j]
        _mix(A, b, t, TINY, n)
        for k in range(K):
            total += b[k] * mass[k]
        for i in range(n):
            mantissa[i] = (bits[i] & _MANTISSA) | _HALF
        for i in range(n):
            exponent[i] = (bits[i] >> 52) | _SHIFT
        s = 0.0
        for i in range(n):
            m = mf[i]
            e = ef[i] - _BIAS
            low = m < 0.7071067811865476
            m = 2.0 * m if low else m
            e = e - 1.0 if low else e
            z = (m - 1.0) / (m + 1.0)
            y = z * z
            p = 2.0 / 19.0
            p = p * y + 2.0 / 17.0
            p = p * y + 2.0 / 15.0
            p = p * y + 2.0 / 13.0
            p = p * y + 2.0 / 11.0
            p = p * y + 2.0 / 9.0
            p = p * y + 2.0 / 7.0
            p = p * y + 2.0 / 5.0
            p = p * y + 2.0 / 3.0
            p = p * y + 2.0
            s += v[i] * (e * _LN2 + p * z)
        total -= s
    return total


@fused_jit
def _smooth(A, theta):
    """S A with S = (1-θ)I + (θ/K)11ᵀ; A itself where θ is 0."""
    if theta == 0.0:
        return A
    K, n = A.shape
    out = np.empty_like(A)
    for i in range(n):
        total = 0.0
        for k in range(K):
            total += A[k, i]
        total *= theta / K
        for k in range(K):
            out[k, i] = (1.0 - theta) * A[k, i] + total
    return out


@fused_jit
def _extrapolate(new, old, beta, keep, out):
    for k in range(new.shape[0]):
        for i in range(new.shape[1]):
            z = new[k, i] + beta * (new[k, i] - old[k, i])
            low = keep * new[k, i]
            out[k, i] = z if z > low else low


@fused_jit
def advance(
    V, steps, starts, columns, constant, theta, n_sweeps, keep, lag,
    A, B, Ay, By, scalars, per_look, tolerance, n_looks,
):  # fmt: skip
    """Iterate in place until a look sees too small a fall; as :func:`nmf_hals.advance`.

    ``steps`` is V in the precision that steps are computed in; objectives are in double. Hessians
    are renewed every ``lag`` iterations, and after a step that was refused.
    """
    K, n = A.shape
    it = 0
    beta, cap, last = scalars[0], scalars[1], scalars[2]
    before = scalars[2]
    of_b = np.empty((n, K, K), steps.dtype)
    of_a = np.empty((n, K, K), steps.dtype)
    age = lag
    for it in range(1, n_looks * per_look + 1):
        Bn = By.copy()
        An = Ay.copy()
        fresh = age >= lag
        age = 1 if fresh else age + 1
        S = _smooth(Ay, theta).astype(steps.dtype)
        half(steps, starts, columns, S, Bn, of_b, fresh, n_sweeps, 0, n)
        SB = _smooth(Bn, theta)
        half(steps, starts, columns, SB.astype(steps.dtype), An, of_a, fresh, n_sweeps, 0, n)
        now = max(0.0, constant + divergence(V, starts, columns, An, SB, 0, n))
        if now > last:
            Ay[:] = A
            By[:] = B
            cap = beta
            beta *= ETA
            age = lag
        else:
            _extrapolate(An, A, beta, keep, Ay)
            _extrapolate(Bn, B, beta, keep, By)
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
