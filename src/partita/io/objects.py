"""What samplers return, told apart by what it offers rather than by its class.

ArviZ InferenceData and xarray objects (DataTree, Dataset, DataArray), NumPyro's ``MCMC``, PyMC's
``MultiTrace``, CmdStanPy's fits, DataFrames and dicts of arrays; no package is imported for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError, InvalidValueError
from partita.io.columns import are_variables, from_columns
from partita.io.variables import Box, Variable, Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_CHAINS = 64  # of two axes that all arrays share, a longer first one holds draws


def variables_of(data: Any) -> Variables | None:
    """Return the variables that ``data`` holds, or None if it is no object of a sampler."""
    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        return Variables("the DataFrame", of_frame(data)) if names_variables(data) else None
    what = f"the {type(data).__name__}"
    has_coords = hasattr(data, "coords")
    if has_coords and (hasattr(data, "children") or hasattr(data, "data_vars")):
        found = list(of_dataset(data))
    elif callable(getattr(data, "groups", None)) and hasattr(data, "to_netcdf"):  # InferenceData
        groups = map(str, data.groups())
        found = [one for name in groups for one in of_dataset(data[name], f"{name}/")]
    elif has_coords and hasattr(data, "dims") and hasattr(data, "values"):  # DataArray
        name = "labels" if data.name is None else str(data.name)
        found = [_of_array(name, data)]
        found += [_of_array(str(k), v) for k, v in data.coords.items() if str(k) != name]
    elif hasattr(data, "varnames") and callable(getattr(data, "get_values", None)):  # MultiTrace
        found = _by_chain(_of_traces(data))
    elif callable(getattr(data, "get_samples", None)) and not hasattr(data, "keys"):  # NumPyro
        found = _by_chain(data.get_samples(group_by_chain=True))
    elif callable(getattr(data, "draws_xr", None)):  # CmdStanPy
        found = list(of_dataset(data.draws_xr()))
    elif isinstance(data, Mapping):
        found = of_dict(data)
    else:
        return None
    if not found:
        raise InvalidValueError(f"{what} holds no array of draws.")
    return Variables(what, found)


def names_variables(frame: Any) -> bool:
    """Whether the columns of a DataFrame are a sampler's rather than an item each."""
    return are_variables([str(name) for name in frame.columns])


def of_frame(frame: Any, prefix: str = "") -> list[Variable]:
    """Return the variables of a DataFrame, of pandas or with its interface."""
    names = [str(name) for name in frame.columns]
    known = {"i": "i8", "u": "u8", "f": "f8", "b": "?"}  # all else is text
    dtypes = [np.dtype(known.get(getattr(one, "kind", "O"), "U")) for one in frame.dtypes]

    def read(positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        if hasattr(frame, "iloc"):
            return np.asarray(frame.iloc[start:stop, list(positions)])
        return np.stack([np.asarray(frame[names[i]])[start:stop] for i in positions], axis=1)

    return from_columns(names, dtypes, len(frame), read, prefix=prefix)


def of_dataset(data: Any, path: str = "") -> Iterator[Variable]:
    """Yield the variables of a Dataset or a DataTree of xarray, which are not read."""
    dataset = getattr(data, "dataset", data)
    for part in (dataset.data_vars, dataset.coords):
        for name, array in part.items():
            yield _of_array(f"{path}{name}", array)
    for name, child in getattr(data, "children", {}).items():
        yield from of_dataset(child, f"{path}{name}/")


def _of_array(name: str, array: Any) -> Variable:
    return variable(name, array.variable, tuple(str(dim) for dim in array.dims))


def variable(name: str, array: Any, dims: tuple[str, ...] | None = None) -> Variable:
    """Return an array as a variable; only what is asked for is read."""
    found = getattr(array, "dtype", None)
    dtype = found if isinstance(found, np.dtype) else np.asarray(array).dtype

    def read(box: Box) -> NDArray[Any]:
        part = np.asarray(array[tuple(slice(*side) for side in box)] if box else array)
        return part.astype(np.str_) if part.dtype.kind in "OST" else part

    shape = tuple(int(size) for size in array.shape)
    dtype = np.dtype(np.str_) if dtype.kind in "OST" else dtype
    return Variable(name, shape, dtype, read, dims, attributes=getattr(array, "attrs", {}))


def _of_traces(data: Any) -> dict[str, Any]:
    """The arrays (chain, draw, ...) of a MultiTrace whose chains are of equal length."""
    found = {}
    for name in data.varnames:
        chains = [np.asarray(part) for part in data.get_values(name, combine=False, squeeze=False)]
        if len({part.shape for part in chains}) == 1:
            found[name] = np.stack(chains)
    return found


def _by_chain(samples: Any) -> list[Variable]:
    """Return arrays (chain, draw, ...) as variables."""
    if not isinstance(samples, Mapping):
        raise InvalidTypeError(
            f"`get_samples` must give a dict of arrays; got {type(samples).__name__}."
        )
    return [
        variable(str(name), array, _dims("chain", "draw", ndim=len(array.shape)))
        for name, array in samples.items()
    ]


def of_dict(data: Mapping[Any, Any]) -> list[Variable]:
    """Return arrays (draws, ...), or (chains, draws, ...) if all share two leading axes."""
    arrays = {str(k): v if hasattr(v, "shape") else np.asarray(v) for k, v in data.items()}
    arrays = {name: array for name, array in arrays.items() if len(array.shape)}
    leading = {tuple(array.shape[:2]) for array in arrays.values()}
    by_chain = (
        len(leading) == 1
        and all(len(pair) == 2 and pair[0] <= min(_MOST_CHAINS, pair[1]) for pair in leading)
        and any(len(array.shape) > 2 for array in arrays.values())
    )
    by_draw = len({array.shape[0] for array in arrays.values()}) == 1
    found = []
    for name, array in arrays.items():
        leads = ("chain", "draw") if by_chain else ("draw",)
        dims = _dims(*leads, ndim=len(array.shape)) if by_chain or by_draw else None
        found.append(variable(name, array, dims))
    return found


def _dims(*leads: str, ndim: int) -> tuple[str, ...]:
    return (*leads, *(f"dim_{k}" for k in range(ndim - len(leads))))


def clusterings_of(adata: Any, keys: str | Sequence[str] | None) -> Any:
    """Return the columns of an AnnData object's ``obs`` that are meant, an item a row."""
    columns = [str(name) for name in adata.obs.columns]
    categorical = [n for n in columns if str(adata.obs[n].dtype) in ("category", "object", "str")]
    if keys is None:
        raise InvalidValueError(
            "`keys` must name the columns of `obs` that hold clusterings, or what their names "
            f"begin with; there are {', '.join(map(repr, categorical)) or 'no categorical ones'}."
        )
    named = [n for n in columns if n.startswith(keys)] if isinstance(keys, str) else list(keys)
    lacking = [name for name in named if name not in columns]
    if lacking or not named:
        raise InvalidValueError(
            f"`keys` must name columns of `obs`; got {lacking or keys!r}, and there are "
            f"{', '.join(map(repr, columns))}."
        )
    return adata.obs[named]
