"""Extrapolated alternation on an eigenfactor, in pieces: each half step is one pass over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita.distributed import Pieces, map_pieces, ordered_sum, sum_items
from partita.draws import offsets_of
from partita.nmf import _pieces
from partita.nmf._eigen import Eigenfactor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.nmf._pieces import Sums

EVERY, MOST = 5, 40  # iterations in a look, looks
TOLERANCE = 1e-5  # the least fall in a look that goes on
FINE, NEVER = 1e-7, -1.0  # the least fall where π̂ itself is multiplied; one that no look misses
PER_LOOK = 2
QUICK = 10_000_000  # labels that are gone over in some hundredths of a second
_ETA, _GROW, _GROW_CAP = 0.5, 1.3, 1.05


@dataclass(frozen=True, eq=False)
class Field:
    """The items on which factors are iterated, and π̂ among them.

    Parameters
    ----------
    draws : Draws
        Of these items alone, in memory.
    eigen : Eigenfactor
    norm2 : float
        ‖π̂‖² among these items.
    n_jobs : int
    """

    draws: Draws
    eigen: Eigenfactor
    norm2: float
    n_jobs: int

    @property
    def is_quick(self) -> bool:
        """Whether products with π̂ itself are."""
        return self.draws.labels.size <= QUICK

    def mapped(
        self, work: Any, along: Sequence[Any], shared: Sequence[Any], *, n_kept: int = 1
    ) -> Any:
        """One pass over the pieces."""
        return map_pieces(
            work, self.draws.labels, along=along, shared=shared, n_kept=n_kept, reads=False,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def extend(
        self, X: NDArray[np.float64], at: NDArray[np.float64], fixed: int,
        mass: NDArray[np.float64] | None = None,
    ) -> tuple[Pieces, Sums]:  # fmt: skip
        """Fit every item to factors (K, s) of a few, the eigenvectors of which are ``at``.

        ``mass`` is what each of the few counts for.
        """
        weighted = X if mass is None else X * mass
        shared = (weighted @ at.T, weighted @ X.T, fixed, self.eigen.values)
        found, sent = self.mapped(
            _pieces.extended, (self.eigen.vectors, self.eigen.residual), shared
        )
        return found, _pieces.Sums(*ordered_sum(map(tuple, sent)))

    def is_level(self, before: float, now: float, tolerance: float = TOLERANCE) -> bool:
        """Whether a look saw too small a fall to go on."""
        return before - now <= tolerance * max(now, 1e-5 * self.norm2)


class Alternated(NamedTuple):
    """Both factors in pieces, the sums of A, and how far they have come."""

    A: Pieces
    B: Pieces
    sums: Sums
    objective: float = np.inf
    n_iter: int = 0
    converged: bool = False


def alternate(
    field: Field, begun: Alternated, fixed: int, tolerance: float, *, most: int = MOST,
    lack: Sequence[Pieces] = (),
) -> Alternated:  # fmt: skip
    """Iterate (`_accelerate`) until a look sees too small a fall.

    ``lack`` is what the products of the eigenfactor with A and with B lack; the objective then
    lacks a number that stays the same.
    """
    eigen = field.eigen
    As, Bs, accepted, last, n_before, _ = begun
    ahead, before = accepted, last
    A_at, A_old, B_old = As, As, Bs  # A_at: A ahead; old ones: those before the accepted
    beta, cap = 0.5, 1.0
    step = 0.0
    for it in range(1, EVERY * most + 1):
        (B_new, _), sent = field.mapped(
            _pieces.half, (eigen.vectors, eigen.residual, Bs, B_old, A_at, *lack[:1]),
            (ahead.inner, ahead.gram, eigen.values, step, beta, fixed), n_kept=2,
        )  # fmt: skip
        of_b = _summed(sent, 0)
        (A_new, A_next), sent = field.mapped(
            _pieces.half, (eigen.vectors, eigen.residual, As, A_old, B_new, *lack[1:]),
            (of_b.inner, of_b.gram, eigen.values, step, beta, 0), n_kept=2,
        )  # fmt: skip
        of_a, of_next = _summed(sent, 0), _summed(sent, 1)
        square = float((of_a.gram * of_b.gram).sum())
        now = 0.5 * (field.norm2 - 2.0 * float(of_a.cross) + square) - float(of_b.lacking)
        if now > last:
            A_at, ahead, A_old, B_old, step = As, accepted, As, Bs, 0.0
            cap, beta = beta, _ETA * beta
        else:
            A_old, B_old, As, Bs = As, Bs, A_new, B_new
            A_at, ahead, accepted, last = A_next, of_next, of_a, now
            step, cap = beta, min(1.0, _GROW_CAP * cap)
            beta = min(cap, _GROW * beta)
        if it % EVERY == 0:
            if field.is_level(before, last, tolerance):
                return Alternated(As, Bs, accepted, last, n_before + it, True)
            before = last
    return Alternated(As, Bs, accepted, last, n_before + it)


def correct(field: Field, found: Alternated, fixed: int) -> Alternated:
    """Iterate with what the eigenfactor leaves out of π̂ put in to first order (`_hals`).

    It is taken anew at every look, with two products of π̂ itself. Should the objective rise, the
    factors of the look before are returned.
    """
    before, lack = _exact(field, found)
    for _ in range(MOST):
        begun = before._replace(objective=np.inf)
        ahead = alternate(field, begun, fixed, NEVER, most=PER_LOOK, lack=lack)
        after, lack = _exact(field, ahead)
        fall = before.objective - after.objective
        if not fall >= 0.0:
            return before._replace(converged=False)
        before = after
        if fall <= FINE * max(after.objective, 1e-5 * field.norm2):
            break
    return before._replace(converged=True)


def _exact(field: Field, found: Alternated) -> tuple[Alternated, tuple[Pieces, ...]]:
    """The objective with π̂ itself, and what the eigenfactor's products with A and B lack."""
    draws, eigen, jobs = field.draws, field.eigen, field.n_jobs
    offsets = offsets_of(draws)
    lack, crosses, grams = [], [], []
    for x, other in ((found.A, found.B), (found.B, found.A)):
        table, inner, gram = sum_items(
            _pieces.totals, draws.labels, along=(eigen.vectors, x), shared=(offsets,), n_jobs=jobs
        )
        shared = (offsets, draws.probabilities, table, inner, eigen.values)
        along = (eigen.vectors, eigen.residual, x, other)
        one, cross = map_pieces(
            _pieces.lacking, draws.labels, along=along, shared=shared, add=True, n_jobs=jobs
        )
        lack.append(one)
        crosses.append(float(cross))
        grams.append(gram)
    objective = 0.5 * (field.norm2 - 2.0 * crosses[1] + float((grams[0] * grams[1]).sum()))
    return found._replace(objective=objective), tuple(lack)


def _summed(sent: Sequence[Any], which: int) -> Sums:
    return _pieces.Sums(*ordered_sum(tuple(one[which]) for one in sent))
