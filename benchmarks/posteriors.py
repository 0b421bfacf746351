"""Simulated posteriors of clusterings, for benchmarks of the search: five ways of making draws.

Each takes (n, n_draws, k, is_strong, seed) and gives integer labels, shape (n_draws, n).
"""

from __future__ import annotations

import numpy as np

import partita as pt


def gaussian(n, n_draws, k, is_strong, seed):
    """Labels of overlapping Gaussian clusters whose centres and number vary by draw."""
    rng = np.random.default_rng(seed)
    separation = {4: (3.0, 8.0), 8: (3.5, 10.0), 15: (4.0, 12.0)}[k][is_strong]
    centres = rng.normal(0, separation, (k, 2))
    x = centres[rng.integers(0, k, n)] + rng.normal(size=(n, 2))
    out = np.empty((n_draws, n), dtype=np.int64)
    for draw in out:
        c = centres + rng.normal(0, 0.35, (k, 2))
        kept = rng.random(k) > 0.15
        c = c[kept] if kept.any() else c
        extra = rng.poisson(0.3)
        c = np.vstack([c, c[rng.integers(0, len(c), extra)] + rng.normal(0, 0.8, (extra, 2))])
        score = -0.5 * ((x[:, None] - c) ** 2).sum(-1) + np.log(rng.dirichlet(np.full(len(c), 5.0)))
        draw[:] = (score + rng.gumbel(size=score.shape)).argmax(1)
    return out


def perturbed(n, n_draws, k, is_strong, seed, truth=None):
    """One partition with clusters split and merged, and items misplaced, anew in every draw."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))) if truth is None else truth
    side = rng.integers(0, 2, n)  # where a cluster splits, it often splits the same way
    misplaced = rng.beta(1, 12 if is_strong else 2, n)
    change = 0.1 if is_strong else 0.4
    out = np.empty((n_draws, n), dtype=np.int64)
    for draw in out:
        labels = truth.copy()
        for cluster in np.flatnonzero(rng.random(k) < change):
            inside = truth == cluster
            if rng.random() < 0.5:
                labels[inside] = rng.integers(k)
            else:
                way = side if rng.random() < 0.7 else rng.integers(0, 2, n)
                labels[inside & (way == 1)] = k + cluster
        moved = rng.random(n) < misplaced
        labels[moved] = rng.integers(0, k + 1, int(moved.sum()))
        draw[:] = labels
    return out


def modes(n, n_draws, k, is_strong, seed):
    """Two chains, each stuck near a partition of its own that half agrees with the other's."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, k, n)
    other = np.where(rng.random(n) < 0.5, one, (one + 1 + rng.integers(0, 2, n)) % k)
    halves = n_draws // 2, n_draws - n_draws // 2
    parts = [
        perturbed(n, size, k, is_strong, seed + 1 + i, truth=truth)
        for i, (size, truth) in enumerate(zip(halves, (one, other), strict=True))
    ]
    return np.vstack(parts)


def mixture(n, n_draws, k, is_strong, seed):
    """What this package's own sampler draws, given Gaussian data."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, (5.0 if is_strong else 2.0) * (1 if k < 8 else 1.5), (k, 2))
    data = centres[rng.integers(0, k, n)] + rng.normal(size=(n, 2))
    draws = pt.sample_mixture(data, n_draws=n_draws, n_burn=500, rng=seed)
    return np.asarray(draws.labels, dtype=np.int64)


def tessellated(n, n_draws, k, is_strong, seed):
    """Every item with the nearest of some points of the plane, made anew in every draw or moved."""
    rng = np.random.default_rng(seed)
    items, centres = rng.random((n, 2)), rng.random((k, 2))
    out = np.empty((n_draws, n), dtype=np.int64)
    for draw in out:
        c = rng.random((max(2, rng.poisson(k)), 2))
        if is_strong:
            c = centres + rng.normal(0, 0.1 / np.sqrt(k), (k, 2))
        draw[:] = ((items[:, None] - c) ** 2).sum(-1).argmin(1)
    return out


SIMULATORS = {
    "gaussian": gaussian,
    "perturbed": perturbed,
    "modes": modes,
    "mixture": mixture,
    "tessellated": tessellated,
}
