"""A table of text as rows of cells, and the label that a cell holds."""

from __future__ import annotations

import csv
import os
import re
import reprlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from partita import validate
from partita.errors import FileError, InvalidValueError

Label: TypeAlias = int | str

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.I)
_SEPARATED = re.compile(r"[+-]?[0-9]{1,3}([,. '][0-9]{3})+([.,][0-9]*)?")
_MISSING = frozenset(  # as R, pandas and spreadsheets write it
    (
        *("", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"),
        *("NaN", "nan", "NAN", "+nan", "-nan"),
    )
)
_QUOTED = re.compile(r'"[^"]*"')
_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')
_HEAD_LINES = 20  # looked at for the delimiter


class BadCellError(Exception):
    """A cell that is no label; the message is the rule that it breaks, without the place."""


def label(cell: str) -> Label:
    """Return the label that a cell holds, a whole number within 64 bits or text."""
    text, got = cell.strip(), f"got {shown(cell)}"
    if _INTEGER.fullmatch(text):
        # Beyond 400 digits Python itself may refuse; no label of 64 bits needs them.
        value = int(text) if len(text) <= 400 else 2**64
        if not -(2**63) <= value < 2**63:
            raise BadCellError(
                f"must be within 64 bits if it is a whole number; {got}. "
                "Put a letter before such labels to make them text"
            )
        return value
    if is_missing(text):
        raise BadCellError(f"must not be missing; {got}. Every draw needs a label for every item")
    if not _NUMBER.fullmatch(text):
        if _SEPARATED.fullmatch(text):
            raise BadCellError(f"must be a number without separators, or text; {got}")
        return text
    number = float(text)
    if not number.is_integer():  # infinity is not whole either
        raise BadCellError(
            f"must be a whole number or text; {got}. If these are data to cluster, "
            "`sample_mixture` draws partitions of them; for probabilities, see "
            "`Similarity.from_responsibilities`"
        )
    if abs(number) >= 2**53:
        raise BadCellError(
            f"must be below 2**53 to be exact as a decimal number; {got}. Write it as an integer"
        )
    return int(number)


def is_number(cell: str) -> bool:
    """Whether a cell reads as a number, whole or not, finite or not."""
    return bool(_NUMBER.fullmatch(cell.strip()))


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor missing."""
    return not is_missing(cell) and not is_number(cell)


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or says that there is no value."""
    return cell.strip() in _MISSING


def shown(cell: str) -> str:
    """Return a cell as an error shows it: quoted, on one line, and cut short."""
    return reprlib.repr(cell.strip())


ABSENT = -1  # the number of a cell that holds no label


class Codes(dict[str, int]):
    """Cell to the number of its label among ``values``; each distinct cell is looked at once."""

    def __init__(self) -> None:
        super().__init__()
        self.values_of: dict[Label, int] = {}

    def __missing__(self, cell: str) -> int:
        if is_missing(cell):
            self[cell] = ABSENT
            return ABSENT
        value, values = label(cell), self.values_of
        first = next(iter(values), value)
        if type(first) is not type(value):
            others = "text" if isinstance(first, str) else "whole numbers"
            raise BadCellError(
                f"must be of one kind with the other labels, {others}; got {shown(cell)}. "
                "If a column names the rows, pass its position as index="
            )
        code = self[cell] = values.setdefault(value, len(values))
        return code


def lines_of(text: str, start: int = 0) -> Iterator[str]:
    """Yield the lines of a text from a place on, without a copy of the text."""
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        yield text[start:stop]
        start = stop


def _delimiter_of(head: list[str], path: str) -> str | None:
    """Return tab, semicolon, comma or bar, or None for white space, as the first lines have it.

    The first of them that occurs equally often in every line after the first (which may be a
    header of its own kind) is taken; a ``.tsv`` file has tabs.
    """
    if os.path.splitext(path.lower().removesuffix(".gz"))[1] in (".tsv", ".tab"):
        return "\t"
    bare = [line for line in _QUOTED.sub("q", "".join(head)).split("\n") if line.strip()]
    body = bare[1:] or bare
    counts = {mark: [line.count(mark) for line in body] for mark in "\t;,|"}
    for mark, count in counts.items():
        if count[0] and len(set(count)) == 1:
            return mark
    commonest = max(counts, key=lambda mark: sum(counts[mark]))
    if any(counts[commonest]):
        return commonest
    return None if any(len(line.split()) > 1 for line in body) else ","


def rows_of(
    lines: Iterable[str], delimiter: str | None, path: str, first_line: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank: the number of its last line, and its cells."""
    if delimiter is None:
        for number, line in enumerate(lines, first_line):
            words = [
                m[2] if m[1] is None else m[1].replace('""', '"') for m in _WORD.finditer(line)
            ]
            if words:
                yield number, words
        return
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield first_line - 1 + reader.line_num, cells
    except csv.Error as error:
        number = first_line - 1 + reader.line_num
        raise FileError(
            f"line {number} of {path!r} cannot be split into cells: {error}. Is a quote left open?"
        ) from None


@dataclass(frozen=True, eq=False)
class Head:
    """The first row of a table, ``cells``, which ends in line ``line``, and where the others begin.

    ``width`` is the number of cells of the rows below, which begin at ``below`` in the text.
    ``is_set_off``: the row begins with a quote or a space, as R and pandas may write a header.
    """

    path: str
    text: str
    delimiter: str | None
    line: int
    cells: list[str]
    width: int
    below: int
    n_comments: int
    is_set_off: bool

    @property
    def is_short(self) -> bool:
        """Whether it has one cell less than the rows below."""
        return len(self.cells) == self.width - 1

    def beside(self, index: int | None) -> list[str]:
        """The cells outside the index column."""
        cells = [cell.strip() for cell in self.cells]
        if index is not None and not self.is_short:
            del cells[index]
        return cells

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below, each with the number of its line; all have the same width."""
        lines, before = lines_of(self.text, self.below), self.line
        for line, cells in rows_of(lines, self.delimiter, self.path, self.line + 1):
            if self.width == 1 and line - cells[0].count("\n") > before + 1:
                raise InvalidValueError(
                    f"line {before + 1} of {self.path!r} must not be blank. "
                    "Every draw needs a label for every item."
                )
            before = line
            if len(cells) != self.width:
                raise FileError(
                    f"line {line} of {self.path!r} has "
                    f"{validate.count_text(len(cells), 'cell')} where others have {self.width}; "
                    "every draw needs a value in every column."
                )
            yield line, cells


def begin(text: str, path: str) -> Head:
    """Look at the first lines of a table."""
    start = n_above = n_comments = 0
    for above in lines_of(text):
        if not above.isspace() and not above.startswith("#"):
            break
        n_comments += above.startswith("#")
        n_above, start = n_above + 1, start + len(above)
    if start == len(text):
        holds = "holds comments and no draws" if n_comments else "is empty"
        raise FileError(f"{path!r} {holds}.")
    head = list(islice(lines_of(text, start), _HEAD_LINES))
    delimiter = _delimiter_of(head, path)
    rows = rows_of(lines_of(text, start), delimiter, path, n_above + 1)
    first = next(rows, None)
    if first is None:
        raise FileError(f"{path!r} is empty.")
    (line, cells), (second_line, second) = first, next(rows, first)
    if len(cells) not in (len(second), len(second) - 1):
        raise FileError(
            f"line {second_line} of {path!r} has {len(second)} cells where line {line} has "
            f"{len(cells)}; every row needs a label for every item."
        )
    below = start + sum(map(len, islice(lines_of(text, start), line - n_above)))
    is_set_off = head[0].startswith(('"', " "))
    return Head(path, text, delimiter, line, cells, len(second), below, n_comments, is_set_off)
