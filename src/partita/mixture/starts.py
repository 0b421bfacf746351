"""Where chains begin: one cluster, each item alone, k-means, at random, or a given partition.

Chains begin in different places by default, since chains that agree from different starts are
what shows that a sampler moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import _core, validate
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Labels = NDArray[np.int64]

# The first pass from n clusters costs n^2; beyond this, chains begin elsewhere unless told.
_MANY = 2000
_SAMPLE = 4096  # items that k-means looks at, and assigns between two looks at a stop


def one(x: Floats, rng: np.random.Generator, stop: _core.Stop) -> Labels:
    """All items together."""
    return np.zeros(x.shape[0], np.int64)


def singletons(x: Floats, rng: np.random.Generator, stop: _core.Stop) -> Labels:
    """Each item alone."""
    return np.arange(x.shape[0], dtype=np.int64)


def scattered(x: Floats, rng: np.random.Generator, stop: _core.Stop) -> Labels:
    """Items dealt to a few clusters at random."""
    few = max(2, int(np.log2(x.shape[0] + 1)))
    return np.asarray(rng.integers(0, few, x.shape[0]), np.int64)


def kmeans(x: Floats, rng: np.random.Generator, stop: _core.Stop) -> Labels:
    """k-means from a k-means++ start on some of the items, with a few more clusters than likely."""
    n = x.shape[0]
    some = x if n <= _SAMPLE else x[np.sort(rng.choice(n, _SAMPLE, replace=False))]
    shift, scale = some.mean(axis=0), np.maximum(some.std(axis=0), 1e-12)
    z = (some - shift) / scale
    k = min(n, max(2, int(np.log2(n + 1)) + 2))
    centres = z[[int(rng.integers(len(z)))]]
    while len(centres) < k and not stop.is_up:
        d = _squares(z, centres).min(axis=1)
        if not d.sum() > 0:
            break
        centres = np.vstack([centres, z[rng.choice(len(z), p=d / d.sum())]])
    labels = _squares(z, centres).argmin(axis=1)
    for _ in range(30):
        if stop.is_up:
            break
        own = [z[labels == j] for j in range(len(centres))]
        centres = np.stack(
            [mine.mean(axis=0) if len(mine) else c for mine, c in zip(own, centres, strict=True)]
        )
        before, labels = labels, _squares(z, centres).argmin(axis=1)
        if np.array_equal(before, labels):
            break
    out = np.zeros(n, np.int64)
    for first in range(0, n, _SAMPLE):
        if stop.is_up:
            break
        part = slice(first, first + _SAMPLE)
        out[part] = _squares((x[part] - shift) / scale, centres).argmin(axis=1)
    return out


NAMES: dict[str, Callable[[Any, np.random.Generator, _core.Stop], Any]] = {
    "kmeans": kmeans,
    "one": one,
    "singletons": singletons,
    "random": scattered,
}


def choose(start: Any, n_chains: int, n_items: int) -> list[Any]:
    """One start for each chain: the names in turn if None, else what was given."""
    if start is None:
        names = [name for name in NAMES if name != "singletons" or n_items <= _MANY]
        return [names[c % len(names)] for c in range(n_chains)]
    if isinstance(start, str):
        validate.lookup("start", start, NAMES)
        return [start] * n_chains
    if isinstance(start, list | tuple) and any(
        isinstance(s, str | list | np.ndarray) for s in start
    ):
        if len(start) != n_chains:
            raise InvalidValueError(
                f"`start` must be one start for each of the {n_chains} chains; got {len(start)}."
            )
        return [_one_start(s, n_items) for s in start]
    return [_one_start(start, n_items)] * n_chains


def _one_start(start: Any, n_items: int) -> Any:
    if isinstance(start, str):
        validate.lookup("start", start, NAMES)
        return start
    return validate.labels("start", start, n_items=n_items)


def check_clusters(begins: Sequence[Any], n_items: int, most: int) -> None:
    """Refuse a start of more clusters than a partition prior has tables for."""
    for start in begins:
        n = n_items if isinstance(start, str) else np.unique(start).size
        if (start == "singletons" if isinstance(start, str) else True) and n > most:
            raise InvalidValueError(
                f"`start` must have at most {most} clusters under partition='mfm'; got {n}. "
                "Begin with 'kmeans', 'one' or 'random'."
            )


def begin(start: Any, x: Floats, rng: np.random.Generator, stop: _core.Stop) -> Any:
    """The partition that a start stands for; a rough one if ``stop`` is up."""
    return NAMES[start](x, rng, stop) if isinstance(start, str) else start


def _squares(z: Floats, centres: Floats) -> Floats:
    cross = z @ centres.T
    d = (z * z).sum(axis=1)[:, None] - 2 * cross + (centres * centres).sum(axis=1)[None, :]
    return np.asarray(np.maximum(d, 0.0))
