"""The loops of NMF in the core, beside the same written out in NumPy."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from partita import _core

RNG = np.random.default_rng(0)


def similarity(n, clusters=3):
    """Draws of noisy clusters, so that there are zeros and equal rows."""
    labels = np.arange(n) * clusters // n
    draws = np.array(
        [np.where(RNG.random(n) < 0.1, RNG.integers(0, clusters, n), labels) for _ in range(20)]
    )
    return np.ascontiguousarray((draws[:, :, None] == draws[:, None, :]).mean(axis=0))


def divergence(V, A, B):
    t = A.T @ B
    seen = V > 0
    return float((V[seen] * np.log(V[seen] / t[seen])).sum() - V.sum() + t.sum())


@pytest.mark.parametrize("rank", [1, 2, 5, 9])
@pytest.mark.parametrize("free", [1, 4])
def test_sweeps_are_coordinate_descent(rank, free):
    free = min(free, rank)
    P, B = RNG.random((rank, 45)), RNG.random((rank, 45))
    A = RNG.random((rank, 30))
    G, wanted, found = A @ A.T, B.copy(), B.copy()
    for _ in range(3):
        for k in range(free):
            step = (P[k] - G[k] @ wanted) / G[k, k]
            wanted[k] = np.maximum(wanted[k] + step, 0)
    _core.nmf_sweep(P, G, found, free, 3, _core.Stop())
    assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("rank", "rows", "columns"), [(1, 1, 1), (3, 6, 7), (5, 43, 600)])
def test_products(rank, rows, columns):
    X, V = RNG.random((rank, rows)), RNG.random((rows, columns))
    assert_allclose(_core.nmf_product(X, V, _core.Stop()), X @ V, rtol=1e-12)


def test_many_sweeps_are_the_least_squares_answer():
    A, V = RNG.random((4, 30)), RNG.random((30, 50))
    found = np.zeros((4, 50))
    _core.nmf_sweep(A @ V, A @ A.T, found, 4, 1_000, _core.Stop())
    wanted = np.stack([nnls(A.T, v)[0] for v in V.T], axis=1)
    assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize(("rows", "columns", "rank"), [(5, 5, 1), (40, 40, 3), (37, 53, 6)])
def test_a_multiplicative_step(rows, columns, rank):
    V = RNG.random((rows, columns))
    V[RNG.random(V.shape) < 0.5] = 0
    V[: rows // 2, : columns // 2] = 0  # whole blocks
    A, B = RNG.random((rank, rows)), RNG.random((rank, columns))
    wanted = B * (A @ (V / (A.T @ B))) / A.sum(axis=1)[:, None]
    for single, rtol in ((False, 1e-10), (True, 1e-4)):
        found = B.copy()
        columns_of = _core.SparseColumns(V)
        _core.nmf_step_divergence(columns_of, A, found, False, single, _core.Stop())
        assert_allclose(found, wanted, rtol=rtol, atol=1e-8)


@pytest.mark.parametrize("single", [False, True])
def test_newton_steps_descend_to_where_multiplicative_steps_end(single):
    V = similarity(40)
    A, B = RNG.random((3, 40)), RNG.random((3, 40))
    columns, stop = _core.SparseColumns(V), _core.Stop()
    far = B.copy()
    for _ in range(5_000):
        _core.nmf_step_divergence(columns, A, far, False, False, stop)
    last = divergence(V, A, B)
    for _ in range(40):
        _core.nmf_step_divergence(columns, A, B, True, single, stop)
        value = divergence(V, A, np.maximum(B, 1e-12))
        assert value <= last * (1 + 1e-6)
        last = value
    assert_allclose(last, divergence(V, A, np.maximum(far, 1e-12)), rtol=1e-5)


def test_the_cross_entropy():
    V = similarity(30)
    A, B = RNG.random((4, 30)), RNG.random((4, 30))
    found = _core.nmf_cross_entropy(_core.SparseColumns(V), A, B, _core.Stop())
    seen = V[V > 0]
    entropy = (seen * np.log(seen) - seen).sum()
    assert_allclose(found + entropy, divergence(V, A, B), rtol=1e-12)


def test_a_stop_that_is_up_ends_every_loop():
    V, stop = similarity(40), _core.Stop()
    stop.set()
    A, B = RNG.random((3, 40)), RNG.random((3, 40))
    before = B.copy()
    _core.nmf_step_divergence(_core.SparseColumns(V), A, B, True, False, stop)
    _core.nmf_sweep(A @ V, A @ A.T, B, 3, 4, stop)
    assert np.array_equal(B, before)


def test_shapes_are_checked():
    V, stop = similarity(10), _core.Stop()
    A = np.ones((2, 10))
    columns = _core.SparseColumns(V)
    with pytest.raises(ValueError, match="numbers in the matrix"):
        _core.SparseColumns(np.empty((0, 3)))
    with pytest.raises(ValueError, match="a column for each row"):
        _core.nmf_cross_entropy(columns, np.ones((2, 3)), np.ones((2, 3)), stop)
    with pytest.raises(ValueError, match="a row for each factor"):
        _core.nmf_step_divergence(columns, A, np.ones((3, 10)), True, False, stop)
    with pytest.raises(ValueError, match="at most the rows"):
        _core.nmf_sweep(np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 3)), 3, 1, stop)


DIGEST = """
import hashlib
import numpy as np
from partita import _core
rng = np.random.default_rng(1)
V = rng.random((50, 50)); V[rng.random(V.shape) < 0.6] = 0; V = V + V.T
A, B, stop = rng.random((5, 50)), rng.random((5, 50)), _core.Stop()
columns, digest = _core.SparseColumns(V), hashlib.sha256()
for single in (False, True):
    for newton in (False, True):
        _core.nmf_step_divergence(columns, A, B, newton, single, stop)
        digest.update(B.tobytes())
digest.update(np.float64(_core.nmf_cross_entropy(columns, A, B, stop)).tobytes())
_core.nmf_sweep(A @ V, A @ A.T, B, 5, 4, stop)
digest.update(B.tobytes())
print(digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    found = set()
    for isa in ("baseline", "avx2", "avx512"):
        environment = os.environ | {"PARTITA_ISA": isa}
        run = subprocess.run(
            [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True
        )
        if run.returncode == 0:
            found.add(run.stdout.strip())
    assert len(found) == 1
    assert len(found.pop()) == len(hashlib.sha256().hexdigest())
