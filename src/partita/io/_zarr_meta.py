"""The metadata of a Zarr array, version 2 or 3, checked before any of it is believed."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.errors import FileError
from partita.io._zarr_codecs import decoder

_MOST_METADATA = 1 << 26
_MOST_NODES = 10_000
_DEEPEST = 8
_LARGEST_CHUNK = 1 << 31
MOST_CHUNKS = 1 << 17  # of less than these bytes each
_LEAST_CHUNK = 1 << 12
_V2_DTYPE = re.compile(r"[<>|][biuf][1248]|[<>]U[1-9][0-9]{0,3}")
_LONGEST_TEXT = 40_000  # bytes of one value
_V3_DTYPES = frozenset(
    ("bool", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)), "float32", "float64")
)


WEIGHTED = "partita_weights"  # an attribute by which labels say that they have weights beside them
MAY_MISS = ("missing_chunks", "fill_value")  # an attribute by which an array says that none is lost


@dataclass(frozen=True)
class ZarrMeta:
    """One array: where it is, its size, and how its chunks are stored."""

    folder: str
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Any
    separator: str
    prefix: str
    axes: tuple[int, ...]
    """The order in which a stored chunk has the axes."""
    codecs: tuple[str, ...]
    """What was done to the bytes, in the order to undo it."""
    dims: tuple[str, ...] | None
    may_miss: bool = False
    """Whether the store says that chunks without a file are all fill value, and not lost."""
    is_weighted: bool = False
    """Whether it says that there are weights of the draws beside it."""

    @property
    def chunk_bytes(self) -> int:
        """The bytes of one chunk when decoded."""
        return math.prod(self.chunk) * self.dtype.itemsize

    @property
    def n_chunks(self) -> int:
        """The number of chunks, written or not."""
        return math.prod(-(-n // size) for n, size in zip(self.shape, self.chunk, strict=True))

    def chunk_parts(self, index: tuple[int, ...]) -> list[str]:
        """Where in its folder the chunk of this index is stored: folders and a file."""
        name = self.separator.join([*([self.prefix] if self.prefix else []), *map(str, index)])
        return name.split("/")

    def chunk_path(self, index: tuple[int, ...]) -> str:
        """Where the chunk of this index is stored."""
        return os.path.join(self.folder, *self.chunk_parts(index))

    def part_of(self, index: tuple[int, ...]) -> str:
        """What a chunk holds of the array, as Python would slice it."""
        ends = zip(index, self.chunk, self.shape, strict=True)
        return f"[{', '.join(f'{i * c}:{min((i + 1) * c, n)}' for i, c, n in ends)}]"


def is_zarr(folder: str) -> bool:
    """Whether a directory is a Zarr array or group."""
    return any(
        os.path.isfile(os.path.join(folder, name)) for name in ("zarr.json", ".zarray", ".zgroup")
    )


def arrays_in(folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every array in a group, by its path within, with its metadata as found; "" is the root."""
    waiting, seen = [("", folder, 0)], 0
    while waiting:
        name, place, depth = waiting.pop()
        seen += 1
        if seen > _MOST_NODES:
            raise FileError(f"{folder!r} holds more than {_MOST_NODES} folders.")
        found = _node(place)
        if found is not None and found["node_type"] == "array":
            yield name, found
            continue
        if found is None and name:
            continue
        if depth < _DEEPEST:
            folders = (e for e in os.scandir(place) if e.is_dir(follow_symlinks=False))
            below = sorted(folders, key=lambda e: e.name)
            waiting += [(f"{name}/{e.name}".lstrip("/"), e.path, depth + 1) for e in below[::-1]]


def _node(folder: str) -> dict[str, Any] | None:
    """The metadata of one node, with ``node_type`` also where version 2 says it by a name."""
    found = read_json(folder, "zarr.json")
    if found is not None:
        if found.get("zarr_format") != 3 or found.get("node_type") not in ("array", "group"):
            raise FileError(f"{folder!r} has a zarr.json that is no array or group of version 3.")
        return found
    array = read_json(folder, ".zarray")
    if array is not None:
        attributes = read_json(folder, ".zattrs") or {}
        return {**array, "node_type": "array", "attributes": attributes}
    if os.path.isfile(os.path.join(folder, ".zgroup")):
        return {"node_type": "group"}
    return None


def read_json(folder: str, name: str) -> dict[str, Any] | None:
    """A small JSON object, or None where there is no such file."""
    path = os.path.join(folder, name)
    raw = read_regular(folder, [name], _MOST_METADATA)
    if raw is None:
        return None
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise FileError(f"{path!r} is truncated or corrupt: it is not JSON.") from None
    if not isinstance(found, dict):
        raise FileError(f"{path!r} is corrupt: it is not a JSON object.")
    return found


def read_regular(folder: str, parts: Sequence[str], most: int) -> bytes | None:
    """The bytes of a plain file no larger than ``most``, or None where there is none.

    ``parts`` lead to it from ``folder``; none of them may be a link, which could lead anywhere.
    """
    path = folder
    for part in parts:
        path = os.path.join(path, part)
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(found.st_mode):
            raise FileError(
                f"{path!r} is a link, and links within a Zarr store are not followed; copy the "
                "store with what they point to (cp -rL)."
            )
    if not stat.S_ISREG(found.st_mode):  # a pipe would wait for ever
        raise FileError(f"{path!r} is not a plain file.")
    if found.st_size > most:
        raise FileError(
            f"{path!r} is corrupt: it has {found.st_size} bytes, and at most {most} can be right; "
            "write it again or copy it from where it came from."
        )
    with open(path, "rb") as file:
        return file.read(most + 1)


