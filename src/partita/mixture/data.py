"""Data as they come in: tables, arrays, one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_data(X: Any, name: str = "X") -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """The data as floats, (n, p), and item names if X is a table with names of its own."""
    names = None
    if hasattr(X, "index") and hasattr(X, "to_numpy"):
        names = tuple(str(label) for label in X.index)
        if names == tuple(map(str, range(len(names)))):
            names = None
        X = X.to_numpy()
    try:
        data = np.array(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"`{name}` must hold numbers alone, a row for each item; drop or encode other columns."
        ) from None
    if data.ndim == 1:
        data = data[:, None]
    if data.ndim != 2 or 0 in data.shape:
        raise InvalidValueError(
            f"`{name}` must have a row for each item and at least one column; "
            f"got shape {data.shape}."
        )
    bad = np.argwhere(~np.isfinite(data))
    if bad.size:
        rows = np.unique(bad[:, 0]).size
        raise InvalidValueError(
            f"`{name}` must have no missing or infinite values; got {data[tuple(bad[0])]} at row "
            f"{bad[0][0]}, column {bad[0][1]} ({rows} rows in all). Drop or impute them."
        )
    return np.ascontiguousarray(data), names
