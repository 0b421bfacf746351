"""The ``symmetric`` model on an eigenfactor, in pieces; the steps are those of `symmetric`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import Pieces, map_pieces, ordered_sum
from partita.draws import offsets_of
from partita.nmf import _pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EVERY, _MOST, _TOLERANCE = 5, 40, 1e-5


def fit_symmetric(
    shared: Any, landmarks: NDArray[np.float64], norm2: float
) -> tuple[Pieces, int, bool]:
    """Extend factors of the landmarks to all items and descend; ``shared`` is a `Streamed`."""
    eigen = shared.eigen
    H, sums = shared.extend(landmarks, 0)
    last = before = np.inf
    for it in range(1, _EVERY * _MOST + 1):
        way, sent = shared.mapped(
            _pieces.towards, (eigen.vectors, eigen.residual, H),
            (sums.inner, sums.gram, eigen.values),
        )  # fmt: skip
        own, cross, inner, bent, along, fitted = ordered_sum(sent)
        curved = float(((inner * inner) @ eigen.values).sum()) + float(bent)
        t, last = _least(own, cross, curved, along, fitted, sums.gram, norm2)
        H, parts = shared.mapped(_pieces.stepped, (eigen.vectors, H, way), (t,))
        sums = _pieces.Sums(*ordered_sum(map(tuple, parts)))
        if it % _EVERY == 0:
            if before - last <= _TOLERANCE * max(last, 1e-5 * norm2):
                return H, it, True
            before = last
    return H, it, False


def exact_steps(shared: Any, H: Pieces, norm2: float, n_steps: int = 2) -> Pieces:
    """Steps with products of π̂ itself, for what the eigenfactor leaves out."""
    draws = shared.draws
    offsets = offsets_of(draws)
    weights = np.repeat(draws.probabilities, np.diff(offsets))
    for _ in range(n_steps):
        gram = shared.gram(H)
        way, sent = map_pieces(
            _pieces.towards_exactly, draws.labels, along=(H,), n_jobs=shared.n_jobs,
            shared=(offsets, draws.probabilities, shared.sums(H), gram), label="factors",
        )  # fmt: skip
        own, cross, along, fitted = ordered_sum(sent)
        sums = shared.sums(way)
        curved = float(weights @ (sums * sums).sum(axis=1))
        t, _ = _least(own, cross, curved, along, fitted, gram, norm2)
        H, _ = shared.mapped(_pieces.stepped, (shared.eigen.vectors, H, way), (t,))
    return H


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
