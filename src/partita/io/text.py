"""Tables of text to labels and names: what separates cells, what is a header, what an index.

Whole numbers go through ``numpy.loadtxt`` and all else through the ``csv`` module, which takes half
of pandas' time for labels that are words. What is assumed is said, and where there is doubt an
error names the argument that settles it.
"""

from __future__ import annotations

import io
import warnings
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError, PartitaWarning
from partita.io.cells import (
    ABSENT,
    BadCellError,
    Codes,
    Head,
    Label,
    begin,
    is_missing,
    is_number,
    is_text,
    label,
    shown,
)
from partita.io.columns import are_variables
from partita.io.variables import ROWS, Table, only_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import IntArray

_DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", None: "white space"}
_SHORTEST_HEADER = 10  # fewer cells that count may well be a draw of singletons
_SHORTEST_RUN = 3  # labels that count, which may be an index
_BOOKKEEPING = frozenset(("chain", "draw", "iteration", "iter", "sample", "lp", "index"))


@dataclass(frozen=True)
class _Plan:
    """Which column is an index, and whether the first row is a header (None: the body says)."""

    index: int | None
    index_why: str
    header: bool | None
    header_why: str


def _planned(head: Head, header: bool | None, index: int | str | bool | None) -> _Plan:
    """What the arguments and the first row settle before the body is read."""
    if header is not None and not isinstance(header, bool | np.bool_):
        raise InvalidTypeError(f"`header` must be True, False or None; got {header!r}.")
    told = "as told" if header is not None else ""
    plan = _Plan(None, "as told", None if header is None else bool(header), told)
    if head.is_short:
        looks = header or head.is_set_off or any(map(is_text, head.cells))
        has_room = index is None or (index == 0 and index is not False)
        if plan.header is False or not looks or not has_room:
            raise FileError(
                f"line {head.line} of {head.path!r} has {len(head.cells)} cells where others have "
                f"{head.width}; every row needs a label for every item. If it is a header above "
                "an index column, pass header=True, index=0."
            )
        short = "one cell shorter than the rows"
        return _Plan(0, f"the header is {short}", True, f"it is {short}")
    if index is not None and index is not False:
        plan = replace(plan, index=_column(head, header, index))
        if isinstance(index, str):
            plan = replace(plan, header=True, header_why=told or "`index` names a cell of it")
    if plan.header is False or head.width == 1:
        return plan if index is not None else replace(plan, index_why="no header cell says so")
    # A header cell left empty is how R and pandas head the column of row names.
    is_empty = not head.cells[0].strip()
    if is_empty:
        plan = replace(plan, header=True, header_why=plan.header_why or "its first cell is empty")
    if index is not None:
        return plan
    if is_empty:
        return replace(plan, index=0, index_why="its header cell is empty")
    if is_text(head.cells[0]) and all(map(is_number, head.cells[1:])):
        why = f"its header cell is {shown(head.cells[0])} and the others are numbers"
        return replace(plan, index=0, index_why=why)
    return replace(plan, index_why="no header cell says so")


def _column(head: Head, header: bool | None, index: int | str | bool) -> int:
    """The position of the index column that was asked for."""
    if isinstance(index, str):
        if header is False:
            raise InvalidValueError(f"`index` must be a number without a header; got {index!r}.")
        names = head.beside(None)
        if names.count(index.strip()) != 1:
            listed = ", ".join(map(shown, names[:8])) + (", ..." if len(names) > 8 else "")
            raise InvalidValueError(
                f"`index` must name one header cell of {head.path!r}; got {index!r} and the header "
                f"is {listed}."
            )
        index = names.index(index.strip())
    if head.width == 1:
        raise InvalidValueError(
            f"`index` must leave a column of labels; got {index!r} and {head.path!r} has one "
            "column."
        )
    return validate.integer("index", index, least=0, most=head.width - 1)


