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
    names: Sequence[Any] | None, wanted: Sequence[str] | None, option: str, *, is_ours: bool = False
) -> NDArray[np.intp] | None:
    """Return which row goes where, or None where rows stay as they are.

    Rows that carry the names of the items in another order are put in theirs. Rows that carry
    other names are taken as they come, with a warning. Items without names are called 0, 1, ... in
    what we write, and rows so called are put in order if it ``is_ours``; of other files nobody
    knows what the numbers are of.

    Examples
    --------
    >>> order_of(["b", "a"], ["a", "b"], "--truth")
    array([1, 0])
    >>> order_of(None, ["a", "b"], "--truth") is None
    True
    >>> order_of(["1", "0"], None, "--truth", is_ours=True)
    array([1, 0])
    """
    if names is None or (wanted is None and not _are_numbers(names)):
        return None
    is_numbered = wanted is None
    if wanted is None:
        first = min(map(int, names))
        wanted = [str(number) for number in range(first, first + len(names))]
    mine = [str(name) for name in names]
    if mine == list(wanted) or len(mine) != len(wanted):
        return None
    at = {name: row for row, name in enumerate(mine)}
    if len(at) == len(mine) and set(at) == set(wanted) and (is_ours or not is_numbered):
        return np.array([at[name] for name in wanted], dtype=np.intp)
    how = "otherwise than the draws name their items"
    if is_numbered:
        how = "by numbers that are not in order, and the draws do not name their items"
    warnings.warn(
        f"{option} names its rows {how}; they are matched by position.",
        PartitaWarning,
        stacklevel=2,
    )
    return None


def _are_numbers(names: Sequence[Any]) -> bool:
    """Whether rows are numbered from 0 or 1 on, each once, in whatever order."""
    try:
        found = sorted(int(name) for name in names)
    except ValueError:
        return False
    return found in (list(range(len(found))), list(range(1, len(found) + 1)))
