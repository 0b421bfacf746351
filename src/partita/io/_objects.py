"""What samplers return, told apart by what it offers rather than by its class.

ArviZ InferenceData and xarray objects (DataTree, Dataset, DataArray), NumPyro's ``MCMC``, PyMC's
``MultiTrace``, CmdStanPy's fits, and dicts of arrays; none of these packages is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError, InvalidValueError
from partita.io._choose import Entry
from partita.io._columns import are_variables
from partita.io._container import Box, Container
from partita.io._wide import Wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_CHAINS = 64  # more along the first of two shared axes are draws


@dataclass(frozen=True, eq=False)
class Variables:
    """Named arrays of one object, with their dimensions where they have names."""

    where: str
    arrays: Mapping[str, tuple[tuple[str, ...] | None, Any]]

    @property
    def held(self) -> None:
        """None: nothing is on disk."""

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """The arrays."""
        found = []
        for name, (dims, array) in self.arrays.items():
            shape = tuple(int(size) for size in array.shape)
            dtype = _dtype(array)
            kind = "U" if dtype.kind in "OST" else dtype.kind
            found.append(Entry(name, shape, kind, dtype.itemsize, dims))
        return found

    def read(self, entry: Entry, box: Box) -> NDArray[Any]:
        """Return a part of an array."""
        array = self.arrays[entry.name][1]
        part = array[tuple(slice(*side) for side in box)] if box else array
        values = np.asarray(part)
        return values.astype(np.str_) if values.dtype.kind in "OST" else values


def _dtype(array: Any) -> np.dtype[Any]:
    found = getattr(array, "dtype", None)
    if not isinstance(found, np.dtype):  # a library with dtypes of its own
        found = np.asarray(array).dtype
    return found


def container_of(data: Any) -> Container | None:
    """Return what ``data`` holds, or None if it is no object of a sampler."""
    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        return _frame(data)
    for recognise in (_xarray, _multi_trace, _numpyro, _cmdstanpy, _dict):
        found = recognise(data)
        if found is not None:
            if not found.arrays:
                raise InvalidValueError(f"{found.where} holds no array of draws.")
            return found
    return None


def names_variables(frame: Any) -> bool:
    """Whether the columns of a DataFrame are a sampler's rather than an item each."""
    return are_variables([str(name) for name in frame.columns])


def _frame(data: Any) -> Wide | None:
    """A DataFrame whose columns are named as samplers do; None where columns are items."""
    if not names_variables(data):
        return None
    names = [str(name) for name in data.columns]
    dtypes = [getattr(dtype, "kind", "O") for dtype in data.dtypes]
    kinds = [kind if kind in "biuf" else "U" for kind in dtypes]

    def columns_at(positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        if hasattr(data, "iloc"):
            return np.asarray(data.iloc[start:stop, list(positions)])
        return np.stack([np.asarray(data[names[i]])[start:stop] for i in positions], axis=1)

    return Wide("the DataFrame", None, len(data), names, kinds, [8] * len(names), columns_at)


def _xarray(data: Any) -> Variables | None:
    what = f"the {type(data).__name__}"
    if hasattr(data, "children") and hasattr(data, "dataset"):  # DataTree
        return Variables(what, dict(_of_tree(data, "")))
    if hasattr(data, "data_vars") and hasattr(data, "coords"):  # Dataset
        return Variables(what, dict(_of_dataset(data, "")))
    if callable(getattr(data, "groups", None)) and hasattr(data, "to_netcdf"):  # InferenceData
        groups = [str(name) for name in data.groups()]
        return Variables(
            what, {k: v for name in groups for k, v in _of_dataset(data[name], f"{name}/")}
        )
    if hasattr(data, "dims") and hasattr(data, "coords") and hasattr(data, "values"):  # DataArray
        name = "labels" if data.name is None else str(data.name)
        found = {name: _of_array(data)}
        found |= {str(k): _of_array(v) for k, v in data.coords.items() if str(k) != name}
        return Variables(what, found)
    return None


_Named = tuple[str, tuple[tuple[str, ...] | None, Any]]


def _of_tree(node: Any, path: str) -> Iterator[_Named]:
    yield from _of_dataset(node.dataset, path)
    for name, child in node.children.items():
        yield from _of_tree(child, f"{path}{name}/")


def _of_dataset(dataset: Any, path: str) -> Iterator[_Named]:
    for part in (dataset.data_vars, dataset.coords):
        for name, array in part.items():
            yield f"{path}{name}", _of_array(array)


def _of_array(array: Any) -> tuple[tuple[str, ...], Any]:
    return tuple(str(dim) for dim in array.dims), array.data


def _multi_trace(data: Any) -> Variables | None:
    if not (hasattr(data, "varnames") and callable(getattr(data, "get_values", None))):
        return None
    found = {}
    for name in data.varnames:
        chains = [np.asarray(part) for part in data.get_values(name, combine=False, squeeze=False)]
        if len({part.shape for part in chains}) == 1:
            array = np.stack(chains)
            found[str(name)] = (_grouped(array.ndim), array)
    return Variables("the MultiTrace", found)


def _numpyro(data: Any) -> Variables | None:
    get: Callable[..., Any] | None = getattr(data, "get_samples", None)
    if not callable(get) or hasattr(data, "keys"):
        return None
    samples = get(group_by_chain=True)
    if not isinstance(samples, Mapping):
        raise InvalidTypeError(
            f"{type(data).__name__}.get_samples() must give a dict of arrays; got "
            f"{type(samples).__name__}."
        )
    return Variables(
        f"the {type(data).__name__}",
        {str(name): (_grouped(array.ndim), array) for name, array in samples.items()},
    )


def _cmdstanpy(data: Any) -> Variables | None:
    if not callable(getattr(data, "draws_xr", None)):
        return None
    return Variables(f"the {type(data).__name__}", dict(_of_dataset(data.draws_xr(), "")))


def _grouped(ndim: int) -> tuple[str, ...]:
    return ("chain", "draw", *(f"dim_{k}" for k in range(ndim - 2)))


def _dict(data: Any) -> Variables | None:
    """Arrays by name: (draws, ...), or (chains, draws, ...) if all share two leading axes."""
    if not isinstance(data, Mapping):
        return None
    arrays = {
        str(name): value if hasattr(value, "shape") else np.asarray(value)
        for name, value in data.items()
    }
    arrays = {name: array for name, array in arrays.items() if len(array.shape)}
    leading = {tuple(array.shape[:2]) for array in arrays.values()}
    by_chain = (
        len(leading) == 1
        and all(len(pair) == 2 and pair[0] <= min(_MOST_CHAINS, pair[1]) for pair in leading)
        and any(len(array.shape) > 2 for array in arrays.values())
    )
    by_draw = len({array.shape[0] for array in arrays.values()}) == 1
    found = {}
    for name, array in arrays.items():
        ndim = len(array.shape)
        dims = _grouped(ndim) if by_chain else ("draw", *(f"dim_{k}" for k in range(ndim - 1)))
        found[name] = (dims if by_chain or by_draw else None, array)
    return Variables("the dict", found)
