"""What a study leaves behind: tables, figures and a page, with what made them."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from partita import io

#: A DataFrame. The stubs of pandas know too little of frames with several index levels.
Frame: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Findings:
    """The outcome of a study.

    Parameters
    ----------
    name : str
        Of the study; names the files.
    text : str
        A page in Markdown. ``{made}`` is not for the caller: :meth:`write` adds who made it.
    tables : mapping of str to DataFrame
        Each becomes a CSV file.
    figures : mapping of str to callable
        Each returns a matplotlib figure and becomes a PNG file.
    command : str
        What to type to get this again.
    """

    name: str
    text: str
    tables: Mapping[str, Frame]
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    command: str = ""

    def __str__(self) -> str:
        return self.text

    def write(self, folder: str | Path, pages: str | Path | None = None) -> Path:
        """Write tables into ``folder``, figures and the page too or into ``pages``.

        Returns
        -------
        Path
            Of the page.
        """
        folder = Path(folder)
        beside = folder if pages is None else Path(pages)
        for place in (folder, beside):
            place.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            io.write_text(str(folder / f"{name}.csv"), table.to_csv(float_format="%.6g"))
        for name, draw in self.figures.items():
            _save(draw(), beside / f"{name}.png")
        page = beside / f"{self.name}.md"
        io.write_text(str(page), f"{self.text.rstrip()}\n\n{made_by(self.command)}\n")
        return page


def _save(figure: Any, path: Path) -> None:
    with io.write_atomically(str(path)) as file:
        # Without a date or version inside, the same figure is the same file.
        figure.savefig(file, format="png", dpi=110, metadata={"Software": None})


def made_by(command: str) -> str:
    """Return the line that says what made a page."""
    return f"Made by `{command}` with {versions()}."


def versions() -> str:
    """Return the versions that a number may depend on."""
    names = ("partita", "numpy", "scipy", "numba")
    told = ", ".join(f"{name} {_version(name)}" for name in names)
    return f"{told}, Python {platform.python_version()}"


def _version(name: str) -> str:
    from partita._version import __version__

    return __version__ if name == "partita" else version(name)


def paper_table(name: str) -> Frame:
    """Return one of the paper's tables: "simulation", "crabs" or "galaxy"."""
    import pandas as pd

    with files("partita.studies").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)


def markdown(frame: Frame, *, digits: int = 3) -> str:
    """Return a frame as a Markdown table, its index first."""
    shown = frame.reset_index()
    rows = [[_cell(value, digits) for value in row] for row in shown.itertuples(index=False)]
    head = [str(column) for column in shown.columns]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}f}"
    return str(value)
