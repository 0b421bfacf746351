"""What the parts of a ``Draws`` must be, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def column_names(data: Any) -> tuple[str, ...] | None:
    """The columns of a DataFrame, unless they only count."""
    if not hasattr(data, "columns"):
        return None
    if io.names_variables(data):
        raise InvalidValueError(
            "`labels` must have a column for each item; got a DataFrame with a sampler's columns: "
            f"{', '.join(map(repr, list(data.columns)[:4]))}, ... Pass it to `as_draws`, which "
            "takes them apart."
        )
    names = tuple(str(name) for name in data.columns)
    return None if names == tuple(map(str, range(len(names)))) else names


def shape_hint(ndim: int) -> str:
    """What labels of the wrong number of dimensions may have meant."""
    if ndim == 1:
        return " For a single draw pass [labels]."
    return ""


def chain_numbers(value: Any, n_draws: int) -> NDArray[np.int64]:
    """Return the chains numbered 0, 1, ..., one number a draw."""
    chains = validate.whole_numbers("chains", value)
    if chains.shape != (n_draws,):
        raise InvalidValueError(
            f"`chains` must be one number for each of the {n_draws} draws; got shape "
            f"{chains.shape}."
        )
    return np.unique(chains, return_inverse=True)[1].astype(np.int64)


def trace(name: str, value: Any, n_draws: int) -> NDArray[np.float64]:
    """Return one number a draw, read-only."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"`traces[{name!r}]` must be numbers; got {value!r}.") from None
    if array.shape != (n_draws,):
        raise InvalidValueError(
            f"`traces[{name!r}]` must be one number for each of the {n_draws} draws; got shape "
            f"{array.shape}."
        )
    array.setflags(write=False)
    return array


def about(value: Any) -> dict[str, str | float]:
    """Return what is said of the draws as a plain dict."""
    good = isinstance(value, Mapping) and all(isinstance(v, str | float) for v in value.values())
    if not good:
        raise InvalidTypeError(f"`about` must map names to strings and floats; got {value!r}.")
    return {str(name): said for name, said in value.items()}


def same(a: Any, b: Any) -> bool:
    """Whether two arrays, or two Nones, are equal."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b, equal_nan=True)
