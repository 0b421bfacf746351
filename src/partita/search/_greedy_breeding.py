"""Breeding: new starts from two ends of runs, some clusters of one and the rest as in the other.

Where runs end in many places, each has some clusters right that another has wrong. A child of two
ends takes some neighbouring clusters of one over and parts all other items as the other does; a
quick run from there ends, often, below both. It takes the place of the parent that it is more like,
so that the ends stay unlike each other for long (crowding; Mahfoud 1995), as in genetic searches of
partitions (Gribel & Vidal 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from partita.partitions import canonical
from partita.search._greedy_ends import Found, best_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels: TypeAlias = NDArray[np.int64]

_LITTER = 4  # children at a time
_BARREN = 10  # litters in a row that are in vain
_TAKEN = 0.1, 0.5  # share of the items whose clusters come from one parent


def breed(
    ends: Sequence[Found],
    run: Callable[[list[Labels]], list[Found]],
    rng: np.random.Generator,
    n_litters: int,
) -> list[Found]:
    """Return ends in whose place their children have come, the best first.

    ``run`` says where quick runs from some partitions end, fewer where time is up. It stops then,
    where litter after litter has no child better than what is in the place of the parent that it
    is more like, and after ``n_litters`` at the latest.
    """
    pool, barren = best_of(ends, len(ends)), 0
    known = {one.labels.tobytes() for one in pool}
    for _ in range(n_litters):
        if len(pool) < 2 or barren == _BARREN:
            break
        pairs = [rng.choice(len(pool), 2, replace=False) for _ in range(_LITTER)]
        children = run([_child(pool[a].labels, pool[b].labels, rng) for a, b in pairs])
        if len(children) < len(pairs):  # time is up
            pool += children
            break
        barren += 1
        for pair, child in zip(pairs, children, strict=True):
            like = min(pair, key=lambda a: _apart(child.labels, pool[a].labels))
            if child.value < pool[like].value:
                barren = barren if child.labels.tobytes() in known else 0
                pool[like] = child
            known.add(child.labels.tobytes())
        pool = best_of(pool, len(pool))
    return best_of(pool, len(pool))


def _child(one: Labels, other: Labels, rng: np.random.Generator) -> Labels:
    """Some clusters of one partition, the rest of the items as the other has them.

    Those taken lie side by side: each but the first meets a cluster of the other that one before
    it meets, too, as long as there is such a one. So the child is like one parent in one place and
    like the other elsewhere.
    """
    meets = np.zeros((int(one.max()) + 1, int(other.max()) + 1), dtype=bool)
    meets[one, other] = True
    sizes, left = np.bincount(one), rng.uniform(*_TAKEN) * one.size
    taken, beside = np.zeros(sizes.size, dtype=bool), np.zeros(sizes.size, dtype=bool)
    beside[one[rng.integers(one.size)]] = True
    while left > 0 and not taken.all():
        near = beside & ~taken
        last = rng.choice(np.flatnonzero(near if near.any() else ~taken))
        taken[last] = True
        left -= sizes[last]
        beside |= meets[:, meets[last]].any(axis=1)
    return canonical(np.where(taken[one], one, sizes.size + other))


def _apart(one: Labels, other: Labels) -> int:
    """The ordered pairs of items that are together in one of two partitions alone."""
    both = np.bincount(one * (int(other.max()) + 1) + other)
    return int(sum(np.square(np.bincount(x)).sum() for x in (one, other)) - 2 * both @ both)
