"""Bytes to lines, and lines to rows of cells: decoding, the delimiter, quotes."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO, cast

from partita import validate
from partita.errors import FileError
from partita.io._source import FORMATS, NPY_MAGIC

HEAD_LINES = 20
_LONGEST_LINE = 1 << 27
_MOST_BLANK_LINES = 1 << 20
# A list of short strings takes some twenty times the bytes of the line it was split from.
_BYTES_PER_CHARACTER = 24
_MOST_HEAD = 1 << 22  # characters; where lines are longer, two of them
_BLANK = re.compile(r'[\s"]*+')
_QUOTED = re.compile(r'"[^"]*"')
_WORD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)')
_NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", None: "white space"}


def text_lines(file: BinaryIO, path: str, *, gzipped: bool) -> Iterator[str]:
    """The lines of a text file, each ending in one newline; none may outgrow the memory.

    A small gzip file may hold one endless line or nothing but newlines: both are given up on.
    """
    if gzipped:
        # A GzipFile reads like a BufferedReader; the stubs know it only as a GzipFile.
        file = cast("BinaryIO", io.BufferedReader(gzip.GzipFile(fileobj=file), 1 << 17))
        if cast("io.BufferedReader", file).peek(8).startswith(NPY_MAGIC):
            raise FileError(f"{path!r} is a .npy file in gzip; decompress it first.")
    limit = min(_LONGEST_LINE, validate.free_memory() // _BYTES_PER_CHARACTER) + 1
    with io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        blank = 0
        for number, line in enumerate(iter(lambda: text.readline(limit), ""), 1):
            if len(line) >= limit:
                raise FileError(
                    f"line {number} of {path!r} is longer than {limit - 1} characters; "
                    "no table of labels looks like this."
                )
            if "\0" in line:
                raise FileError(
                    f"line {number} of {path!r} holds a null character, so it is not text; "
                    f"partita reads {FORMATS}."
                )
            blank = blank + 1 if _BLANK.fullmatch(line) else 0
            if blank > _MOST_BLANK_LINES:
                raise FileError(
                    f"{path!r} has more than {_MOST_BLANK_LINES} blank lines before line "
                    f"{number}; no table of labels looks like this."
                )
            yield line


def head_of(lines: Iterator[str], path: str) -> tuple[int, list[str]]:
    """The number of the first line that is not blank, and that line with a few after it."""
    for number, line in enumerate(lines, 1):
        if not line.isspace():
            return number, _with_more(line, lines)
    raise FileError(f"{path!r} is empty.")


def _with_more(first: str, lines: Iterator[str]) -> list[str]:
    head, n_characters = [first], len(first)
    while len(head) < HEAD_LINES and (len(head) < 2 or n_characters < _MOST_HEAD):
        line = next(lines, "")
        if not line:
            break
        head.append(line)
        n_characters += len(line)
    return head


def delimiter_of(head: list[str], path: str) -> str | None:
    """Tab, semicolon or comma, or None for white space, as the first lines have it.

    The first of them that occurs equally often in every line after the first (which may be a
    header of its own kind) is taken; a ``.tsv`` file has tabs.

    >>> delimiter_of(["a,b;c", "1;2", "3;4"], "x.csv")
    ';'
    """
    if os.path.splitext(path.lower().removesuffix(".gz"))[1] in (".tsv", ".tab"):
        return "\t"
    bare = [line for line in _QUOTED.sub("q", "".join(head)).split("\n") if line.strip()]
    body = bare[1:] or bare
    counts = {mark: [line.count(mark) for line in body] for mark in "\t;,"}
    for mark, count in counts.items():
        if count[0] and len(set(count)) == 1:
            return mark
    commonest = max(counts, key=lambda mark: sum(counts[mark]))
    if any(counts[commonest]):
        return commonest
    return None if any(len(line.split()) > 1 for line in body) else ","


def delimiter_name(delimiter: str | None) -> str:
    """The delimiter in words."""
    return _NAMES[delimiter]


def rows_of(
    lines: Iterable[str], delimiter: str | None, path: str, first_line: int
) -> Iterator[tuple[int, list[str]]]:
    """Each row's line number (its last, if quotes span several) and cells; blank ones are []."""
    if delimiter is None:
        for number, line in enumerate(lines, first_line):
            yield number, _words(line)
        return
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            blank = len(cells) == 1 and not cells[0].strip()
            yield first_line - 1 + reader.line_num, [] if blank else cells
    except csv.Error as error:
        number = first_line - 1 + reader.line_num
        raise FileError(
            f"line {number} of {path!r} cannot be split into cells: {error}. Is a quote left open?"
        ) from None


def _words(line: str) -> list[str]:
    if '"' not in line:
        return line.split()
    return [
        match[2] if match[1] is None else match[1].replace('""', '"')
        for match in _WORD.finditer(line)
    ]
