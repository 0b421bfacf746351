"""Where the chains' similarity matrices differ, and which pairs are most in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita.io import Shown
from partita.parallel import blocks, map_blocks
from partita.similarity import Similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.diagnostics._chains import Chains
    from partita.draws import Draws

MOST_ITEMS = 5_000  # items whose pairs are all looked at
_WORK = 400_000_000  # pairs of labels compared in some fifty milliseconds
_CELLS = 10_000_000  # similarities held at a time


@dataclass(repr=False, frozen=True)
class Gap(Shown):
    """The pair of items on which the chains differ most.

    Parameters
    ----------
    difference : float
        The largest ``|π̂_a - π̂_b|`` over pairs of items and of chains; of one chain, its halves.
    items : tuple of int
        The pair.
    between : tuple of str
        The two chains.
    similarities : tuple of float
        What each says about the pair.
    """

    difference: float
    items: tuple[int, int]
    between: tuple[str, str]
    similarities: tuple[float, float]


def scan_pairs(chains: Chains, *, n_pairs: int, n_jobs: int = 1) -> tuple[Gap, NDArray[np.int64]]:
    """Compare the chains' similarity matrices, a block of rows at a time.

    If there are very many items, an evenly spaced sample of them is compared.

    Returns
    -------
    gap : Gap
    doubtful : ndarray of int64, shape (p, 2)
        Pairs of similarity nearest to 1/2, no item in two of them, the most doubtful first.
    """
    parts = chains.parts()
    names = [name for name, _ in parts]
    operators = [Similarity.from_draws(part) for _, part in parts]
    weights = chains.shares(parts)
    items = spread(chains.draws.n_items, MOST_ITEMS)
    n = items.size
    rows = blocks(n, min(_WORK // (n * chains.draws.n_draws), _CELLS // (n * len(parts))))

    def work(part: slice) -> tuple[tuple[float, int, int], NDArray[np.float64], NDArray[np.int64]]:
        each = np.stack([operator.block(items[part], items) for operator in operators])
        gaps = each.max(axis=0) - each.min(axis=0)
        i, j = np.unravel_index(int(gaps.argmax()), gaps.shape)
        pooled = np.tensordot(weights, each, 1)
        doubt = pooled * (1 - pooled)
        partner = doubt.argmax(axis=1)
        most = doubt[np.arange(partner.size), partner]
        return (float(gaps[i, j]), int(items[part][i]), int(items[j])), most, partner

    done = list(map_blocks(work, rows, n_jobs=n_jobs, label="pairs of items"))
    _, i, j = max((found for found, _, _ in done), key=lambda found: found[0])
    doubt = np.concatenate([most for _, most, _ in done])
    partner = np.concatenate([which for _, _, which in done])
    each = np.array([operator.block([i], [j])[0, 0] for operator in operators])
    low, high = int(each.argmin()), int(each.argmax())
    a, b = min(low, high), max(low, high)
    gap = Gap(
        difference=float(each[high] - each[low]),
        items=(min(i, j), max(i, j)),
        between=(names[a], names[b]),
        similarities=(float(each[a]), float(each[b])),
    )
    return gap, items[_disjoint(doubt, partner, n_pairs)]


def together(pair: tuple[int, int] | NDArray[np.int64], draws: Draws) -> NDArray[np.float64]:
    """In which draws two items are in one cluster: ones and zeros."""
    i, j = pair
    return np.asarray(draws.labels[:, i] == draws.labels[:, j], dtype=np.float64)


def spread(total: int, most: int) -> NDArray[np.int64]:
    """At most ``most`` of ``range(total)``, evenly spaced."""
    return np.unique(np.linspace(0, total - 1, min(total, most)).round().astype(np.int64))


def _disjoint(
    doubt: NDArray[np.float64], partner: NDArray[np.int64], n_pairs: int
) -> NDArray[np.int64]:
    """Take each item's most doubtful pair, most doubtful first, no item twice."""
    taken: set[int] = set()
    pairs: list[tuple[int, int]] = []
    for i in np.argsort(-doubt, kind="stable").tolist():
        if len(pairs) == n_pairs or doubt[i] <= 0:
            break
        j = int(partner[i])
        if i not in taken and j not in taken:
            taken |= {i, j}
            pairs.append((min(i, j), max(i, j)))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
