"""The names of items as the index of a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def item_index(names: Sequence[str] | None, n_items: int) -> pd.Index[Any]:
    """Return the names of the items, or their numbers, as the index of a frame.

    Names stay Python's strings: pyarrow, which pandas uses for text where it is installed, refuses
    those that have no UTF-8, such as half a surrogate pair.
    """
    import pandas as pd

    if names is None:
        return pd.RangeIndex(n_items, name="item")
    return pd.Index(list(names), dtype=object, name="item")
