"""Opening a file by what it holds, and one kind of error for all that can go wrong."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, Literal, TypeAlias, cast

from partita import validate
from partita.errors import FileError, InvalidTypeError, MissingDependencyError, PartitaError
from partita.typing import Path

Format: TypeAlias = Literal[
    "npy", "npz", "text", "parquet", "netcdf", "zarr", "rdata", "cmdstan"
]  # fmt: skip

FORMATS = (
    "CSV, TSV or other delimited text in UTF-8 (gzip too), .npy, .npz, NetCDF, Zarr, Parquet, "
    ".rds, .RData and CmdStan's CSV"
)
_GZIP = b"\x1f\x8b"
_MAGIC: dict[bytes, Format] = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"PAR1": "parquet",
    b"\x89HDF\r\n\x1a\n": "netcdf",
    b"CDF\x01": "netcdf",
    b"CDF\x02": "netcdf",
    **dict.fromkeys((b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n"), "rdata"),
    **dict.fromkeys((b"X\n\0\0\0", b"A\n2\n", b"A\n3\n", b"BZh", b"\xfd7zXZ\0"), "rdata"),
}
_BINARY = frozenset(
    (
        *(".npy", ".npz", ".gz", ".parquet", ".pq", ".nc", ".nc4", ".zarr"),
        *(".rds", ".rda", ".rdata"),
    )
)
_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    _GZIP: lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
_DIGITS = re.compile(r"([0-9]{1,18})")
_HEAD = 4096  # bytes by which a file is known
_CHUNK = 1 << 24  # bytes decompressed between two looks at the free memory
_BOMB_RATIO = 1100  # a little more than deflate can shrink anything
_BOMB_BYTES = 1 << 28  # smaller claims do no harm


def matching(path: str) -> list[str]:
    """Return the files that a pattern names, chain 10 after chain 9; of a plain path, itself."""
    if not glob.has_magic(path) or os.path.lexists(path):
        return [path]
    found = sorted(
        glob.glob(path),
        key=lambda one: [(int(x), "") if x.isdigit() else (0, x) for x in _DIGITS.split(one)],
    )
    if not found:
        raise FileError(f"{path!r} matches no file.")
    return found


def path_text(path: Path) -> str:
    """Return the path as a plain string, or say why it is none."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise InvalidTypeError(f"`path` must be a string or a path; got {type(path).__name__}.")
    if "\0" in text:
        raise FileError(f"{text!r} is not a path: it holds a null character.")
    return text


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """Open ``path`` for reading; whatever fails inside is an error of partita's, in one line."""
    with reading(path), open(path, "rb") as file:
        yield file


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what the system says of a file into one error of ours about ``path``."""
    try:
        yield
    except PartitaError:
        raise
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise FileError(
            f"{path!r} is not UTF-8 text (byte 0x{byte:02x}); partita reads {FORMATS}."
        ) from None
    except (gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise _corrupt(repr(path), error) from None
    except OSError as error:
        raise FileError(f"{path!r} cannot be read: {error.strerror or _one_line(error)}.") from None


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Turn whatever a library raises about a file, which is of many kinds, into one error."""
    try:
        yield
    except (PartitaError, MemoryError):
        raise
    except Exception as error:
        raise _corrupt(what, error) from None


def _corrupt(what: str, error: BaseException) -> FileError:
    return FileError(
        f"{what} is truncated or corrupt: {_one_line(error)}. Write it again or copy it from where "
        "it came from."
    )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def library(name: str, formats: str, extra: str) -> Any:
    """Import what reads a format, or say what to install."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingDependencyError(
            f"{formats} need {name}, which is not installed; pip install 'partita[{extra}]'."
        ) from None


def check_size(what: str, claimed: int, held: int) -> None:
    """Refuse data that would not fit in the memory, or of which the file cannot hold so much."""
    if claimed > _BOMB_BYTES and claimed > _BOMB_RATIO * held:
        raise FileError(
            f"{what} claims {validate.bytes_text(claimed)} of data in "
            f"{validate.bytes_text(held)}: no real draws shrink so far, and it is not read."
        )
    validate.fits_in_memory(what, claimed, "read it in parts or free some.")


def bytes_at(path: str) -> int:
    """Return the size of a file, or of all files in a folder."""
    if not os.path.isdir(path):
        return os.path.getsize(path) if os.path.exists(path) else 0
    names = (os.path.join(at, name) for at, _, files in os.walk(path) for name in files)
    return sum(os.lstat(name).st_size for name in names)


def format_of(file: BinaryIO, path: str) -> Format:
    """Return what the first bytes say the file is, which are not taken from the stream."""
    head = cast("io.BufferedReader", file).peek(_HEAD)[:_HEAD]
    if not head:
        raise FileError(f"{path!r} is empty.")
    suffix, is_gzip = os.path.splitext(path)[1].lower(), head.startswith(_GZIP)
    if is_gzip:
        head = zlib.decompressobj(31).decompress(head, _HEAD)
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if is_gzip and kind not in (None, "rdata"):
        raise FileError(f"{path!r} is a .{kind} file in gzip; decompress it first.")
    if kind is not None:
        return kind
    if suffix in _BINARY and not is_gzip:
        raise FileError(f"{path!r} does not begin like a {suffix} file; it is something else.")
    comments = head.startswith(b"#") and b"stan_version_major" in head[:200].lower()
    return "cmdstan" if comments or head.startswith(b"lp__,") else "text"


def kind_at(path: str) -> Format:
    """Return what a file is; a folder can only be a Zarr store."""
    if os.path.isdir(path):
        return "zarr"
    with opened(path) as file:
        return format_of(file, path)


def content_of(file: BinaryIO, path: str, growth: int) -> bytes:
    """Return all bytes of a file, decompressed, as long as they fit in the memory.

    ``growth`` is how many bytes of memory a byte takes when it has been read.
    """
    head = cast("io.BufferedReader", file).peek(8)
    opener = next((o for magic, o in _OPENERS.items() if head.startswith(magic)), None)
    stream = file if opener is None else opener(file)
    parts: list[bytes] = []
    n_bytes = 0
    while part := stream.read(_CHUNK):
        n_bytes += len(part)
        validate.fits_in_memory(
            f"{path!r} as a table", growth * n_bytes, "thin the draws, or save them as .npy."
        )
        parts.append(part)
    return b"".join(parts)


def text_of(file: BinaryIO, path: str) -> str:
    """Return all of a text file, plain or gzip, with every line ending in a newline."""
    text = content_of(file, path, 4).decode("utf-8-sig")
    if "\0" in text:
        number = text[: text.index("\0")].count("\n") + 1
        raise FileError(
            f"line {number} of {path!r} holds a null character, so it is not text; "
            f"partita reads {FORMATS}."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def open_text(path: Path) -> io.StringIO:
    """Read a file of text on this machine, plain or gzip, and return it as a stream.

    An address such as ``http://...`` is a file that does not exist.
    """
    place = path_text(path)
    with opened(place) as file:
        if format_of(file, place) not in ("text", "cmdstan"):
            raise FileError(
                f"{place!r} is not a table of text, plain or gzip; decompress it, or save it as "
                "CSV."
            )
        content = text_of(file, place)
    if not content.strip():
        raise FileError(f"{place!r} is empty.")
    return io.StringIO(content)
