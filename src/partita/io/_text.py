"""A delimited text file to labels and names: which line is a header, which column an index."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError, PartitaWarning
from partita.io._body import Body
from partita.io._cells import is_number, is_text, shown
from partita.io._columns import are_variables
from partita.io._lines import delimiter_name, delimiter_of, head_of, rows_of

if TYPE_CHECKING:
    from partita.typing import IntArray

_SHORTEST_RUN = 3
_SHORTEST_HEADER = 10  # fewer cells that count may well be a draw of singletons
# Names without their dots and underscores, as Stan, posterior and PyMC's frames write them.
_BOOKKEEPING = frozenset(("chain", "draw", "iteration", "iter", "sample", "lp", "index"))
_ON_PURPOSE = "to keep it without this warning"


@dataclass(frozen=True)
class TextTable:
    """Labels in the order of the file, and what stands around them."""

    labels: IntArray
    label_names: tuple[str, ...] | None
    column_names: tuple[str, ...] | None
    row_names: tuple[str, ...] | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class _Top:
    """The first row, and how many cells the rows below it have."""

    path: str
    line: int
    cells: list[str]
    width: int
    set_off: bool
    """Whether it begins with a quote or a space, as R and pandas may write a header."""

    @property
    def is_short(self) -> bool:
        return len(self.cells) == self.width - 1

    def beside(self, index: int | None) -> list[str]:
        """The cells of the first row outside the index column."""
        if index is None or self.is_short:
            return self.cells
        return self.cells[:index] + self.cells[index + 1 :]


@dataclass(frozen=True)
class _Plan:
    """Which column is an index and whether the first row is a header; None: the body says."""

    index: int | None
    index_why: str
    header: bool | None
    header_why: str


@dataclass(frozen=True, eq=False)
class Begun:
    """A text file of which the first lines have been looked at."""

    path: str
    delimiter: str | None
    line: int
    lines: Iterator[str]
    """All of them, from ``line`` on."""
    top: _Top

    def columns(self, index: int | str | bool | None) -> tuple[int | None, bool] | None:
        """Where the first row names variables: the index column, and whether its cell is missing.

        None where the columns are items, as far as names tell.
        """
        top = self.top
        plan = _planned(top, True, index)
        names = [cell.strip() for cell in top.beside(plan.index)]
        if not are_variables(names) or len(set(names)) < len(names):
            return None
        return plan.index, top.is_short


def begin(lines: Iterator[str], path: str) -> Begun:
    """Look at the first lines of a text file."""
    line, head = head_of(lines, path)
    delimiter = delimiter_of(head, path)
    top = _top_of(head, delimiter, path, line)
    return Begun(path, delimiter, line, chain(head, lines), top)


def read_text(
    begun: Begun, *, orient: str, header: bool | None, index: int | str | bool | None
) -> TextTable:
    """Read a whole text table; see ``read_table`` for the rules."""
    path, delimiter, top = begun.path, begun.delimiter, begun.top
    plan = _planned(top, header, index)
    stream = begun.lines
    next(cells for _, cells in rows_of(stream, delimiter, path, begun.line) if cells)
    body = Body(path, top.width, plan.index)
    body.read(stream, delimiter, top.line + 1)
    if plan.header is None:
        plan = _decided(top, plan, index, body)
    if not plan.header:
        body.put_first(top.line, list(top.cells))
    elif body.n_rows == 0:
        raise FileError(
            f"{path!r} holds a header and no draws; if line {top.line} is a draw, "
            "pass header=False."
        )
    labels, label_names = body.labels()
    _warn_of_runs(labels, plan, path, header, index)
    if orient == "draws":
        _warn_of_bookkeeping(top, plan, labels)
    return TextTable(
        labels,
        label_names,
        _names(top.beside(plan.index)) if plan.header else None,
        _names(body.index_cells) if plan.index is not None else None,
        _assumptions(delimiter, top, plan, label_names is not None),
    )


def _top_of(head: list[str], delimiter: str | None, path: str, line: int) -> _Top:
    rows = ((number, cells) for number, cells in rows_of(head, delimiter, path, line) if cells)
    taken = list(islice(rows, 2))
    if not taken:
        raise FileError(f"{path!r} is empty.")
    (number, cells), (number_2, cells_2) = taken[0], taken[-1]
    if len(cells) not in (len(cells_2), len(cells_2) - 1):
        raise FileError(
            f"line {number_2} of {path!r} has {len(cells_2)} cells where line {number} has "
            f"{len(cells)}; every row needs a label for every item."
        )
    return _Top(path, number, cells, len(cells_2), head[0].startswith(('"', " ")))


def _planned(top: _Top, header: bool | None, index: int | str | bool | None) -> _Plan:
    """What the arguments and the first row settle before the body is read."""
    if header is not None and not isinstance(header, bool | np.bool_):
        raise InvalidTypeError(f"`header` must be True, False or None; got {header!r}.")
    header = None if header is None else bool(header)
    told = "as told" if header is not None else ""
    plan = _Plan(None, "as told", header, told)
    if top.is_short:
        return _planned_for_short(top, header, index)
    if isinstance(index, str):
        column, why = _named_column(top, header, index), told or "`index` names a cell of it"
        return replace(plan, index=column, header=True, header_why=why)
    if index is not None and index is not False:
        plan = replace(plan, index=_numbered_column(top, index))
    # A header cell left empty is how R and pandas head the column of row names.
    if header is not False and top.width > 1 and not top.cells[0].strip():
        plan = replace(plan, header=True, header_why=told or "its first cell is empty")
        if index is None:
            return replace(plan, index=0, index_why="its header cell is empty")
    if index is not None:
        return plan
    stands_out = top.width > 1 and is_text(top.cells[0]) and all(map(is_number, top.cells[1:]))
    if header is not False and stands_out:
        why = f"its header cell is {shown(top.cells[0])} and the others are numbers"
        return replace(plan, index=0, index_why=why)
    return replace(plan, index_why="no header cell says so")


def _planned_for_short(top: _Top, header: bool | None, index: int | str | bool | None) -> _Plan:
    looks = header or top.set_off or any(map(is_text, top.cells))
    has_room = index is None or (index == 0 and index is not False)
    if header is False or not looks or not has_room:
        raise FileError(
            f"line {top.line} of {top.path!r} has {len(top.cells)} cells where others have "
            f"{top.width}; every row needs a label for every item. If it is a header above an "
            "index column, pass header=True, index=0."
        )
    why = "it is one cell shorter than the rows"
    return _Plan(0, "the header is one cell shorter than the rows", True, why)


def _numbered_column(top: _Top, index: int | str | bool | None) -> int:
    if top.width == 1:
        raise InvalidValueError(
            f"`index` must leave a column of labels; got {index!r} and {top.path!r} has one column."
        )
    return validate.integer("index", index, least=0, most=top.width - 1)


def _named_column(top: _Top, header: bool | None, index: str) -> int:
    if header is False:
        raise InvalidValueError(f"`index` must be a number without a header; got {index!r}.")
    names = [cell.strip() for cell in top.cells]
    if names.count(index.strip()) != 1:
        listed = ", ".join(map(shown, names[:8])) + (", ..." if len(names) > 8 else "")
        raise InvalidValueError(
            f"`index` must name one header cell of {top.path!r}; got {index!r} and the header "
            f"is {listed}."
        )
    return _numbered_column(top, names.index(index.strip()))


def _decided(top: _Top, plan: _Plan, index: int | str | bool | None, body: Body) -> _Plan:
    """The plan, with the header settled by comparing the first row with those below."""
    guessed = plan.index is not None and index is None
    is_header, why = _header_by_body(top, plan.index, body)
    if guessed and not is_header:
        raise InvalidValueError(
            f"line {top.line} of {top.path!r} holds text and numbers, and it is not clear why; "
            "pass header=True if it is a header, index=0 if column 1 names the rows."
        )
    return replace(plan, header=is_header, header_why=why)


def _header_by_body(top: _Top, index: int | None, body: Body) -> tuple[bool, str]:
    cells = [cell.strip() for cell in top.beside(index)]
    text = next((cell for cell in cells if is_text(cell)), None)
    names_below = any(map(is_text, body.index_cells))
    if text is None and index is not None and not names_below and is_text(top.cells[index]):
        text = top.cells[index]
    numbers_below = not body.is_text and (text is not None or not names_below)
    if body.n_rows and numbers_below:
        if text is None and _counts(cells):
            return True, f"it counts {cells[0]} to {cells[-1]}, as unnamed columns are headed"
        if text is None:
            return False, f"line {top.line} holds no text"
        return True, f"it holds text, {shown(text)}, above whole numbers"
    if not body.n_rows and text is None:
        return False, "the only row holds no text"
    if len(set(cells)) < len(cells):
        return False, f"line {top.line} holds a cell twice, as labels do"
    shared = next((cell for cell in cells if body.holds(cell)), None)
    if shared is not None:
        return False, f"{shown(shared)} in line {top.line} is also a label below"
    return True, "its cells differ from each other and none is a label below"


def _counts(cells: Sequence[str]) -> bool:
    """Whether cells count 0, 1, ... or 1, 2, ...: so many distinct labels are hardly a draw."""
    first = cells[0].strip()
    if len(cells) < _SHORTEST_HEADER or first not in ("0", "1"):
        return False
    return all(cell.strip() == str(i) for i, cell in enumerate(cells, start=int(first)))


def _names(cells: list[str]) -> tuple[str, ...] | None:
    names = tuple(cell.strip() for cell in cells)
    return names if any(names) and not _counts(names) else None


def _warn_of_bookkeeping(top: _Top, plan: _Plan, labels: IntArray) -> None:
    """Say so when a column that a sampler keeps beside the labels was read as an item."""
    if not plan.header:
        return
    names = [cell.strip() for cell in top.beside(plan.index)]
    if _is_run(labels[:, 0]):
        names = names[1:]  # that one has been pointed out
    found = [name for name in names if name.lower().strip("._") in _BOOKKEEPING]
    if found:
        warnings.warn(
            f"columns of {top.path!r} that look like a sampler's bookkeeping were read as items: "
            f"{', '.join(map(repr, found))}; leave them out of the file, or name the only one as "
            "index=.",
            PartitaWarning,
            stacklevel=5,
        )


def _warn_of_runs(
    labels: IntArray, plan: _Plan, path: str, header: bool | None, index: int | str | bool | None
) -> None:
    """Say so when a column or a line that was read as labels counts like an index or a header."""
    if plan.index is None and index is None and labels.shape[1] > 1 and _is_run(labels[:, 0]):
        warnings.warn(
            f"the first column of {path!r} counts {labels[0, 0]} to {labels[-1, 0]} like an "
            "index and was read as labels; pass index=0 (--index 0) to leave it out, or "
            f"index=False {_ON_PURPOSE}.",
            PartitaWarning,
            stacklevel=5,
        )
    if not plan.header and header is None and labels.shape[0] > 1 and _is_run(labels[0]):
        warnings.warn(
            f"the first line of {path!r} counts {labels[0, 0]} to {labels[0, -1]} like a "
            "header and was read as labels; pass header=True to leave it out, or "
            f"header=False {_ON_PURPOSE}.",
            PartitaWarning,
            stacklevel=5,
        )


def _is_run(values: IntArray) -> bool:
    # As Python's own integers: 256 rows of labels in uint8 would overflow.
    n, first, last = values.size, int(values[0]), int(values[-1])
    if n < _SHORTEST_RUN or first not in (0, 1) or last != first + n - 1:
        return False
    return bool((values == np.arange(first, first + n)).all())


def _assumptions(
    delimiter: str | None, top: _Top, plan: _Plan, is_text_body: bool
) -> tuple[str, ...]:
    if top.width == 1:
        said = ["There is one column."]
    else:
        said = [f"Cells are separated by {delimiter_name(delimiter)}."]
    if plan.header:
        said.append(f"Line {top.line} is a header: {plan.header_why}.")
    else:
        said.append(f"There is no header: {plan.header_why}.")
    if plan.index is None:
        said.append(f"There is no index column: {plan.index_why}.")
    else:
        said.append(f"Column {plan.index + 1} is an index: {plan.index_why}.")
    if is_text_body:
        said.append("Labels are text, and stand as numbers.")
    return tuple(said)
