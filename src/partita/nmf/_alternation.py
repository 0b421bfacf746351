"""Extrapolated alternation on an eigenfactor, in pieces: each half step is one pass over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import Pieces, map_pieces, ordered_sum
from partita.nmf import _pieces
from partita.nmf._eigen import Eigenfactor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf._pieces import Sums

EVERY, MOST = 5, 40  # iterations in a look, looks
TOLERANCE = 1e-5
_ETA, _GROW, _GROW_CAP = 0.5, 1.3, 1.05


@dataclass(frozen=True, eq=False)
class Field:
    """The items on which factors are iterated, and π̂ among them.

    Parameters
    ----------
    labels : object
        Only its shape is looked at: how the items are cut.
    eigen : Eigenfactor
    norm2 : float
        ‖π̂‖² among these items.
    n_jobs : int
    """

    labels: Any
    eigen: Eigenfactor
    norm2: float
    n_jobs: int

    def mapped(
        self, work: Any, along: Sequence[Any], shared: Sequence[Any], *, n_kept: int = 1
    ) -> Any:
        """One pass over the pieces."""
        return map_pieces(
            work, self.labels, along=along, shared=shared, n_kept=n_kept, reads=False,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def extend(
        self, X: NDArray[np.float64], at: NDArray[np.float64], fixed: int
    ) -> tuple[Pieces, Sums]:
        """Fit every item to factors (K, s) of a few, the eigenvectors of which are ``at``."""
        shared = (X @ at.T, X @ X.T, fixed, self.eigen.values)
        found, sent = self.mapped(
            _pieces.extended, (self.eigen.vectors, self.eigen.residual), shared
        )
        return found, _pieces.Sums(*ordered_sum(map(tuple, sent)))

    def is_level(self, before: float, now: float) -> bool:
        """Whether a look saw too small a fall to go on."""
        return before - now <= TOLERANCE * max(now, 1e-5 * self.norm2)


def alternate(
    field: Field,
    A: NDArray[np.float64],
    B: NDArray[np.float64],
    at: NDArray[np.float64],
    fixed: int,
) -> tuple[Pieces, Pieces, int, bool]:
    """Extend factors of a few items to all of a field, and iterate (`_accelerate`)."""
    eigen = field.eigen
    Bs, _ = field.extend(A, at, fixed)
    As, ahead = field.extend(B, at, 0)
    accepted = ahead
    A_at, A_old, B_old = As, As, Bs  # A_at: A ahead; old ones: those before the accepted
    beta, cap, last, before = 0.5, 1.0, np.inf, np.inf
    step = 0.0
    for it in range(1, EVERY * MOST + 1):
        (B_new, _), sent = field.mapped(
            _pieces.half, (eigen.vectors, eigen.residual, Bs, B_old, A_at),
            (ahead.inner, ahead.gram, eigen.values, step, beta, fixed), n_kept=2,
        )  # fmt: skip
        of_b = _summed(sent, 0)
        (A_new, A_next), sent = field.mapped(
            _pieces.half, (eigen.vectors, eigen.residual, As, A_old, B_new),
            (of_b.inner, of_b.gram, eigen.values, step, beta, 0), n_kept=2,
        )  # fmt: skip
        of_a, of_next = _summed(sent, 0), _summed(sent, 1)
        square = float((of_a.gram * of_b.gram).sum())
        now = 0.5 * (field.norm2 - 2.0 * float(of_a.cross) + square)
        if now > last:
            A_at, ahead, A_old, B_old, step = As, accepted, As, Bs, 0.0
            cap, beta = beta, _ETA * beta
        else:
            A_old, B_old, As, Bs = As, Bs, A_new, B_new
            A_at, ahead, accepted, last = A_next, of_next, of_a, now
            step, cap = beta, min(1.0, _GROW_CAP * cap)
            beta = min(cap, _GROW * beta)
        if it % EVERY == 0:
            if field.is_level(before, last):
                return As, Bs, it, True
            before = last
    return As, Bs, it, False


def _summed(sent: Sequence[Any], which: int) -> Sums:
    return _pieces.Sums(*ordered_sum(tuple(one[which]) for one in sent))
