"""Draws written to a file one at a time, while a sampler runs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from partita import io, validate
from partita.errors import FileError, InvalidValueError
from partita.partitions import canonical_rows, smallest_dtype

if TYPE_CHECKING:
    from partita.typing import Path

_HEADER = 128  # bytes of the .npy header, room for any shape included
_CHUNK = 1 << 24


class DrawsWriter:
    """Write draws to an ``.npy`` file as a sampler emits them; memory stays that of one draw.

    :func:`read_draws` reads the file, or leaves it where it is and reads blocks of it. The file
    takes its place when the writer is closed: until then, and if the block it stands in raises
    (a full disk, Ctrl-C), what was at ``path`` before is untouched and nothing is left beside it.
    To keep the draws of a chain that broke off, catch its error inside the block.

    Parameters
    ----------
    path : path
        Of the ``.npy`` file.

    Examples
    --------
    >>> import os, tempfile
    >>> from partita.draws import read_draws
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "chain.npy")
    ...     with DrawsWriter(path) as writer:
    ...         for labels in ([3, 3, 7], [0, 1, 1]):
    ...             writer.write(labels)
    ...     read_draws(path).labels
    array([[0, 0, 1],
           [0, 1, 1]], dtype=uint8)
    """

    def __init__(self, path: Path) -> None:
        self._stack = ExitStack()
        self._file: BinaryIO | None = self._stack.enter_context(io.write_atomically(path))
        self._file.write(b"\0" * _HEADER)
        self._dtype = np.dtype(np.uint8)
        self.n_items: int | None = None
        self.n_draws = 0

    def __enter__(self) -> DrawsWriter:
        return self

    def write(self, labels: Any) -> None:
        """Add one draw: labels of any kind, of as many items as the draws before."""
        row = canonical_rows(validate.labels("labels", labels, n_items=self.n_items)[None, :])[0]
        file = self._open_file()
        try:
            if smallest_dtype(int(row.max()) + 1)(0).itemsize > self._dtype.itemsize:
                self._widen(file, np.dtype(smallest_dtype(int(row.max()) + 1)))
            file.write(row.astype(self._dtype).tobytes())
        except BaseException:
            self._abandon()
            raise
        self.n_items = row.size
        self.n_draws += 1

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise InvalidValueError("`writer` is closed; open another for more draws.")
        return self._file

    def _widen(self, file: BinaryIO, dtype: np.dtype[Any]) -> None:
        """Give every label written so far more bytes, from the end so that nothing is lost."""
        old, n = self._dtype.itemsize, self.n_draws * (self.n_items or 0)
        for stop in range(n, 0, -_CHUNK):
            start = max(0, stop - _CHUNK)
            file.seek(_HEADER + start * old)
            part = np.frombuffer(file.read((stop - start) * old), self._dtype).astype(dtype)
            file.seek(_HEADER + start * dtype.itemsize)
            file.write(part.tobytes())
        file.seek(0, 2)
        self._dtype = dtype

    def close(self) -> None:
        """Put the file in its place; at least one draw must have been written."""
        if self._file is None:
            return
        if not self.n_draws:
            self._abandon()
            raise InvalidValueError("`writer` must be given at least one draw; got none.")
        try:
            self._file.seek(0)
            self._file.write(_header(self._dtype, (self.n_draws, self.n_items or 0)))
        except BaseException:
            self._abandon()
            raise
        self._file = None
        self._stack.close()

    def _abandon(self) -> None:
        """Remove what was written; an error of the disk becomes one that names the file."""
        self._file = None
        self._stack.__exit__(*_present())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._file is not None:
            self._file = None
            self._stack.__exit__(kind, error, trace)


def _present() -> tuple[Any, Any, Any]:
    """The error that is under way, or one that says that the file was given up."""
    kind, error, trace = sys.exc_info()
    if error is None:
        given_up = FileError("No draws were written.")
        return type(given_up), given_up, None
    return kind, error, trace


def _header(dtype: np.dtype[Any], shape: tuple[int, int]) -> bytes:
    """A version 1.0 .npy header of a fixed length."""
    text = repr({"descr": dtype.newbyteorder("<").str, "fortran_order": False, "shape": shape})
    body = text.encode("latin-1").ljust(_HEADER - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body
