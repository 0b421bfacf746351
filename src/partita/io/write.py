"""Files written beside their place and renamed into it, so that none is ever half-written."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from partita.errors import FileError, InvalidTypeError, PartitaError
from partita.io.files import path_text
from partita.typing import Path

_unfinished: set[str] = set()  # what is being written beside its place


def remove_unfinished() -> None:
    """Remove what is half-written; for a process that ends without another word."""
    for path in tuple(_unfinished):
        _remove(path)


def _remove(path: str) -> None:
    """Remove a file or a folder, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.remove(path)


@contextmanager
def beside(target: str) -> Iterator[str]:
    """A path in the directory of ``target`` for what is to take its place; gone after the block."""
    path = os.path.join(os.path.dirname(target) or ".", f".partita-{secrets.token_hex(8)}.tmp")
    _unfinished.add(path)
    try:
        yield path
    finally:
        _remove(path)
        _unfinished.discard(path)


def replace(place: str, target: str) -> None:
    """Move a file or folder to ``target``, once it is on the disk; what was there gives way.

    A folder cannot be replaced in one step: what was there is moved away first, and back if
    anything comes between.
    """
    names = [os.path.join(at, one) for at, _, files in os.walk(place) for one in files] or [place]
    for name in (*names, os.path.dirname(target) or "."):
        _flush(name)
    before = f"{place}.before"
    if not os.path.isdir(place):
        os.replace(place, target)
    else:
        try:
            if os.path.lexists(target):
                os.rename(target, before)
            os.rename(place, target)
        except BaseException:
            if os.path.lexists(before) and not os.path.lexists(target):
                os.rename(before, target)
            raise
        finally:
            _remove(before)


def _flush(path: str) -> None:
    """Have what is at a path written to the disk, so that a power cut does not lose it."""
    is_folder = os.path.isdir(path)
    if is_folder and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if not is_folder or error.errno != errno.EINVAL:  # as some file systems say of folders
            raise
    finally:
        os.close(descriptor)


@contextmanager
def write_atomically(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write to, which takes the place of ``path`` when the block succeeds.

    If the block raises, even by Ctrl-C, what was at ``path`` stays as it was and nothing is left
    beside it. A link is followed; a file that is replaced keeps its permissions; a pipe or a
    device (``/dev/stdout``) is written to directly. The file is on the disk before it is moved to
    its place.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(os.path.join(folder, "note.txt")) as file:
    ...         _ = file.write(b"whole or not at all")
    ...         print("note.txt" in os.listdir(folder))
    ...     print(os.listdir(folder))
    False
    ['note.txt']
    """
    text = path_text(path)
    try:
        mode = _mode_of(text)
        replaced = mode is None or stat.S_ISREG(mode)
        with _new_file(os.path.realpath(text), mode) if replaced else open(text, "wb") as file:
            yield file
    except PartitaError:
        raise
    except OSError as error:
        # One that names another file came from the caller's block and is not about writing here.
        if error.filename not in (None, text):
            raise
        raise FileError(f"{text!r} cannot be written: {said_of(error)}") from None


@contextmanager
def _new_file(target: str, mode: int | None) -> Iterator[BinaryIO]:
    """A new file in the directory of ``target``, moved over it on success, else removed."""
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
    with beside(target) as temporary:
        try:
            # 0o666 is narrowed by the umask, as for any new file; tempfile would give 0o600.
            descriptor = os.open(temporary, flags, 0o666)
        except OSError as error:
            raise FileError(f"{target!r} cannot be written: {said_of(error)}") from None
        with open(descriptor, "w+b") as file:
            if mode is not None:
                with suppress(OSError):  # not ours to change on some file systems
                    os.chmod(temporary, stat.S_IMODE(mode))
            yield file
        try:
            replace(temporary, target)
        except OSError as error:
            raise FileError(f"{target!r} cannot be written: {said_of(error)}") from None


def said_of(error: OSError, kept: str = "What was there is as it was") -> str:
    """Return what went wrong with a write, and what to do where the disk is full."""
    said = f"{error.strerror or error}."
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return said
    return f"{said} {kept}; make room, or write to another disk."


def check_place(path: Path) -> None:
    """Refuse at once a path that could not be written to in the end."""
    _mode_of(path_text(path))


def _mode_of(path: str) -> int | None:
    """The mode of what is at ``path``, None for a free place; refuses places nobody can write."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except OSError as error:
        raise FileError(f"{path!r} cannot be written: {said_of(error)}") from None
    if not os.path.basename(path) or (mode is not None and stat.S_ISDIR(mode)):
        raise FileError(f"{path!r} is a directory; give the path of a file.")
    if mode is None:
        parent = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(parent):
            raise FileError(f"{path!r} cannot be written: there is no directory {parent!r}.")
        if not os.access(parent, os.W_OK):
            raise FileError(f"{path!r} cannot be written: you may not write to {parent!r}.")
    return mode


def write_somewhere(path: Path, write: Callable[[str], None]) -> None:
    """Call ``write`` on a path; if that fails, on one in the folder for temporary files.

    So the result of long work outlives a full disk: the error says where it is.
    """
    text = path_text(path)
    try:
        write(text)
    except FileError as error:
        folder = tempfile.mkdtemp(prefix="partita-")
        elsewhere = os.path.join(folder, os.path.basename(text) or "result")
        try:
            write(elsewhere)
        except OSError:
            os.rmdir(folder)
            raise error from None
        raise FileError(f"{error} What was to be there is in {elsewhere!r}.") from None


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with write_atomically(path) as file:
        file.write(text.encode("utf-8"))


def write_npy(path: Path, array: NDArray[Any]) -> None:
    """Write one array as ``.npy``, atomically; arrays of Python objects are refused."""
    plain = _plain("array", array)
    with write_atomically(path) as file:
        np.lib.format.write_array(file, plain, allow_pickle=False)


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays as ``.npz``, atomically; the same arrays give the same bytes.

    ``np.savez`` would take the names as keyword arguments, so that none could be called ``file``,
    and would stamp the time into the archive. No suffix is added to ``path``.
    """
    plain = {name: _plain(name, array) for name, array in arrays.items()}
    with write_atomically(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in plain.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.external_attr = 0o644 << 16
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    array = np.asanyarray(array)
    if array.dtype.hasobject:
        raise InvalidTypeError(
            f"`{name}` must be numbers or text to be saved without pickle; got dtype {array.dtype}."
        )
    return array
