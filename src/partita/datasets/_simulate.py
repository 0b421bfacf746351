"""Simulated posterior draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita import validate
from partita.draws import Draws

if TYPE_CHECKING:
    from partita.typing import Seed


def simulate_draws(
    n_items: int = 100,
    n_draws: int = 500,
    n_clusters: int = 4,
    noise: float = 0.1,
    rng: Seed = None,
) -> Draws:
    """Simulate posterior draws around a partition into clusters of equal size.

    The clusters are runs of neighbours: item i is planted in cluster ⌊iK/n⌋. In each draw an item
    leaves its planted cluster with a probability of its own, on average ``noise``, for another
    cluster of its own preference, so that some items are sure and others ambiguous, as they are
    in a real posterior; and now and then two clusters are merged or one is split.

    Parameters
    ----------
    n_items, n_draws, n_clusters : int
    noise : float in [0, 1)
        The mean probability that an item is out of place; 0 gives the same partition M times.
    rng : int, SeedSequence or Generator, optional

    Returns
    -------
    Draws

    Examples
    --------
    >>> simulate_draws(6, 2, n_clusters=2, noise=0, rng=0).labels
    array([[0, 0, 0, 1, 1, 1],
           [0, 0, 0, 1, 1, 1]], dtype=uint8)
    """
    n = validate.integer("n_items", n_items, least=1)
    m = validate.integer("n_draws", n_draws, least=1)
    k = validate.integer("n_clusters", n_clusters, least=1, most=n)
    noise = validate.real("noise", noise, low=0, high=1, open_high=True)
    random = np.random.default_rng(validate.seed(rng))
    planted = np.arange(n) * k // n
    labels = np.empty((m, n), dtype=np.min_scalar_type(k))
    doubt = random.beta(0.5, 0.5 * (1 - noise) / noise, size=n) if noise else np.zeros(n)
    second = (planted + random.integers(1, max(k, 2), size=n)) % k
    for draw in labels:
        draw[:] = np.where(random.random(n) < doubt, second, planted)
        if k > 1 and random.random() < noise:
            a, b = random.choice(k, size=2, replace=False)
            draw[draw == a] = b
        if random.random() < noise:
            of_one = np.flatnonzero(draw == random.integers(k))
            draw[of_one[random.random(of_one.size) < 0.5]] = k
    return Draws(labels)
