"""Parquet, inside the sandbox: the schema, and any rows of any columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import types

from partita.errors import FileError


class ParquetReader:
    """One open Parquet file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = pq.ParquetFile(path, memory_map=False, buffer_size=1 << 16)

    def describe(self) -> dict[str, Any]:
        """Rows, row groups, and the name, kind and width of every column."""
        schema = self._file.schema_arrow
        meta = self._file.metadata
        groups = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        columns = [(field.name, *_kind(field.type)) for field in schema]
        return {"n_rows": meta.num_rows, "groups": groups, "columns": columns}

    def read(self, request: Mapping[str, Any]) -> NDArray[Any]:
        """Rows ``start`` to ``stop`` of the columns at ``positions``, (rows, columns)."""
        start, stop = int(request["start"]), int(request["stop"])
        schema = self._file.schema_arrow  # made anew at every look
        names = [schema.field(int(i)).name for i in request["positions"]]
        parts: list[NDArray[Any]] = []
        first = 0
        for group in range(self._file.metadata.num_row_groups):
            n_rows = self._file.metadata.row_group(group).num_rows
            low, high = max(start, first), min(stop, first + n_rows)
            if low < high:
                table = self._file.read_row_group(group, columns=names, use_threads=False)
                table = table.slice(low - first, high - low)
                parts.append(self._array(table, names))
            first += n_rows
        if not parts:
            raise FileError(f"{self._path!r} is corrupt: it has no such rows.")
        return np.concatenate(parts)

    def _array(self, table: Any, names: list[str]) -> NDArray[Any]:
        columns = []
        places = {name: i for i, name in enumerate(table.column_names)}
        is_clear = len(places) == table.num_columns  # a name that two columns have is an error
        for name in names:
            column = table.column(places[name] if is_clear else name)
            if column.null_count:
                raise FileError(f"column {name!r} of {self._path!r} must have no missing values.")
            columns.append(_plain(column))
        return np.stack(columns, axis=1)


def _kind(kind: Any) -> tuple[str, int]:
    """The NumPy kind and bytes of an Arrow type; "other" for what is no number or text."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return ("b", 1)
    if types.is_integer(kind) or types.is_floating(kind):
        return (np.dtype(kind.to_pandas_dtype()).kind, kind.bit_width // 8)
    if types.is_string(kind) or types.is_large_string(kind):
        return ("U", 4)
    return ("other", 0)


def _plain(column: Any) -> NDArray[Any]:
    """A column as numbers or fixed-width text; never as Python objects."""
    array = column.to_numpy()
    if array.dtype.kind in "OU":
        array = np.array([str(value) for value in array.tolist()], dtype=np.str_)
    return np.asarray(array)
