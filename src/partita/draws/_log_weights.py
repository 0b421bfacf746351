"""The log weights of a marginalised mixture: probabilities of labels, and labels sampled.

A sampler numbers components as it likes, and sums in another order end in other last bits. So what
is summed over components is summed in an order that their values give (:func:`component_order`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partita.errors import InvalidValueError
from partita.parallel import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Doubles

_AT_ONCE = 1 << 20  # log weights looked at together
_GOLDEN = 0.6180339887498949  # its multiples modulo 1 are all unlike
_NEVER = -1e9  # in place of -inf, so that components that an item cannot be in can be told apart


def component_order(log_weights: Doubles) -> NDArray[np.int64]:
    """Return an order of each draw's components that does not depend on their numbers.

    It is that of a sum of their log weights in which no two items count alike, shape (n_draws, K).
    Components that tie are equal.
    """
    m, n, k = log_weights.shape
    unlike = 1 + np.arange(1, n + 1)[:, None] * _GOLDEN % 1
    keys = np.empty((m, k))
    for part in blocks(m, max(1, _AT_ONCE // (n * k))):
        keys[part] = (np.maximum(log_weights[part], _NEVER) * unlike).sum(axis=1)
    return np.asarray(np.argsort(keys, axis=1, kind="stable"))


def in_order(log_weights: Doubles, order: NDArray[np.int64]) -> Doubles:
    """The log weights of each draw with its components in an order."""
    return np.take_along_axis(log_weights, order[:, None, :], axis=2)


def probabilities(log_weights: Doubles) -> Doubles:
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
    out = log_weights - most
    np.exp(out, out=out)
    out /= out.sum(axis=-1, keepdims=True)
    return np.asarray(out)


def sampled(log_weights: Doubles, seed: int) -> NDArray[np.int64]:
    """Draw a component for every draw and item, each with its probability."""
    rng = np.random.default_rng(seed)
    n_draws, n_items, n_components = log_weights.shape
    out = np.empty((n_draws, n_items), np.int64)
    for part in blocks(n_draws, max(1, _AT_ONCE // (n_items * n_components))):
        order = component_order(log_weights[part])
        ends = np.cumsum(probabilities(in_order(log_weights[part], order)), axis=-1)
        points = rng.random(ends.shape[:2])[..., None] * ends[..., -1:]
        found = np.minimum((ends <= points).sum(axis=-1), n_components - 1)
        out[part] = np.take_along_axis(order, found, axis=1)
    return out
