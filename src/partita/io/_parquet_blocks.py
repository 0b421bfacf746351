"""Labels in a Parquet file, read in blocks by a process of their own."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io._blocks import INTEGER_KINDS, bounds, check_size
from partita.io._choose import choose
from partita.io._sandbox import Sandbox
from partita.io._sandboxed import parquet_container
from partita.io._source import format_of, opened, path_text
from partita.io._wide import Wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path


@dataclass(frozen=True, eq=False)
class ParquetBlocks:
    """The labels of a Parquet file, (n_draws, n_items), of which only what is read is loaded."""

    table: Wide
    positions: tuple[int, ...]
    orient: str
    chains: NDArray[np.int64] | None
    dtype: np.dtype[Any]
    groups: tuple[int, ...]
    sandbox: Sandbox = field(repr=False)
    key: str | None = None

    def __reduce__(self) -> Any:
        """Sent to another process, it opens the file there, in a sandbox of that process."""
        return _again, (os.path.abspath(self.path), self.key, self.orient)

    @property
    def path(self) -> str:
        """The file."""
        return self.sandbox.path

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        size = (self.table.n_rows, len(self.positions))
        return size if self.orient == "draws" else size[::-1]

    @property
    def chunks(self) -> tuple[int, int]:
        """Draws and items that are stored together: a row group of a column."""
        size = (max(self.groups, default=1), 1)
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
        for n_rows in self.groups:
            touched += n_rows if first < stop and first + n_rows > start else 0
            first += n_rows
        return touched * n_columns * 8

    def close(self) -> None:
        """End the process that reads."""
        self.sandbox.close()


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
        return _opened(sandbox, key, orient)
    except BaseException:
        sandbox.close()
        raise


def _opened(sandbox: Sandbox, key: str | None, orient: str) -> ParquetBlocks:
    table = parquet_container(sandbox)
    chosen, _ = choose(table.entries, key, table.where, lambda entry: False)
    positions = table.positions(chosen)
    if len(chosen.shape) != 2:
        raise InvalidValueError(
            f"`key` must name a variable of {table.where} with a label for every draw and item; "
            f"got {chosen.name!r}, of shape {chosen.shape}."
        )
    for i in positions:
        if table.kinds[i] not in INTEGER_KINDS:
            raise FileError(
                f"column {table.names[i]!r} of {table.where} does not hold whole numbers, and "
                "blocks are read of these alone."
            )
    chains = None
    if orient == "draws" and table.columns.chain is not None:
        values = table.columns_at([table.columns.chain], 0, table.n_rows)[:, 0]
        chains = np.unique(values, return_inverse=True)[1].astype(np.int64)
    dtype = np.result_type(*{np.dtype(f"{table.kinds[i]}{table.widths[i]}") for i in positions})
    dtype = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    groups = tuple(int(n) for n in sandbox.described["groups"])
    return ParquetBlocks(table, positions, orient, chains, dtype, groups, sandbox, key)


def _again(path: str, key: str | None, orient: str) -> ParquetBlocks:
    return open_parquet(path, key=key, orient=orient)
