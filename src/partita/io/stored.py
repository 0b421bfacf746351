"""Labels that stay in their ``.npy``, Zarr or Parquet file and are read in blocks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io.containers import open_container
from partita.io.files import kind_at, path_text
from partita.io.variables import Axes, Table, Variable, label_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path

MOST_KEPT = 1 << 28  # bytes of decoded chunks that are kept between two blocks


@dataclass(frozen=True, eq=False)
class StoredBlocks:
    """The labels of a file, (n_draws, n_items), of which only what is read is loaded.

    Parameters
    ----------
    path, key, orient
        By which another process opens the file again; the labels do not travel.
    shape : tuple of int
    dtype : dtype
        In the byte order of this machine.
    chunks : tuple of int
        Draws and items that are stored together; blocks cut along these are read quickest.
    decoded_together : int, optional
        Items of a chunk, all of which are decoded for one of them; None where nothing is.
    beside : Table
        What came with the labels, which are zeros there.
    rows : callable
        ``rows(draws, items)`` gives a part of the labels.
    """

    path: str
    key: str | None
    orient: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    chunks: tuple[int, int]
    decoded_together: int | None
    beside: Table
    rows: Callable[[slice, slice], NDArray[Any]]
    _kept: dict[tuple[int, ...], NDArray[Any]] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> Any:
        """Open the file again, from whatever folder the other process runs in.

        Of one that has grown since, only the draws that were there.
        """
        return _again, (os.path.abspath(self.path), self.key, self.orient, self.shape)

    @property
    def chains(self) -> NDArray[np.int64] | None:
        """The chain of each draw, where the file tells."""
        return self.beside.chains

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the labels of these draws and items."""
        first, last = _bounds("draws", draws, self.shape[0])
        start, stop = _bounds("items", items, self.shape[1])
        out = np.empty((last - first, stop - start), self.dtype)
        validate.fits_in_memory(repr(self.path), 2 * out.nbytes, "read smaller blocks.")
        at, width = start, self.decoded_together or 1
        while at < stop and first < last:
            left = at // width * width
            right = min(left + width, self.shape[1])
            if left == at and right <= stop:
                right = stop if stop == self.shape[1] else stop // width * width
                part = self.rows(slice(first, last), slice(at, right))
            else:  # the next block wants the rest of these chunks
                part = self._stripe(first, last, left, right)[:, at - left : stop - left]
            if part.dtype.kind == "O" or (part.dtype.kind == "f" and np.isnan(part).any()):
                raise FileError(
                    f"{self.path!r} has missing labels, which are read whole: pass stored=False."
                )
            out[:, at - start : at - start + part.shape[1]] = part
            at += part.shape[1]
        return out

    def _stripe(self, first: int, last: int, left: int, right: int) -> NDArray[Any]:
        """A column of chunks, kept for the next block of items if it is not too large."""
        if (last - first) * (right - left) * self.dtype.itemsize > MOST_KEPT:
            return self.rows(slice(first, last), slice(left, right))
        key = (first, last, left, right)
        with self._lock:
            found = self._kept.pop(key, None)
            if found is None:
                found = self.rows(slice(first, last), slice(left, right))
            self._kept[key] = found  # threads are at neighbouring blocks: two of them serve
            while len(self._kept) > 2:
                del self._kept[next(iter(self._kept))]
        return found


def _bounds(name: str, part: slice, n: int) -> tuple[int, int]:
    start, stop, step = part.indices(n)
    if step != 1:
        raise InvalidValueError(f"`{name}` must be a slice without a step; got {part!r}.")
    return start, max(start, stop)


def open_stored(path: Path, *, key: str | None = None, orient: str = "draws") -> StoredBlocks:
    """Open the whole numbers of an ``.npy``, Zarr or Parquet file for reading in blocks.

    Nothing is loaded. The file must not shrink while it is in use.

    Parameters
    ----------
    path : str or path-like
        Labels (draws, items) or (chains, draws, items); where dimensions are named, in any order.
        Of Parquet, a table with a column for each item, or for each draw.
    key : str, optional
        Which variable holds the labels; found out if only one can.
    orient : {"draws", "items"}
        What a row is, where dimensions have no names.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "draws.npy")
    ...     np.save(path, np.array([[0, 0, 1], [0, 1, 1]], np.uint8))
    ...     blocks = open_stored(path)
    ...     print(blocks.shape, blocks.read(slice(0, 2), slice(1, 3)).tolist())
    (2, 3) [[0, 1], [1, 1]]
    """
    text = path_text(path)
    validate.choice("orient", orient, ("draws", "items"))
    kind = kind_at(text)
    if kind not in ("npy", "zarr", "parquet"):
        raise FileError(f"{text!r} is no .npy, Zarr or Parquet file, which are read in blocks.")
    with open_container(kind, text) as (variables, said):
        one, why = variables.labels(key)
        axes = label_axes(one, variables.where, orient)
        if one.dtype.kind not in "biu":
            raise FileError(
                f"{one.of(repr(text))} holds {one.dtype}; blocks are read of whole numbers alone: "
                "save the labels as integers."
            )
        one.check()
        beside = variables.beside(one, axes, why)
    beside = replace(beside, assumptions=(*said, *beside.assumptions))
    # A file without chunks is read quickest along its last axis.
    chunks = one.chunks or (*(1 for _ in one.shape[:-1]), one.shape[-1])

    width = chunks[axes.rest[0]]
    dtype = np.dtype(np.uint8) if one.dtype.kind == "b" else one.dtype.newbyteorder("=")
    return StoredBlocks(
        text, key, orient, beside.labels.shape, dtype, (chunks[axes.draw], width),
        None if one.chunks is None else width, beside, partial(_part, one, axes),
    )  # fmt: skip


def _part(one: Variable, axes: Axes, draws: slice, items: slice) -> NDArray[Any]:
    """Some draws, chain after chain, and items of a variable."""
    parts, length = [], one.shape[axes.draw]
    for chain in range(draws.start // length, -(-draws.stop // length)):
        low, high = max(draws.start, chain * length), min(draws.stop, (chain + 1) * length)
        box = [(0, 1)] * len(one.shape)
        if axes.chain is not None:
            box[axes.chain] = (chain, chain + 1)
        box[axes.draw] = (low - chain * length, high - chain * length)
        box[axes.rest[0]] = (items.start, items.stop)
        part = one.read(tuple(box)).transpose(axes.order)
        parts.append(part.reshape(part.shape[-2:]))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _again(path: str, key: str | None, orient: str, shape: tuple[int, int]) -> StoredBlocks:
    return replace(open_stored(path, key=key, orient=orient), shape=shape)
