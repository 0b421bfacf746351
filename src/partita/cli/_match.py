"""Rows of one file put in the order of the items of another, by their names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray


def order_of(
    names: Sequence[Any] | None, wanted: Sequence[str] | None, option: str
) -> NDArray[np.intp] | None:
    """Return which row goes where, or None where rows stay as they are.

    Rows that carry the names of the items in another order are put in theirs. Rows that carry
    other names are taken as they come, with a warning.

    Examples
    --------
    >>> order_of(["b", "a"], ["a", "b"], "--truth")
    array([1, 0])
    >>> order_of(None, ["a", "b"], "--truth") is None
    True
    """
    if names is None or wanted is None:
        return None
    mine = [str(name) for name in names]
    if mine == list(wanted) or len(mine) != len(wanted):
        return None
    at = {name: row for row, name in enumerate(mine)}
    if len(at) == len(mine) and set(at) == set(wanted):
        return np.array([at[name] for name in wanted], dtype=np.intp)
    warnings.warn(
        f"{option} names its rows otherwise than the draws name their items; they are matched by "
        "position.",
        PartitaWarning,
        stacklevel=2,
    )
    return None
