"""``.npy`` and ``.npz`` files through NumPy, without pickle.

Headers are compared with what the file holds before anything is allocated.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError
from partita.io.files import corrupt, format_of, library_errors, opened, path_text
from partita.typing import Path

_KINDS = "biufUS"


@dataclass(frozen=True)
class Header:
    """What the header of an array says, and where its values begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        """Shape and kind, as in a list of what an archive holds."""
        return f"{self.shape} {self.dtype}"


def read_header(stream: IO[bytes], size: int, what: str) -> Header:
    """Read the header of an array in a file of ``size`` bytes, and compare it with that size.

    A table of no rows with bytes below the header is one that grows (see ``DrawsWriter``): it has
    the rows that are there in full.
    """
    with library_errors(what):
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    if (
        any(n < 0 or isinstance(n, bool) for n in shape)
        or math.prod(max(n, 1) for n in shape) >= 2**62
    ):
        raise FileError(f"{what} has a .npy header with an impossible shape.")
    header = Header(dtype, shape, fortran, stream.tell())
    held = size - header.offset
    if len(shape) == 2 and shape[0] == 0 < header.dtype.itemsize * shape[1] <= held:
        header = replace(header, shape=(held // (dtype.itemsize * shape[1]), shape[1]))
    elif header.n_bytes != held and dtype.kind in _KINDS:
        raise FileError(_truncated(what, header, held))
    return header


def _truncated(what: str, header: Header, held: int) -> str:
    """Say of which array some bytes are missing or left over, and how to read what is whole."""
    dtype, shape = header.dtype, header.shape
    said = (
        f"{what} is truncated or corrupt: its header says {header}, {header.n_bytes} bytes, and "
        f"{max(held, 0)} bytes follow. Write it again or copy it from where it came from"
    )
    row = math.prod(shape[1:])
    whole = held // max(1, row * dtype.itemsize)
    if not shape or header.fortran or not 0 < whole < shape[0]:
        return f"{said}."
    return (
        f"{said}; the first {whole} of {shape[0]} rows are whole: np.fromfile({what}, "
        f"{dtype.str!r}, {whole * row}, offset={header.offset}).reshape({(whole, *shape[1:])})."
    )


def _checked(what: str, header: Header) -> None:
    """Refuse objects, which only pickle could read, and other kinds."""
    if header.dtype.hasobject:
        raise FileError(
            f"{what} holds Python objects, which only pickle could read, and unpickling a file can "
            "run any code in it; save plain numbers or text instead, such as `array.astype(int)`."
        )
    if header.dtype.kind not in _KINDS or not header.dtype.itemsize:
        raise FileError(f"{what} holds data of dtype {header.dtype}, not numbers or text.")


def _values(stream: IO[bytes], header: Header, what: str) -> NDArray[Any]:
    """The array whose header has been read."""
    validate.fits_in_memory(what, header.n_bytes, "read it in parts or free some.")
    with library_errors(what):
        raw = np.empty(header.n_bytes, np.uint8)
        view = raw.data
        done = 0
        while done < len(view) and (n := stream.readinto(view[done:])):  # type: ignore[attr-defined]
            done += n
        stream.read(1)  # past the last byte, so that a member of an archive checks its sum
    if done < header.n_bytes:
        raise FileError(f"{what} is truncated: {header.n_bytes - done} bytes are missing.")
    # A stray byte such as 7 is no valid bool in memory.
    flat = raw != 0 if header.dtype.kind == "b" else raw.view(header.dtype)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    if flat.dtype.kind == "U":
        points = flat.view(np.uint32)
        if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
            raise FileError(f"{what} is corrupt: it holds text that is not Unicode.")
    with library_errors(what):  # (0, 2**61) and the like: no bytes, and still too large for NumPy
        return flat.reshape(header.shape, order="F" if header.fortran else "C")


def read_npy(path: Path) -> NDArray[Any]:
    """Read the one array of an ``.npy`` file, without pickle."""
    text = path_text(path)
    with opened(text) as file:
        if format_of(file, text) != "npy":
            raise FileError(f"{text!r} is not an .npy file.")
        header = read_header(file, os.fstat(file.fileno()).st_size, repr(text))
        _checked(repr(text), header)
        return _values(file, header, repr(text))


def map_npy(path: str) -> NDArray[Any]:
    """Map the one array of an ``.npy`` file into memory; nothing is read."""
    with opened(path) as file:
        if format_of(file, path) != "npy":
            raise FileError(f"{path!r} is not an .npy file.")
        header = read_header(file, os.fstat(file.fileno()).st_size, repr(path))
        if header.dtype.hasobject or 0 in header.shape:
            return np.empty(header.shape, header.dtype)
        order: Any = "F" if header.fortran else "C"
        mapped = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)
    return mapped.view(np.ndarray)


class Archive:
    """An open ``.npz``: the headers of its arrays, read at once, and the arrays, when asked."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._path = path
        with library_errors(repr(path)):
            self._zip = zipfile.ZipFile(file)
        members = [one for one in self._zip.infolist() if one.filename.endswith(".npy")]
        self._members = {one.filename.removesuffix(".npy"): one for one in members}
        if not self._members:
            raise FileError(
                f"{path!r} is a zip archive without a NumPy array in it; "
                "if it is a spreadsheet, save it as CSV."
            )
        self.headers: dict[str, Header] = {}
        for name, member in self._members.items():
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise FileError(f"{self._what(name)} is compressed in a way NumPy never writes.")
            with self._open(name) as stream:
                self.headers[name] = read_header(stream, member.file_size, self._what(name))

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(self._members[name])
        except (RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
            raise corrupt(repr(self._path), error) from None

    def _what(self, name: str) -> str:
        return f"array {name!r} of {self._path!r}"

    def read(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Read some arrays, which together must fit in the memory."""
        wanted = list(names)
        total = sum(self.headers[name].n_bytes for name in wanted)
        validate.fits_in_memory(repr(self._path), total, "read it in parts or free some.")
        found = {}
        for name in wanted:
            _checked(self._what(name), self.headers[name])
            with self._open(name) as stream:
                stream.read(self.headers[name].offset)
                found[name] = _values(stream, self.headers[name], self._what(name))
        return found

    def listing(self) -> str:
        """The arrays, with shape and dtype, for an error that asks which one was meant."""
        shown = [f"{name!r} {header}" for name, header in self.headers.items()]
        more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
        return ", ".join(shown[:12]) + more


@dataclass(frozen=True)
class Layout:
    """The kinds and the shape that an array must have.

    Parameters
    ----------
    kinds : str
        Kinds of NumPy, such as "iu".
    shape : tuple of int and str
        A name stands for a size that all arrays share; "*" for any.
    itemsize : int, optional
        Bytes of a value.
    required : bool
        Whether the array must be there.
    """

    kinds: str
    shape: tuple[int | str, ...]
    itemsize: int | None = None
    required: bool = False

    def misfit(self, header: Header, sizes: dict[str, int]) -> str | None:
        """What is wrong with an array; sizes that it is the first to tell are added."""
        itemsize = self.itemsize or header.dtype.itemsize
        if header.dtype.kind not in self.kinds or header.dtype.itemsize != itemsize:
            return f"dtype {header.dtype}"
        fits = len(header.shape) == len(self.shape)
        for size, wanted in zip(header.shape, self.shape, strict=False):
            named = wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size)
            fits = fits and (wanted == "*" or size == named)
        return None if fits else f"shape {header.shape}"