def parsed(folder: str, found: dict[str, Any]) -> ZarrMeta:
    """Return the metadata of an array after checking every part of it."""
    what = repr(folder)
    try:
        meta = _v3(folder, found) if found.get("zarr_format") == 3 else _v2(folder, found)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{what} has Zarr metadata that cannot be read.") from None
    if not 1 <= len(meta.shape) <= 8 or len(meta.chunk) != len(meta.shape):
        raise FileError(f"{what} has Zarr metadata with an impossible shape.")
    if meta.chunk_bytes > _LARGEST_CHUNK:
        raise FileError(f"{what} has chunks of {meta.chunk_bytes} bytes; 2 GiB is the most.")
    n_bytes = math.prod(meta.shape) * meta.dtype.itemsize
    if meta.n_chunks > MOST_CHUNKS and n_bytes < _LEAST_CHUNK * meta.n_chunks:
        raise FileError(
            f"{what} has {meta.n_chunks:,} chunks for {n_bytes:,} bytes, so many that it would "
            "take minutes to look for them; write it again with larger chunks."
        )
    for name in meta.codecs:
        decoder(name, what)
    if sum(name != "crc32c" for name in meta.codecs) > 1:
        raise FileError(f"{what} is compressed twice; write it again with one codec.")
    return meta


def _sizes(value: Any) -> tuple[int, ...]:
    sizes = tuple(value)
    if not all(type(size) is int and 0 <= size < 2**48 for size in sizes):
        raise ValueError("sizes")
    return sizes


def _dims(value: Any, ndim: int) -> tuple[str, ...] | None:
    if not isinstance(value, list) or len(value) != ndim:
        return None
    return tuple(str(name) for name in value)


def _chunk(value: Any) -> tuple[int, ...]:
    sizes = _sizes(value)
    if 0 in sizes:
        raise ValueError("chunks")
    return sizes


def _v2(folder: str, found: dict[str, Any]) -> ZarrMeta:
    descr, shape = found["dtype"], _sizes(found["shape"])
    for codec in found.get("filters") or ():
        decoder(str(codec["id"]), repr(folder))
        raise FileError(f"{folder!r} has Zarr filters; write it again without.")
    if not isinstance(descr, str) or not _V2_DTYPE.fullmatch(descr):
        raise FileError(
            f"{folder!r} holds data of dtype {str(descr)[:40]}, not numbers or short text."
        )
    dtype, compressor = np.dtype(descr), found.get("compressor")
    axes = tuple(range(len(shape)))
    return ZarrMeta(
        folder,
        shape,
        _chunk(found["chunks"]),
        dtype,
        _fill(found.get("fill_value"), dtype),
        {".": ".", "/": "/"}[found.get("dimension_separator", ".")],
        "",
        axes[::-1] if found.get("order", "C") == "F" else axes,
        () if compressor is None else (str(compressor["id"]),),
        _dims(found["attributes"].get("_ARRAY_DIMENSIONS"), len(shape)),
        _may_miss(found["attributes"]),
        found["attributes"].get(WEIGHTED) is True,
    )


def _v3(folder: str, found: dict[str, Any]) -> ZarrMeta:
    kind, shape = found["data_type"], _sizes(found["shape"])
    if isinstance(kind, dict):
        kind = _text_of(kind)
    elif kind not in _V3_DTYPES:
        kind = None
    if kind is None:
        named = str(found["data_type"])[:40]
        raise FileError(f"{folder!r} holds data of type {named}, not numbers or short text.")
    grid, keys = found["chunk_grid"], found["chunk_key_encoding"]
    if grid["name"] != "regular":
        raise FileError(f"{folder!r} has an irregular chunk grid; write it again with a regular.")
    plain = keys["name"] == "default"
    separator = keys.get("configuration", {}).get("separator", "/" if plain else ".")
    axes, order = tuple(range(len(shape))), "="
    undo: list[str] = []
    for codec in found["codecs"]:
        name, settings = str(codec["name"]), codec.get("configuration", {})
        if name == "transpose":
            order_of = tuple(settings["order"])
            if sorted(order_of) != list(range(len(shape))) or undo or axes != tuple(sorted(axes)):
                raise FileError(f"{folder!r} has a codec out of place.")
            axes = order_of
        elif name == "bytes":
            order = {"little": "<", "big": ">"}[settings.get("endian", "little")]
        else:
            undo.insert(0, name)
    dtype = np.dtype(kind).newbyteorder(order)
    return ZarrMeta(
        folder,
        shape,
        _chunk(grid["configuration"]["chunk_shape"]),
        dtype,
        _fill(found.get("fill_value"), dtype),
        {".": ".", "/": "/"}[separator],
        "c" if plain else "",
        axes,
        tuple(undo),
        _dims(found.get("dimension_names"), len(shape)),
        _may_miss(found.get("attributes") or {}),
        (found.get("attributes") or {}).get(WEIGHTED) is True,
    )


def _may_miss(attributes: dict[str, Any]) -> bool:
    return attributes.get(MAY_MISS[0]) == MAY_MISS[1]


def _text_of(kind: dict[str, Any]) -> str | None:
    """Text of a fixed length as NumPy calls it; None for any other type with settings."""
    size = kind["configuration"].get("length_bytes")
    good = kind["name"] == "fixed_length_utf32" and type(size) is int and size % 4 == 0
    return f"U{size // 4}" if good and 0 < size <= _LONGEST_TEXT else None


def _fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """What stands where a chunk is missing; text such as "NaN" is for floats alone."""
    if dtype.kind == "U":
        return value if isinstance(value, str) else ""
    if value is None:
        value = 0
    if isinstance(value, str):
        value = float(value) if dtype.kind == "f" else value
    return np.asarray(value).astype(dtype.newbyteorder("="))[()]
