"""Least-squares factors of several ranks fitted to π̂ itself over all items, in shared passes.

Every item is fitted to factors of a sample, then both factors in turn to π̂ of all items: a product
with π̂ is the sums of a factor over the clusters of every draw, spread back over the items. Passes
over the draws are what takes the time, and a pass for one rank costs little less than for several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import Pieces, map_pieces, sum_items
from partita.draws import gathered, offsets_of
from partita.nmf import _pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import IntArray

WIDTH = 48  # columns in a pass, unless one rank has more
_TABLE = 1 << 27  # bytes of a table of sums


@dataclass(frozen=True, eq=False)
class Stack:
    """Factors of several ranks one below the other, in pieces; Gram matrices and sums of each."""

    pieces: Pieces
    grams: tuple[NDArray[np.float64], ...]
    totals: tuple[NDArray[np.float64], ...]

    def rows(self, number: int, draws: Draws, n_jobs: int, *, less: int = 0) -> Pieces:
        """The factor of one rank; ``less`` rows at its end left out."""
        first = sum(gram.shape[0] for gram in self.grams[:number])
        last = first + self.grams[number].shape[0] - less
        found: Pieces
        found, _ = map_pieces(
            _pieces.rows_of, draws.labels, along=(self.pieces,), shared=(first, last),
            reads=False, n_jobs=n_jobs,
        )  # fmt: skip
        return found

    def last_row(self, number: int, draws: Draws, n_jobs: int) -> Pieces:
        """The last row of the factor of one rank, as an array of one axis."""
        row = sum(gram.shape[0] for gram in self.grams[: number + 1]) - 1
        found: Pieces
        found, _ = map_pieces(
            _pieces.row_of, draws.labels, along=(self.pieces,), shared=(row,), reads=False,
            n_jobs=n_jobs,
        )  # fmt: skip
        return found


def batches(fits: Iterator[Any], draws: Draws) -> Iterator[list[Any]]:
    """Ranks that share passes: so many columns that tables of sums stay small."""
    most = min(WIDTH, _TABLE // (8 * int(offsets_of(draws)[-1])))
    held: list[Any] = []
    for fit in fits:
        if held and sum(one.rank for one in held) + fit.rank > most:
            yield held
            held = []
        held.append(fit)
    if held:
        yield held


def sample_sums(
    draws: Draws, labels: IntArray, factors: NDArray[np.float64], n_jobs: int
) -> NDArray[np.float64]:
    """ZᵀX over a sample of the items; rows are those of all draws."""
    columns = np.ascontiguousarray(factors.T)
    found: NDArray[np.float64] = sum_items(
        gathered, labels, along=(columns,), shared=(offsets_of(draws), columns.shape[1]),
        n_jobs=n_jobs,
    )  # fmt: skip
    return found


def fit(
    draws: Draws, table: NDArray[np.float64], grams: Sequence[NDArray[np.float64]], *,
    fixed: int = 0, start: Pieces | None = None, sums: bool = True, n_jobs: int = 1,
) -> tuple[Stack, NDArray[np.float64], list[float]]:  # fmt: skip
    """Fit Y to π̂ given X by its sums ``table`` = ZᵀX and Gram matrices.

    Returns
    -------
    Y in pieces; ZᵀY, if wanted; ⟨π̂X, Y⟩ of every rank
    """
    shared = (offsets_of(draws), draws.probabilities, table, tuple(grams), fixed, sums)
    found, sent = map_pieces(
        _pieces.fitted, draws.labels, along=() if start is None else (start,), shared=shared,
        add=True, n_jobs=n_jobs, label="factors",
    )  # fmt: skip
    of_clusters, *rest = sent
    stack = Stack(found, tuple(rest[0::3]), tuple(rest[1::3]))
    return stack, of_clusters, [float(x) for x in rest[2::3]]


def alternate(
    draws: Draws, labels: IntArray, factors: Sequence[NDArray[np.float64]], *, fixed: int,
    n_jobs: int, rounds: int = 0,
) -> tuple[Stack, Stack, list[float]]:  # fmt: skip
    """Extend factors W of a sample: H of all items given those, W given H, and H again.

    And before that ``rounds`` of H and W once more.

    Parameters
    ----------
    labels : ndarray, shape (n_draws, s)
        Of the sample, numbered as in all draws.
    factors : sequence of ndarray, shape (K, s)
    fixed : int
        Rows of H that stay at 1.

    Returns
    -------
    W and H in pieces; ⟨π̂, WH⟩ of every rank
    """
    table = sample_sums(draws, labels, np.concatenate(factors), n_jobs)
    H, table, _ = fit(draws, table, [x @ x.T for x in factors], fixed=fixed, n_jobs=n_jobs)
    again = labels.shape[1] < draws.n_items
    W, table, crosses = fit(draws, table, H.grams, sums=again or rounds > 0, n_jobs=n_jobs)
    for left in reversed(range(rounds)):
        start, last = H.pieces, W.pieces
        H, table, _ = fit(draws, table, W.grams, fixed=fixed, start=start, n_jobs=n_jobs)
        W, table, crosses = fit(
            draws, table, H.grams, start=last, sums=again or left > 0, n_jobs=n_jobs
        )
    if again:
        H, _, crosses = fit(
            draws, table, W.grams, fixed=fixed, start=H.pieces, sums=False, n_jobs=n_jobs
        )
    return W, H, crosses