def read_text(
    content: str, path: str, *, orient: str | None, header: bool | None,
    index: int | str | bool | None, key: str | None = None,
) -> Table:  # fmt: skip
    """Read a whole table of text; see ``read_draws`` for the rules."""
    from partita.io import samplers

    told, orient = orient, orient or "draws"
    head = begin(content, path)
    if orient == "draws" and header is not False:
        plan = _planned(head, True, index)
        names = head.beside(plan.index)
        if are_variables(names) and len(set(names)) == len(names):
            return samplers.table_of_variables(head, plan.index, key)
    if key is not None:
        raise InvalidValueError(
            f"`key` must be left out here: it is for files of several variables, and {path!r} is "
            "none."
        )
    by_premium = samplers.is_premium(path) and orient == "draws"
    if by_premium:
        header, index = header or False, False if index is None else index
    table = _table(head, told, header, index)
    table = samplers.without_predictions(table, path) if by_premium else table
    if orient == "items":
        observed = None if table.observed is None else table.observed.T
        table = replace(table, labels=table.labels.T, observed=observed)
    return replace(table, assumptions=(*table.assumptions, ROWS[orient]))


def _table(
    head: Head, orient: str | None, header: bool | None, index: int | str | bool | None
) -> Table:
    """Read a table that holds labels and names alone, with its rows as they are."""
    plan = _planned(head, header, index)
    body = _read(head, plan.index)
    if plan.header is None:
        plan = _decided(head, plan, index, body)
    labels, values, observed = body.labels, body.values, None
    if not plan.header:
        labels, values = _with_first(head, plan, body)
    elif not len(labels):
        raise FileError(
            f"{head.path!r} holds a header and no draws; if line {head.line} is a draw, pass "
            "header=False."
        )
    if values is not None and labels.min(initial=0) == ABSENT:
        observed = labels != ABSENT
        labels = np.where(observed, labels, 0)
        if not values:
            raise InvalidValueError(f"{head.path!r} must hold labels; every cell is missing.")
    if values is not None and not isinstance(values[0], str):
        labels, values = np.array(values, np.int64)[labels], None
    labels = _smallest(labels)
    if orient is None:
        _ask(head, plan, body.row_names, labels.shape)
    by_items = orient == "items"
    _warn(head, plan, labels, header, index, by_items=by_items)
    columns = head.beside(plan.index) if plan.header else []
    names = [cell.strip() for cell in body.row_names] if by_items else columns
    return Table(
        labels,
        item_names=tuple(names) if any(names) and not _counts(names) else None,
        label_names=None if values is None else tuple(map(str, values)),
        assumptions=_assumptions(head, plan, observed, is_text=values is not None),
        observed=observed,
    )


def _ask(head: Head, plan: _Plan, row_names: list[str], shape: tuple[int, ...]) -> None:
    """Refuse to guess where rows have names of their own and are more than columns."""
    names = row_names[plan.header is True and len(row_names) > shape[0] :]
    if shape[0] > shape[1] and len(set(names)) == len(names) > 0 and all(map(is_text, names)):
        raise InvalidValueError(
            f"`orient` must be given for {head.path!r}: its {shape[0]:,} rows have names of their "
            f"own, such as {shown(names[0])}, and it has {shape[1]:,} columns. Pass orient='items' "
            "(--orient items) if a row is an item, orient='draws' (--orient draws) if it is a draw."
        )


@dataclass(eq=False)
class _Body:
    """Labels below the first row: whole numbers, or codes of ``values``."""

    labels: IntArray
    codes: Codes | None
    row_names: list[str]

    @property
    def values(self) -> list[Label] | None:
        """The distinct labels that codes stand for."""
        return None if self.codes is None else list(self.codes.values_of)

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
        if self.codes is not None:
            return value in self.codes.values_of
        return isinstance(value, int) and bool((self.labels == value).any())


def _read(head: Head, index: int | None) -> _Body:
    """Read the rows below the first."""
    numbers = _integers(head) if index is None else None
    if numbers is not None:
        return _Body(numbers, None, [])
    known, codes, row_names = Codes(), array("i"), []
    for line, cells in head.rows():
        if index is not None:
            row_names.append(cells.pop(index))
        _encode(head, line, cells, known, index, codes)
    labels = np.frombuffer(codes, np.intc).reshape(-1, head.width - (index is not None))
    return _Body(labels, known, row_names)


