"""Labels in a Parquet file, read in blocks by a process of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError
from partita.io._blocks import INTEGER_KINDS, bounds, check_size
from partita.io._columns import Columns, item_columns, sorted_out
from partita.io._sandbox import Sandbox
from partita.io._source import format_of, opened, path_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path


@dataclass(frozen=True)
class ParquetTable:
    """What a Parquet file says it holds."""

    path: str
    n_rows: int
    groups: tuple[int, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    widths: tuple[int, ...]

    @property
    def columns(self) -> Columns:
        """The columns by what their names say."""
        return sorted_out(self.names)


@dataclass(frozen=True, eq=False)
class ParquetBlocks:
    """The labels of a Parquet file, (n_draws, n_items), of which only what is read is loaded."""

    table: ParquetTable
    positions: tuple[int, ...]
    orient: str
    chains: NDArray[np.int64] | None
    dtype: np.dtype[Any]
    sandbox: Sandbox = field(repr=False)

    @property
    def path(self) -> str:
        """The file."""
        return self.table.path

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        size = (self.table.n_rows, len(self.positions))
        return size if self.orient == "draws" else size[::-1]

    @property
    def chunks(self) -> tuple[int, int]:
        """Draws and items that are stored together: a row group of a column."""
        size = (max(self.table.groups, default=1), 1)
        return size if self.orient == "draws" else size[::-1]

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the labels of these draws and items."""
        parts = bounds("draws", draws, self.shape[0]), bounds("items", items, self.shape[1])
        (start, stop), across = parts if self.orient == "draws" else parts[::-1]
        positions = self.positions[slice(*across)]
        if start == stop or not positions:
            size = (stop - start, len(positions))
            return np.empty(size if self.orient == "draws" else size[::-1], self.dtype)
        n_bytes = self._row_group_bytes(start, stop, len(positions))
        check_size(repr(self.path), n_bytes, self.sandbox.size)
        request = {"start": start, "stop": stop, "positions": list(positions)}
        block = self.sandbox.array(request, n_bytes).astype(self.dtype, copy=False)
        if block.shape != (stop - start, len(positions)):
            raise FileError(f"{self.path!r} is corrupt: its rows are not as many as it says.")
        return np.ascontiguousarray(block if self.orient == "draws" else block.T)

    def _row_group_bytes(self, start: int, stop: int, n_columns: int) -> int:
        """What the row groups that a block touches take: they are decoded whole."""
        first = touched = 0
        for n_rows in self.table.groups:
            touched += n_rows if first < stop and first + n_rows > start else 0
            first += n_rows
        return touched * n_columns * 8

    def close(self) -> None:
        """End the process that reads."""
        self.sandbox.close()


def described(sandbox: Sandbox) -> ParquetTable:
    """What the file in a sandbox says it holds, checked."""
    said = sandbox.described
    try:
        groups = tuple(int(n) for n in said["groups"])
        columns = [(str(name), str(kind), int(width)) for name, kind, width in said["columns"]]
        n_rows = int(said["n_rows"])
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{sandbox.path!r} is corrupt: its reader broke.") from None
    if n_rows != sum(groups) or min(groups, default=0) < 0 or not columns or not n_rows:
        raise FileError(f"{sandbox.path!r} holds no rows, or not as many as it says.")
    names, kinds, widths = (tuple(part) for part in zip(*columns, strict=True))
    return ParquetTable(sandbox.path, n_rows, groups, names, kinds, widths)


def open_parquet(path: Path, *, key: str | None = None, orient: str = "draws") -> ParquetBlocks:
    """Open the whole numbers of a Parquet file for reading in blocks.

    Parameters
    ----------
    path : str or path-like
        A table with a row for each draw and a column for each item, or the other way round.
        Columns that a sampler adds (``lp__``, ``.draw``, ``.iteration``) are left out; ``chain``
        or ``.chain`` tells the chains apart.
    key : str, optional
        The variable whose columns, such as ``z[1]`` or ``z.1``, are the items.
    orient : {"draws", "items"}
        What a row is.
    """
    text = path_text(path)
    validate.choice("orient", orient, ("draws", "items"))
    with opened(text) as file:
        if format_of(file, text) != "parquet":
            raise FileError(f"{text!r} is not a Parquet file.")
    sandbox = Sandbox("parquet", text)
    try:
        table = described(sandbox)
        positions = _integer_columns(table, key)
        chains = None
        if orient == "draws" and table.columns.chain is not None:
            request = {"start": 0, "stop": table.n_rows, "positions": [table.columns.chain]}
            values = sandbox.array(request, table.n_rows * 8)[:, 0]
            chains = np.unique(values, return_inverse=True)[1].astype(np.int64)
        dtype = np.result_type(*{np.dtype(f"{table.kinds[i]}{table.widths[i]}") for i in positions})
        dtype = np.dtype(np.uint8) if dtype.kind == "b" else dtype
        return ParquetBlocks(table, positions, orient, chains, dtype, sandbox)
    except BaseException:
        sandbox.close()
        raise


def _integer_columns(table: ParquetTable, key: str | None) -> tuple[int, ...]:
    what = repr(table.path)
    positions, _ = item_columns(table.names, table.kinds, key, what, lambda found: False)
    for i in positions:
        if table.kinds[i] not in INTEGER_KINDS:
            raise FileError(
                f"column {table.names[i]!r} of {what} does not hold whole numbers, and blocks are "
                "read of these alone."
            )
    return positions
