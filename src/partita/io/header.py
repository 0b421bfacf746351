"""The first rows of a text table: what separates cells, what is a header, which column an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError
from partita.io.cells import delimiter_of, is_number, is_text, lines_of, rows_of, shown
from partita.io.columns import are_variables
from partita.io.variables import only_count

_HEAD_LINES = 20  # looked at for the delimiter
_SHORTEST_HEADER = 10  # fewer cells that count may well be a draw of singletons


@dataclass(frozen=True, eq=False)
class Head:
    """The first row of a text table, and where the others begin."""

    path: str
    text: str
    delimiter: str | None
    line: int
    cells: list[str]
    width: int
    """The cells of the rows below."""
    below: int
    """Where in the text the second row begins."""
    n_comments: int
    is_set_off: bool
    """Whether it begins with a quote or a space, as R and pandas may write a header."""

    @property
    def is_short(self) -> bool:
        """Whether it has one cell less than the rows below."""
        return len(self.cells) == self.width - 1

    def beside(self, index: int | None) -> list[str]:
        """The cells outside the index column."""
        kept = slice(0) if index is None or self.is_short else slice(index, index + 1)
        cells = [cell.strip() for cell in self.cells]
        del cells[kept]
        return cells

    def variables(self, index: int | str | bool | None) -> tuple[list[str], int | None] | None:
        """A name for every column, and the index, if the names are those of variables."""
        plan = planned(self, True, index)
        names = self.beside(plan.index)
        if not are_variables(names) or len(set(names)) < len(names):
            return None
        return [""] * self.is_short + self.cells, plan.index


@dataclass(frozen=True)
class Plan:
    """Which column is an index, and whether the first row is a header (None: the body says)."""

    index: int | None
    index_why: str
    header: bool | None
    header_why: str


def begin(text: str, path: str) -> Head:
    """Look at the first lines of a text file."""
    start = n_above = n_comments = 0
    for line in lines_of(text):
        if not line.isspace() and not line.startswith("#"):
            break
        n_comments += line.startswith("#")
        n_above, start = n_above + 1, start + len(line)
    if start == len(text):
        holds = "holds comments and no draws" if n_comments else "is empty"
        raise FileError(f"{path!r} {holds}.")
    head = list(islice(lines_of(text, start), _HEAD_LINES))
    delimiter = delimiter_of(head, path)
    rows = rows_of(lines_of(text, start), delimiter, path, n_above + 1)
    first = next(rows, None)
    if first is None:
        raise FileError(f"{path!r} is empty.")
    first_line, cells = first
    second_line, second = next(rows, first)
    if len(cells) not in (len(second), len(second) - 1):
        raise FileError(
            f"line {second_line} of {path!r} has {len(second)} cells where line {first_line} has "
            f"{len(cells)}; every row needs a label for every item."
        )
    below = start + sum(map(len, islice(lines_of(text, start), first_line - n_above)))
    is_set_off = head[0].startswith(('"', " "))
    return Head(
        path, text, delimiter, first_line, cells, len(second), below, n_comments, is_set_off
    )


def planned(head: Head, header: bool | None, index: int | str | bool | None) -> Plan:
    """What the arguments and the first row settle before the body is read."""
    if header is not None and not isinstance(header, bool | np.bool_):
        raise InvalidTypeError(f"`header` must be True, False or None; got {header!r}.")
    told = "as told" if header is not None else ""
    plan = Plan(None, "as told", None if header is None else bool(header), told)
    if head.is_short:
        looks = header or head.is_set_off or any(map(is_text, head.cells))
        has_room = index is None or (index == 0 and index is not False)
        if plan.header is False or not looks or not has_room:
            raise FileError(
                f"line {head.line} of {head.path!r} has {len(head.cells)} cells where others have "
                f"{head.width}; every row needs a label for every item. If it is a header above "
                "an index column, pass header=True, index=0."
            )
        why = "it is one cell shorter than the rows"
        return Plan(0, f"the header {why[3:]}", True, why)
    if isinstance(index, str):
        column, why = _named_column(head, plan.header, index), "`index` names a cell of it"
        return replace(plan, index=column, header=True, header_why=told or why)
    if index is not None and index is not False:
        plan = replace(plan, index=_numbered_column(head, index))
    # A header cell left empty is how R and pandas head the column of row names.
    if plan.header is not False and head.width > 1 and not head.cells[0].strip():
        plan = replace(plan, header=True, header_why=told or "its first cell is empty")
        if index is None:
            return replace(plan, index=0, index_why="its header cell is empty")
    if index is not None:
        return plan
    stands_out = head.width > 1 and is_text(head.cells[0]) and all(map(is_number, head.cells[1:]))
    if plan.header is not False and stands_out:
        why = f"its header cell is {shown(head.cells[0])} and the others are numbers"
        return replace(plan, index=0, index_why=why)
    return replace(plan, index_why="no header cell says so")


def _numbered_column(head: Head, index: int | str | bool | None) -> int:
    if head.width == 1:
        raise InvalidValueError(
            f"`index` must leave a column of labels; got {index!r} and {head.path!r} has one "
            "column."
        )
    return validate.integer("index", index, least=0, most=head.width - 1)


def _named_column(head: Head, header: bool | None, index: str) -> int:
    if header is False:
        raise InvalidValueError(f"`index` must be a number without a header; got {index!r}.")
    names = head.beside(None)
    if names.count(index.strip()) != 1:
        listed = ", ".join(map(shown, names[:8])) + (", ..." if len(names) > 8 else "")
        raise InvalidValueError(
            f"`index` must name one header cell of {head.path!r}; got {index!r} and the header is "
            f"{listed}."
        )
    return _numbered_column(head, names.index(index.strip()))


def counts(cells: Sequence[str]) -> bool:
    """Whether cells count: so many distinct labels are hardly a draw."""
    return len(cells) >= _SHORTEST_HEADER and only_count(cells)
