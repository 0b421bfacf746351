"""``.npy`` and ``.npz`` without pickle, with every claim of a header checked before it costs.

The header of the format is read here rather than by ``np.load``, which allocates what a header
asks for before it looks at how much the file holds.
"""

from __future__ import annotations

import ast
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError, PartitaError
from partita.io._source import NPY_MAGIC, corrupt, format_of, opened, path_text
from partita.typing import Path

_MAX_HEADER = 1 << 16
_CHUNK = 1 << 20
_SIMPLE_DTYPE = re.compile(r"[<>|=]?[a-zA-Z?][0-9]{0,9}")
_READABLE_KINDS = "biufUS"
IN_PROGRESS = "# in progress"  # ends the header of a file that a DrawsWriter is at


@dataclass(frozen=True)
class Header:
    """What a ``.npy`` header claims; ``dtype`` is None for the kinds partita never reads."""

    dtype: np.dtype[Any] | None
    descr: str
    shape: tuple[int, ...]
    fortran: bool
    offset: int
    in_progress: bool = False

    def __str__(self) -> str:
        """Shape and kind, as in a list of what an archive holds."""
        return f"{self.shape} {self.dtype or self.descr}"


def read_header(stream: IO[bytes], what: str) -> Header:
    """Read the header of one array; ``what`` names it in errors."""
    start = stream.read(8)
    if len(start) < 8 or not start.startswith(NPY_MAGIC):
        raise FileError(f"{what} does not begin like a .npy file.")
    major = start[6]
    if major not in (1, 2, 3):
        raise FileError(f"{what} has .npy format version {major}; versions 1 to 3 can be read.")
    width, code = (2, "<H") if major == 1 else (4, "<I")
    size = stream.read(width)
    if len(size) < width:
        raise FileError(f"{what} is truncated: it ends within its header.")
    (length,) = struct.unpack(code, size)
    if length > _MAX_HEADER:
        raise FileError(f"{what} claims a header of {length} bytes, which no array needs.")
    raw = stream.read(length)
    if len(raw) < length:
        raise FileError(f"{what} is truncated: it ends within its header.")
    return _parsed(raw.decode("utf-8" if major == 3 else "latin-1"), 8 + width + length, what)


def _parsed(text: str, offset: int, what: str) -> Header:
    try:
        claims = ast.literal_eval(text.strip())
        descr, shape, fortran = claims["descr"], claims["shape"], claims["fortran_order"]
    except (SyntaxError, ValueError, TypeError, KeyError, MemoryError, RecursionError):
        raise FileError(f"{what} has a .npy header that cannot be read.") from None
    dims_are_counts = isinstance(shape, tuple) and all(
        type(size) is int and 0 <= size < 2**62 for size in shape
    )
    if not dims_are_counts or len(shape) > 32 or type(fortran) is not bool:
        raise FileError(f"{what} has a .npy header with an impossible shape.")
    growing = text.rstrip().endswith(IN_PROGRESS)
    return Header(_dtype(descr), str(descr)[:40], shape, fortran, offset, growing)


def settled(header: Header, size: int) -> Header:
    """The header of a file of ``size`` bytes that grows by rows, with the rows that are whole.

    One that does not grow is left as it is: there, bytes that are missing or left over are errors.
    """
    if not header.in_progress or header.dtype is None or len(header.shape) != 2 or header.fortran:
        return header
    n_rows, n_columns = header.shape
    whole = max(0, size - header.offset) // max(1, n_columns * header.dtype.itemsize)
    return replace(header, shape=(min(n_rows, whole), n_columns))


def _dtype(descr: object) -> np.dtype[Any] | None:
    if not isinstance(descr, str) or not _SIMPLE_DTYPE.fullmatch(descr):
        return None
    try:
        dtype = np.dtype(descr)
    except (TypeError, ValueError, OverflowError):
        return None
    return dtype if dtype.kind in _READABLE_KINDS and dtype.itemsize else None


def truncated(what: str, header: Header, held: int, *, is_file: bool = True) -> FileError:
    """The error for an array of which ``held`` bytes are there; of a file, what is whole of it."""
    dtype, shape = header.dtype, header.shape
    assert dtype is not None
    claimed = math.prod(shape) * dtype.itemsize
    said = (
        f"{what} is truncated or corrupt: its header says {header}, {claimed} bytes, and "
        f"{max(held, 0)} bytes follow. Write it again or copy it from where it came from"
    )
    whole = held // max(1, claimed // max(1, shape[0])) if shape else 0
    if not 0 < whole < (shape[0] if shape else 0) or header.fortran or not is_file:
        return FileError(f"{said}.")
    count = whole * math.prod(shape[1:])
    return FileError(
        f"{said}; the first {whole} of {shape[0]} rows are whole: np.fromfile({what}, "
        f"{dtype.str!r}, {count}, offset={header.offset}).reshape({(whole, *shape[1:])})."
    )


