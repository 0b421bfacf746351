"""How a result shows itself: a short line, a few rows, an index of items, an xarray Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_ROWS = 10  # of a table that a notebook shows


class Shown:
    """What results inherit; a class whose own ``__repr__`` says more keeps it."""

    def __repr__(self) -> str:
        """The class, with the shapes of its arrays in place of their numbers."""
        known: Any = fields(self) if is_dataclass(self) else ()
        parts = [(one.name, getattr(self, one.name)) for one in known]
        said = [
            f"{name} {value.shape}" if hasattr(value, "shape") else f"{name} {value!r}"
            for name, value in parts
        ]
        return f"{type(self).__name__}({', '.join(said)})"

    def _repr_html_(self) -> str:
        """The line and the first rows of the table, for notebooks."""
        tabled: Any = getattr(self, "to_frame", None)
        rows = "" if tabled is None else tabled().head(_ROWS).to_html()
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>{rows}"


def to_dataset(
    variables: Mapping[str, tuple[Sequence[str], Any]],
    about: Mapping[str, Any],
    item_names: Sequence[str] | None = None,
) -> xr.Dataset:
    """Return arrays with named dimensions; each dimension counts from 0, items have their names.

    Parameters
    ----------
    variables : mapping of str to (dimensions, array)
    about : mapping
        Attributes; None is left out, since files cannot hold it.
    """
    import xarray as xr

    found = {name: (tuple(dims), np.asarray(array)) for name, (dims, array) in variables.items()}
    sizes = {d: n for dims, one in found.values() for d, n in zip(dims, one.shape, strict=True)}
    coords: dict[str, Any] = {d: np.arange(n) for d, n in sizes.items()}
    if item_names is not None and "item" in coords:
        coords["item"] = np.array(item_names, dtype=np.str_)
    known = {name: value for name, value in about.items() if value is not None}
    return xr.Dataset(found, coords, {"created_by": "partita", **known})


def item_index(names: Sequence[str] | None, n_items: int) -> pd.Index[Any]:
    """Return the names of the items, or their numbers, as the index of a frame.

    Names stay Python's strings: pyarrow, which pandas uses for text where it is installed, refuses
    those that have no UTF-8, such as half a surrogate pair.
    """
    import pandas as pd

    if names is None:
        return pd.RangeIndex(n_items, name="item")
    return pd.Index(list(names), dtype=object, name="item")
