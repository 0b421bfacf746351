"""NetCDF, inside the sandbox: version 4 is HDF5 and read by h5py, the classic one by SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.io import netcdf_file

from partita.errors import FileError

_MOST_VARIABLES = 100_000
_ONLY_A_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"


class NetcdfReader:
    """One open NetCDF file of either kind."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            classic = file.read(3) == b"CDF"
        self._inner = _Classic(path) if classic else _Hdf5(path)

    def describe(self) -> dict[str, Any]:
        """The variables: path, shape, NumPy kind, bytes of a value, names of dimensions."""
        return {"entries": self._inner.entries()}

    def read(self, request: Mapping[str, Any]) -> NDArray[Any]:
        """The part ``box`` of the variable ``name``."""
        box = tuple(slice(int(a), int(b)) for a, b in request["box"])
        return _plain(self._inner.part(str(request["name"]), box))


class _Hdf5:
    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = h5py.File(path, "r")

    def entries(self) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []

        def visit(name: str, node: Any) -> None:
            if len(found) > _MOST_VARIABLES:
                raise FileError(f"{self._path!r} holds more than {_MOST_VARIABLES} variables.")
            if not isinstance(node, h5py.Dataset) or node.shape is None:
                return
            if not bytes(node.attrs.get("NAME", b"")).startswith(_ONLY_A_DIMENSION):
                found.append((name, node.shape, *_kind(node), self._dims(name, node)))

        self._file.visititems(visit)
        return found

    def _dims(self, name: str, node: Any) -> list[str] | None:
        if node.is_scale and len(node.shape) == 1:
            return [name.rpartition("/")[2]]
        dims = [node.dims[i] for i in range(len(node.shape))]
        if not dims or not all(len(dim) for dim in dims):
            return None
        return [str(dim[0].name).rpartition("/")[2] for dim in dims]

    def part(self, name: str, box: tuple[slice, ...]) -> Any:
        node = self._file[name]
        settings = node.id.get_create_plist()
        if settings.get_external_count() or node.is_virtual:
            raise FileError(f"variable {name!r} of {self._path!r} points to other files.")
        if h5py.check_string_dtype(node.dtype) is not None:
            return np.asarray(node.asstr()[box], dtype=np.str_)
        return node[box]


def _kind(node: Any) -> tuple[str, int]:
    if node.dtype.kind in "SO":
        return ("U", 4) if node.dtype.kind == "S" or node.dtype.metadata else ("other", 0)
    return (node.dtype.kind, node.dtype.itemsize)


class _Classic:
    def __init__(self, path: str) -> None:
        self._file: Any = netcdf_file(path, "r", mmap=False)

    def entries(self) -> list[tuple[Any, ...]]:
        return [self._entry(name, found) for name, found in self._file.variables.items()]

    def _entry(self, name: str, found: Any) -> tuple[Any, ...]:
        dtype, dims = found.data.dtype, list(found.dimensions)
        if _is_text(found.data):
            return (name, found.shape[:-1], "U", 4 * found.shape[-1], dims[:-1])
        return (
            name,
            found.shape,
            dtype.kind if dtype.kind in "iuf" else "other",
            dtype.itemsize,
            dims,
        )

    def part(self, name: str, box: tuple[slice, ...]) -> Any:
        data = self._file.variables[name].data
        part = data[box]
        if not _is_text(data):
            return part
        words = np.ascontiguousarray(part).view(f"S{part.shape[-1]}")[..., 0]
        return np.char.decode(words, "utf-8", "replace")


def _is_text(data: NDArray[Any]) -> bool:
    """Whether characters along the last axis make words: there is no other text in the format."""
    return data.dtype == np.dtype("S1") and data.ndim > 1 and data.shape[-1] > 0


def _plain(value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        raise FileError(f"it holds data of dtype {array.dtype}, not numbers or text.")
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))