def read_array(stream: IO[bytes], size: int, what: str, *, is_file: bool = False) -> NDArray[Any]:
    """Read one array of numbers or text from ``stream``, which holds ``size`` bytes in all."""
    header = settled(read_header(stream, what), size)
    dtype = header.dtype
    if dtype is None:
        raise FileError(
            f"{what} holds {_refused(header)}; save plain numbers or text instead, "
            "such as `array.astype(int)`."
        )
    claimed, held = math.prod(header.shape) * dtype.itemsize, size - header.offset
    if claimed != held and not (header.in_progress and claimed < held):
        raise truncated(what, header, held, is_file=is_file)
    validate.fits_in_memory(what, claimed, "read it in parts or free some.")
    return _native(_filled(stream, claimed, what), dtype, header, what)


def _refused(header: Header) -> str:
    if re.fullmatch(r"[<>|=]?O\d*", header.descr):
        return (
            "Python objects, which only pickle could read, and unpickling a file can run any "
            "code in it"
        )
    return f"data of dtype {header.descr}"


def _filled(stream: IO[bytes], n_bytes: int, what: str) -> NDArray[np.uint8]:
    buffer = np.empty(n_bytes, np.uint8)
    view = buffer.data
    done = 0
    while done < n_bytes:
        chunk = stream.read(min(_CHUNK, n_bytes - done))
        if not chunk:
            raise FileError(f"{what} is truncated: {n_bytes - done} bytes are missing.")
        view[done : done + len(chunk)] = chunk
        done += len(chunk)
    stream.read(1)  # past the last byte, so that a zip member checks its checksum
    return buffer


def _native(
    raw: NDArray[np.uint8], dtype: np.dtype[Any], header: Header, what: str
) -> NDArray[Any]:
    if dtype.kind == "b":
        flat: NDArray[Any] = raw != 0  # a stray byte such as 7 is no valid bool in memory
    else:
        flat = raw.view(dtype)
    if not dtype.isnative:
        flat = flat.astype(dtype.newbyteorder("="))
    if dtype.kind == "U":
        check_text(flat, what)
    try:
        return flat.reshape(header.shape, order="F" if header.fortran else "C")
    except ValueError:  # (0, 2**61) and the like: no bytes, and still too large for NumPy
        raise FileError(f"{what} has a .npy header with an impossible shape.") from None


def check_text(flat: NDArray[Any], what: str) -> None:
    """Refuse fixed-width text, in the byte order of this machine, that is not Unicode."""
    points = flat.view(np.uint32)
    if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise FileError(f"{what} is corrupt: it holds text that is not Unicode.")


@contextmanager
def _zip_errors(path: str) -> Iterator[None]:
    """What zipfile raises on hostile bytes is of many kinds; here it becomes one."""
    try:
        yield
    except PartitaError:
        raise
    except (RuntimeError, ValueError, OverflowError, struct.error) as error:
        raise corrupt(path, error) from None


class Archive:
    """An open ``.npz``: the headers of its arrays, read at once, and the arrays, when asked."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._path = path
        with _zip_errors(path):
            self._zip = zipfile.ZipFile(file)
        self._members = {
            info.filename.removesuffix(".npy"): info
            for info in self._zip.infolist()
            if info.filename.endswith(".npy")
        }
        if not self._members:
            raise FileError(
                f"{path!r} is a zip archive without a NumPy array in it; "
                "if it is a spreadsheet, save it as CSV."
            )
        self.headers = {name: self._header(name) for name in self._members}

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        info = self._members[name]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(f"{self._what(name)} is compressed in a way NumPy never writes.")
        with _zip_errors(self._path), self._zip.open(info) as stream:
            yield stream

    def _what(self, name: str) -> str:
        return f"array {name!r} of {self._path!r}"

    def _header(self, name: str) -> Header:
        with self._open(name) as stream:
            return read_header(stream, self._what(name))

    def read(self, name: str) -> NDArray[Any]:
        """Read one array."""
        with self._open(name) as stream:
            return read_array(stream, self._members[name].file_size, self._what(name))

    def check_memory(self, names: Iterable[str]) -> None:
        """Refuse arrays that together are larger than the memory that is free."""
        total = sum(self._members[name].file_size for name in names)
        validate.fits_in_memory(repr(self._path), total, "read it in parts or free some.")

    def listing(self) -> str:
        """The arrays, with shape and dtype, for an error that asks which one was meant."""
        shown = [f"{name!r} {header}" for name, header in self.headers.items()]
        more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
        return ", ".join(shown[:12]) + more


def read_open_npy(file: BinaryIO, path: str) -> NDArray[Any]:
    """Read the one array of an open ``.npy`` file."""
    return read_array(file, os.fstat(file.fileno()).st_size, repr(path), is_file=True)


def read_npy(path: Path) -> NDArray[Any]:
    """Read the one array of an ``.npy`` file, without pickle."""
    text = path_text(path)
    with opened(text) as file:
        if format_of(file, text) != "npy":
            raise FileError(f"{text!r} is not an .npy file.")
        return read_open_npy(file, text)
