"""Text to rows of cells, and a cell to the label that it holds."""

from __future__ import annotations

import csv
import os
import re
import reprlib
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from partita.errors import FileError

Label: TypeAlias = int | str

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SEPARATED = re.compile(r"[+-]?[0-9]{1,3}([,. '][0-9]{3})+([.,][0-9]*)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# As R, pandas and spreadsheets write what is not there.
_MISSING = frozenset(
    (
        *("", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"),
        *("NaN", "nan", "NAN", "+nan", "-nan"),
    )
)
_QUOTED = re.compile(r'"[^"]*"')
_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')


class BadCellError(Exception):
    """A cell that is no label; the message is the rule that it breaks, without the place."""


def label(cell: str) -> Label:
    """Return the label that a cell holds, a whole number within 64 bits or text.

    >>> label(" 3.0"), label("1e2"), label("spiral")
    (3, 100, 'spiral')
    """
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
    if not is_number(text):
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
    text = cell.strip()
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text))


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or says that there is no value."""
    return cell.strip() in _MISSING


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor missing."""
    return not is_number(cell) and not is_missing(cell)


def shown(cell: str) -> str:
    """Return a cell as an error shows it: quoted, on one line, and cut short."""
    return reprlib.repr(cell.strip())


def lines_of(text: str, start: int = 0) -> Iterator[str]:
    """Yield the lines of a text from a place on, without a copy of the text."""
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        yield text[start:stop]
        start = stop


def delimiter_of(head: list[str], path: str) -> str | None:
    """Return tab, semicolon, comma or bar, or None for white space, as the first lines have it.

    The first of them that occurs equally often in every line after the first (which may be a
    header of its own kind) is taken; a ``.tsv`` file has tabs.

    >>> delimiter_of(["a,b;c", "1;2", "3;4"], "x.csv")
    ';'
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
            if not line.isspace():
                yield (
                    number,
                    [
                        m[2] if m[1] is None else m[1].replace('""', '"')
                        for m in _WORD.finditer(line)
                    ],
                )
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


def check_width(cells: list[str], width: int, line: int, path: str) -> None:
    """Refuse a row that is shorter or longer than others."""
    if len(cells) != width:
        n_cells = f"{len(cells)} cell" + "s" * (len(cells) != 1)
        raise FileError(
            f"line {line} of {path!r} has {n_cells} where others have {width}; every draw needs a "
            "value in every column."
        )
