"""The log weights of a marginalised mixture: probabilities of labels, and labels sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 1 << 20


def probabilities(log_weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(log weights) scaled to sum to 1 over the last axis.

    Examples
    --------
    >>> probabilities(np.log([[1.0, 3.0]])).round(2)
    array([[0.25, 0.75]])
    """
    most = log_weights.max(axis=-1, keepdims=True)
    if not np.isfinite(most).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(most[..., 0]))[0])
        raise InvalidValueError(
            "`log_weights` must be finite for at least one cluster of every draw and item, and "
            f"never NaN or +inf; the largest at (draw, item) = {where} is "
            f"{float(most[(*where, 0)])}."
        )
    out = np.exp(log_weights - most)
    out /= out.sum(axis=-1, keepdims=True)
    return np.asarray(out)


def sampled(log_weights: NDArray[np.float64], seed: int) -> NDArray[np.int64]:
    """Draw a label for every draw and item, each cluster with its probability."""
    rng = np.random.default_rng(seed)
    n_draws, n_items, n_clusters = log_weights.shape
    out = np.empty((n_draws, n_items), np.int64)
    step = max(1, _AT_ONCE // (n_items * n_clusters))
    for start in range(0, n_draws, step):
        part = slice(start, min(start + step, n_draws))
        ends = np.cumsum(probabilities(log_weights[part]), axis=-1)
        points = rng.random(ends.shape[:2])[..., None] * ends[..., -1:]
        out[part] = (ends <= points).sum(axis=-1)
    return np.asarray(np.minimum(out, n_clusters - 1))
