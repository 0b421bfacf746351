"""Fits that share a leading axis: some of them by themselves, and several stacks as one.

What is stacked is an array, or arrays in tuples; None stays None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def taken(xp: Any, stack: Any, rows: NDArray[Any] | Sequence[int]) -> Any:
    """The fits at ``rows``, which are numbers or a mask."""
    rows = np.asarray(rows)
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    return _mapped(lambda x: _take(xp, x, rows), stack)


def joined(xp: Any, stacks: Sequence[Any], order: NDArray[np.intp] | None = None) -> Any:
    """Several stacks as one; ``order`` says which fit each of its rows in turn is."""
    whole = stacks[0]
    if len(stacks) > 1:
        whole = _mapped(lambda *parts: _concat(xp, parts), *stacks)
    if order is None or np.array_equal(order, np.arange(order.size)):
        return whole
    return taken(xp, whole, np.argsort(order, kind="stable"))


def _take(xp: Any, x: Any, rows: NDArray[np.intp]) -> Any:
    if isinstance(x, np.ndarray):
        return x[rows]
    from array_api_compat import device

    return xp.take(x, xp.asarray(rows.tolist(), dtype=xp.int64, device=device(x)), axis=0)


def _concat(xp: Any, parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return xp.concat(list(parts), axis=0)


def _mapped(work: Any, *stacks: Any) -> Any:
    first = stacks[0]
    if first is None:
        return None
    if isinstance(first, tuple):
        parts = [_mapped(work, *each) for each in zip(*stacks, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return work(*stacks)
