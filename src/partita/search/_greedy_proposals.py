"""What a run proposes to change, by chance, for compiled attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import IntArray

    Labels = NDArray[np.int64]


SETTLED = 3  # sweeps over the items of an attempt


def sum_of(kinds: Iterable[str]) -> int:
    """The kinds of proposals there are among these moves, as one number."""
    c: Any = kernels.greedy_proposals
    flags = {"rebuild": c.REBUILD, "split": c.SPLIT, "graft": c.GRAFT}
    return sum(flags.get(kind, 0) for kind in kinds)


def patient(patience: float, n: int) -> float:
    """The patience with proposals for so many items."""
    few: int = cast(Any, kernels.greedy_proposals).FEW
    return float(patience) * (2 if n <= few else 1)


class Proposals:
    """Clusters to rebuild, split or take over, until too many in a row have failed.

    Parameters
    ----------
    kinds : sequence of str
        Some of "rebuild", "split" and "graft".
    patience : float
        Proposals that may fail, in multiples of the number of clusters (6 to 24).
    n : int
        Items.
    others : sequence of ndarray, shape (n,)
        Partitions to take clusters over from.
    rng : Generator
    """

    def __init__(
        self,
        kinds: Sequence[str],
        patience: float,
        n: int,
        others: Sequence[Labels],
        rng: np.random.Generator,
    ) -> None:
        seed, self._n_fitted = rng.integers(0, 1 << 64, 4, dtype=np.uint64), 0
        self._cursor, plan = np.zeros(5, dtype=np.int64), np.zeros((4, n), dtype=np.int64)
        self._items, self._targets, self._order = plan[1:]
        partitions = np.array(others, dtype=np.int64).reshape(-1, n)
        self.arguments = (
            seed, self._cursor, *plan, partitions, sum_of(kinds), patient(patience, n),
        )  # fmt: skip

    @property
    def last(self) -> tuple[Labels, Labels, Labels]:
        """The last proposal: items, a target for each, those that may move."""
        n_items, n_order = self._cursor[3:]
        return self._items[:n_items], self._targets[:n_items], self._order[:n_order]

    def succeeded(self) -> None:
        """None has failed since."""
        self._cursor[0] = 0

    def turn_to(self, n_fitted: int) -> None:
        """Columns were renumbered so many times; if that is new, those to come are chosen anew."""
        if n_fitted != self._n_fitted:
            self._cursor[1] = self._cursor[2]
        self._n_fitted = n_fitted


class Given:
    """One proposal, to be attempted as it is."""

    def __init__(self, items: IntArray, targets: IntArray, order: IntArray) -> None:
        cursor, none = np.array([0, 0, 0, items.size, order.size]), np.empty(0, dtype=np.int64)
        seed = np.zeros(4, dtype=np.uint64)
        self.arguments = (seed, cursor, none, items, targets, order, none[None], 0, 0.0)


def attempted(
    state: Any, items: IntArray, targets: IntArray, order: IntArray, limit: int, bar: float
) -> bool | None:
    """Move ``items``, allocate those of ``order`` that are in no cluster, sweep over these.

    Returns whether the loss is below ``bar`` then; if not, all is as it was, or the clusters are
    the same in other columns. None if that is too much to be done in one call.
    """
    given, outcomes = Given(items, targets, order), cast(Any, kernels.greedy_proposals)
    while (SETTLED + 2) * order.size <= state.visits:
        status = state.shake(given, limit, bar)
        if status != outcomes.ASKED:
            return bool(status == outcomes.BETTER)
        if state.sizes.size > state.problem.n:  # there is room for any clusters
            break
        state.grow(state.sizes.size)
    return None
