"""An ``.npy`` file that grows by rows and can be read at any moment, as the rows it has so far.

A row is written first and counted after: the header, 128 bytes that are replaced in one write,
never claims a row that is not all there. It ends in a comment, ``# in progress``, by which readers
know that bytes beyond what it claims are a row that is being written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita.errors import FileError, PartitaError
from partita.io._numpy import IN_PROGRESS, read_header, settled
from partita.io._write import beside, said_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADER = 128  # bytes, room for any shape
_CHUNK = 1 << 24


class Form(NamedTuple):
    """What the header of the file says."""

    dtype: np.dtype[Any]
    n_rows: int
    n_columns: int

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        return self.n_columns * self.dtype.itemsize

    @property
    def end(self) -> int:
        """Where the next row begins."""
        return _HEADER + self.n_rows * self.row_bytes

    def header(self, *, in_progress: bool) -> bytes:
        """A version 1.0 header of a fixed length."""
        shape, kind = (self.n_rows, self.n_columns), self.dtype.newbyteorder("<").str
        text = repr({"descr": kind, "fortran_order": False, "shape": shape})
        note = f"  {IN_PROGRESS}" if in_progress else ""
        body = (text + note).encode("latin-1").ljust(_HEADER - 11) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


class GrowingNpy:
    """Rows of unsigned integers at ``path``, begun anew or carried on with.

    Parameters
    ----------
    path : str
        Of the file that grows.
    resume : bool
        Whether to carry on after the rows of the file that is there.
    """

    def __init__(self, path: str, *, resume: bool = False) -> None:
        self.path = path
        with self._errors():
            if not resume:
                with open(path, "wb", buffering=0) as file:
                    _write(file, 0, Form(np.dtype(np.uint8), 0, 0).header(in_progress=True))
            self._open()

    def _open(self) -> None:
        """Open the file, which alone knows what it holds: an interrupt comes at any time."""
        self._file = open(self.path, "r+b", buffering=0)  # noqa: SIM115
        try:
            self.form = self._read_form()
        except BaseException:
            self._file.close()
            raise

    def _read_form(self) -> Form:
        found = read_header(self._file, repr(self.path))
        dtype = found.dtype
        is_ours = found.offset == _HEADER and len(found.shape) == 2
        if not is_ours or dtype is None or dtype.kind != "u" or not self._was_left(found):
            raise FileError(
                f"{self.path!r} holds {found}, not draws that a DrawsWriter left; move it away."
            )
        found = settled(found, os.fstat(self._file.fileno()).st_size)
        return Form(dtype.newbyteorder("="), *found.shape)

    def _was_left(self, found: Any) -> bool:
        """Whether a file is in progress, or one of ours that was finished but not put in place."""
        if found.in_progress:
            return True
        self._file.seek(0)
        finished = Form(found.dtype.newbyteorder("="), *found.shape).header(in_progress=False)
        return bool(self._file.read(_HEADER) == finished)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except PartitaError:
            raise
        except OSError as error:
            kept = "The draws so far are in it"
            raise FileError(f"{self.path!r} cannot be written: {said_of(error, kept)}") from None

    def append(self, row: NDArray[Any], dtype: np.dtype[Any]) -> None:
        """Add a row whose numbers need ``dtype``; those before are widened to it if need be."""
        with self._errors():
            if dtype.itemsize > self.form.dtype.itemsize:
                self._widen(dtype)
            form = self.form._replace(n_columns=row.size)
            try:
                _write(self._file, form.end, row.astype(form.dtype.newbyteorder("<")).tobytes())
                form = form._replace(n_rows=form.n_rows + 1)
                _write(self._file, 0, form.header(in_progress=True))
            except OSError:
                with suppress(OSError):
                    self._file.truncate(self.form.end)
                raise
            self.form = form

    def _widen(self, dtype: np.dtype[Any]) -> None:
        """Write every row so far with more bytes to a number, in a file that replaces this one."""
        wide = self.form._replace(dtype=dtype)
        with beside(self.path) as place, self._opened_again():
            with open(place, "xb", buffering=0) as file:
                _write(file, 0, wide.header(in_progress=True))
                n = self.form.n_rows * self.form.n_columns
                for start in range(0, n, _CHUNK):
                    part = self._numbers(start, min(n, start + _CHUNK))
                    at = _HEADER + start * dtype.itemsize
                    _write(file, at, part.astype(dtype.newbyteorder("<")).tobytes())
            self._file.close()
            os.replace(place, self.path)

    @contextmanager
    def _opened_again(self) -> Iterator[None]:
        """Open whatever is in the place of the file after the block, even if that broke off."""
        try:
            yield
        finally:
            self._file.close()
            self._open()

    def _numbers(self, start: int, stop: int) -> NDArray[Any]:
        size = self.form.dtype.itemsize
        self._file.seek(_HEADER + start * size)
        data = bytearray()
        while len(data) < (stop - start) * size:
            more = self._file.read((stop - start) * size - len(data))
            if not more:
                raise FileError(f"{self.path!r} has become shorter while it was written.")
            data += more
        return np.frombuffer(bytes(data), self.form.dtype.newbyteorder("<"))

    def finish(self, target: str, mode: int | None) -> None:
        """Make it a plain file and put it in the place of ``target``, with that one's mode.

        If it cannot be put there it stays where it is, and can be finished again.
        """
        with self._errors():
            self._file.truncate(self.form.end)
            _write(self._file, 0, self.form.header(in_progress=False))
            self._file.close()
            if mode is not None:
                with suppress(OSError):  # not ours to change on some file systems
                    os.chmod(self.path, stat.S_IMODE(mode))
            try:
                os.replace(self.path, target)
            except OSError as error:
                self._open()
                said = error.strerror or error
                raise FileError(
                    f"{target!r} cannot be written: {said}. The draws are in {self.path!r}; mend "
                    "this and close the writer again, or move that file there."
                ) from None

    def keep(self, n_rows: int) -> None:
        """Leave out the rows after the first so many."""
        if n_rows < self.form.n_rows:
            with self._errors():
                form = self.form._replace(n_rows=n_rows)
                _write(self._file, 0, form.header(in_progress=True))
                self.form = form

    def leave(self) -> None:
        """Leave the rows so far where they are, and nothing where there are none."""
        self._file.close()
        if not self.form.n_rows:
            with suppress(OSError):
                os.remove(self.path)


def is_in_progress(path: str) -> bool:
    """Whether a file is one that grows, and is not finished."""
    try:
        with open(path, "rb") as file:
            return read_header(file, repr(path)).in_progress
    except (FileError, OSError):
        return False


def rows_in_progress(path: str) -> int | None:
    """How many rows are in a file that grows, or grew; None where there is no such file."""
    try:
        with open(path, "rb") as file:
            shape = read_header(file, repr(path)).shape
    except FileError:
        return 0
    except OSError:
        return None
    return shape[0] if shape else 0


def _write(file: Any, at: int, data: bytes) -> None:
    """Write all of ``data`` at a place; a write may take only a part of it."""
    file.seek(at)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
