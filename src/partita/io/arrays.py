"""``.npy`` and ``.npz`` files, without pickle.

Headers are compared with what the file holds before anything is allocated.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError
from partita.io.files import format_of, library_errors, opened, path_text
from partita.io.variables import Box, Variable, Variables
from partita.typing import Path

_KINDS = "biufUS"


@dataclass(frozen=True)
class _Header:
    """What the header of an array says, and where its values begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Any
    offset: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def _header(stream: IO[bytes], size: int, what: str) -> _Header:
    """Read the header of an array in a file of ``size`` bytes, and compare it with that size.

    Of records that grow the header says that there are none (see ``DrawsWriter``): there are as
    many as are there in full.
    """
    with library_errors(what):
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    bad = any(n < 0 or isinstance(n, bool) for n in shape)
    if bad or math.prod(max(n, 1) for n in shape) >= 2**62:
        raise FileError(f"{what} has a .npy header with an impossible shape.")
    held = size - stream.tell()
    row = math.prod(shape[1:]) * dtype.itemsize
    if dtype.names is not None and shape == (0,) and row > 0:
        shape = (max(held, 0) // row,)
    elif math.prod(shape) * dtype.itemsize != held and not dtype.hasobject:
        whole = held // row if row and not fortran else 0
        kept = f"; the first {whole} of {shape[0]} rows are whole" if 0 < whole < shape[0] else ""
        raise FileError(
            f"{what} is truncated or corrupt: its header says {shape} {dtype}, "
            f"{math.prod(shape) * dtype.itemsize} bytes, and {max(held, 0)} bytes follow{kept}. "
            "Write it again or copy it from where it came from."
        )
    return _Header(dtype, shape, "F" if fortran else "C", stream.tell())


def _check_kind(dtype: np.dtype[Any], what: str) -> None:
    """Refuse objects, which only pickle could read, and other kinds."""
    if dtype.hasobject:
        raise FileError(
            f"{what} holds Python objects, which only pickle could read, and unpickling a file can "
            "run any code in it; save plain numbers or text instead, such as `array.astype(int)`."
        )
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise FileError(f"{what} holds data of dtype {dtype}, not numbers or text.")


def _sound(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Values in the byte order of this machine that NumPy can work with whatever the bytes were."""
    if array.dtype.kind == "b":  # a stray byte such as 7 is no valid bool in memory
        return np.asarray(array.view(np.uint8) != 0)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and array.size:
        points = np.frombuffer(array.tobytes(), np.uint32)
        if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
            raise FileError(f"{what} is corrupt: it holds text that is not Unicode.")
    return array


def npy_variables(path: str) -> Variables:
    """Return the array of an ``.npy`` file, mapped into memory and not yet read.

    Records, as a ``DrawsWriter`` leaves them, are a variable for each of their fields.
    """
    what = repr(path)
    with opened(path) as file:
        if format_of(file, path) != "npy":
            raise FileError(f"{what} is not an .npy file.")
        head = _header(file, os.fstat(file.fileno()).st_size, what)
        for name in head.dtype.names or ("",):
            _check_kind(head.dtype[name].base if name else head.dtype, what)
        array: NDArray[Any]
        with library_errors(what):  # (0, 2**61): no bytes, and still too large for NumPy
            if head.n_bytes:
                array = np.memmap(path, head.dtype, "r", head.offset, head.shape, head.order)
            else:
                array = np.empty(head.shape, head.dtype)

    def read(name: str, box: Box) -> NDArray[Any]:
        found = array[name] if name else array
        part = found[tuple(slice(*side) for side in box)]
        validate.fits_in_memory(what, part.nbytes, "read it in parts or free some.")
        if name or part.shape != head.shape or not head.n_bytes:
            return _sound(np.array(part), what)
        with opened(path) as file, library_errors(what):  # reading takes less than mapping does
            flat = np.fromfile(file, head.dtype, part.size, offset=head.offset)
            return _sound(flat.reshape(head.shape, order=head.order), what)

    if head.dtype.names is None:
        dtype = head.dtype.newbyteorder("=")
        return Variables(what, [Variable("", head.shape, dtype, partial(read, ""))])
    fields = [(name, array[name]) for name in head.dtype.names]
    return Variables(
        what, [Variable(k, x.shape, x.dtype.newbyteorder("="), partial(read, k)) for k, x in fields]
    )


def read_npy(path: Path) -> NDArray[Any]:
    """Read the one array of an ``.npy`` file, without pickle."""
    variables = npy_variables(path_text(path))
    return variables.whole(variables.found[0])


@contextmanager
def npz_variables(path: str) -> Iterator[Variables]:
    """Open an ``.npz`` file: its headers are read at once, its arrays when they are asked for."""
    with opened(path) as file:
        if format_of(file, path) != "npz":
            raise FileError(f"{path!r} is not an .npz file.")
        with library_errors(repr(path)):
            archive = zipfile.ZipFile(file)
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        found = {one.name: one for one in (_member(archive, each, path) for each in members)}
        if not found:
            raise FileError(
                f"{path!r} is a zip archive without a NumPy array in it; "
                "if it is a spreadsheet, save it as CSV."
            )
        yield Variables(repr(path), list(found.values()))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> Variable:
    name = member.filename.removesuffix(".npy")
    what = f"array {name!r} of {path!r}"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError(f"{what} is compressed in a way NumPy never writes.")
    with library_errors(what), archive.open(member) as stream:
        head = _header(stream, member.file_size, what)

    def read(box: Box) -> NDArray[Any]:
        _check_kind(head.dtype, what)
        validate.fits_in_memory(what, head.n_bytes, "read it in parts or free some.")
        with library_errors(what), archive.open(member) as stream:
            stream.read(head.offset)
            raw, done = np.empty(head.n_bytes, np.uint8), 0
            while n := stream.readinto(raw.data[done:]):  # type: ignore[attr-defined]
                done += n
            stream.read(1)  # past the last byte, so that the checksum is compared
            if done != head.n_bytes:
                raise FileError(f"{what} is truncated: {head.n_bytes - done} bytes are missing.")
            array = np.ndarray(head.shape, head.dtype, raw, order=head.order)
            return _sound(array[tuple(slice(*side) for side in box)], what)

    return Variable(name, head.shape, head.dtype.newbyteorder("="), read)


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

    def misfit(self, one: Variable, sizes: dict[str, int]) -> str | None:
        """What is wrong with an array; sizes that it is the first to tell are added."""
        itemsize = self.itemsize or one.dtype.itemsize
        if one.dtype.kind not in self.kinds or one.dtype.itemsize != itemsize:
            return f"dtype {one.dtype}"
        fits = len(one.shape) == len(self.shape)
        for size, wanted in zip(one.shape, self.shape, strict=False):
            named = wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size)
            fits = fits and (wanted == "*" or size == named)
        return None if fits else f"shape {one.shape}"


def fitting(
    variables: Variables, layouts: Mapping[str, Layout], sizes: Mapping[str, int]
) -> tuple[list[Variable], tuple[str, str] | None]:
    """Return the arrays that layouts speak of, and the first that is not so, with the reason.

    ``*`` in the name of a layout stands for anything; ``sizes`` are those known by name.
    """
    known = dict(sizes)
    taken: list[Variable] = []
    for pattern, layout in layouts.items():
        found = [one for one in variables.found if fnmatchcase(one.name, pattern)]
        if layout.required and not found:
            return taken, (pattern, "not there")
        for one in found:
            wrong = layout.misfit(one, known)
            if wrong is not None:
                return taken, (one.name, wrong)
        taken += found
    return taken, None


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
    with npz_variables(text) as variables:
        wanted, wrong = list(variables.found), None
        if layouts is not None:
            wanted, wrong = fitting(variables, layouts, sizes or {})
        if wrong is not None:
            raise FileError(f"{text!r} does not hold {what} (array {wrong[0]!r}: {wrong[1]}).")
        return variables.together(wanted)
