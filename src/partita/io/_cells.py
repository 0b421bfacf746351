"""What one cell of a text table says: a whole number, some text, or nothing usable."""

from __future__ import annotations

import re
import reprlib
from typing import TypeAlias

Label: TypeAlias = int | str

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
# As R, pandas and spreadsheets write what is not there.
_MISSING = frozenset(
    (
        *("", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"),
        *("NaN", "nan", "NAN", "+nan", "-nan"),
    )
)


class BadCellError(Exception):
    """A cell that is no label: the cell as read, and the rule it breaks, without the place."""

    def __init__(self, cell: str, rule: str) -> None:
        super().__init__(rule)
        self.cell = cell
        self.rule = rule


def label(cell: str) -> Label:
    """Return the label that a cell holds, a whole number within 64 bits or text.

    >>> label(" 3.0"), label("1e2"), label("spiral")
    (3, 100, 'spiral')
    """
    text = cell.strip()
    if _INTEGER.fullmatch(text):
        # Beyond 400 digits Python itself may refuse; no label of 64 bits needs them.
        value = int(text) if len(text) <= 400 else 2**64
        if not -(2**63) <= value < 2**63:
            raise BadCellError(
                cell,
                f"must be within 64 bits if it is a whole number; got {shown(cell)}. "
                "Put a letter before such labels to make them text",
            )
        return value
    if is_missing(text):
        raise BadCellError(
            cell,
            f"must not be missing; got {shown(cell)}. Every draw needs a label for every item",
        )
    if not is_number(text):
        return text
    return _whole(cell, float(text))


def _whole(cell: str, value: float) -> int:
    if not value.is_integer():  # infinity is not whole either
        raise BadCellError(
            cell,
            f"must be a whole number or text; got {shown(cell)}. "
            "If these are data to cluster, `sample_mixture` draws partitions of them; for "
            "probabilities, see `Similarity.from_responsibilities`",
        )
    if abs(value) >= 2**53:
        raise BadCellError(
            cell,
            f"must be below 2**53 to be exact as a decimal number; got {shown(cell)}. "
            "Write it as an integer",
        )
    return int(value)


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
    """A cell as an error shows it: quoted, on one line, and cut short."""
    return reprlib.repr(cell.strip())
