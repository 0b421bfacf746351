"""What the parts of a ``Draws`` must be, checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.errors import InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def by_draws(data: Any, orient: str | None) -> Any:
    """Return labels with a row for each draw, or ask where a frame seems to have other rows."""
    if orient is None:
        if hasattr(data, "columns") and hasattr(data, "index") and _has_item_rows(data):
            n_rows, n_columns = data.shape
            raise InvalidValueError(
                f"`orient` must be given for this DataFrame of {n_rows:,} rows and {n_columns:,} "
                "columns, which looks like a row for each item: orient='items', or orient='draws' "
                "if each row is a draw."
            )
        return data
    if validate.choice("orient", orient, ("draws", "items")) == "draws":
        return data
    if not hasattr(data, "T"):
        data = np.asarray(data)
    if data.ndim != 2:
        raise InvalidValueError(
            "`orient='items'` needs a row for each item and a column for each draw; got shape "
            f"{data.shape}."
        )
    return data.T


def _has_item_rows(frame: Any) -> bool:
    """Whether rows have names of their own, or columns categories, and rows are the more."""
    if len(frame) <= len(frame.columns):
        return False
    dtypes = {str(dtype) for dtype in frame.dtypes}
    index = frame.index
    is_named = getattr(index, "nlevels", 1) == 1 and index.dtype.kind not in "iufbmM"
    return dtypes == {"category"} or (is_named and bool(index.is_unique))


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
    given = np.asarray(value)
    if given.dtype.kind not in "biuf":
        raise InvalidTypeError(f"`traces[{name!r}]` must be real numbers; got {given.dtype}.")
    array = given.astype(np.float64)
    if array.shape != (n_draws,):
        raise InvalidValueError(
            f"`traces[{name!r}]` must be one number for each of the {n_draws} draws; got shape "
            f"{array.shape}."
        )
    array.setflags(write=False)
    return array


def words_or(numbers: NDArray[Any], given: Any) -> NDArray[Any]:
    """Return labels as they were given: words where they were words, else the numbers."""
    words = np.asarray(given)
    is_text = words.dtype.kind in "UST"
    if not is_text and words.dtype.kind == "O":
        is_text = isinstance(words.flat[0], str)
    return words.astype(np.str_).reshape(numbers.shape) if is_text else numbers


def codes(value: Any, total: int) -> NDArray[Any]:
    """Return one code a cluster of every draw in the smallest dtype, or none at all."""
    array = np.asarray(value)
    if array.dtype.kind not in "UST" and array.size:
        array = validate.whole_numbers("codes", array)
        ends = np.min_scalar_type(array.min()), np.min_scalar_type(array.max())
        array = array.astype(np.result_type(*ends))
    if array.shape not in ((0,), (total,)):
        raise InvalidValueError(
            f"`codes` must be one for each of the {total} clusters of all draws, or empty; got "
            f"shape {array.shape}."
        )
    return np.array(array)


def codes_of(
    codes: NDArray[Any], n_clusters: NDArray[np.int64], kept: NDArray[np.intp]
) -> NDArray[Any]:
    """Return the codes of some draws."""
    if not codes.size:
        return codes
    ends = np.cumsum(n_clusters)
    sizes = n_clusters[kept]
    starts = np.repeat((ends - n_clusters)[kept] - (np.cumsum(sizes) - sizes), sizes)
    return codes[starts + np.arange(starts.size)]


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
