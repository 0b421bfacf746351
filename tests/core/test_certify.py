"""Triangles and stars: which are violated, and the multipliers that bound and prove."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

from partita import _core
from partita.partitions import enumerate_partitions

PARTITIONS = enumerate_partitions(8)
TOLERANCE = 1e-7


def costs(seed, n=8):
    """Symmetric costs without a diagonal."""
    d = np.triu(np.random.default_rng(seed).normal(0.1, 0.3, (n, n)), 1)
    return d + d.T


def cost(labels, d):
    """Σ d over the pairs that are together."""
    return float(np.triu(d * (labels[:, None] == labels), 1).sum())


def bound(d, triangles, y):
    """Σ min(0, d + charges) - Σ y, by hand."""
    charged = np.triu(d, 1)
    for (j, i, k), amount in zip(triangles, y, strict=True):
        for a, b, sign in ((i, j, 1), (j, k, 1), (i, k, -1)):
            charged[min(a, b), max(a, b)] += sign * amount
    return float(np.minimum(charged, 0).sum() - y.sum())


def programmed(d):
    """The optimum over all triangles, by another's linear program."""
    n = len(d)
    place = {pair: a for a, pair in enumerate(zip(*np.triu_indices(n, 1), strict=True))}
    rows = []
    for j, i, k in permutations(range(n), 3):
        if i < k:
            row = np.zeros(len(place))
            for a, b, sign in ((i, j, 1), (j, k, 1), (i, k, -1)):
                row[place[min(a, b), max(a, b)]] = sign
            rows.append(row)
    return linprog(d[np.triu_indices(n, 1)], np.array(rows), np.ones(len(rows)), bounds=(0, 1)).fun


@pytest.mark.parametrize("seed", range(20))
def test_the_best_partition_of_three_items_is_proved(seed):
    d = np.triu(np.random.default_rng(seed).normal(size=(3, 3)), 1)
    d += d.T
    best = min(enumerate_partitions(3), key=lambda labels: cost(labels, d))
    triangles, y = _core.settle(d, best, 1e-9, _core.Stop())
    assert cost(best, d) - 1e-9 <= bound(d, triangles, y) <= cost(best, d) + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_debts_are_paid_as_far_as_a_program_could(seed):
    d = costs(seed)
    best = min(PARTITIONS, key=lambda labels: cost(labels, d))
    triangles, y = _core.settle(d, best, 1e-9, _core.Stop())
    j, i, k = triangles.T
    x = (best[:, None] == best).astype(float)
    assert (y > 0).all()
    assert (x[i, j] + x[j, k] - x[i, k] == 1).all()  # tight at the partition
    found, most = bound(d, triangles, y), programmed(d)
    assert found <= most + 1e-9
    if most > cost(best, d) - 1e-9:
        assert found == pytest.approx(most, abs=0.02)
    worse = np.zeros(8, dtype=np.int64)
    assert bound(d, *_core.settle(d, worse, 1e-9, _core.Stop())) <= cost(best, d) + 1e-12


def test_no_time_is_no_harm():
    d, labels = costs(2, 30), np.arange(30) % 5
    triangles, y = _core.settle(d, labels, 1e-9, _core.Stop(0.0))
    assert y.size == 0
    assert triangles.shape == (0, 3)


@pytest.mark.parametrize("seconds", [0.003, 0.01, 0.03, 0.1])
def test_time_that_ends_in_between_leaves_a_bound(seconds):
    d, labels = costs(3, 150), np.arange(150) % 5
    began = time.monotonic()
    owed = bound(d, *_core.settle(d, labels, 0.0, _core.Stop(seconds)))
    assert time.monotonic() - began < 2 * seconds + 2
    assert owed <= cost(np.arange(150), d) + 1e-9


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


def point(seed, n, share):
    """Symmetric numbers in [0, 1], so many of them not 0, no diagonal."""
    rng = np.random.default_rng(seed)
    x = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    return x + x.T


@pytest.mark.parametrize("seed", range(4))
def test_the_most_violated_triangle_of_every_pair(seed):
    x, d = point(seed, 9, 0.7), np.random.default_rng(seed).normal(size=(9, 9))
    d += d.T
    best, via = slowly(x, d)
    i, k = np.nonzero(best)
    assert i.size > 0
    triangles, violations = _core.violated(x, d, TOLERANCE, _core.Stop())
    assert np.array_equal(triangles, np.stack([via[i, k], i, k], axis=1))
    assert np.allclose(violations, best[i, k], atol=1e-14)
    assert _core.violated(x, d, TOLERANCE, _core.Stop(0.0))[0].shape == (0, 3)


def star_sum(x, centre, leaves):
    """Σ_j x_cj - Σ_{j<k} x_jk."""
    return x[centre, leaves].sum() - np.triu(x[np.ix_(leaves, leaves)], 1).sum()


def test_a_star_with_three_leaves_is_found():
    """Half with three that are apart: no triangle is violated, the star is by a half."""
    x = np.zeros((5, 5))
    x[1, [0, 2, 4]] = x[[0, 2, 4], 1] = 0.5
    assert _core.violated(x, -np.ones((5, 5)), TOLERANCE, _core.Stop())[1].size == 0
    leaves = _core.stars(x, TOLERANCE, 1e-3, 4, _core.Stop())
    assert leaves[1].tolist() == [0, 2, 4, -1]
    assert (leaves[[0, 2, 3, 4]] == -1).all()
    assert (_core.stars(x, TOLERANCE, 1e-3, 4, _core.Stop(0.0)) == -1).all()


@pytest.mark.parametrize("seed", range(4))
def test_every_star_is_violated_and_no_partition_violates_it(seed):
    x = point(seed, 8, 0.6)
    leaves = _core.stars(x, TOLERANCE, 1e-3, 5, _core.Stop())
    found = [(c, row[row >= 0]) for c, row in enumerate(leaves) if row[0] >= 0]
    assert found
    for centre, own in found:
        assert own.size >= 3
        assert len({centre, *own}) == own.size + 1
        assert star_sum(x, centre, own) > 1 + 1e-3
        together = PARTITIONS[:, :, None] == PARTITIONS[:, None, :]
        assert max(star_sum(one, centre, own) for one in together.astype(float)) == 1
