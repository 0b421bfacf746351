"""CmdStan's CSV: comments that say how it was run, a header, a row for each draw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from partita import validate
from partita.errors import FileError
from partita.io._columns import sorted_out
from partita.io._lines import text_lines
from partita.io._wide import Wide

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PROBED_ROWS = 20
_MOST_COMMENTS = 1 << 17  # a dense mass matrix has one for each parameter
_MOST_SCALARS = 100
_SETTING = re.compile(r"#\s*(?P<name>save_warmup|num_warmup|thin)\s*=\s*(?P<value>\w+)")
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_YES = ("1", "true")


class CmdStanFile:
    """One chain as CmdStan writes it, gone over once to learn its size and its columns."""

    def __init__(self, path: str, *, gzipped: bool) -> None:
        self.path, self.gzipped = path, gzipped
        self.settings: dict[str, str] = {}
        rows = self._rows()
        try:
            self.names = [name.strip() for name in next(rows)]
        except StopIteration:
            raise FileError(f"{path!r} holds comments and no draws.") from None
        self.kinds = ["i"] * len(self.names)
        columns = sorted_out(self.names)
        self._scalar_positions = [*columns.scalars.values(), *columns.plain][:_MOST_SCALARS]
        self._scalars: NDArray[np.float64] | None = None
        n_rows = 0
        for cells in rows:
            if n_rows < _PROBED_ROWS:
                self._probe(cells)
            n_rows += 1
        self.n_warmup = min(self._saved_warmup(), n_rows)
        self.n_rows = n_rows - self.n_warmup
        if self.n_rows < 1:
            raise FileError(f"{path!r} holds no draws after the warm-up.")

    def _probe(self, cells: list[str]) -> None:
        for i, cell in enumerate(cells):
            if self.kinds[i] == "i" and not _WHOLE.fullmatch(cell):
                self.kinds[i] = "f"

    def _saved_warmup(self) -> int:
        """How many of the rows are warm-up, by what the comments say."""
        if self.settings.get("save_warmup") not in _YES:
            return 0
        try:
            n, thin = int(self.settings["num_warmup"]), int(self.settings.get("thin", "1"))
        except (KeyError, ValueError):
            return 0
        return -(-n // thin) if thin > 0 and n > 0 else 0

    def _rows(self) -> Iterator[list[str]]:
        """The cells of the header and of every row; each must have as many as the header."""
        n_cells, n_comments = None, 0
        with open(self.path, "rb") as file:
            for number, line in enumerate(self._lines(file), 1):
                if line.startswith("#"):
                    n_comments += 1
                    self._comment(line, n_comments)
                    continue
                cells = line.rstrip("\n").split(",")
                if cells == [""]:
                    continue
                n_cells = n_cells or len(cells)
                if len(cells) != n_cells:
                    raise FileError(
                        f"line {number} of {self.path!r} has {len(cells)} cells where the header "
                        f"has {n_cells}; was the run stopped?"
                    )
                yield cells

    def _lines(self, file: BinaryIO) -> Iterator[str]:
        return text_lines(file, self.path, gzipped=self.gzipped)

    def _comment(self, line: str, number: int) -> None:
        if number > _MOST_COMMENTS:
            raise FileError(
                f"{self.path!r} has more than {_MOST_COMMENTS} lines of comments; CmdStan writes "
                "no such file."
            )
        found = _SETTING.match(line)
        if found:
            self.settings.setdefault(found["name"], found["value"].lower())

    def columns_at(self, positions: Sequence[int], start: int, stop: int) -> NDArray[Any]:
        """Return the draws ``start`` to ``stop`` of some columns."""
        if len(positions) > 1 or positions[0] not in self._scalar_positions:
            return self._read(positions, start, stop)
        if self._scalars is None:  # all of them in one go over the file
            self._scalars = self._read(self._scalar_positions, 0, self.n_rows)
        column = self._scalar_positions.index(positions[0])
        return self._scalars[start:stop, column : column + 1]

    def _read(self, positions: Sequence[int], start: int, stop: int) -> NDArray[np.float64]:
        size = (stop - start, len(positions))
        validate.fits_in_memory(repr(self.path), 8 * size[0] * size[1], "thin the chain.")
        out = np.empty(size)
        pick = itemgetter(*positions) if len(positions) > 1 else None
        rows = self._rows()
        next(rows)
        for number, cells in enumerate(rows, -self.n_warmup):
            if start <= number < stop:
                picked = pick(cells) if pick else (cells[positions[0]],)
                try:
                    out[number - start] = [float(cell) for cell in picked]
                except ValueError:
                    raise FileError(
                        f"draw {number + 1} of {self.path!r} holds a cell that is no number."
                    ) from None
        return out

    def container(self, held: int) -> Wide:
        """The variables of the file."""
        widths = [8] * len(self.names)
        return Wide(
            repr(self.path), held, self.n_rows, self.names, self.kinds, widths, self.columns_at
        )
