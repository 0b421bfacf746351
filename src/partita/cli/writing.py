"""Results as tables, CSV or JSON, sent to the terminal or written whole to a file."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from partita.cli import waiting

if TYPE_CHECKING:
    import argparse

    import pandas as pd

_ROWS, _COLUMNS = 100, 20  # shown at a terminal of a table more than twice as large
_LONGEST_NAME = 60  # characters of a cell
_LONGEST_LINE = 2_000  # characters of a message: some list files or columns
_FIGURES = (".png", ".svg", ".pdf")

Columns = Sequence[tuple[str, Sequence[Any]]]  # name and cells; the first columns name the rows


@dataclass(frozen=True)
class Result:
    """What a command found, for every format.

    Attributes
    ----------
    columns : Columns
        CSV is these alone, a table has ``head`` above them.
    about : mapping, optional
        JSON is this, with the rows of the columns under ``rows``; without it, the rows alone.
    head : sequence of str
        Lines above the table.
    style : str
        How a table shows numbers.
    """

    columns: Columns
    about: Mapping[str, Any] | None = None
    rows: str | None = None
    head: Sequence[str] = ()
    style: str = ".4g"

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, **more: Any) -> Result:
        """The result that a data frame is."""
        return cls(columns_of(frame), **more)

    def text(self, form: str, *, cut: bool = False) -> str:
        """Return the result in a format; ``cut`` is whether a long table is shown in part."""
        if form == "csv":
            names = [name for name, _ in self.columns]
            return csv_of(names, zip(*(map(_known, v) for _, v in self.columns), strict=True))
        if form == "json":
            if self.about is None:
                return to_json(records_of(self.columns))
            rows = {self.rows: records_of(self.columns)} if self.rows else {}
            return to_json({**self.about, **rows})
        shown = [table(self.columns, cut=cut, style=self.style)] if self.columns else []
        return "\n".join([*self.head, *([""] if self.head and shown else []), *shown])


def check_output(arguments: argparse.Namespace) -> None:
    """Set the format of the result, and refuse a place that could not be written to in the end.

    It is called before the work, so that a slip costs no time.
    """
    from partita import io as files
    from partita.errors import InvalidValueError

    ending = PurePath(getattr(arguments, "output", None) or "").suffix.lower()
    if arguments.command == "plot" and ending not in _FIGURES:
        raise InvalidValueError(
            f"`output` must end in .png, .svg or .pdf; got {arguments.output!r}."
        )
    for name in ("output", "save", "save_draws", "report"):
        place = getattr(arguments, name, None)
        if place is not None:
            files.check_place(place)
    if not hasattr(arguments, "format"):
        return
    others = (".npy", ".npz") if arguments.command == "similarity" else ()
    if arguments.format is None and ending not in ("", ".txt", ".csv", ".json", *others):
        raise InvalidValueError(
            f"`output` must end in .csv, .json or .txt, or --format say what to write; got "
            f"{arguments.output!r}."
        )
    arguments.format = arguments.format or ending[1:].replace("txt", "") or "table"


def columns_of(frame: pd.DataFrame) -> Columns:
    """Return a frame as columns of plain values, those of its index first."""
    index = [
        (str(name or "index"), frame.index.get_level_values(k).tolist())
        for k, name in enumerate(frame.index.names)
    ]
    names = map(str, frame.columns)
    return [*index, *((name, frame.iloc[:, k].tolist()) for k, name in enumerate(names))]


def records_of(columns: Columns) -> list[dict[str, Any]]:
    """Return a dict for every row; what is missing is None, an infinity a string."""
    names = [name for name, _ in columns]
    rows = zip(*(map(_plain, values) for _, values in columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def csv_of(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return rows below their head as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


def to_json(value: Any) -> str:
    """Return ``value`` as JSON."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)


