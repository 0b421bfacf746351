"""Files of every format but plain tables of text as variables, each by its library."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import FileError
from partita.io import objects
from partita.io.arrays import npy_variables, npz_variables
from partita.io.columns import from_columns
from partita.io.files import (
    Format,
    check_size,
    content_of,
    library,
    library_errors,
    opened,
    reading,
    text_of,
)
from partita.io.variables import CHAIN_DIMS, DRAW_DIMS, Variable, Variables

if TYPE_CHECKING:
    from numpy.typing import NDArray

_IN_WORDS: dict[Format, str] = {
    "netcdf": "The file is NetCDF.",
    "zarr": "The folder is a Zarr store.",
    "parquet": "The file is Parquet.",
    "rdata": "The file is R's.",
    "cmdstan": "The file is CmdStan's CSV.",
}
_AS_STORED = {"decode_times": False, "mask_and_scale": False, "cache": False}
_DEEPEST = 8  # groups, or lists of R, within each other
_R_GROWTH = 3  # bytes of memory for a byte of an R file: the bytes, the parsed, the converted


@contextmanager
def open_container(kind: Format, path: str) -> Iterator[tuple[Variables, tuple[str, ...]]]:
    """Open a file or folder of any format but "text", and say what it is; the block ends it."""
    said = (_IN_WORDS[kind],) if kind in _IN_WORDS else ()
    with reading(path):
        if kind == "netcdf":
            with _open_netcdf(path) as variables:
                yield variables, said
        elif kind == "npz":
            with npz_variables(path) as variables:
                yield variables, said
        elif kind == "cmdstan":
            from partita.io.samplers import cmdstan_samples

            with opened(path) as file:
                found, n_skipped = cmdstan_samples(text_of(file, path), path)
            warm = f"The first {n_skipped} rows are warm-up, as its comments say, and left out."
            yield found, (*said, warm) if n_skipped else said
        elif kind == "npy":
            yield npy_variables(path), said
        elif kind == "zarr":
            from partita.io.zarr_store import open_store

            yield open_store(path), said
        else:
            yield (_open_parquet if kind == "parquet" else _open_r)(path), said


@contextmanager
def _open_netcdf(path: str) -> Iterator[Variables]:
    """Open a file of either kind: version 4, which is HDF5, or the classic one."""
    xarray = library("xarray", "NetCDF files", "netcdf")
    with open(path, "rb") as file:
        is_classic = file.read(3) == b"CDF"
    if not is_classic:
        library("h5netcdf", "NetCDF files", "netcdf")
    with library_errors(repr(path)):
        if is_classic:
            data: Any = xarray.open_dataset(path, engine="scipy", **_AS_STORED)
        else:
            _check_hdf5(path)
            data = xarray.open_datatree(path, engine="h5netcdf", phony_dims="sort", **_AS_STORED)
        with data:
            yield Variables(repr(path), list(objects.of_dataset(data)), os.path.getsize(path))


def _check_hdf5(path: str) -> None:
    """Refuse what points to other files, and chunks that are far larger than the file."""
    import h5py

    size = os.path.getsize(path)

    def visit(group: Any, depth: int) -> None:
        for name in group:
            is_outside = isinstance(group.get(name, getlink=True), h5py.ExternalLink)
            node = None if is_outside else group.get(name)
            if isinstance(node, h5py.Group) and depth < _DEEPEST:
                visit(node, depth + 1)
            elif isinstance(node, h5py.Dataset):
                is_outside = node.is_virtual or node.id.get_create_plist().get_external_count()
                n_bytes = math.prod(node.chunks or ()) * node.dtype.itemsize
                check_size(f"a chunk of variable {name!r} of {path!r}", n_bytes, size)
            if is_outside:
                raise FileError(f"variable {name!r} of {path!r} points to other files.")

    with h5py.File(path, "r") as file:
        visit(file, 0)


def _open_parquet(path: str) -> Variables:
    library("pyarrow", "Parquet files", "parquet")
    from pyarrow import parquet

    size, lock = os.path.getsize(path), threading.Lock()
    with library_errors(repr(path)):
        file: Any = parquet.ParquetFile(path, memory_map=False, buffer_size=1 << 16)
        meta = file.metadata
        groups = np.array([meta.row_group(i).num_rows for i in range(meta.num_row_groups)])
        names = [one.name for one in file.schema_arrow]
        dtypes = [_arrow_dtype(one.type) for one in file.schema_arrow]
    ends = np.cumsum(groups)
    if not names or not groups.sum() or groups.sum() != meta.num_rows:
        raise FileError(f"{path!r} holds no rows, or not as many as it says.")

    def read(positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        wanted = [names[i] for i in positions]
        touched = np.flatnonzero((ends > start) & (ends - groups < stop))
        check_size(repr(path), 8 * int(groups[touched].sum()) * len(wanted), size)
        parts = []
        with lock, library_errors(repr(path)):
            for i in touched:
                table = file.read_row_group(int(i), columns=wanted, use_threads=False)
                first = int(ends[i] - groups[i])
                table = table.slice(max(start - first, 0), stop - max(start, first))
                parts.append(_array(table, wanted))
        return np.concatenate(parts)

    found = from_columns(names, dtypes, int(meta.num_rows), read, height=int(groups.max()))
    return Variables(repr(path), found, size)


def _array(table: Any, names: Sequence[str]) -> NDArray[Any]:
    """Columns of a table of Arrow side by side."""
    columns = []
    for name in names:
        column = table.column(name)
        array = column.to_numpy()  # None and nan where there is no value
        is_text = array.dtype.kind in "OU" and not column.null_count
        columns.append(array.astype(np.str_) if is_text else array)
    return np.stack(columns, axis=1)


def _arrow_dtype(kind: Any) -> np.dtype[Any]:
    """The NumPy dtype of an Arrow type; of kind "V" for what is no number or text."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return found
    return np.dtype("U1" if types.is_string(kind) or types.is_large_string(kind) else "V")


