"""A delimited text file to labels and names."""

from __future__ import annotations

import warnings
from array import array
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError, PartitaWarning
from partita.io.cells import (
    BadCellError,
    Label,
    check_width,
    is_text,
    label,
    lines_of,
    rows_of,
    shown,
)
from partita.io.header import Head, Plan, counts, planned
from partita.io.variables import Table

if TYPE_CHECKING:
    from partita.typing import IntArray

_SHORTEST_RUN = 3  # labels that count, which may be an index
_BLOCK_CELLS = 1 << 19  # taken to the smallest dtype together
_DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", None: "white space"}
_BOOKKEEPING = frozenset(("chain", "draw", "iteration", "iter", "sample", "lp", "index"))


@dataclass(eq=False)
class _Body:
    """Labels below the first row: whole numbers, or codes of ``values``."""

    labels: IntArray
    values: list[Label] | None
    row_names: list[str]

    @property
    def is_text(self) -> bool:
        """Whether the labels are text."""
        return isinstance(next(iter(self.values or ()), 0), str)

    def holds(self, cell: str) -> bool:
        """Whether a cell occurs as a label."""
        try:
            value = label(cell)
        except BadCellError:
            return False
        if self.values is not None:
            return value in self.values
        return isinstance(value, int) and bool((self.labels == value).any())


def read_text(
    head: Head, *, orient: str, header: bool | None, index: int | str | bool | None
) -> Table:
    """Read a whole text table; see ``read_table`` for the rules."""
    plan = planned(head, header, index)
    body = _read(head, plan.index)
    if plan.header is None:
        plan = _decided(head, plan, index, body)
    labels, values = body.labels, body.values
    if not plan.header:
        labels, values = _with_first(head, plan, body)
    elif not len(labels):
        raise FileError(
            f"{head.path!r} holds a header and no draws; if line {head.line} is a draw, pass "
            "header=False."
        )
    if values is not None and not isinstance(values[0], str):
        labels, values = np.array(values, np.int64)[labels], None
    labels = _smallest(labels)
    _warn(head, plan, labels, header, index, orient)
    columns = head.beside(plan.index) if plan.header else []
    rows = [cell.strip() for cell in body.row_names]
    names = columns if orient == "draws" else rows
    return Table(
        labels,
        item_names=tuple(names) if any(names) and not counts(names) else None,
        label_names=None if values is None else tuple(map(str, values)),
        assumptions=_assumptions(head, plan, is_text=values is not None),
    )


def _read(head: Head, index: int | None) -> _Body:
    """Read the rows below the first."""
    if head.width == 1:
        _check_no_blank_line(head)
    numbers = _integers(head) if index is None else None
    if numbers is not None:
        return _Body(numbers, None, [])
    values: dict[Label, int] = {}
    known, codes, row_names = _Codes(values), array("i"), []
    rows = rows_of(lines_of(head.text, head.below), head.delimiter, head.path, head.line + 1)
    for number, cells in rows:
        check_width(cells, head.width, number, head.path)
        if index is not None:
            row_names.append(cells.pop(index))
        _encode(head, number, cells, known, index, codes)
    labels = np.frombuffer(codes, np.intc).reshape(-1, head.width - (index is not None))
    return _Body(labels, list(values), row_names)


class _Codes(dict[str, int]):
    """Cell to the number of its label; each distinct cell is looked at once."""

    def __init__(self, values: dict[Label, int]) -> None:
        super().__init__()
        self.values_of = values

    def __missing__(self, cell: str) -> int:
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


def _encode(
    head: Head, line: int, cells: list[str], known: _Codes, index: int | None, out: array[int]
) -> None:
    """Add the numbers of the labels of a row to ``out``, or say which cell holds none."""
    before = len(out)
    try:
        out.extend(map(known.__getitem__, cells))
    except BadCellError as error:
        column = len(out) - before
        column += 1 + (index is not None and column >= index)
        raise InvalidValueError(f"line {line}, column {column} of {head.path!r} {error}.") from None


def _check_no_blank_line(head: Head) -> None:
    """Refuse a blank line in a single column, which is a missing label; elsewhere it is skipped."""
    lines = head.text[head.below :].rstrip().split("\n")
    blank = next((k for k, line in enumerate(lines) if not line.strip()), None)
    if blank is not None and lines != [""]:
        raise InvalidValueError(
            f"line {head.line + 1 + blank} of {head.path!r} must not be blank. "
            "Every draw needs a label for every item."
        )


def _with_first(head: Head, plan: Plan, body: _Body) -> tuple[IntArray, list[Label] | None]:
    """The labels with those of the first row above them."""
    cells = list(head.cells)
    if plan.index is not None:
        body.row_names.insert(0, cells.pop(plan.index))
    is_plain = body.values is None  # whole numbers that stand for themselves
    below = [int(body.labels.flat[0])] if body.values is None else body.values
    values: dict[Label, int] = {value: i for i, value in enumerate(below)}
    codes = array("i")
    _encode(head, head.line, cells, _Codes(values), plan.index, codes)
    known = list(values)
    first = np.array([[known[code] for code in codes] if is_plain else codes], np.int64)
    labels = first if not len(body.labels) else np.concatenate([first, body.labels])
    return labels, None if is_plain else known


