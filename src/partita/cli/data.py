"""The data file of ``sample``, ``run`` and ``--data``: an item a row, a variable a column."""

from __future__ import annotations

import argparse
from io import StringIO
from typing import TYPE_CHECKING, Any

from partita import io
from partita.cli import reading, writing
from partita.errors import FileError, InvalidValueError, PartitaError

if TYPE_CHECKING:
    import pandas as pd

    from partita.draws import Draws
    from partita.similarity import Similarity


def read_data(arguments: argparse.Namespace) -> pd.DataFrame:
    """Return the columns asked for, as numbers, items named; say what was assumed.

    A first line of nothing but numbers is data, and a first column without a name an index, as
    data frames are written by default.
    """
    path = arguments.data
    try:
        table, assumed = _read(path, arguments.names)
    except PartitaError:
        raise
    except (ValueError, IndexError, OverflowError) as error:
        raise FileError(f"{path!r} is not a table: {' '.join(str(error).split())}.") from None
    table.columns = table.columns.map(lambda name: " ".join(str(name).split()))  # quoted lines
    for line in assumed:
        writing.note(f"partita: {line}", arguments)
    wanted = arguments.columns
    missing = [c for c in [*(wanted or []), arguments.names] if c and c not in table.columns]
    if missing:
        listed = ", ".join(map(str, table.columns))
        raise InvalidValueError(f"{path!r} has no column {missing[0]!r}; it has {listed}.")
    if arguments.names:
        table = table.set_index(arguments.names)
    table = table[wanted] if wanted else table
    numbers = table.select_dtypes("number").columns
    words = [str(c) for c in table.columns if c not in numbers]
    if words:
        raise InvalidValueError(
            f"{path!r} has columns that are not numbers ({', '.join(words)}); "
            f"say which column names the items, such as --names {words[0]}, or which columns to "
            f"use, such as --columns {','.join(map(str, numbers)) or 'A,B'}."
        )
    return table


def _read(path: str, names: str | None) -> tuple[pd.DataFrame, list[str]]:
    """The whole table, and what was assumed when reading it."""
    import pandas as pd

    text = io.open_text(path).read().lstrip("\n")
    said = []
    while text.startswith("#"):
        said = [f"the lines of {path!r} that begin with # are left out as comments."]
        text = text.partition("\n")[2].lstrip("\n")
    first, _, rest = text.partition("\n")
    mark = max("\t,;|", key=first.count)
    cells, below = (
        [cell.strip().strip('"') for cell in line.split(mark)]
        for line in (first, rest.partition("\n")[0])
    )
    is_data = all(map(_is_number, cells))
    if not rest.strip() and not is_data:
        raise FileError(f"{path!r} holds a header and no items.")
    if is_data and not (_counts(cells) and not _counts(below)):
        table = pd.read_csv(StringIO(text), sep=mark, header=None)
        table.columns = pd.Index([str(k + 1) for k in range(table.shape[1])])
        said.append(f"the first line of {path!r} is numbers, so it is taken as an item.")
        return table, said
    is_row = cells[0] and len(cells) > 1 and all(map(_is_number, cells[1:]))
    if is_row and not is_data and not _counts(cells[1:]):
        raise FileError(
            f"the first line of {path!r} holds text and then numbers: if it is an item, put a line "
            "with the names of the columns above it; if it is names, begin one with a letter."
        )
    table = pd.read_csv(StringIO(text), sep=mark)
    if is_data:
        said.append(f"the first line of {path!r} counts the columns, so it is taken as a header.")
    if cells[0] == "" and not names and table.shape[1] > 1:
        table = table.set_index(table.columns[0])
        said.append(f"the first column of {path!r} has no name, so it is taken as an index.")
    return table, said


def _counts(cells: list[str]) -> bool:
    """Whether cells count from 0 or 1, as unnamed columns are headed."""
    n = len(cells)
    return n > 2 and cells in ([*map(str, range(n))], [*map(str, range(1, n + 1))])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def data_of_items(arguments: argparse.Namespace, draws: Draws | Similarity) -> Any:
    """Return the table of ``--data``, a row for each item and in their order, or None."""
    if arguments.data is None:
        if arguments.names or arguments.columns:
            raise InvalidValueError("`names` and `columns` are of `data`, which is not given.")
        return None
    table = read_data(arguments)
    if len(table) != draws.n_items:
        raise InvalidValueError(
            f"{arguments.data!r} must have a row for each of the {draws.n_items:,} items of the "
            f"draws; it has {len(table):,}."
        )
    if not arguments.names or draws.item_names is None:
        return table
    return table.iloc[reading.order_of(list(table.index), draws.item_names, "data")]
