"""A Zarr store of labels and, where there are any, a weight for every draw.

Version 2, plain bytes, chunked over items alone: every reader of Zarr reads it, and a block of
items is a chunk or a few. Written beside its place and moved into it.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import FileError
from partita.io._container import WEIGHTS
from partita.io._write import beside
from partita.io._zarr_meta import WEIGHTED, is_zarr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def check_store(path: str) -> None:
    """Refuse at once a place that a store could not be moved to in the end."""
    if not os.path.basename(path):
        raise FileError(f"{path!r} must be the path of a store.")
    parent = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(parent):
        raise FileError(f"{path!r} cannot be written: there is no directory {parent!r}.")
    if os.path.lexists(path) and not is_zarr(path):
        raise FileError(f"{path!r} is there and no Zarr store; move it away.")


def write_store(
    path: str, labels: NDArray[Any], weights: NDArray[np.float64] | None, width: int
) -> None:
    """Write labels (draws, items) in chunks of ``width`` items; what was at ``path`` gives way.

    If it raises, what was there is there still and nothing is beside it.
    """
    with beside(path) as place:
        os.mkdir(place)
        _dump(place, ".zgroup", {"zarr_format": 2})
        about = {} if weights is None else {WEIGHTED: True}
        _array(place, "labels", labels, ("draw", "item"), width, about)
        if weights is not None:
            _array(place, WEIGHTS, weights[:, None], ("draw",), 1, {})
        _replace(place, path)


def _replace(place: str, path: str) -> None:
    """Move a folder to where another may be, which is removed when the new one is in its place."""
    before = f"{place}.before"
    is_there = os.path.lexists(path)
    try:
        if is_there:
            os.rename(path, before)
        os.rename(place, path)
    except BaseException:
        if os.path.lexists(before) and not os.path.lexists(path):
            os.rename(before, path)
        shutil.rmtree(before, ignore_errors=True)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _array(
    place: str, name: str, table: NDArray[Any], dims: tuple[str, ...], width: int,
    about: dict[str, Any],
) -> None:  # fmt: skip
    """One array of the group; a table of one column may be of one axis."""
    folder = os.path.join(place, name)
    os.mkdir(folder)
    stored = table.dtype.newbyteorder("<")
    shape, chunk = table.shape[: len(dims)], (table.shape[0], width)[: len(dims)]
    _dump(folder, ".zattrs", {"_ARRAY_DIMENSIONS": list(dims), **about})
    for number, part in enumerate(_parts(table, width)):
        index = ".".join(["0", str(number)][: len(dims)])
        with open(os.path.join(folder, index), "xb") as file:
            file.write(np.ascontiguousarray(part, dtype=stored).data)
    meta = {"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": stored.str}
    _dump(folder, ".zarray", meta | {"order": "C", "compressor": None, "filters": None,
                                     "fill_value": 0})  # fmt: skip


def _parts(table: NDArray[Any], width: int) -> Iterator[NDArray[Any]]:
    """Chunks, the last filled up: a chunk is stored whole."""
    for start in range(0, table.shape[1], width):
        part = np.asarray(table[:, start : start + width])
        missing = width - part.shape[1]
        yield np.pad(part, ((0, 0), (0, missing))) if missing else part


def _dump(folder: str, name: str, value: dict[str, Any]) -> None:
    with open(os.path.join(folder, name), "x", encoding="utf-8") as file:
        json.dump(value, file)
