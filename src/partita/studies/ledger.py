"""Finished pieces of a long study, one line each, so that a killed run goes on where it was."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from partita import io
from partita.errors import FileError


@dataclass(frozen=True, eq=False)
class Ledger:
    """A text file that is only ever appended to: what was asked, the columns, a line a piece.

    A line that was cut short by a kill has no line break and is dropped when the file is opened
    again. Numbers are kept to six decimals; what is read back is what any run would report, so a
    run that was resumed and one that was not agree to the last digit.

    Parameters
    ----------
    path : Path
    asked : str
        The settings, in one line; a file made with others is refused.
    columns : sequence of str
        Of the values of a piece.
    """

    path: Path
    asked: str
    columns: Sequence[str]
    rows: dict[tuple[str, int], tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, asked: str, columns: Sequence[str], *, resume: bool) -> Ledger:
        """Return the ledger at ``path``, begun anew or, if ``resume``, with what it holds."""
        ledger = cls(path, asked, tuple(columns))
        if path.exists():
            if not resume:
                raise FileError(
                    f"{str(path)!r} holds finished replicates; go on with them (`resume=True`, "
                    "`--resume`), or give another output folder."
                )
            ledger._read()
        ledger.settle()
        return ledger

    @classmethod
    def peek(cls, path: Path) -> Ledger:
        """Return what is at ``path``, whatever was asked, and leave the file alone."""
        asked, header, *_ = path.read_text(encoding="utf-8").split("\n")
        ledger = cls(path, asked.removeprefix("# "), tuple(header.split(",")[2:]))
        ledger._read()
        return ledger

    def _read(self) -> None:
        whole, _, _ = self.path.read_text(encoding="utf-8").rpartition("\n")
        asked, *lines = whole.split("\n")
        if asked != f"# {self.asked}" or lines[:1] != [self._header()]:
            raise FileError(
                f"{str(self.path)!r} was made with other settings ({asked.removeprefix('# ')}); "
                "give those, or another output folder."
            )
        for line in lines[1:]:
            name, number, *values = line.split(",")
            if len(values) != len(self.columns):
                raise FileError(f"{str(self.path)!r} is damaged at {name} {number}; remove it.")
            self.rows[name, int(number)] = tuple(map(float, values))

    def _header(self) -> str:
        return ",".join(("piece", "replicate", *self.columns))

    def _line(self, key: tuple[str, int]) -> str:
        values = ",".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in self.rows[key])
        return f"{key[0]},{key[1]},{values}\n"

    def add(self, key: tuple[str, int], values: Mapping[str, float]) -> None:
        """Write one finished piece down; it is on the disk when this returns."""
        self.rows[key] = tuple(round(values[column], 6) for column in self.columns)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(self._line(key))
            file.flush()
            os.fsync(file.fileno())

    def settle(self) -> None:
        """Write the whole file anew, in the order of the pieces."""
        lines = [f"# {self.asked}\n", self._header() + "\n"]
        io.write_text(
            str(self.path), "".join(lines + [self._line(key) for key in sorted(self.rows)])
        )
