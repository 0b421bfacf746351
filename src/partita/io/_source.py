"""Opening a file by what it holds, and one kind of error for all that can go wrong."""

from __future__ import annotations

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO, Literal, TypeAlias, cast

from partita.errors import FileError, InvalidTypeError, PartitaError
from partita.typing import Path

Format: TypeAlias = Literal[
    "npy", "npz", "gzip", "text", "parquet", "netcdf", "zarr", "rdata", "cmdstan", "cmdstan-gzip"
]  # fmt: skip

FORMATS = (
    "CSV, TSV or other delimited text in UTF-8 (gzip too), .npy, .npz, NetCDF, Zarr, Parquet, "
    ".rds, .RData and CmdStan's CSV"
)
NPY_MAGIC = b"\x93NUMPY"
_MAGIC: dict[bytes, Format] = {
    NPY_MAGIC: "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x1f\x8b": "gzip",
    b"PAR1": "parquet",
    b"\x89HDF\r\n\x1a\n": "netcdf",
    b"CDF\x01": "netcdf",
    b"CDF\x02": "netcdf",
    **dict.fromkeys((b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n"), "rdata"),
    **dict.fromkeys((b"X\n\0\0\0", b"A\n2\n", b"A\n3\n", b"BZh", b"\xfd7zXZ\0"), "rdata"),
}
_SUFFIXES: dict[str, Format] = {
    ".npy": "npy",
    ".npz": "npz",
    ".gz": "gzip",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".zarr": "zarr",
    ".rds": "rdata",
    ".rda": "rdata",
    ".rdata": "rdata",
}
_HEAD = 4096
_CORRUPT = (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError)


def path_text(path: Path) -> str:
    """The path as a plain string; what is not a path is an error here rather than in `open`."""
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
    """Whatever fails inside is an error of partita's about ``path``, in one line."""
    try:
        yield
    except PartitaError:
        raise
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise FileError(
            f"{path!r} is not UTF-8 text (byte 0x{byte:02x}); partita reads {FORMATS}."
        ) from None
    except _CORRUPT as error:
        raise corrupt(path, error) from None
    except OSError as error:
        reason = error.strerror or _one_line(error)
        raise FileError(f"{path!r} cannot be read: {reason}.") from None


MEND = "Write it again or copy it from where it came from."


def corrupt(path: str, error: BaseException) -> FileError:
    """The error for bytes that are not what they claim to be."""
    return FileError(f"{path!r} is truncated or corrupt: {_one_line(error)}. {MEND}")


def format_of(file: BinaryIO, path: str) -> Format:
    """What the first bytes say the file is; the suffix is asked only where they say nothing."""
    # `open(path, "rb")` gives a BufferedReader; peeking leaves pipes readable too.
    head = cast("BufferedReader", file).peek(_HEAD)[:_HEAD]
    kind = _by_magic(head)
    if kind == "gzip":
        inside = _inflated(head)
        if _by_magic(inside) == "rdata":
            return "rdata"
        return "cmdstan-gzip" if _is_cmdstan(inside) else "gzip"
    if kind is not None:
        return kind
    if not head:
        raise FileError(f"{path!r} is empty.")
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _SUFFIXES:
        raise FileError(f"{path!r} does not begin like a {suffix} file; it is something else.")
    return "cmdstan" if _is_cmdstan(head) else "text"


def _by_magic(head: bytes) -> Format | None:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def _inflated(head: bytes) -> bytes:
    """The first bytes of what a gzip file holds."""
    try:
        return zlib.decompressobj(31).decompress(head, _HEAD)
    except zlib.error:
        return b""


def _is_cmdstan(head: bytes) -> bool:
    """Whether text begins with CmdStan's comments, or with its header."""
    if head.startswith(b"lp__,"):
        return True
    return head.startswith(b"#") and b"stan_version_major" in head[:200].lower()


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return text or type(error).__name__
