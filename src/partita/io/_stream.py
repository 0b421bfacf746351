"""A text file as a stream, for a library that parses text: plain or gzip, and bounded.

A library that were given the path would open what it likes: an address, an archive by its suffix.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

from partita import validate
from partita.errors import FileError
from partita.io._lines import text_lines
from partita.io._source import format_of, opened, path_text
from partita.typing import Path

_TEXT = frozenset(("text", "gzip", "cmdstan", "cmdstan-gzip"))
_FIRST_CHECK = 1 << 20
_BYTES_PER_CHARACTER = 8  # what a data frame takes where every other character is a number


class TextStream(io.TextIOBase):
    """Lines as a file to read from; what has been read must leave room for as much again."""

    def __init__(self, lines: Iterator[str], path: str) -> None:
        super().__init__()
        self._lines, self._path = lines, path
        self._left = ""
        self._n_read, self._next_check = 0, _FIRST_CHECK

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def first(self) -> str:
        """The first line that is not blank, which is still there to be read."""
        for line in self._lines:
            if not line.isspace():
                self._lines = chain([line], self._lines)
                return line
        raise FileError(f"{self._path!r} is empty.")

    def read(self, size: int | None = -1) -> str:
        """Return so many characters, fewer at the end only."""
        wanted = sys.maxsize if size is None or size < 0 else size
        parts, n_here = [self._left], len(self._left)
        while n_here < wanted and (line := next(self._lines, "")):
            parts.append(line)
            n_here += len(line)
            self._count(len(line))
        text = "".join(parts)
        self._left = text[wanted:]
        return text[:wanted]

    def _count(self, n_characters: int) -> None:
        self._n_read += n_characters
        if self._n_read >= self._next_check:
            self._next_check = 2 * self._n_read
            size = _BYTES_PER_CHARACTER * self._n_read
            validate.fits_in_memory(f"{self._path!r} as a table", size, "free some memory.")


@contextmanager
def open_text(path: Path) -> Iterator[TextStream]:
    """Open a file of text on this machine, plain or gzip; what fails inside is our error.

    Parameters
    ----------
    path : str or path-like
        An address such as ``http://...`` is a file that does not exist.
    """
    text = path_text(path)
    with opened(text) as file:
        kind = format_of(file, text)
        if kind not in _TEXT:
            raise FileError(
                f"{text!r} is not a table of text, plain or gzip; decompress it, or save it as CSV."
            )
        lines = text_lines(file, text, gzipped=kind in ("gzip", "cmdstan-gzip"))
        yield TextStream(lines, text)
