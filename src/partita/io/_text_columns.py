"""A text file with a column for each entry of each variable, as a container of variables.

The file is gone over once to learn its size and columns, and once more for each thing asked of it,
so that columns nobody asks for, such as a mixture's weights, take no memory.
"""

from __future__ import annotations

import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError
from partita.io._cells import is_missing, is_text
from partita.io._columns import sorted_out
from partita.io._lines import rows_of, text_lines
from partita.io._source import opened
from partita.io._wide import Wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PROBED_ROWS = 20
_MOST_SCALARS = 100
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")


class TextColumns(ABC):
    """What files of text columns share; a format says how a file is cut into rows.

    Parameters
    ----------
    path : str
    gzipped : bool
    """

    def __init__(self, path: str, *, gzipped: bool) -> None:
        self.path, self.gzipped = path, gzipped
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(
                f"{path!r} holds variables by column, for which it is read several times; save it "
                "to a plain file first."
            )
        rows = self._rows()
        self.names = [name.strip() for name in next(rows, [])]
        if not self.names:
            raise FileError(f"{path!r} holds comments and no draws.")
        self.kinds = ["i"] * len(self.names)
        self._widest = 1
        n_rows = 0
        for cells in rows:
            if n_rows < _PROBED_ROWS:
                self._probe(cells)
            n_rows += 1
        self._scalar_positions = self._scalar_columns()
        self._scalars: NDArray[Any] | None = None
        self.n_skipped = min(self._first_draw(), n_rows)
        self.n_rows = n_rows - self.n_skipped
        if self.n_rows < 1:
            raise FileError(f"{path!r} holds no draws" + " after the warm-up." * bool(n_rows))

    @abstractmethod
    def _rows(self) -> Iterator[list[str]]:
        """The cells of the header and of every row; each must have as many as the header."""

    def _first_draw(self) -> int:
        """How many rows come before the draws."""
        return 0

    def _probe(self, cells: list[str]) -> None:
        for i, cell in enumerate(cells):
            if self.kinds[i] == "i" and not _WHOLE.fullmatch(cell):
                self.kinds[i] = "f"
            if self.kinds[i] == "f" and is_text(cell):
                self.kinds[i] = "U"
            self._widest = max(self._widest, len(cell))

    def _scalar_columns(self) -> list[int]:
        columns = sorted_out(self.names)
        chain = [] if columns.chain is None else [columns.chain]
        every = (*chain, *columns.scalars.values(), *columns.plain)
        return [i for i in every if self.kinds[i] != "U"][:_MOST_SCALARS]

    def columns_at(self, positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        """Return the draws ``start`` to ``stop`` of some columns."""
        if len(positions) > 1 or positions[0] not in self._scalar_positions:
            return self._read(positions, start, stop)
        if self._scalars is None:  # all of them in one go over the file
            self._scalars = self._read(self._scalar_positions, 0, self.n_rows)
        column = self._scalar_positions.index(positions[0])
        return self._scalars[start:stop, column : column + 1]

    def _read(self, positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        size = (stop - start, len(positions))
        words = any(self.kinds[i] == "U" for i in positions)
        width = 4 * self._widest if words else 8
        validate.fits_in_memory(repr(self.path), width * size[0] * size[1], "thin the chain.")
        out = np.empty(size, dtype=f"U{self._widest}" if words else np.float64)
        pick = itemgetter(*positions) if len(positions) > 1 else None
        rows = self._rows()
        next(rows)
        for number, cells in enumerate(rows, -self.n_skipped):
            if start <= number < stop:
                picked = pick(cells) if pick else (cells[positions[0]],)
                out[number - start] = self._values(picked, number, words=words)
        return out

    def _values(self, cells: Sequence[str], number: int, *, words: bool) -> list[Any]:
        if words:
            kept = [cell.strip() for cell in cells]
            if any(map(is_missing, kept)) or max(map(len, kept)) > self._widest:
                raise FileError(
                    f"draw {number + 1} of {self.path!r} holds a label that is missing, or longer "
                    f"than those of the first {_PROBED_ROWS} draws."
                )
            return kept
        try:
            return [float(cell) for cell in cells]
        except ValueError:
            pass
        try:
            return [np.nan if is_missing(cell) else float(cell) for cell in cells]
        except ValueError:
            raise FileError(
                f"draw {number + 1} of {self.path!r} holds a cell that is no number."
            ) from None

    def container(self) -> Wide:
        """The variables of the file."""
        widths = [4 * self._widest if kind == "U" else 8 for kind in self.kinds]
        held = os.path.getsize(self.path)
        return Wide(
            repr(self.path), held, self.n_rows, self.names, self.kinds, widths, self.columns_at
        )


class DelimitedColumns(TextColumns):
    """CSV, TSV and the like with a header whose names are those of variables.

    Parameters
    ----------
    path : str
    gzipped : bool
    delimiter : str or None
        None for white space.
    index : int or None
        A column that is left out.
    short : bool
        Whether the header lacks the cell of the first column.
    """

    def __init__(
        self, path: str, *, gzipped: bool, delimiter: str | None, index: int | None, short: bool
    ) -> None:
        self._delimiter, self._index, self._short = delimiter, index, short
        super().__init__(path, gzipped=gzipped)

    def _rows(self) -> Iterator[list[str]]:
        n_cells = None
        with opened(self.path) as file:
            lines = text_lines(file, self.path, gzipped=self.gzipped)
            for number, cells in rows_of(lines, self._delimiter, self.path, 1):
                if not cells:
                    continue
                if n_cells is None:
                    cells = ["", *cells] if self._short else cells
                    n_cells = len(cells)
                if len(cells) != n_cells:
                    raise FileError(
                        f"line {number} of {self.path!r} has {len(cells)} cells where others have "
                        f"{n_cells}; every draw needs a value for every variable."
                    )
                yield cells if self._index is None else _without(cells, self._index)


def _without(cells: list[str], index: int) -> list[str]:
    return cells[:index] + cells[index + 1 :]
