"""The data file of ``sample``, ``run`` and ``--data``: an item a row, a variable a column."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from partita import io
from partita.errors import FileError, InvalidValueError, PartitaError

if TYPE_CHECKING:
    import pandas as pd


def read_table(arguments: argparse.Namespace, *, say: bool = False) -> pd.DataFrame:
    """The columns asked for, as numbers, items named.

    A first line of nothing but numbers is data, and a first column without a name an index, as
    data frames are written by default; where ``say``, both are said on stderr.
    """
    import pandas as pd

    path = arguments.data
    try:
        table, assumed = _read(path, arguments)
    except PartitaError:
        raise
    except (ValueError, IndexError, OverflowError) as error:
        raise FileError(f"{path!r} is not a table: {' '.join(str(error).split())}.") from None
    table.columns = table.columns.map(_one_line)
    for line in assumed if say else []:
        print(f"partita: {line}", file=sys.stderr)
    wanted = arguments.columns.split(",") if arguments.columns else None
    missing = [c for c in [*(wanted or []), arguments.names] if c and c not in table.columns]
    if missing:
        listed = ", ".join(map(str, table.columns))
        raise InvalidValueError(f"{path!r} has no column {missing[0]!r}; it has {listed}.")
    if arguments.names:
        table = table.set_index(arguments.names)
    table = table[wanted] if wanted else table
    words = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
    if words:
        numbers = ",".join(str(c) for c in table.columns if c not in words)
        raise InvalidValueError(
            f"{path!r} has columns that are not numbers ({', '.join(map(str, words))}); "
            f"say which column names the items, such as --names {words[0]}, or which columns to "
            f"use, such as --columns {numbers or 'A,B'}."
        )
    return table


def _read(path: str, arguments: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """The whole table, and what was assumed when reading it."""
    import pandas as pd

    with io.open_text(path) as stream:
        line = stream.first()
        mark = max("\t,;", key=line.count)
        cells = [cell.strip().strip('"') for cell in line.split(mark)]
        if all(map(_is_number, cells)):
            table = pd.read_csv(stream, sep=mark, header=None)
            table.columns = pd.Index([str(k + 1) for k in range(table.shape[1])])
            return table, [f"the first line of {path!r} is numbers, so it is taken as an item."]
        table = pd.read_csv(stream, sep=mark)
    if cells[0] == "" and not arguments.names and table.shape[1] > 1:
        table = table.set_index(table.columns[0])
        return table, [f"the first column of {path!r} has no name, so it is taken as an index."]
    return table, []


def _one_line(name: object) -> str:
    """The name of a column, which quotes may spread over lines."""
    return " ".join(str(name).split())


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
