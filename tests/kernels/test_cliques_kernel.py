"""Triangles, the most violated of each pair, and stars, each against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from partita.kernels.cliques import charge, stars, violated
from partita.partitions import enumerate_partitions

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


def star_sum(x, centre, leaves):
    """Σ_j x_cj - Σ_{j<k} x_jk."""
    return x[centre, leaves].sum() - np.triu(x[np.ix_(leaves, leaves)], 1).sum()


def test_a_star_with_three_leaves_is_found():
    """Half with three that are apart: no triangle is violated, the star is by a half."""
    x = np.zeros((5, 5))
    x[1, [0, 2, 4]] = x[[0, 2, 4], 1] = 0.5
    best, via = np.zeros((5, 5)), np.full((5, 5), -1)
    violated(x, -np.ones((5, 5)), 0, 5, TOLERANCE, best, via)
    assert best.max() == 0
    leaves = np.full((5, 4), -1)
    stars(x, 0, 5, TOLERANCE, 1e-3, leaves)
    assert leaves[1].tolist() == [0, 2, 4, -1]
    assert (leaves[[0, 2, 3, 4]] == -1).all()


@pytest.mark.parametrize("seed", range(4))
def test_every_star_is_violated_and_no_partition_violates_it(seed):
    rng = np.random.default_rng(seed)
    x = rng.random((8, 8)) * (rng.random((8, 8)) < 0.6)
    x = np.triu(x, 1) + np.triu(x, 1).T
    leaves = np.full((8, 5), -1)
    stars(x, 0, 3, TOLERANCE, 1e-3, leaves)
    stars(x, 3, 8, TOLERANCE, 1e-3, leaves)
    found = [(c, row[row >= 0]) for c, row in enumerate(leaves) if row[0] >= 0]
    assert found
    partitions = enumerate_partitions(8)
    for centre, own in found:
        assert own.size >= 3
        assert len({centre, *own}) == own.size + 1
        assert star_sum(x, centre, own) > 1 + 1e-3
        together = partitions[:, :, None] == partitions[:, None, :]
        assert max(star_sum(one, centre, own) for one in together.astype(float)) == 1


def test_what_stars_charge():
    d = np.random.default_rng(0).normal(size=(6, 6))
    out, wanted = np.empty((6, 6)), d.copy()
    charge(d, np.array([2, 0, 5, 4, 1, 3, 2]), np.array([0, 4, 7]), np.array([0.5, 0.25]), out)
    for i, k in [(0, 2), (2, 5), (2, 4)]:
        wanted[i, k] += 0.5
    for i, k in [(0, 5), (0, 4), (4, 5)]:
        wanted[i, k] -= 0.5
    wanted[1, 3] += 0.25
    wanted[1, 2] += 0.25
    wanted[2, 3] -= 0.25
    assert np.allclose(out, wanted, atol=1e-15)
