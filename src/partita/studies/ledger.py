"""Finished pieces of a long study, one line each, so that a killed run goes on where it was."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from partita import io
from partita.errors import FileError, PartitaWarning
from partita.studies._clock import Clock
from partita.studies._common import versions

#: Which piece, and which replicate of it.
Key: TypeAlias = tuple[str, int]

_MADE = "# made with "
_UNKNOWN = "versions that were not recorded"


@dataclass(frozen=True, eq=False)
class Ledger:
    """A text file that is only ever appended to: what was asked, what made it, a line a piece.

    The versions that made it are lines of their own. Going on with others is allowed: theirs are
    added, and a warning says that what was made before might come out otherwise now.

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
    rows: dict[Key, tuple[float, ...]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)

    @classmethod
    def open(
        cls, path: Path, asked: str, columns: Sequence[str], *, resume: bool, quiet: bool = False
    ) -> Ledger:
        """Return the ledger at ``path``, begun anew or, if ``resume``, with what it holds.

        ``quiet`` leaves out the warning that it was made with other versions.
        """
        ledger = cls(path, asked, tuple(columns))
        if path.exists():
            if not resume:
                raise FileError(
                    f"{str(path)!r} holds finished replicates; go on with them (`resume=True`, "
                    "`--resume`), or give another output folder."
                )
            ledger._read()
        ledger._note_versions(quiet)
        ledger.settle()
        return ledger

    @classmethod
    def peek(cls, path: Path) -> Ledger:
        """Return what is at ``path``, whatever was asked, and leave the file alone."""
        asked, *lines = path.read_text(encoding="utf-8").split("\n")
        header = next(line for line in lines if not line.startswith("#"))
        ledger = cls(path, asked.removeprefix("# "), tuple(header.split(",")[2:]))
        ledger._read()
        return ledger

    def _read(self) -> None:
        whole, _, _ = self.path.read_text(encoding="utf-8").rpartition("\n")
        asked, *lines = whole.split("\n")
        self.made.extend(line.removeprefix(_MADE) for line in lines if line.startswith(_MADE))
        lines = [line for line in lines if not line.startswith("#")]
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

    def _note_versions(self, quiet: bool) -> None:
        """Add the versions at work to those that made what is there, and say so if they differ."""
        if self.rows and not self.made:
            self.made.append(_UNKNOWN)
        now = versions()
        if self.rows and now not in self.made and not quiet:
            warnings.warn(
                f"{str(self.path)!r} was made with {' and '.join(self.made)}, and goes on with "
                f"{now}; what is there is kept, and might come out otherwise now.",
                PartitaWarning,
                stacklevel=3,
            )
        if now not in self.made:
            self.made.append(now)

    def _header(self) -> str:
        return ",".join(("piece", "replicate", *self.columns))

    def _line(self, key: Key) -> str:
        values = ",".join(f"{value:.6f}".rstrip("0").rstrip(".") for value in self.rows[key])
        return f"{key[0]},{key[1]},{values}\n"

    def add(self, key: Key, values: Mapping[str, float]) -> None:
        """Write one finished piece down; it is on the disk when this returns."""
        self.rows[key] = tuple(round(values[column], 6) for column in self.columns)
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(self._line(key))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            said = error.strerror or error
            raise FileError(
                f"{str(self.path)!r} cannot be written: {said}. What is in it is kept; go on with "
                "it by `resume`."
            ) from None

    def settle(self) -> None:
        """Write the whole file anew, in the order of the pieces."""
        made = [f"{_MADE}{one}\n" for one in self.made]
        lines = [f"# {self.asked}\n", *made, self._header() + "\n"]
        io.write_text(
            str(self.path), "".join(lines + [self._line(key) for key in sorted(self.rows)])
        )

    def fill(
        self, keys: Sequence[Key], work: Callable[[Key], Mapping[str, float]], n_jobs: int,
        label: str,
    ) -> dict[Key, tuple[float, ...]]:  # fmt: skip
        """Do what is missing, in parallel, each piece written down as it ends; return all asked."""
        from joblib import Parallel, delayed

        todo = [key for key in keys if key not in self.rows]
        jobs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        with Clock(len(keys) - len(todo), len(keys), label) as clock:
            for key, values in jobs(delayed(_done)(work, key) for key in todo):
                self.add(key, values)
                clock.advance(f"{key[0]} {key[1]}")
        self.settle()
        return {key: self.rows[key] for key in keys}


def _done(work: Callable[[Key], Mapping[str, float]], key: Key) -> tuple[Key, Mapping[str, float]]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # more threads round otherwise, and others work beside this one
        return key, work(key)
