"""CmdStan's CSV: comments that say how it was run, a header, a row for each draw."""

from __future__ import annotations

import re
from collections.abc import Iterator

from partita.errors import FileError
from partita.io._lines import text_lines
from partita.io._source import opened
from partita.io._text_columns import TextColumns

_MOST_COMMENTS = 1 << 17  # a dense mass matrix has one for each parameter
_SETTING = re.compile(r"#\s*(?P<name>save_warmup|num_warmup|thin)\s*=\s*(?P<value>\w+)")
_YES = ("1", "true")


class CmdStanFile(TextColumns):
    """One chain as CmdStan writes it."""

    def __init__(self, path: str, *, gzipped: bool) -> None:
        self.settings: dict[str, str] = {}
        super().__init__(path, gzipped=gzipped)

    def _first_draw(self) -> int:
        """How many of the rows are warm-up, by what the comments say."""
        if self.settings.get("save_warmup") not in _YES:
            return 0
        try:
            n, thin = int(self.settings["num_warmup"]), int(self.settings.get("thin", "1"))
        except (KeyError, ValueError):
            return 0
        return -(-n // thin) if thin > 0 and n > 0 else 0

    def _rows(self) -> Iterator[list[str]]:
        n_cells, n_comments = None, 0
        with opened(self.path) as file:
            lines = text_lines(file, self.path, gzipped=self.gzipped)
            for number, line in enumerate(lines, 1):
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

    def _comment(self, line: str, number: int) -> None:
        if number > _MOST_COMMENTS:
            raise FileError(
                f"{self.path!r} has more than {_MOST_COMMENTS} lines of comments; CmdStan writes "
                "no such file."
            )
        found = _SETTING.match(line)
        if found:
            self.settings.setdefault(found["name"], found["value"].lower())
