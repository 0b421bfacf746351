"""exp of a row, written so that the compiler can use vector units.

numba calls the C library once a number; here e^x = 2^k e^r with |r| <= log(2)/2 by a polynomial
of degree 13, and 2^k is put together in the exponent bits. Relative error under 1e-15.
"""

from __future__ import annotations

import math

import numpy as np

from partita.kernels._compile import inner
from partita.kernels.mixture_types import BLOCK

_LOG2E = 1.0 / math.log(2.0)
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits of the mantissa.
_ROUND = 6755399441055744.0
_BIAS = np.int64(1023)
_MANTISSA = np.int64(52)
_C = tuple(1.0 / math.factorial(k) for k in range(14))
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = _C[2:]


@inner
def exp_rows(source, target, m, top):
    """``target[:m] = exp(min(source[:m], top))``; whether any entry was cut at ``top``.

    Entries under -700 give a number under 1e-304, which nothing distinguishes from 0.
    """
    high = False
    whole = np.empty(BLOCK)
    bits = whole.view(np.int64)
    for i in range(m):
        high |= source[i] > top
    for i in range(m):
        x = min(max(source[i], -700.0), top)
        shifted = x * _LOG2E + _ROUND
        whole[i] = shifted
        k = shifted - _ROUND
        r = (x - k * _LN2_HIGH) - k * _LN2_LOW
        s = _C12 + r * _C13
        s = _C11 + r * s
        s = _C10 + r * s
        s = _C9 + r * s
        s = _C8 + r * s
        s = _C7 + r * s
        s = _C6 + r * s
        s = _C5 + r * s
        s = _C4 + r * s
        s = _C3 + r * s
        s = _C2 + r * s
        s = 1.0 + r * s
        target[i] = 1.0 + r * s
    for i in range(m):
        bits[i] = (bits[i] + _BIAS) << _MANTISSA
    for i in range(m):
        target[i] *= whole[i]
    return high
