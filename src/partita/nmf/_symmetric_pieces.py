"""The ``symmetric`` model on an eigenfactor, in pieces; the steps are those of `symmetric`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed import Pieces, ordered_sum
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
        t, last = _least(own, cross, inner, bent, along, fitted, sums.gram, eigen.values, norm2)
        H, parts = shared.mapped(_pieces.stepped, (eigen.vectors, H, way), (t,))
        sums = _pieces.Sums(*ordered_sum(map(tuple, parts)))
        if it % _EVERY == 0:
            if before - last <= _TOLERANCE * max(last, 1e-5 * norm2):
                return H, it, True
            before = last
    return H, it, False


def _least(
    own: Any, cross: Any, inner: Any, bent: Any, along: Any, fitted: Any, gram: Any, values: Any,
    norm2: float,
) -> tuple[float, float]:  # fmt: skip
    """The step in [0, 1] at which the quartic along the way is least, and its value there."""
    mixed = cross + cross.T
    curved = float(((inner * inner) @ values).sum()) + float(bent)
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