def _encode(
    head: Head, line: int, cells: list[str], known: Codes, index: int | None, out: array[int]
) -> None:
    """Add the numbers of the labels of a row to ``out``, or say which cell holds none."""
    before = len(out)
    try:
        out.extend(map(known.__getitem__, cells))
    except BadCellError as error:
        column = len(out) - before
        column += 1 + (index is not None and column >= index)
        hint = " This looks like a similarity matrix: wrap it, Similarity(P) (--similarity)."
        said = f"line {line}, column {column} of {head.path!r} {error}."
        raise InvalidValueError(said + hint * _is_similarity(head)) from None


def _is_similarity(head: Head) -> bool:
    """Whether a table of numbers is square with ones on its diagonal, names aside."""
    rows = [cells for _, cells in head.rows()]
    rows = rows if any(map(is_text, head.cells)) else [list(head.cells), *rows]
    rows = [cells[len(cells) - len(rows) :] for cells in rows]
    if len({len(rows), *map(len, rows)}) != 1:
        return False
    try:
        return all(float(cells[i]) == 1.0 for i, cells in enumerate(rows))
    except ValueError:
        return False


def _with_first(head: Head, plan: _Plan, body: _Body) -> tuple[IntArray, list[Label] | None]:
    """The labels with those of the first row above them."""
    cells = list(head.cells)
    if plan.index is not None:
        body.row_names.insert(0, cells.pop(plan.index))
    if body.codes is None and any(map(is_missing, cells)):
        own, below = np.unique(body.labels, return_inverse=True)
        known = Codes()
        for value in own.tolist():
            known[str(value)]
        body = replace(body, labels=below.reshape(body.labels.shape), codes=known)
    known, codes = Codes() if body.codes is None else body.codes, array("i")
    if body.codes is None:  # whole numbers, which stand for themselves
        known[str(body.labels.flat[0])]
    _encode(head, head.line, cells, known, plan.index, codes)
    first = np.array([codes], np.int64)
    if body.codes is None:
        first = np.array(list(known.values_of), np.int64)[first]
    return np.concatenate([first, body.labels]) if len(body.labels) else first, body.values


def _integers(head: Head) -> IntArray | None:
    """The rows below the first if they hold whole numbers and nothing else, else None."""
    below = head.text[head.below :]
    if head.width == 1 and "\n\n" in "\n" + below.rstrip():
        return None  # a missing label
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy may only warn that there is nothing
            found = np.loadtxt(
                io.StringIO(below), np.int64, delimiter=head.delimiter, comments=None, ndmin=2
            )
    except (ValueError, Warning):
        return None
    return _smallest(found) if found.shape[1] == head.width else None


def _smallest(values: IntArray) -> IntArray:
    """The same values in the first of uint8, int16, int32 and int64 that holds them."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    kinds: tuple[Any, ...] = (np.uint8, np.int16, np.int32)
    for kind in kinds:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values


def _decided(head: Head, plan: _Plan, index: int | str | bool | None, body: _Body) -> _Plan:
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
        if _counts(cells):
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


def _counts(cells: Sequence[str]) -> bool:
    """Whether cells count: so many distinct labels are hardly a draw."""
    return len(cells) >= _SHORTEST_HEADER and only_count(cells)


def _warn(
    head: Head, plan: _Plan, labels: IntArray, header: bool | None,
    index: int | str | bool | None, *, by_items: bool,
) -> None:  # fmt: skip
    """Point out labels that look like an index, a header, or what a sampler keeps beside them."""
    said = []
    column, row = labels[:, 0], labels[0]
    if plan.index is None and index is None and labels.shape[1] > 1 and _is_run(column):
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
    if plan.header and not by_items:
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


def _assumptions(
    head: Head, plan: _Plan, observed: NDArray[np.bool_] | None, *, is_text: bool
) -> tuple[str, ...]:
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
    if observed is not None:
        said.append(
            f"{validate.count_text(int((~observed).sum()), 'cell')} without a label: the items "
            "were left out of those draws."
        )
    return (*said, "Labels are text, and stand as numbers.") if is_text else tuple(said)
