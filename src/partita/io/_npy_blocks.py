"""A ``.npy`` file of labels, mapped into memory and read in blocks."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io._blocks import bounds, chain_numbers, check_integers
from partita.io._numpy import Header, read_header, settled, truncated
from partita.io._source import format_of, opened, path_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path


@dataclass(frozen=True, eq=False)
class NpyBlocks:
    """The labels of an ``.npy`` file, (n_draws, n_items), of which only what is read is loaded."""

    path: str
    mapped: NDArray[Any]
    chains: NDArray[np.int64] | None
    orient: str = "draws"

    def __reduce__(self) -> Any:
        """Sent to another process, it opens the file there: the labels do not travel."""
        return _again, (os.path.abspath(self.path), self.orient, self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        return (int(self.mapped.shape[0]), int(self.mapped.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the labels, in the byte order of this machine."""
        stored = self.mapped.dtype
        return np.dtype(np.uint8) if stored.kind == "b" else stored.newbyteorder("=")

    @property
    def chunks(self) -> tuple[int, int]:
        """What is stored together: whole draws, or whole items if the file has them in rows."""
        n_draws, n_items = self.shape
        return (1, n_items) if self.mapped.flags.c_contiguous else (n_draws, 1)

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return a copy of the labels of these draws and items."""
        rows = slice(*bounds("draws", draws, self.shape[0]))
        part = self.mapped[rows, slice(*bounds("items", items, self.shape[1]))]
        if part.dtype.kind == "b":  # a stray byte such as 7 is no valid bool in memory
            part = part.view(np.uint8) != 0
        return np.array(part, dtype=self.dtype, order="C")


def open_npy(path: Path, *, orient: str = "draws") -> NpyBlocks:
    """Open an ``.npy`` file of whole numbers for reading in blocks; nothing is loaded.

    Parameters
    ----------
    path : str or path-like
        Labels (draws, items) or (chains, draws, items). One that a
        :class:`~partita.DrawsWriter` is at gives the draws so far. The file must not shrink while
        in use.
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
    with opened(text) as file:
        if format_of(file, text) != "npy":
            raise FileError(f"{text!r} is not an .npy file.")
        size = os.fstat(file.fileno()).st_size
        array = _mapped(text, settled(read_header(file, repr(text)), size), size)
    if array.ndim == 3 and orient == "items":
        raise InvalidValueError(
            f"`orient` must be 'draws' for labels (chains, draws, items), as {text!r} holds."
        )
    chains = chain_numbers(array.shape)
    table = array.reshape(-1, array.shape[-1], order="C") if array.ndim == 3 else array
    return NpyBlocks(text, table.T if orient == "items" else table, chains, orient)


def _again(path: str, orient: str, shape: tuple[int, int]) -> NpyBlocks:
    """Open the file once more; of one that has grown since, only the draws that were there."""
    found = open_npy(path, orient=orient)
    if found.shape == shape:
        return found
    return replace(found, mapped=found.mapped[: shape[0], : shape[1]])


def _mapped(path: str, header: Header, size: int) -> NDArray[Any]:
    what = repr(path)
    if header.dtype is None:
        raise FileError(f"{what} holds {header.descr}; only whole numbers are read in blocks.")
    check_integers(what, header.dtype)
    if len(header.shape) not in (2, 3) or 0 in header.shape:
        raise InvalidValueError(
            f"{what} must be (draws, items) or (chains, draws, items), none of them zero; got "
            f"shape {header.shape}."
        )
    claimed = math.prod(header.shape) * header.dtype.itemsize
    if claimed != size - header.offset and not (
        header.in_progress and claimed < size - header.offset
    ):
        raise truncated(what, header, size - header.offset)
    if header.fortran and len(header.shape) == 3:
        raise FileError(f"{what} is in Fortran order; save it as np.ascontiguousarray(labels).")
    order: Any = "F" if header.fortran else "C"
    mapped = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)
    return mapped.view(np.ndarray)
