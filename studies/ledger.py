"""Finished pieces of a study, one line each, so that a killed run goes on where it was."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import partita as pt
from partita.errors import FileError

#: Which piece, and which replicate of it.
Key: TypeAlias = tuple[str, int]
#: Numbers, and partitions in words.
Row: TypeAlias = Mapping[str, float | str]

_MADE = "# made with "


def versions(study: str) -> str:
    """Return what a number may depend on: versions, and the digest of the study's own files."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    made = f"partita {pt.__version__}, study {study}"
    return f"{made}, {libraries}, Python {platform.python_version()}"


def source(made: str) -> tuple[str, ...]:
    """Return the package's version and the study's digest out of what :func:`versions` told."""
    return tuple(part for part in made.split(", ") if part.startswith(("partita ", "study ")))


@dataclass(frozen=True, eq=False)
class Ledger:
    """A text file that is only ever appended to: what was asked, what made it, a line a piece.

    A line that a kill cut short has no line break and is dropped when the file is opened again.
    Numbers are kept to six decimals, and what is read back is what any run reports. So a run that
    was resumed and one that was not agree to the last digit.

    Parameters
    ----------
    path : Path
    asked : str
        The settings, in one line; a file made with others is refused.
    made : list of str
        The versions that made it, mostly one.
    rows : dict
        From pieces to what came out.
    """

    path: Path
    asked: str
    made: list[str] = field(default_factory=list)
    rows: dict[Key, Row] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, asked: str, *, resume: bool) -> Ledger:
        """Return the ledger at ``path``, or an empty one; without ``resume`` there must be none."""
        if not path.exists():
            return cls(path, asked)
        if not resume:
            raise FileError(
                f"{str(path)!r} holds finished replicates; go on with them (`--resume`), or give "
                "another output folder."
            )
        ledger = cls.read(path)
        if ledger.asked != asked:
            raise FileError(
                f"{str(path)!r} was made with other settings ({ledger.asked}); give those, or "
                "another output folder."
            )
        return ledger

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """Return what is at ``path``, whatever was asked."""
        whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
        asked, *lines = whole.split("\n")
        made = [line.removeprefix(_MADE) for line in lines if line.startswith(_MADE)]
        ledger = cls(path, asked.removeprefix("# "), made)
        header, *lines = [line for line in lines if not line.startswith("#")] or ["piece,replicate"]
        _, _, *columns = header.split(",")
        for line in lines:
            name, number, *values = line.split(",")
            if len(values) != len(columns):
                raise FileError(f"{str(path)!r} is damaged at {name} {number}; remove it.")
            ledger.rows[name, int(number)] = {
                column: _value(text) for column, text in zip(columns, values, strict=True)
            }
        return ledger

    def go_on(self, made: str) -> None:
        """Note what is at work now; a ledger that another version or study made is refused."""
        others = [one for one in self.made if source(one) != source(made)]
        if self.rows and (others or not self.made):
            raise FileError(
                f"{str(self.path)!r} was made with {' and '.join(self.made) or 'unknown versions'},"
                f" and this is {made}; give another output folder."
            )
        if made not in self.made:
            self.made.append(made)
        if self.rows:
            self.settle()

    def add(self, key: Key, row: Row) -> None:
        """Write one finished piece down; it is on the disk when this returns."""
        if not self.rows:
            self.path.write_text(self._head(row), encoding="utf-8")
        line = self._line(key, row)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        values = line.rstrip("\n").split(",")[2:]
        self.rows[key] = {c: _value(text) for c, text in zip(row, values, strict=True)}

    def settle(self) -> None:
        """Write the whole file anew, in the order of the pieces."""
        head = self._head(next(iter(self.rows.values())))
        lines = [self._line(key, self.rows[key]) for key in sorted(self.rows)]
        beside = self.path.with_suffix(".new")
        beside.write_text(head + "".join(lines), encoding="utf-8")
        beside.replace(self.path)

    def _head(self, row: Row) -> str:
        made = "".join(f"{_MADE}{one}\n" for one in self.made)
        return f"# {self.asked}\n{made}{','.join(('piece', 'replicate', *row))}\n"

    def _line(self, key: Key, row: Row) -> str:
        return ",".join((key[0], str(key[1]), *map(_text, row.values()))) + "\n"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6f}".rstrip("0").rstrip(".")


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
