"""NetCDF, Parquet and R's files as containers, each read by a process of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from partita.errors import FileError
from partita.io._choose import Entry
from partita.io._container import Box
from partita.io._sandbox import Sandbox
from partita.io._wide import Wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_DIMS = 16


@dataclass(frozen=True, eq=False)
class NetcdfContainer:
    """The variables of a NetCDF file."""

    sandbox: Sandbox

    @property
    def where(self) -> str:
        """The file, for errors."""
        return repr(self.sandbox.path)

    @property
    def held(self) -> int:
        """The bytes of the file."""
        return self.sandbox.size

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """The variables that the file says it holds."""
        found = []
        for name, shape, kind, width, dims in _listed(self.sandbox, 5):
            names = None if dims is None else tuple(map(str, dims))
            if names is None or len(names) == len(shape):
                found.append(Entry(str(name), _shape(shape, self.where), kind, width, names))
        return found

    def read(self, entry: Entry, box: Box) -> NDArray[Any]:
        """Return a part of a variable."""
        n_bytes = math.prod(stop - start for start, stop in box) * entry.itemsize
        request = {"name": entry.name, "box": box}
        array = self.sandbox.array(request, n_bytes)
        if array.shape != tuple(stop - start for start, stop in box):
            raise FileError(f"{self.where} is corrupt: a variable is not of the size it says.")
        return array


@dataclass(frozen=True, eq=False)
class RdataContainer:
    """The matrices, data frames and lists of an ``.rds`` or ``.RData`` file."""

    sandbox: Sandbox
    _cache: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @property
    def where(self) -> str:
        """The file, for errors."""
        return repr(self.sandbox.path)

    @property
    def held(self) -> None:
        """None: the child has read everything already, within its limits."""

    @cached_property
    def _tables(self) -> dict[str, Wide]:
        """The tables whose columns have names, which may be variables."""
        found = {}
        for name, raw_shape, kind, width, names, layout in _listed(self.sandbox, 6):
            shape = _shape(raw_shape, self.where)
            if len(shape) == 2 and names is not None and len(names) == shape[1] and not layout:
                found[name] = Wide(
                    self.where,
                    None,
                    shape[0],
                    [str(one) for one in names],
                    [kind] * shape[1],
                    [width] * shape[1],
                    partial(self._columns, name),
                    f"{name}$" if name else "",
                )
        return found

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """Everything that has numbers or text."""
        found: list[Entry] = []
        for name, raw_shape, kind, width, _, layout in _listed(self.sandbox, 6):
            shape = _shape(raw_shape, self.where)
            if name in self._tables:
                found += self._tables[name].entries
                continue
            dims = ("chain", "draw", "items") if layout == "chains" else None
            head, mark, _ = name.rpartition("$")
            found.append(Entry(name, shape, kind, width, dims, head + mark))
        return found

    def check_labels(self, entry: Entry) -> None:
        """Refuse three axes without names that are more likely those of R's samplers."""
        if len(entry.shape) == 3 and entry.dims is None and entry.shape[0] > entry.shape[1]:
            raise FileError(
                f"{entry.name or 'the array'} of {self.where} would be {entry.shape[0]} chains of "
                f"{entry.shape[1]} draws, as (chains, draws, items); if it is (iterations, chains, "
                "parameters), as R's samplers have it, save aperm(x, c(2, 1, 3)), or give its "
                "dimnames the names iterations, chains and parameters."
            )

    def _columns(self, name: str, at: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        return self._array(name)[start:stop, list(at)]

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self._cache:
            self._cache[name] = self.sandbox.array({"name": name}, self.sandbox.size)
        return self._cache[name]

    def read(self, entry: Entry, box: Box) -> NDArray[Any]:
        """Return a part of a variable."""
        for table in self._tables.values():
            if entry in table.entries:
                return table.read(entry, box)
        array = self._array(entry.name)
        if array.shape != entry.shape:
            raise FileError(f"{self.where} is corrupt: a variable is not of the size it says.")
        return array[tuple(slice(*part) for part in box)]


def parquet_container(sandbox: Sandbox) -> Wide:
    """The columns of a Parquet file."""
    said = sandbox.described
    try:
        columns = [(str(name), str(kind), int(width)) for name, kind, width in said["columns"]]
        n_rows = int(said["n_rows"])
        agree = n_rows == sum(int(n) for n in said["groups"])
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{sandbox.path!r} is corrupt: its reader broke.") from None
    if not columns or n_rows < 1 or not agree:
        raise FileError(f"{sandbox.path!r} holds no rows, or not as many as it says.")
    names, kinds, widths = (list(part) for part in zip(*columns, strict=True))

    def columns_at(positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        request = {"start": start, "stop": stop, "positions": list(positions)}
        return sandbox.array(request, n_rows * len(positions) * 8)

    return Wide(repr(sandbox.path), sandbox.size, n_rows, names, kinds, widths, columns_at)


def _listed(sandbox: Sandbox, n_fields: int) -> list[tuple[Any, ...]]:
    try:
        rows = [tuple(row) for row in sandbox.described["entries"]]
        good = all(
            len(row) == n_fields and isinstance(row[2], str) and isinstance(row[3], int)
            for row in rows
        )
    except (KeyError, TypeError):
        good = False
    if not good:
        raise FileError(f"{sandbox.path!r} is corrupt: its reader broke.")
    return [(str(row[0]), *row[1:]) for row in rows]


def _shape(value: Any, where: str) -> tuple[int, ...]:
    good = isinstance(value, list) and all(type(n) is int and 0 <= n < 2**48 for n in value)
    if not good or len(value) > _MOST_DIMS:
        raise FileError(f"{where} has a variable of an impossible shape.")
    return tuple(value)
