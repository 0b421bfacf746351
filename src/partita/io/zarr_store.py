"""Zarr stores of version 2 or 3, read and written by the library zarr."""

from __future__ import annotations

import math
import os
import stat
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import FileError
from partita.io.files import bytes_at, check_size, library, library_errors
from partita.io.variables import WEIGHTS, Box, Variable, Variables
from partita.io.write import beside, check_place, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.io.stored import StoredBlocks

# An array with this attribute, True, may lack chunks: all values in them are the fill value.
MAY_MISS = "partita_may_miss_chunks"
_MOST_CHUNKS = 1 << 17  # of less than these bytes each
_LEAST_CHUNK = 1 << 12
# Codecs of bytes and numbers alone. Pickle, which runs what it decodes, and JSON are not here.
_CODECS = frozenset(
    (
        *("bytes", "transpose", "sharding_indexed", "vlen-utf8", "fixedscaleoffset", "astype"),
        *("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd", "delta", "packbits", "shuffle"),
        *("adler32", "crc32", "crc32c", "fletcher32", "bitround", "quantize"),
    )
)


def open_store(path: str) -> Variables:
    """Open a Zarr array, whose name is then "", or a group."""
    zarr = library("zarr", "Zarr stores", "zarr")
    os.stat(path)
    if not is_store(path):
        raise FileError(f"{path!r} is a folder and no Zarr array or group.")
    _check_files(path)
    found, refused = [], None
    with warnings.catch_warnings(), library_errors(repr(path)):
        warnings.simplefilter("ignore")  # of text, which has no specification yet
        node = zarr.open(path, mode="r")
        is_group = isinstance(node, zarr.Group)
        members = dict(node.members(max_depth=8)) if is_group else {"": node}
        for name, array in members.items():
            if isinstance(array, zarr.Array):
                try:
                    found.append(_checked(os.path.join(path, name).rstrip("/"), name, array))
                except FileError as error:
                    refused = error
    if not found:
        raise refused or FileError(f"{path!r} is a Zarr group without an array.")
    return Variables(repr(path), found, bytes_at(path))


def is_store(folder: str) -> bool:
    """Whether a directory is a Zarr array or group."""
    return any(
        os.path.isfile(os.path.join(folder, name)) for name in ("zarr.json", ".zarray", ".zgroup")
    )


