"""Labels that stay in their ``.npy``, Zarr or Parquet file and are read in blocks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io.arrays import map_npy
from partita.io.containers import open_container
from partita.io.files import Format, kind_at, path_text
from partita.io.variables import label_axes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path

    Part = Callable[[slice, slice], NDArray[Any]]

MOST_KEPT = 1 << 28  # bytes of decoded chunks that are kept between two blocks


class Blocks(Protocol):
    """Draws of labels in a file: their size, and any block of them as an array."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of what :meth:`read` returns."""

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the labels of these draws and items, shape (draws, items)."""


@dataclass(frozen=True, eq=False)
class StoredBlocks:
    """The labels of a file, (n_draws, n_items), of which only what is read is loaded.

    Parameters
    ----------
    path, kind, key, orient
        By which another process opens the file again; the labels do not travel.
    shape : tuple of int
    dtype : dtype
        In the byte order of this machine.
    chunks : tuple of int
        Draws and items that are stored together; blocks cut along these are read quickest.
    chains : array, shape (n_draws,), optional
    rows : callable
        ``rows(draws, items)`` gives a part of the labels.
    """

    path: str
    kind: Format
    key: str | None
    orient: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    chunks: tuple[int, int]
    chains: NDArray[np.int64] | None
    rows: Part
    _kept: dict[tuple[int, ...], NDArray[Any]] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> Any:
        """Open the file again, from whatever folder the other process runs in.

        Of one that has grown since, only the draws that were there.
        """
        again = (os.path.abspath(self.path), self.kind, self.key, self.orient, self.shape)
        return _again, again

    @property
    def decoded_together(self) -> int | None:
        """Items of a chunk, all of which are decoded for one of them; None where nothing is."""
        return None if self.kind == "npy" else self.chunks[1]

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the labels of these draws and items."""
        first, last = _bounds("draws", draws, self.shape[0])
        start, stop = _bounds("items", items, self.shape[1])
        out = np.empty((last - first, stop - start), self.dtype)
        validate.fits_in_memory(repr(self.path), 2 * out.nbytes, "read smaller blocks.")
        if self.kind == "npy":
            out[:] = self.rows(slice(first, last), slice(start, stop))
            return out
        at, width = start, self.chunks[1]
        while at < stop and first < last:
            left = at // width * width
            right = min(left + width, self.shape[1])
            if left < start or right > stop:  # the next block wants the rest of these chunks
                part = self._stripe(first, last, left, right)[:, at - left : stop - left]
            else:
                right = stop if stop == self.shape[1] else stop // width * width
                part = self.rows(slice(first, last), slice(at, right))
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


def open_npy(path: Path, *, orient: str = "draws") -> StoredBlocks:
    """Open an ``.npy`` file of whole numbers for reading in blocks; nothing is loaded.

    Parameters
    ----------
    path : str or path-like
        Labels (draws, items) or (chains, draws, items). The file must not shrink while in use.
    orient : {"draws", "items"}
        What a row of a two-dimensional array is.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "draws.npy")
    ...     np.save(path, np.array([[0, 0, 1], [0, 1, 1]], np.uint8))
    ...     blocks = open_npy(path)
    ...     print(blocks.shape, blocks.read(slice(0, 2), slice(1, 3)).tolist())
    (2, 3) [[0, 1], [1, 1]]
    """
    text = path_text(path)
    validate.choice("orient", orient, ("draws", "items"))
    array = map_npy(text)
    _check_whole_numbers(repr(text), array.dtype)
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InvalidValueError(
            f"{text!r} must be (draws, items) or (chains, draws, items), none of them zero; got "
            f"shape {array.shape}."
        )
    chains = None
    if array.ndim == 3:
        if orient == "items" or not array.flags.c_contiguous:
            raise InvalidValueError(
                f"{text!r} holds labels (chains, draws, items), which must be in C order and be "
                "read with orient='draws'; save it as np.ascontiguousarray(labels)."
            )
        chains = np.repeat(np.arange(array.shape[0]), array.shape[1])
    table = array.T if orient == "items" else array.reshape(-1, array.shape[-1], order="A")
    n_draws, n_items = table.shape
    chunks = (1, n_items) if table.flags.c_contiguous else (n_draws, 1)

    def rows(draws: slice, items: slice) -> NDArray[Any]:
        part = table[draws, items]
        # A stray byte such as 7 is no valid bool in memory.
        return part.view(np.uint8) != 0 if part.dtype.kind == "b" else part

    return StoredBlocks(
        text, "npy", None, orient, (n_draws, n_items), _native(table.dtype), chunks, chains, rows
    )


def open_zarr(path: Path, *, key: str | None = None, orient: str = "draws") -> StoredBlocks:
    """Open whole numbers in a Zarr array, or in an array of a group, for reading in blocks.

    Parameters
    ----------
    path : str or path-like
        The folder: an array (draws, items) or (chains, draws, items), or a group that holds one,
        as ArviZ writes it. Dimensions may be named, in any order.
    key : str, optional
        Which array of a group; found out if there is only one that can be the labels.
    orient : {"draws", "items"}
        What a row of a two-dimensional array without named dimensions is.
    """
    return _open(path_text(path), "zarr", key, orient)


def open_parquet(path: Path, *, key: str | None = None, orient: str = "draws") -> StoredBlocks:
    """Open the whole numbers of a Parquet file for reading in blocks.

    Parameters
    ----------
    path : str or path-like
        A table with a row for each draw and a column for each item, or the other way round.
        Columns that a sampler adds (``lp__``, ``.draw``, ``.iteration``) are left out; ``chain``
        or ``.chain`` tells the chains apart.
    key : str, optional
        The variable whose columns, such as ``z[1]`` or ``z.1``, are the items.
    orient : {"draws", "items"}
        What a row is.
    """
    text = path_text(path)
    if kind_at(text) != "parquet":
        raise FileError(f"{text!r} is not a Parquet file.")
    return _open(text, "parquet", key, orient)


def _open(path: str, kind: Format, key: str | None, orient: str) -> StoredBlocks:
    validate.choice("orient", orient, ("draws", "items"))
    with open_container(kind, path) as (variables, _):
        one, _ = variables.labels(key)
        axes = label_axes(one, variables.where, orient)
        _check_whole_numbers(f"variable {one.name!r} of {path!r}", one.dtype)
        one.check()
        chains = variables.chains(one, axes)
    n_items, length = one.shape[axes.rest[0]], one.shape[axes.draw]
    n_draws = length * (1 if axes.chain is None else one.shape[axes.chain])
    chunks = one.chunks or one.shape

    def rows(draws: slice, items: slice) -> NDArray[Any]:
        parts = []
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

    return StoredBlocks(
        path, kind, key, orient, (n_draws, n_items), _native(one.dtype),
        (chunks[axes.draw], chunks[axes.rest[0]]), chains, rows,
    )  # fmt: skip


def _again(
    path: str, kind: Format, key: str | None, orient: str, shape: tuple[int, int]
) -> StoredBlocks:
    found = open_npy(path, orient=orient) if kind == "npy" else _open(path, kind, key, orient)
    return replace(found, shape=shape)


def _check_whole_numbers(what: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biu":
        raise FileError(
            f"{what} holds {dtype}; blocks are read of whole numbers alone: save the labels as "
            "integers."
        )


def _native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype.newbyteorder("=")