def fitting(
    headers: Mapping[str, Header], layouts: Mapping[str, Layout], sizes: Mapping[str, int]
) -> tuple[list[str], tuple[str, str] | None]:
    """Return the arrays that layouts speak of, and the first that is not so, with the reason.

    ``*`` in the name of a layout stands for anything; ``sizes`` are those known by name.
    """
    known = dict(sizes)
    names: list[str] = []
    for pattern, layout in layouts.items():
        found = [name for name in headers if fnmatchcase(name, pattern)]
        if layout.required and not found:
            return names, (pattern, "not there")
        for name in found:
            wrong = layout.misfit(headers[name], known)
            if wrong is not None:
                return names, (name, wrong)
        names += found
    return names, None


def read_npz(
    path: Path,
    layouts: Mapping[str, Layout] | None = None,
    *,
    what: str = "the arrays asked for",
    sizes: Mapping[str, int] | None = None,
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file, without pickle.

    Parameters
    ----------
    path : str or path-like
        A file written by :func:`write_npz` or by ``np.savez``.
    layouts : mapping of str to Layout, optional
        What the arrays must be, which is looked at before any is read; others are left alone.
        Every array if None.
    what : str
        What the file should be, for errors.
    sizes : mapping of str to int, optional
        Sizes that layouts name.
    """
    text = path_text(path)
    with opened(text) as file:
        if format_of(file, text) != "npz":
            raise FileError(f"{text!r} is not an .npz file.")
        archive = Archive(file, text)
        names, wrong = list(archive.headers), None
        if layouts is not None:
            names, wrong = fitting(archive.headers, layouts, sizes or {})
        if wrong is not None:
            raise FileError(f"{text!r} does not hold {what} (array {wrong[0]!r}: {wrong[1]}).")
        return archive.read(names)
