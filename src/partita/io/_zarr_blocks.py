"""Labels in a Zarr array or group, read in blocks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io._blocks import bounds, check_integers
from partita.io._choose import Axes, Entry, axes_of, choose
from partita.io._source import path_text, reading
from partita.io._zarr import ZarrArray
from partita.io._zarr_meta import arrays_in, is_zarr, parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path


@dataclass(frozen=True, eq=False)
class ZarrBlocks:
    """The labels of a Zarr array, (n_draws, n_items), of which only what is read is loaded."""

    path: str
    array: ZarrArray
    axes: Axes
    absent: frozenset[tuple[int, ...]] | None = None
    """The chunks that had no file when the store was opened; None if any may have none."""

    def __reduce__(self) -> Any:
        """Sent to another process, it finds the store from whatever folder that runs in."""
        meta = replace(self.array.meta, folder=os.path.abspath(self.array.meta.folder))
        return ZarrBlocks, (self.path, ZarrArray(meta), self.axes, self.absent)

    @property
    def n_chains(self) -> int:
        """The number of chains that the array has side by side."""
        return 1 if self.axes.chain is None else self.array.shape[self.axes.chain]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        sizes = self.array.shape
        return (self.n_chains * sizes[self.axes.draw], sizes[self.axes.rest[0]])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the labels, in the byte order of this machine."""
        return np.dtype(np.uint8) if self.array.dtype.kind == "b" else self.array.dtype

    @property
    def chunks(self) -> tuple[int, int]:
        """Draws and items that are stored together."""
        chunk = self.array.meta.chunk
        return (chunk[self.axes.draw], chunk[self.axes.rest[0]])

    @property
    def decoded_together(self) -> int:
        """Items of a chunk, all of which are decoded for one of them."""
        return self.chunks[1]

    @property
    def chains(self) -> NDArray[np.int64] | None:
        """The chain of each draw, where the array has chains."""
        if self.axes.chain is None:
            return None
        return np.repeat(np.arange(self.n_chains), self.array.shape[self.axes.draw])

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the labels of these draws and items."""
        first, last = bounds("draws", draws, self.shape[0])
        across = bounds("items", items, self.shape[1])
        out = np.empty((last - first, across[1] - across[0]), self.dtype)
        length = self.array.shape[self.axes.draw]
        validate.fits_in_memory(repr(self.path), 2 * out.nbytes, "read smaller blocks.")
        with reading(self.path):
            for chain in range(first // length, -(-last // length) if last > first else 0):
                low, high = max(first, chain * length), min(last, (chain + 1) * length)
                part = self._chain(chain, (low - chain * length, high - chain * length), across)
                out[low - first : high - first] = part
        return out

    def _chain(self, chain: int, rows: tuple[int, int], cols: tuple[int, int]) -> NDArray[Any]:
        box = [(0, 1)] * len(self.array.shape)
        if self.axes.chain is not None:
            box[self.axes.chain] = (chain, chain + 1)
        box[self.axes.draw], box[self.axes.rest[0]] = rows, cols
        part = self.array.read(tuple(box), self.absent).transpose(self.axes.order)
        return part.reshape(part.shape[-2:])


def open_zarr(path: Path, *, key: str | None = None, orient: str = "draws") -> ZarrBlocks:
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
    text = path_text(path)
    validate.choice("orient", orient, ("draws", "items"))
    with reading(text):
        arrays = zarr_arrays(text)
        entries = [entry_of(name, array) for name, array in arrays.items()]
        chosen, _ = choose(entries, key, repr(text), lambda entry: False)
    array = arrays[chosen.name]
    axes = axes_of(chosen, 1)
    if axes is None or len(axes.rest) != 1 or 0 in array.shape:
        raise InvalidValueError(
            f"{text!r} must hold labels (draws, items) or (chains, draws, items); got shape "
            f"{array.shape}."
        )
    check_integers(repr(text), array.dtype)
    if orient == "items" and array.meta.dims is None and axes.chain is None:
        axes = Axes(None, 1, (0,))
    absent = array.absent()
    array.check(absent)
    return ZarrBlocks(text, array, axes, None if array.meta.may_miss else absent)


def zarr_arrays(folder: str) -> dict[str, ZarrArray]:
    """The arrays of numbers of a Zarr array ("") or group, by path; others are left out."""
    if not is_zarr(folder):
        with reading(folder):
            os.stat(folder)
        raise FileError(f"{folder!r} is a folder and no Zarr array or group.")
    found: dict[str, ZarrArray] = {}
    refused: FileError | None = None
    for name, raw in arrays_in(folder):
        try:
            found[name] = ZarrArray(parsed(f"{folder}/{name}".rstrip("/"), raw))
        except FileError as error:
            refused = error
    if not found:
        raise refused or FileError(f"{folder!r} is a Zarr group without an array.")
    return found


def entry_of(name: str, array: ZarrArray) -> Entry:
    """The array as one of many variables to choose from."""
    dtype = array.dtype
    return Entry(name, array.shape, dtype.kind, dtype.itemsize, array.meta.dims)
