"""What the arrays of an ``.npz`` must be, compared with their headers before any is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from partita.io._numpy import Header


@dataclass(frozen=True)
class Layout:
    """The kinds and the shape that an array must have.

    Parameters
    ----------
    kinds : str
        Kinds of NumPy, such as "iu".
    shape : tuple of int and str
        A name stands for a size that all arrays share; "*" for any.
    itemsize : int, optional
        Bytes of a value.
    required : bool
        Whether the array must be there.
    """

    kinds: str
    shape: tuple[int | str, ...]
    itemsize: int | None = None
    required: bool = False

    def misfit(self, header: Header, sizes: dict[str, int]) -> str | None:
        """What is wrong with an array; sizes that it is the first to tell are added."""
        dtype = header.dtype
        if dtype is None or dtype.kind not in self.kinds:
            return f"dtype {dtype or header.descr}"
        if self.itemsize is not None and dtype.itemsize != self.itemsize:
            return f"dtype {dtype}"
        fits = len(header.shape) == len(self.shape)
        for size, wanted in zip(header.shape, self.shape, strict=False):
            named = wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size)
            fits = fits and (wanted == "*" or size == named)
        return None if fits else f"shape {header.shape}"


def fitting(
    headers: Mapping[str, Header], layouts: Mapping[str, Layout], sizes: Mapping[str, int]
) -> tuple[list[str], tuple[str, str] | None]:
    """The arrays that a layout speaks of, and the first that is not as it says, with the reason.

    Parameters
    ----------
    headers : mapping of str to Header
    layouts : mapping of str to Layout
        By name; "*" in a name stands for anything.
    sizes : mapping of str to int
        The sizes that are known by name.
    """
    known = dict(sizes)
    names: list[str] = []
    for pattern, layout in layouts.items():
        found = [name for name in headers if fnmatchcase(name, pattern)]
        if layout.required and not found:
            return names, (pattern, "not there")
        for name in found:
            wrong = layout.misfit(headers[name], known)
            if wrong is not None:
                return names, (name, wrong)
        names += found
    return names, None
