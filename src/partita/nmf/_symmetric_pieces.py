"""The ``symmetric`` model on an eigenfactor, in pieces; the steps are those of `symmetric`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita.distributed import Pieces, map_pieces, ordered_sum, sum_items
from partita.draws import offsets_of
from partita.nmf import _pieces
from partita.nmf._alternation import EVERY, MOST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.nmf._alternation import Field
    from partita.nmf._pieces import Sums


class Descended(NamedTuple):
    """H in pieces, its sums, and how far it has come."""

    H: Pieces
    sums: Sums
    objective: float = np.inf
    n_iter: int = 0
    converged: bool = False


def descend(field: Field, begun: Descended) -> Descended:
    """Iterate until a look sees too small a fall."""
    eigen = field.eigen
    H, sums, last, n_before, _ = begun
    before = last
    for it in range(1, EVERY * MOST + 1):
        way, sent = field.mapped(
            _pieces.towards, (eigen.vectors, eigen.residual, H),
            (sums.inner, sums.gram, eigen.values),
        )  # fmt: skip
        own, cross, inner, bent, along, fitted = ordered_sum(sent)
        curved = float(((inner * inner) @ eigen.values).sum()) + float(bent)
        t, last = _least(own, cross, curved, along, fitted, sums.gram, field.norm2)
        H, parts = field.mapped(_pieces.stepped, (eigen.vectors, H, way), (t,))
        sums = _pieces.Sums(*ordered_sum(map(tuple, parts)))
        if it % EVERY == 0:
            if field.is_level(before, last):
                return Descended(H, sums, last, n_before + it, True)
            before = last
    return Descended(H, sums, last, n_before + it)


def exact_steps(
    draws: Draws, H: Pieces, norm2: float, *, n_steps: int = 2, n_jobs: int = 1
) -> tuple[Pieces, NDArray[np.float64], float]:
    """Steps with products of π̂ itself over all items; H, its row sums and the objective."""
    offsets = offsets_of(draws)
    weights = np.repeat(draws.probabilities, np.diff(offsets))
    value = np.inf
    for _ in range(n_steps):
        sums, gram = _sums(draws, H, n_jobs)
        way, sent = map_pieces(
            _pieces.towards_exactly, draws.labels, along=(H,), n_jobs=n_jobs,
            shared=(offsets, draws.probabilities, sums, gram), label="factors",
        )  # fmt: skip
        own, cross, along, fitted = ordered_sum(sent)
        sums, _ = _sums(draws, way, n_jobs)
        curved = float(weights @ (sums * sums).sum(axis=1))
        t, value = _least(own, cross, curved, along, fitted, gram, norm2)
        H, totals = map_pieces(
            _pieces.moved, draws.labels, along=(H, way), shared=(t,), add=True, reads=False,
            n_jobs=n_jobs,
        )  # fmt: skip
    return H, totals, value


def _sums(draws: Draws, x: Pieces, n_jobs: int) -> Any:
    """ZᵀX and X Xᵀ of a factor in pieces."""
    return sum_items(
        _pieces.summed, draws.labels, along=(x,), shared=(offsets_of(draws),), n_jobs=n_jobs,
        label="factors",
    )  # fmt: skip


def _least(
    own: Any, cross: Any, curved: float, along: Any, fitted: Any, gram: Any, norm2: float
) -> tuple[float, float]:
    """The step in [0, 1] at which the quartic along the way is least, and its value there."""
    mixed = cross + cross.T
    quartic = np.array(
        [
            0.5 * (own * own).sum(),
            (mixed * own).sum(),
            (gram * own).sum() + 0.5 * (mixed * mixed).sum() - curved,
            (gram * mixed).sum() - 2.0 * float(along),
            0.5 * (norm2 - 2.0 * float(fitted) + (gram * gram).sum()),
        ]
    )
    roots = np.roots(np.polyder(quartic)) if quartic[0] > 0 else np.empty(0)
    real = roots[np.abs(roots.imag) < 1e-9].real
    at = np.concatenate([[0.0, 1.0], real[(real > 0) & (real < 1)]])
    values_at = np.polyval(quartic, at)
    best = int(np.argmin(values_at))
    return float(at[best]), float(values_at[best])
