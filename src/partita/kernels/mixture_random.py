"""Random numbers from a state that is an array: xoshiro256++, and what is drawn from it.

The state travels with the chain, so a chain gives the same draws in any process, resumed or not.

References
----------
Blackman & Vigna (2021), Scrambled linear pseudorandom number generators.
Marsaglia & Tsang (2000), A simple method for generating gamma variables.
"""

from __future__ import annotations

import math

import numpy as np

from partita.kernels._compile import inner, jit

_S11, _S17, _S19, _S23 = np.uint64(11), np.uint64(17), np.uint64(19), np.uint64(23)
_S41, _S45 = np.uint64(41), np.uint64(45)
_UNIT = 2.0**-53


@inner
def uniform(state):
    """One number in [0, 1)."""
    a = state[0] + state[3]
    result = ((a << _S23) | (a >> _S41)) + state[0]
    t = state[1] << _S17
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= t
    s = state[3]
    state[3] = (s << _S45) | (s >> _S19)
    return float(result >> _S11) * _UNIT


@inner
def below(state, n):
    """One whole number in 0..n-1."""
    return int(uniform(state) * n)


@inner
def normal(state):
    """One standard normal (polar method, the second number dropped)."""
    while True:
        a = 2.0 * uniform(state) - 1.0
        b = 2.0 * uniform(state) - 1.0
        r = a * a + b * b
        if 0.0 < r < 1.0:
            return a * math.sqrt(-2.0 * math.log(r) / r)


@inner
def gamma(state, shape):
    """One gamma variable of the given shape and rate 1."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - uniform(state)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(state)
        if u < 1.0 - 0.0331 * x * x * x * x:
            return d * v * boost
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v * boost


@inner
def shuffle(state, items, n):
    """Put the first ``n`` entries in random order, in place."""
    for i in range(n - 1, 0, -1):
        j = below(state, i + 1)
        items[i], items[j] = items[j], items[i]


@jit
def sample_uniform(state, out):
    """Fill ``out`` (tests)."""
    for i in range(out.size):
        out[i] = uniform(state)


@jit
def sample_normal(state, out):
    """Fill ``out`` (tests)."""
    for i in range(out.size):
        out[i] = normal(state)


@jit
def sample_gamma(state, shape, out):
    """Fill ``out`` (tests)."""
    for i in range(out.size):
        out[i] = gamma(state, shape)