def _check_files(folder: str) -> None:
    """Refuse what is no plain file: links lead elsewhere, and a pipe would wait for ever."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                raise FileError(
                    f"{path!r} is a link, and links within a Zarr store are not followed; copy the "
                    "store with what they point to (cp -rL)."
                )
            if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                raise FileError(f"{path!r} is not a plain file.")


def _checked(folder: str, name: str, array: Any) -> Variable:
    """An array whose codecs cannot run anything and whose chunks can be as large as they say."""
    meta = array.metadata.to_dict()
    listed = [meta.get("compressor"), *(meta.get("filters") or ()), *(meta.get("codecs") or ())]
    for codec in _names_of(listed):
        if codec.removeprefix("numcodecs.") not in _CODECS:
            raise FileError(
                f"{folder!r} is stored with the codec {codec!r}, which is not known to be safe; "
                f"partita reads {', '.join(sorted(_CODECS))}. Write it again with one of these."
            )
    shape, chunks = tuple(map(int, array.shape)), tuple(map(int, array.chunks))
    stored = tuple(map(int, getattr(array, "shards", None) or chunks))  # the part in one file
    dtype = np.dtype(array.dtype)
    if dtype.kind not in "biufUOT":
        raise FileError(f"{folder!r} holds data of dtype {dtype}, not numbers or text.")
    if not 1 <= len(shape) <= 8 or 0 in stored:
        raise FileError(f"{folder!r} has Zarr metadata with an impossible shape.")
    check_size(f"a chunk of {folder!r}", math.prod(stored) * dtype.itemsize, bytes_at(folder))
    n_chunks = math.prod(-(-n // size) for n, size in zip(shape, stored, strict=True))
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_chunks > _MOST_CHUNKS and n_bytes < _LEAST_CHUNK * n_chunks:
        raise FileError(
            f"{folder!r} has {n_chunks:,} chunks for {n_bytes:,} bytes, so many that it would take "
            "minutes to look for them; write it again with larger chunks."
        )
    attributes = array.metadata.attributes
    dims = getattr(array.metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS")
    named = isinstance(dims, list | tuple) and len(dims) == len(shape)
    return Variable(
        name, shape, np.dtype(np.str_) if dtype.kind in "OT" else dtype.newbyteorder("="),
        partial(_read, folder, array), tuple(map(str, dims or ())) if named else None, chunks,
        partial(_check_chunks, folder, array), attributes,
    )  # fmt: skip


def _names_of(codecs: Any) -> Iterator[str]:
    """The names of codecs and of those within them."""
    for codec in codecs:
        if isinstance(codec, Mapping):
            yield str(codec.get("id", codec.get("name")))
            inner = codec.get("configuration") or {}
            yield from _names_of([*inner.get("codecs", ()), *inner.get("index_codecs", ())])


def _check_chunks(folder: str, array: Any) -> None:
    """Refuse an array that lacks chunks, which zarr would read as the fill value."""
    there, wanted = int(array.nchunks_initialized), int(array.nchunks)
    if there < wanted and array.metadata.attributes.get(MAY_MISS) is not True:
        raise FileError(
            f"{folder!r} lacks {wanted - there:,} of {wanted:,} chunks. If they were lost, write "
            "the array again or copy it from where it came from. If they were left out because "
            f"every value in them is {array.fill_value}, the fill value, have the store say so: "
            f"zarr.open({folder!r}).attrs[{MAY_MISS!r}] = True."
        )


def _read(folder: str, array: Any, box: Box) -> NDArray[Any]:
    with library_errors(f"{folder!r}, [{', '.join(f'{a}:{b}' for a, b in box)}],"):
        part = np.asarray(array[tuple(slice(*side) for side in box)])
    if part.dtype.kind in "OT":
        part = part.astype(np.str_)
    if part.dtype.kind == "b":  # a stray byte such as 7 is no valid bool in memory
        part = part.view(np.uint8) != 0
    return part.astype(part.dtype.newbyteorder("="), copy=False)


def check_store(path: str) -> None:
    """Refuse at once a place that a store could not be moved to in the end."""
    library("zarr", "Zarr stores", "zarr")
    if not os.path.lexists(path):
        check_place(path)
    elif not is_store(path):
        raise FileError(f"{path!r} is there and no Zarr store; move it away.")


def write_store(
    path: str,
    labels: StoredBlocks,
    dtype: np.dtype[Any],
    weights: NDArray[np.float64] | None,
    width: int,
) -> None:
    """Write labels (draws, items) in chunks of ``width`` items; what was at ``path`` gives way.

    Version 2 and plain bytes, which every reader of Zarr reads. If it raises, what was there is
    there still and nothing is beside it.
    """
    zarr = library("zarr", "Zarr stores", "zarr")
    how: dict[str, Any] = {"compressors": None, "fill_value": 0}
    how["config"] = {"write_empty_chunks": True}
    about = {"_ARRAY_DIMENSIONS": ["draw", "item"], WEIGHTS: weights is not None}
    with beside(path) as place:
        group = zarr.create_group(place, zarr_format=2)
        array = group.create_array(
            "labels", shape=labels.shape, dtype=dtype, attributes=about,
            chunks=(labels.shape[0], min(width, labels.shape[1])), **how,
        )  # fmt: skip
        for start in range(0, labels.shape[1], width):
            items = slice(start, start + width)
            array[:, items] = labels.read(slice(None), items).astype(dtype)
        if weights is not None:
            group.create_array(
                WEIGHTS, shape=weights.shape, dtype=weights.dtype, chunks=weights.shape,
                attributes={"_ARRAY_DIMENSIONS": ["draw"]}, **how,
            )[:] = weights  # fmt: skip
        replace(place, path)