def _integers(head: Head) -> IntArray | None:
    """The rows below the first if they hold whole numbers and nothing else, else None."""
    blocks: list[IntArray] = []
    lines = lines_of(head.text, head.below)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # older NumPy only warns when it cuts 1.5 down to 1
            while taken := list(islice(lines, max(1, _BLOCK_CELLS // head.width))):
                rows = [line for line in taken if not line.isspace()]
                if rows:
                    block = np.loadtxt(
                        rows, np.int64, delimiter=head.delimiter, comments=None, ndmin=2
                    )
                    blocks.append(_smallest(block))
                    if block.shape != (len(rows), head.width):
                        return None
    except (ValueError, Warning):
        return None
    return np.concatenate(blocks) if blocks else None


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


def _decided(head: Head, plan: Plan, index: int | str | bool | None, body: _Body) -> Plan:
    """The plan, with the header settled by comparing the first row with those below."""
    is_header, why = _header_by_body(head, plan.index, body)
    guessed = plan.index is not None and index is None
    if guessed and (not is_header or any(map(is_text, body.row_names))):
        raise InvalidValueError(
            f"line {head.line} of {head.path!r} holds text and numbers, and it is not clear why; "
            "pass header=True if it is a header, or header=False, index=0 if it is a row and "
            "column 1 names the rows."
        )
    return replace(plan, header=is_header, header_why=why)


def _header_by_body(head: Head, index: int | None, body: _Body) -> tuple[bool, str]:
    cells = head.beside(index)
    text = next((cell for cell in cells if is_text(cell)), None)
    names_below = any(map(is_text, body.row_names))
    if text is None and index is not None and not names_below and is_text(head.cells[index]):
        text = head.cells[index]
    numbers_below = not body.is_text and (text is not None or not names_below)
    if len(body.labels) and numbers_below:
        if text is not None:
            return True, f"it holds text, {shown(text)}, above whole numbers"
        if counts(cells):
            return True, f"it counts {cells[0]} to {cells[-1]}, as unnamed columns are headed"
        return False, f"line {head.line} holds no text"
    if not len(body.labels) and text is None:
        return False, "the only row holds no text"
    if len(set(cells)) < len(cells):
        return False, f"line {head.line} holds a cell twice, as labels do"
    shared = next((cell for cell in cells if body.holds(cell)), None)
    if shared is not None:
        return False, f"{shown(shared)} in line {head.line} is also a label below"
    return True, "its cells differ from each other and none is a label below"


def _warn(
    head: Head, plan: Plan, labels: IntArray, header: bool | None,
    index: int | str | bool | None, orient: str,
) -> None:  # fmt: skip
    """Point out labels that look like an index, a header, or what a sampler keeps beside them."""
    said = []
    column, row = labels[:, 0], labels[0]
    counts = labels.shape[1] > 1 and _is_run(column)
    if plan.index is None and index is None and counts:
        said.append(
            f"the first column of {head.path!r} counts {column[0]} to {column[-1]} like an index "
            "and was read as labels; pass index=0 (--index 0) to leave it out, or index=False to "
            "keep it without this warning."
        )
    if not plan.header and header is None and len(labels) > 1 and _is_run(row):
        said.append(
            f"the first line of {head.path!r} counts {row[0]} to {row[-1]} like a header and was "
            "read as labels; pass header=True to leave it out, or header=False to keep it without "
            "this warning."
        )
    if plan.header and orient == "draws":
        names = head.beside(plan.index)[_is_run(column) :]
        found = [name for name in names if name.lower().strip("._") in _BOOKKEEPING]
        if found:
            said.append(
                f"columns of {head.path!r} that look like a sampler's bookkeeping were read as "
                f"items: {', '.join(map(repr, found))}; leave them out of the file, or name the "
                "only one as index=."
            )
    for one in said:
        warnings.warn(one, PartitaWarning, stacklevel=5)


def _is_run(values: IntArray) -> bool:
    """Whether labels count 0, 1, ... or 1, 2, ..."""
    first = int(values[0])
    if values.size < _SHORTEST_RUN or first not in (0, 1):
        return False
    return bool((values == np.arange(first, first + values.size)).all())


def _assumptions(head: Head, plan: Plan, *, is_text: bool) -> tuple[str, ...]:
    cells = f"Cells are separated by {_DELIMITERS[head.delimiter]}."
    said = ["There is one column." if head.width == 1 else cells]
    if head.n_comments:
        lines = validate.count_text(head.n_comments, "line")
        said.append(f"{lines} above the table left out as comments.")
    is_header = f"Line {head.line} is a header" if plan.header else "There is no header"
    said.append(f"{is_header}: {plan.header_why}.")
    is_index = "There is no index column"
    if plan.index is not None:
        is_index = f"Column {plan.index + 1} is an index"
    said.append(f"{is_index}: {plan.index_why}.")
    return (*said, "Labels are text, and stand as numbers.") if is_text else tuple(said)
