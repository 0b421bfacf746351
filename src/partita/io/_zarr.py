"""Zarr arrays on disk, read without the zarr library, which would decode what it is told to.

Only plain numbers are read, only codecs that can be held to a size are undone, and a group may
hold other things as long as nobody asks for them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import FileError
from partita.io._kept import Kept
from partita.io._numpy import check_text
from partita.io._zarr_codecs import decoder
from partita.io._zarr_meta import MAY_MISS, MOST_CHUNKS, ZarrMeta, read_regular

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ZarrArray:
    """One array of numbers, of which any box can be read.

    A chunk of which only a part is read is kept for a while, decoded: the next box, the next block
    of items, mostly wants another part of it.
    """

    meta: ZarrMeta

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.meta.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, in the byte order of this machine."""
        return self.meta.dtype.newbyteorder("=")

    @property
    def stored_bytes(self) -> int:
        """The bytes that its folder holds."""
        total = 0
        for folder, _, files in os.walk(self.meta.folder):
            total += sum(os.lstat(os.path.join(folder, name)).st_size for name in files)
        return total

    @cached_property
    def _kept(self) -> Kept:
        return Kept(self.meta.chunk_bytes)

    @property
    def _counts(self) -> list[int]:
        return [-(-n // size) for n, size in zip(self.shape, self.meta.chunk, strict=True)]

    @property
    def is_counted(self) -> bool:
        """Whether its chunks are few enough for all their files to be looked for."""
        return self.meta.n_chunks <= MOST_CHUNKS

    def absent(self) -> frozenset[tuple[int, ...]]:
        """The chunks that have no file; none where there are too many to look for."""
        if not self.is_counted:
            return frozenset()
        every = product(*map(range, self._counts))
        return frozenset(one for one in every if not os.path.lexists(self.meta.chunk_path(one)))

    def check(self, absent: frozenset[tuple[int, ...]]) -> None:
        """Refuse labels of which chunks have no file, unless the store says that none is lost.

        Zarr reads such chunks as the fill value, whether they were lost, are not written yet, or
        were left out since all in them is the fill value.
        """
        if absent and not self.meta.may_miss:
            raise FileError(self._said_of_absent(min(absent), len(absent)))

    def _said_of_absent(self, index: tuple[int, ...], n_absent: int = 1) -> str:
        meta, (name, value) = self.meta, MAY_MISS
        more = f", the first of {n_absent:,} such chunks" if n_absent > 1 else ""
        return (
            f"{meta.chunk_path(index)!r} is missing{more}: {meta.part_of(index)} of the labels. "
            "If it was lost, write that part again or copy it from where it came from. If it was "
            f"left out because every label in it is {meta.fill}, the fill value, have the store "
            f"say so: zarr.open({meta.folder!r}).attrs[{name!r}] = {value!r}."
        )

    def read(
        self,
        box: tuple[tuple[int, int], ...],
        absent: frozenset[tuple[int, ...]] | None = None,
    ) -> NDArray[Any]:
        """Return the part from start to stop along every axis; the sizes were checked before.

        Given the chunks that were ``absent`` when labels were opened, it is an error if another is
        now; None asks nothing.
        """
        out = np.empty([stop - start for start, stop in box], self.dtype)
        spans = [
            range(start // size, -(-stop // size)) if stop > start else range(0)
            for (start, stop), size in zip(box, self.meta.chunk, strict=True)
        ]
        for index in product(*spans[::-1]):  # along the first axis fastest
            self._copy(index[::-1], box, out, absent)
        return out

    def _copy(
        self, index: tuple[int, ...], box: tuple[tuple[int, int], ...], out: NDArray[Any],
        absent: frozenset[tuple[int, ...]] | None,
    ) -> None:  # fmt: skip
        into, take = [], []
        is_all = is_end = True
        for i, size, (start, stop), n in zip(index, self.meta.chunk, box, self.shape, strict=True):
            low, high = max(start, i * size), min(stop, (i + 1) * size)
            is_end &= high == min(n, (i + 1) * size)
            is_all &= is_end and low == i * size
            into.append(slice(low - start, high - start))
            take.append(slice(low - i * size, high - i * size))
        chunk = self._chunk(index) if is_all else self._kept.get(index, lambda: self._chunk(index))
        if chunk is None and absent is not None and index not in absent:
            raise FileError(self._said_of_absent(index))
        out[tuple(into)] = self.meta.fill if chunk is None else chunk[tuple(take)]
        if is_end and not is_all:  # whoever goes over the array in order is done with it
            self._kept.drop(index)

    def _chunk(self, index: tuple[int, ...]) -> NDArray[Any] | None:
        meta = self.meta
        path = meta.chunk_path(index)
        raw = read_regular(meta.folder, meta.chunk_parts(index), 2 * meta.chunk_bytes + 4096)
        if raw is None:
            return None
        try:
            raw = self._undone(raw, path)
        except FileError as error:
            raise FileError(
                f"{error} It is {meta.part_of(index)} of the array: write that part again or copy "
                "it from where it came from; the rest of the store can be read, "
                f"zarr.open({meta.folder!r}) sliced so as to leave that part out."
            ) from None
        what = repr(path)
        if meta.dtype.kind == "b":
            flat: NDArray[Any] = np.frombuffer(raw, np.uint8) != 0
        else:
            flat = np.frombuffer(raw, meta.dtype)
        if meta.dtype.kind == "U":
            flat = flat.astype(self.dtype)
            check_text(flat, what)
        stored = flat.reshape([meta.chunk[axis] for axis in meta.axes])
        return stored.transpose(np.argsort(meta.axes))

    def _undone(self, raw: bytes, path: str) -> bytes:
        """The bytes of a chunk with its codecs undone."""
        meta, what = self.meta, repr(path)
        for name in meta.codecs:
            try:
                raw = decoder(name, what)(raw, meta.chunk_bytes, what)
            except FileError:
                raise
            except Exception as error:  # codecs raise RuntimeError, zlib.error, OSError and more
                reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
                raise FileError(f"{what} is truncated or corrupt: {reason}.") from None
        if len(raw) != meta.chunk_bytes:
            raise FileError(
                f"{what} is truncated or corrupt: it has {len(raw)} bytes where "
                f"{meta.chunk_bytes} should be."
            )
        return raw
