"""Triangles: the most violated of each pair, against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels.cliques import violated

TOLERANCE = 1e-7


def slowly(x, d):
    """The largest x_ij + x_jk - x_ik - 1 over j for i < k, where one of them gains by joining j."""
    n = len(x)
    best, via = np.zeros((n, n)), np.full((n, n), -1)
    for j in range(n):
        for i in range(n):
            for k in range(i + 1, n):
                if j in (i, k) or not (d[j, i] < 0 or d[j, k] < 0):
                    continue
                violation = x[j, i] + x[j, k] - x[i, k] - 1
                if violation > max(best[i, k], TOLERANCE):
                    best[i, k], via[i, k] = violation, j
    return best, via


@pytest.mark.parametrize("seed", range(4))
def test_the_most_violated_triangle_of_every_pair(seed):
    rng = np.random.default_rng(seed)
    x, d = rng.random((2, 9, 9))
    x[rng.random((9, 9)) < 0.3] = 0.0
    x, d = np.minimum(x, x.T), (d + d.T) - 1.0
    best, via = np.zeros((9, 9)), np.full((9, 9), -1)
    violated(x, d, 0, 4, TOLERANCE, best, via)
    violated(x, d, 4, 9, TOLERANCE, best, via)
    wanted = slowly(x, d)
    assert wanted[0].max() > 0
    assert np.allclose(best, wanted[0], atol=1e-14)
    assert np.array_equal(via, wanted[1])
