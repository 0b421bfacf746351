"""Labels that stay in their file and are read in blocks: what every such handle offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTEGER_KINDS = "biu"
_BOMB_RATIO = 1100  # a little more than deflate can shrink anything
_BOMB_BYTES = 1 << 28


class Blocks(Protocol):
    """Draws of labels in a file: their size, and any block of them as an array."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of what :meth:`read` returns."""

    @property
    def chunks(self) -> tuple[int, int]:
        """Draws and items that are stored together; blocks cut along these are read quickest."""

    @property
    def chains(self) -> NDArray[np.int64] | None:
        """The chain of each draw, shape (n_draws,), where the file says."""

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the labels of these draws and items, shape (draws, items)."""


def bounds(name: str, part: slice, n: int) -> tuple[int, int]:
    """Return where a slice without a step starts and stops among ``n``."""
    start, stop, step = part.indices(n)
    if step != 1:
        raise InvalidValueError(f"`{name}` must be a slice without a step; got {part!r}.")
    return start, max(start, stop)


def chain_numbers(shape: tuple[int, ...]) -> NDArray[np.int64] | None:
    """The chain of each draw of labels (chains, draws, items); None for (draws, items)."""
    if len(shape) == 2:
        return None
    return np.repeat(np.arange(shape[0]), shape[1])


def check_size(what: str, claimed: int, held: int) -> None:
    """Refuse labels that would outgrow the memory, or of which the file cannot hold so many."""
    if claimed > _BOMB_BYTES and claimed > _BOMB_RATIO * held:
        raise FileError(
            f"{what} claims {validate.bytes_text(claimed)} of data in "
            f"{validate.bytes_text(held)}: no real draws shrink so far, and it is not read."
        )
    validate.fits_in_memory(what, claimed, "read it in parts or free some.")


def check_integers(what: str, dtype: np.dtype[Any]) -> None:
    """Refuse to hand out blocks of anything but whole numbers."""
    if dtype.kind not in INTEGER_KINDS:
        raise FileError(
            f"{what} holds {dtype}; blocks are read of whole numbers alone: save the labels as "
            "integers."
        )
