"""Triangles: the most violated of each pair and the roomiest bad one, each against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels.cliques import _partner, violated

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


def bad_triangle(r, labels, i, k):
    """By definition: of the three pairs one repels, and the partition has the other two right."""
    best, room = -1, 0.0
    for j in set(range(len(r))) - {i, k}:
        sides = [(i, j), (j, k)]
        right = all((r[u, v] > 0) == (labels[u] != labels[v]) for u, v in sides)
        repulsive = sum(r[u, v] > 0 for u, v in [(i, k), *sides])
        slack = min(abs(r[u, v]) for u, v in sides)
        if right and repulsive == 1 and slack > room:
            best, room = j, slack
    return best, room


@pytest.mark.parametrize("seed", range(4))
def test_a_pair_that_is_wrong_is_charged_to_the_bad_triangle_with_most_room(seed):
    rng = np.random.default_rng(seed)
    r = rng.normal(size=(9, 9))
    r, labels = r + r.T, rng.integers(3, size=9)
    wrong = [
        (i, k) for i in range(9) for k in range(i) if (r[i, k] > 0) == (labels[i] == labels[k])
    ]
    wanted = [bad_triangle(r, labels, i, k) for i, k in wrong]
    assert any(j >= 0 for j, _ in wanted)
    assert [_partner(r, labels, i, k) for i, k in wrong] == wanted
