"""Crossing the ends of runs: the best partition whose clusters are made of what all ends share.

Where a posterior has several modes, runs end at partitions that put the same blocks of items
together in different ways, and the best way may be several merges and splits from each of them.
The blocks are few, so that all ways are within reach: see ``kernels.greedy_crossing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from partita import kernels
from partita.partitions import canonical

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search._greedy_draws import DrawsProblem

    Labels: TypeAlias = NDArray[np.int64]

_BLOCKS = 24  # at most: of more the ways are too many
_CARRIED = 32  # ends on few draws that are carried on to more
_KEPT = 0.6  # share of the blocks that stay, where a start is the best so far with others moved
_SPARE = 2  # clusters above the most of any end, at a start
_READ = 10_000_000  # counts read for the scores of clusters, some ten milliseconds
_POINTS = 512  # of the grid of e


def shared_blocks(ends: Sequence[Labels], most: int) -> Labels:
    """Number the sets of items that no two of the partitions part: their meet.

    A partition that would make more than ``most`` of them is passed over, but for the first.
    """
    blocks = canonical(ends[0])
    for other in ends[1:]:
        finer = canonical(blocks * (int(other.max()) + 1) + other)
        if int(finer.max()) < most:
            blocks = finer
    return blocks


def value_of(problem: DrawsProblem, labels: Labels) -> float:
    """The expected loss of a partition under the draws of a problem."""
    state = problem.state()
    state.load(canonical(problem.items.compress(labels)))
    return state.value


class Blocks:
    """Blocks of items under a loss on draws, made linear in j about a partition."""

    def __init__(self, problem: DrawsProblem, blocks: Labels, about: Labels) -> None:
        self.problem, self.blocks = problem, blocks
        p, state = problem, problem.state()
        state.load(canonical(p.items.compress(about)))
        n = int(blocks.max()) + 1
        self.parts: NDArray[Any] = np.zeros((n, int(p.offsets[-1])), dtype=p.count_type)
        compiled = cast(Any, kernels.greedy_crossing)
        every = p.rows[p.items.members] if p.items.are_merged else p.rows
        compiled.count(every, blocks, self.parts)
        self.mass = np.bincount(blocks, minlength=n)
        self.alpha = np.repeat(state.slant[0], np.diff(p.offsets))
        self.low = 0.9 * float(p.t.min())
        self.density = (_POINTS - 1) / (1.1 * float(p.t.max()) + 0.01 * p.w - self.low)
        self.grid = np.empty(_POINTS)
        compiled.levels(
            self.low, self.density, p.t, p.p, state.j, p.num, p.den, p.w, p.total, self.grid
        )
        self.grid += state.slant[0] @ state.j

    def of(self, labels: Labels) -> Labels:
        """The labels of the blocks of a partition that parts none."""
        out = np.empty(self.mass.size, dtype=np.int64)
        out[self.blocks] = labels
        return out

    def descend(
        self, starts: Labels, kept: NDArray[np.bool_], best: Labels, limit: int,
        rng: np.random.Generator,
    ) -> Labels:  # fmt: skip
        """Different ends from the starts, the best first."""
        ends, values = np.empty_like(starts), np.empty(len(starts))
        orders = np.argsort(rng.random(starts.shape), axis=1)
        n = cast(Any, kernels.greedy_crossing).restarts(
            starts, orders, kept, best.copy(), limit, _READ // self.parts.shape[1],
            self.parts, self.mass, self.alpha, self.problem.cell, self.grid, self.low,
            self.density, ends, values,
        )  # fmt: skip
        seen: dict[bytes, int] = {}
        for i in np.argsort(values[:n], kind="stable").tolist():
            seen.setdefault(canonical(ends[i]).tobytes(), i)
        return ends[list(seen.values())]


def crossed(
    few: DrawsProblem,
    many: DrawsProblem,
    ends: Sequence[Labels],
    limit: int,
    rng: np.random.Generator,
    n_wanted: int,
    n_starts: int,
) -> list[tuple[float, Labels]]:
    """Return the ``n_wanted`` best ways to put together the blocks that all the ends share.

    They are sought on few draws, from ``n_starts`` starts for each block above the number of
    clusters, and carried on to more, under whose draws their losses are given.
    The first of ``ends``, the best of them, is where the loss is made linear; others are left out
    where they make the blocks too many. Nothing unless there are more blocks than clusters of any.
    """
    blocks = shared_blocks(ends, _BLOCKS)
    n_blocks, most = int(blocks.max()) + 1, max(int(end.max()) for end in ends) + 1
    if not most < n_blocks <= _BLOCKS:
        return []
    on_few, n_now = Blocks(few, blocks, ends[0]), int(ends[0].max()) + 1
    limit, n = min(limit, n_blocks), n_starts * (n_blocks - n_now)
    at_most = min(limit, most + _SPARE)
    n_clusters = rng.integers(max(1, n_now // 2), at_most + 1, n)
    starts = (rng.random((n, n_blocks)) * n_clusters[:, None]).astype(np.int64)
    kept = rng.random((n, n_blocks)) < _KEPT
    kept[::2] = False
    found = on_few.descend(starts, kept, on_few.of(ends[0]), limit, rng)
    if many is not few:
        found = found[:_CARRIED]
        kept, best = np.zeros(found.shape, dtype=bool), on_few.of(ends[0])
        found = Blocks(many, blocks, ends[0]).descend(found, kept, best, limit, rng)
    whole = [canonical(labels[blocks]) for labels in found[:n_wanted]]
    return [(value_of(many, labels), labels) for labels in whole]
