"""The codecs of a Zarr chunk, undone within a known number of bytes; pickle is not among them.

A chunk says how large it is when decompressed, or, as gzip does, nothing. Either way no more is
ever allocated than the array's own metadata ask for, which were checked before.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from partita.errors import FileError, MissingDependencyError

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def decoder(name: str, what: str) -> Callable[[bytes, int, str], bytes]:
    """Return the function that undoes a codec; one that is unknown or unsafe is refused."""
    if name == "pickle":
        raise FileError(
            f"{what} stores Python objects with the codec 'pickle', which partita never reads: "
            "unpickling a file can run any code in it. Save the labels as integers."
        )
    if name not in _DECODERS:
        raise FileError(
            f"{what} is stored with the codec {name!r}; partita reads {', '.join(_DECODERS)}. "
            "Write it again with one of these."
        )
    if name in ("zstd", "blosc", "lz4") and find_spec("numcodecs") is None:
        raise MissingDependencyError(
            f"The Zarr codec {name!r} needs numcodecs, which is not installed; "
            "pip install 'partita[zarr]'."
        )
    return _DECODERS[name]


def _inflated(data: bytes, size: int, what: str, wbits: int) -> bytes:
    inflate = zlib.decompressobj(wbits)
    return _exactly(inflate.decompress(data, size + 1), size, what)


def _exactly(out: bytes, size: int, what: str) -> bytes:
    if len(out) != size:
        more = "more" if len(out) > size else "fewer"
        raise FileError(f"{what} is corrupt: it holds {more} bytes than the {size} it should.")
    return out


def _gzip(data: bytes, size: int, what: str) -> bytes:
    return _inflated(data, size, what, 31)


def _zlib(data: bytes, size: int, what: str) -> bytes:
    return _inflated(data, size, what, 15)


def _bz2(data: bytes, size: int, what: str) -> bytes:
    return _exactly(bz2.BZ2Decompressor().decompress(data, size + 1), size, what)


def _zstd(data: bytes, size: int, what: str) -> bytes:
    _claims(_zstd_claim(data), size, what)
    from numcodecs import zstd

    return _exactly(bytes(zstd.decompress(data)), size, what)


def _zstd_claim(data: bytes) -> int | None:
    """The size that the header of a Zstandard frame states; None if it states none."""
    if len(data) < 6 or data[:4] != _ZSTD_MAGIC:
        return None
    flags = data[4]
    single = (flags >> 5) & 1
    start = 5 + (0 if single else 1) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    field = data[start : start + width]
    if not width or len(field) < width:
        return None
    return int.from_bytes(field, "little") + (256 if width == 2 else 0)


def _blosc(data: bytes, size: int, what: str) -> bytes:
    claims = (int.from_bytes(data[4:8], "little"), int.from_bytes(data[12:16], "little"))
    _claims(claims[0] if len(data) >= 16 and claims[1] == len(data) else None, size, what)
    from numcodecs import blosc

    return _exactly(bytes(blosc.decompress(data)), size, what)


def _lz4(data: bytes, size: int, what: str) -> bytes:
    _claims(int.from_bytes(data[:4], "little") if len(data) > 4 else None, size, what)
    from numcodecs import lz4

    return _exactly(bytes(lz4.decompress(data)), size, what)


def _claims(claimed: int | None, size: int, what: str) -> None:
    if claimed is None:
        raise FileError(f"{what} is corrupt, or does not state how large it is.")
    if claimed != size:
        raise FileError(f"{what} is corrupt: it claims {claimed} bytes where {size} should be.")


def _checksummed(data: bytes, size: int, what: str) -> bytes:
    if len(data) < 4:
        raise FileError(f"{what} is corrupt: it ends within its checksum.")
    body, stored = data[:-4], int.from_bytes(data[-4:], "little")
    if find_spec("google_crc32c") is not None:  # comes with zarr; without it the sum is not checked
        import google_crc32c

        library: Any = google_crc32c
        if library.value(body) != stored:
            raise FileError(f"{what} is corrupt: its checksum does not fit.")
    return body


_DECODERS: dict[str, Callable[[bytes, int, str], bytes]] = {
    "gzip": _gzip,
    "zlib": _zlib,
    "bz2": _bz2,
    "zstd": _zstd,
    "blosc": _blosc,
    "lz4": _lz4,
    "crc32c": _checksummed,
}