def table(columns: Columns, *, cut: bool = False, style: str = ".4g") -> str:
    """Return columns side by side, numbers by ``style`` and what is missing as a dash."""
    shape = (len(columns[0][1]), len(columns) - 1)
    most = (_ROWS, _COLUMNS)
    height, width = (
        few if cut and size > 2 * few else size for size, few in zip(shape, most, strict=True)
    )
    cells = [
        [cell_text(name), *(_cell(value, style) for value in values[:height])]
        for name, values in columns[: width + 1]
    ]
    sizes = [max(map(len, column)) for column in cells]
    lines = []
    for first, *rest in zip(*cells, strict=True):
        right = [cell.rjust(size) for cell, size in zip(rest, sizes[1:], strict=True)]
        lines.append("  ".join([first.ljust(sizes[0]), *right]).rstrip())
    left = {"rows": shape[0] - height, "columns": shape[1] - width}
    if any(left.values()):
        more = " and ".join(f"{count:,} more {what}" for what, count in left.items() if count)
        lines.append(f"... {more}: -o FILE has all of them.")
    return "\n".join(lines)


def _known(value: Any) -> Any:
    """The value, or None where it is missing."""
    return None if type(value).__name__ == "NAType" or value != value else value


def _plain(value: Any) -> Any:
    is_infinite = isinstance(value, float) and math.isinf(value)
    return str(value) if is_infinite else _known(value)


def _cell(value: Any, style: str) -> str:
    if _known(value) is None:
        return "-"
    return format(value, style) if isinstance(value, float) else cell_text(str(value))


def cell_text(text: str) -> str:
    """Return text that is safe for a terminal, and not longer than a table can bear."""
    shown = printable(text)
    return shown if len(shown) <= _LONGEST_NAME else shown[: _LONGEST_NAME - 3] + "..."


def printable(text: str, keep: str = "") -> str:
    r"""Return text with escapes for what a terminal might act upon, but for ``keep``.

    >>> print(printable("a" + chr(27) + "[2J"))
    a\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """Return a message as one line of a bearable length, safe for a terminal."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..."


def show(result: Result, arguments: argparse.Namespace, what: str = "The result") -> None:
    """Send a result to the output file, and say ``what`` is there, or to the terminal."""
    is_cut = arguments.output is None and _is_terminal()
    write(result.text(arguments.format, cut=is_cut), arguments, what)


def write(text: str, arguments: argparse.Namespace, what: str = "The result") -> None:
    """Send text to the output file or to the terminal."""
    whole = text if text.endswith("\n") else text + "\n"
    if arguments.output is not None:
        from partita import io as files

        save(arguments.output, lambda path: files.write_text(path, whole), what, arguments)
    elif sys.stdout is None:
        raise OSError("standard output is closed; give a file by -o.")
    else:
        with waiting.aside():
            sys.stdout.write(printable(whole, keep="\n") if _is_terminal() else whole)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def save(path: str, write: Callable[[str], None], what: str, arguments: argparse.Namespace) -> None:
    """Write ``what``, if need be to the folder for temporary files, and say where it is."""
    from partita import io as files

    files.write_somewhere(path, write)
    note(f"{what} written to {path}", arguments)


def write_all(*writers: Callable[[], object]) -> None:
    """Call every one of them, though others fail; what failed is then said together."""
    from partita.errors import FileError, PartitaError

    failed: list[Exception] = []
    for one in writers:
        try:
            one()
        except BrokenPipeError:
            raise
        except (PartitaError, OSError, MemoryError) as error:
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise FileError(" ".join(map(str, failed)))


def note(text: str, arguments: argparse.Namespace) -> None:
    """Say on stderr what was done or assumed, unless ``--quiet`` was given."""
    if not arguments.quiet:
        say(text)


def say(text: str, indent: str = "") -> None:
    """Print one line on stderr, if there is one."""
    if sys.stderr is None:
        return
    with waiting.aside():
        print(indent + one_line(text), file=sys.stderr)
