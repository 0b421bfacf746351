"""The rows of a text table to one array of labels.

Two ways in: blocks of plain whole numbers go through NumPy's C parser, and from the first block
that it refuses on, rows are split one by one and each distinct cell is looked at once. Only the
second way knows text, quotes, decimals and whom to blame, and it takes three times as long.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io._cells import BadCellError, Label, label, shown
from partita.io._lines import rows_of

if TYPE_CHECKING:
    from partita.typing import IntArray

_BLOCK_CHARACTERS = 1 << 20
_BLOCK_LINES = 1024
_FIRST_CHECK = 1 << 20
_BYTES_PER_DISTINCT = 200


class Body:
    """Rows as they are read, all of one width and one kind: whole numbers or text.

    Parameters
    ----------
    path : str
        For messages.
    width : int
        The number of cells a row must have.
    index : int or None
        The column that is kept apart as strings, in ``index_cells``.
    """

    def __init__(self, path: str, width: int, index: int | None) -> None:
        self.index_cells: list[str] = []
        self._path = path
        self._width = width
        self._index = index
        self._distinct = _Distinct()
        self._blocks: list[IntArray] = []
        self._codes = array("i")
        self._first: array[int] | None = None
        self._n_in_blocks = 0
        self._block_bytes = 0
        self._next_check = _FIRST_CHECK

    @property
    def is_text(self) -> bool:
        """Whether the labels read so far are text."""
        return self._distinct.kind is str

    @property
    def n_rows(self) -> int:
        """How many rows have been read."""
        per_row = max(self._width - (self._index is not None), 1)
        return (self._n_in_blocks + len(self._codes)) // per_row + (self._first is not None)

    def read(self, lines: Iterator[str], delimiter: str | None, line: int) -> None:
        """Read all ``lines``, the first of which is number ``line`` of the file."""
        if not self._index:
            refused, line = self._read_blocks(lines, delimiter, line)
            lines = chain(refused, lines)
        blank = 0
        for number, cells in rows_of(lines, delimiter, self._path, line):
            if not cells:
                blank = blank or number
                continue
            if blank and self._width == 1:
                raise InvalidValueError(
                    f"line {blank} of {self._path!r} must not be blank. "
                    "Every draw needs a label for every item."
                )
            self._codes.extend(self._encoded(number, cells))
            self._check_memory()

    def put_first(self, line: int, cells: list[str]) -> None:
        """Add the row that stands before all others."""
        self._first = self._encoded(line, cells)
        if self._index is not None:
            self.index_cells.insert(0, self.index_cells.pop())

    def holds(self, cell: str) -> bool:
        """Whether ``cell`` occurs as a label in the rows read so far."""
        try:
            value = label(cell)
        except BadCellError:
            return False
        in_blocks = isinstance(value, int) and any((b == value).any() for b in self._blocks)
        return in_blocks or value in self._distinct.codes

    def labels(self) -> tuple[IntArray, tuple[str, ...] | None]:
        """The labels in the smallest dtype, and the texts they number if they are text."""
        values = list(self._distinct.codes)
        names = tuple(map(str, values)) if self.is_text else None
        table = _smallest(np.arange(len(values)) if names else np.array(values, dtype=np.int64))
        n_columns = self._width - (self._index is not None)
        coded = [np.frombuffer(c, np.intc) for c in (self._first, self._codes) if c]
        parts = [table[codes].reshape(-1, n_columns) for codes in coded]
        at = 0 if self._first is None else 1
        parts[at:at] = self._blocks
        return (parts[0] if len(parts) == 1 else np.concatenate(parts)), names

    def _read_blocks(
        self, lines: Iterator[str], delimiter: str | None, line: int
    ) -> tuple[list[str], int]:
        """Read blocks until one is refused; return its lines and the number of the first."""
        n_lines = max(1, min(_BLOCK_LINES, _BLOCK_CHARACTERS // (2 * self._width)))
        while taken := list(islice(lines, n_lines)):
            block = self._block(taken, delimiter)
            if block is None:
                return taken, line
            self._distinct.kind = int
            self._blocks.append(_smallest(block))
            self._n_in_blocks += block.size
            self._block_bytes += self._blocks[-1].nbytes
            self._check_memory()
            line += len(taken)
        return [], line

    def _block(self, lines: list[str], delimiter: str | None) -> IntArray | None:
        """The labels of lines that hold whole numbers, after a name if column 0 is the index."""
        names: list[str] = []
        if self._index is not None:
            parts = [_after_name(line, delimiter) for line in lines]
            names, lines = [name for name, _ in parts], [rest for _, rest in parts]
        block = _plain_integers(lines, delimiter)
        if block is None or block.shape != (len(lines), self._width - len(names[:1])):
            return None
        self.index_cells += names
        return block

    def _encoded(self, number: int, cells: list[str]) -> array[int]:
        if len(cells) != self._width:
            raise FileError(
                f"line {number} of {self._path!r} has {_count(len(cells), 'cell')} where others "
                f"have {self._width}; every row needs a label for every item."
            )
        if self._index is not None:
            self.index_cells.append(cells.pop(self._index))
        try:
            return array("i", map(self._distinct.__getitem__, cells))
        except BadCellError as error:
            column = cells.index(error.cell)
            column += 1 + (self._index is not None and column >= self._index)
            raise InvalidValueError(
                f"line {number}, column {column} of {self._path!r} {error.rule}."
            ) from None

    def _check_memory(self) -> None:
        """Ask for room to double and to be joined, each time the table has doubled."""
        n_cells = self._n_in_blocks + len(self._codes)
        if n_cells < self._next_check:
            return
        self._next_check = 2 * n_cells
        size = 3 * self._block_bytes + 10 * len(self._codes)
        size += len(self._distinct) * _BYTES_PER_DISTINCT
        validate.fits_in_memory(
            f"{self._path!r} as labels", size, "thin the draws, or save them as .npy with uint8."
        )


class _Distinct(dict[str, int]):
    """Cell to code; a cell seen for the first time is parsed, and equal labels share a code."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[Label, int] = {}
        self.kind: type[int] | type[str] | None = None

    def __missing__(self, cell: str) -> int:
        value = label(cell)
        if self.kind is None:
            self.kind = type(value)
        elif self.kind is not type(value):
            others = "text" if self.kind is str else "whole numbers"
            raise BadCellError(
                cell,
                f"must be of one kind with the other labels, {others}; got {shown(cell)}. "
                "If a column names the rows, pass its position as index=",
            )
        code = self[cell] = self.codes.setdefault(value, len(self.codes))
        return code


def _after_name(line: str, delimiter: str | None) -> tuple[str, str]:
    """The first cell and the rest; no rest if the cell is quoted in a way only csv can tell."""
    if delimiter is None:
        name, rest = (*line.split(None, 1), "", "")[:2]
    else:
        name, _, rest = line.partition(delimiter)
    name = name.strip()
    bare = name[1:-1] if name[:1] == name[-1:] == '"' and len(name) > 1 else name
    return bare, "" if '"' in bare else rest


def _plain_integers(lines: list[str], delimiter: str | None) -> IntArray | None:
    """A block of lines that hold whole numbers and nothing else, or None."""
    try:
        with warnings.catch_warnings():
            # Older NumPy only warns when it cuts 1.5 down to 1.
            warnings.simplefilter("error")
            return np.loadtxt(lines, np.int64, delimiter=delimiter, comments=None, ndmin=2)
    except (ValueError, Warning):
        return None


def _smallest(values: IntArray) -> IntArray:
    """The same values in the first of uint8, int16, int32 and int64 that holds them."""
    if values.size == 0:
        return values.astype(np.uint8)
    low, high = int(values.min()), int(values.max())
    kinds: tuple[Any, ...] = (np.uint8, np.int16, np.int32)
    for kind in kinds:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