def _open_r(path: str) -> Variables:
    """Open an ``.rds`` or ``.RData`` file; nothing that is in it is called."""
    rdata = library("rdata", "R's .rds and .RData files", "rdata")
    with opened(path) as file:
        content = content_of(file, path, _R_GROWTH)
    known = rdata.conversion.DEFAULT_CLASS_MAP
    own: dict[str, Callable[..., Any]] = {"mcmc.list": _chains_of_r, "draws_array": _draws_array}
    with library_errors(repr(path)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that are not converted
        found = rdata.conversion.convert(rdata.parser.parse_data(content), {**known, **own})
        return Variables(repr(path), list(_of_r("", found, path, 0)))


def _of_r(name: str, value: Any, path: str, depth: int) -> Iterator[Variable]:
    """Yield the vectors, matrices and tables of a value, by the R expression that gives them."""
    prefix = f"{name}$" if name else ""
    if isinstance(value, dict | list) and depth < _DEEPEST:
        parts = value.items() if isinstance(value, dict) else enumerate(value, start=1)
        for key, part in parts:
            yield from _of_r(f"{prefix}{key}", part, path, depth + 1)
    elif hasattr(value, "dtypes"):
        yield from objects.of_frame(value, prefix)
    elif hasattr(value, "coords"):
        yield from _of_named(name, value)
    elif isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            value = np.ma.filled(value * 1.0, np.nan)
        one = objects.variable(name, value)
        yield Variable(name, one.shape, one.dtype, one.read, check=partial(_check_r, one, path))


def _of_named(name: str, array: Any) -> Iterator[Variable]:
    """Yield the variables of an array whose last axis has names; chains go below each other."""
    dims = [str(dim).lower() for dim in array.dims]
    leads = [[i for i, dim in enumerate(dims) if dim in known] for known in (CHAIN_DIMS, DRAW_DIMS)]
    if [len(found) for found in leads] == [1, 1] and array.ndim == 3:
        chain, draw = leads[0][0], leads[1][0]
        array = array.transpose(array.dims[chain], array.dims[draw], ...)
    values, named = np.asarray(array.values), array.coords.get(array.dims[-1])
    if named is None:
        lead = ("chain", "draw") if values.ndim == 3 else ("draw",)
        yield objects.variable(name, values, (*lead, "items"))
        return
    columns = [str(one) for one in named.values.tolist()]
    if values.ndim == 3:
        numbers = np.repeat(np.arange(len(values)), values.shape[1])[:, None]
        values = np.hstack([values.reshape(-1, values.shape[2]), numbers])
        columns.append(".chain")
    if values.ndim == 2:
        dtypes, prefix = [values.dtype] * len(columns), f"{name}$" if name else ""
        yield from from_columns(
            columns, dtypes, len(values), lambda at, lo, hi: values[lo:hi, list(at)], prefix=prefix
        )


def _chains_of_r(parts: Any, attributes: Any) -> Any:
    """coda's list of chains as one array with named axes."""
    import xarray

    named = parts[0].coords.get(parts[0].dims[1]) if hasattr(parts[0], "coords") else None
    coords = {} if named is None else {"variable": named.values}
    arrays = np.stack([np.asarray(part) for part in parts])
    return xarray.DataArray(arrays, coords, ("chain", "draw", "variable"))


def _draws_array(array: Any, attributes: Any) -> Any:
    """posterior's array, whose axes have these names by its definition."""
    return array.rename(dict(zip(array.dims, ("iteration", "chain", "variable"), strict=True)))


def _check_r(one: Variable, path: str) -> None:
    """Refuse three axes without names that are more likely those of R's samplers."""
    if len(one.shape) == 3 and one.shape[0] > one.shape[1]:
        raise FileError(
            f"{one.name or 'the array'} of {path!r} would be {one.shape[0]} chains of "
            f"{one.shape[1]} draws, as (chains, draws, items); if it is (iterations, chains, "
            "parameters), as R's samplers have it, save aperm(x, c(2, 1, 3)), or give its "
            "dimnames the names iterations, chains and parameters."
        )
