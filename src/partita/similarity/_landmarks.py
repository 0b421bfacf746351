"""Landmarks: a sample of the items that stands for all of them where items are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita.draws import Draws, pick_items
from partita.similarity._similarity import posterior_similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Some of the items: where they are among all, their labels there, and draws of them alone."""

    items: NDArray[np.intp]
    labels: IntArray
    draws: Draws

    @property
    def size(self) -> int:
        """The number of landmarks."""
        return self.items.size

    def similarity(self, n_jobs: int = 1) -> NDArray[np.float64]:
        """The similarity of the landmarks, a matrix."""
        return np.asarray(posterior_similarity(self.draws, n_jobs=n_jobs).to_dense())


def landmarks(draws: Draws, size: int, seed: int, *, n_jobs: int = 1) -> Landmarks:
    """Sample ``size`` items evenly: one from each of as many runs of neighbours.

    So items that come in an order, such as cells by slide, are sampled from every part of it.
    """
    n = draws.n_items
    size = min(size, n)
    if size == n and isinstance(draws.labels, np.ndarray):
        return Landmarks(np.arange(n), draws.labels, draws._with(weights=uneven(draws)))
    items = landmark_items(n, size, seed)
    labels = pick_items(draws.labels, items, n_jobs=n_jobs)
    few = Draws(labels, weights=uneven(draws), chains=draws.chains)
    return Landmarks(items, labels, few)


def landmark_items(n_items: int, size: int, seed: int) -> NDArray[np.intp]:
    """Return the sampled items, which follow from both numbers of items and the seed."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(size,)))
    edges = np.linspace(0, n_items, size + 1).round().astype(np.intp)
    return np.asarray(edges[:-1] + (random.random(size) * np.diff(edges)).astype(np.intp))


def uneven(draws: Draws) -> FloatArray | None:
    """The weights of draws, or None where all are equal: counting is ten times quicker then."""
    w = draws.weights
    return None if w is None or bool((w == w[0]).all()) else w
