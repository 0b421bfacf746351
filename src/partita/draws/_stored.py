"""Labels that stay where they are, in a file or on a cluster, and are read in blocks.

What comes out of a store must be canonical, as labels in memory are: numbered 0, 1, ... by first
appearance in each draw. One pass over the items finds, for every draw and every label, the first
item that has it; the order of those items is the numbering, and every block that is read is
renumbered by a table look-up. Labels that were canonical all along are passed through.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws._checks import codes_of
from partita.errors import FileError, InvalidTypeError, InvalidValueError, PartitaWarning
from partita.io import MOST_KEPT
from partita.parallel import blocks, item_blocks, map_items
from partita.partitions import smallest_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.parallel import LabelSource
    from partita.typing import IntArray

_WIDEST = 1 << 20  # the widest range of labels that a table is made for
_AT_ONCE = 1 << 22  # labels looked at in one call of the core


@dataclass(frozen=True, eq=False)
class Renumbering:
    """What turns labels as they are stored, all draws of some items, into canonical ones.

    Parameters
    ----------
    low : int
        The least label that is stored.
    numbers : ndarray, shape (n_draws, span), or None
        The canonical number of label ``low + c`` in each draw; None if labels are canonical.
    dtype : dtype
        Of what comes out.
    rows : ndarray, optional
        The draws that are kept, all if None; ``numbers`` has a row for each of these.
    """

    low: int
    numbers: NDArray[Any] | None
    dtype: np.dtype[Any]
    rows: NDArray[np.intp] | None = None

    def __call__(self, raw: Any) -> NDArray[Any]:
        """Renumber a block that holds every draw."""
        raw = np.asarray(raw)
        return self.of(raw if self.rows is None else raw[self.rows], slice(None))

    def of(self, raw: IntArray, draws: slice) -> NDArray[Any]:
        """Renumber a block of the draws of a slice of those that are kept."""
        if self.numbers is None:
            return np.ascontiguousarray(raw, dtype=self.dtype)
        out = np.empty(raw.shape, dtype=self.dtype)
        numbers = self.numbers[draws]
        for part in blocks(raw.shape[0], _AT_ONCE // max(1, raw.shape[1])):
            codes = _codes(raw[part], self.low, numbers.shape[1])
            out[part] = np.take_along_axis(numbers[part], codes, axis=1)
        return out


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """A label matrix that is not in memory; ``Draws.labels`` may be one.

    It has the shape and the dtype of the array that it stands for; rows are taken by index as from
    an array, ``np.asarray`` reads everything if that fits in the free memory, and
    :func:`partita.parallel.map_items` goes over it in blocks of items.

    Parameters
    ----------
    source : LabelSource
        Integers as they are stored.
    convert : Renumbering
    n_clusters : ndarray of int64, shape (n_draws,)
    codes : ndarray, shape (n_clusters.sum(),)
        The label that each cluster of each draw has in the source.
    """

    source: LabelSource
    convert: Renumbering
    n_clusters: NDArray[np.int64]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, source: LabelSource, *, n_jobs: int = 1) -> StoredLabels:
        """Go over the source once or twice to learn its numbering."""
        m, n = (int(size) for size in source.shape)
        kind = np.dtype(source.dtype).kind
        if kind not in "iub":
            raise InvalidTypeError(
                f"`labels` in a store must be integers; got dtype {source.dtype}. Renumber them, "
                "or read them into memory."
            )
        if min(m, n) < 1:
            raise InvalidValueError(
                f"`labels` must hold at least one draw of at least one item; got shape {(m, n)}."
            )
        _warn_of_chunks(source, m, n)
        ends = list(map_items(ends_of, source, n_jobs=n_jobs, label="reading labels"))
        low, high = min(one[0] for one in ends), max(one[1] for one in ends)
        span = high - low + 1
        if span > _WIDEST:
            raise InvalidValueError(
                f"`labels` in a store must lie within a range of {_WIDEST:,} numbers; got {low} "
                f"to {high}. Renumber the clusters of each draw from 0."
            )
        validate.fits_in_memory(
            f"The numbering of {m:,} draws with labels from {low} to {high}",
            24 * m * span,
            "renumber the clusters of each draw from 0.",
        )
        first = np.full((m, span), n, dtype=np.int64)
        for seen in map_items(
            first_seen, source, shared=(low, span, n), n_jobs=n_jobs, label="numbering clusters"
        ):
            np.minimum(first, seen, out=first)
        return cls(source, *_numbering(first, low, n))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        return (self.n_clusters.size, int(self.source.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned dtype."""
        return self.convert.dtype

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def size(self) -> int:
        """The number of labels."""
        return self.shape[0] * self.shape[1]

    @property
    def nbytes(self) -> int:
        """What they would take in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[m] for m in range(len(self)))

    def __repr__(self) -> str:
        kind = type(self.source).__name__
        return f"StoredLabels({self.shape[0]:,} draws of {self.shape[1]:,} items, {kind})"

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Return the canonical labels of some draws and some items."""
        start, stop, _ = draws.indices(self.shape[0])
        rows = self.convert.rows
        if rows is None:
            raw = np.asarray(self.source.read(slice(start, stop), items))
        else:
            wanted = rows[start:stop]
            least = int(wanted.min()) if wanted.size else 0
            span = slice(least, int(wanted.max()) + 1 if wanted.size else 0)
            raw = np.asarray(self.source.read(span, items))[wanted - least]
        return self.convert.of(raw, slice(start, stop))

    def take(self, rows: NDArray[np.intp]) -> StoredLabels:
        """Keep some draws, in some order, where they are."""
        old, numbers = self.convert.rows, self.convert.numbers
        n_clusters = self.n_clusters[rows]
        kept = replace(
            self.convert,
            rows=rows if old is None else old[rows],
            numbers=None if numbers is None else numbers[rows],
            dtype=np.dtype(smallest_dtype(int(n_clusters.max()))),
        )
        return StoredLabels(
            self.source, kept, n_clusters, codes_of(self.codes, self.n_clusters, rows)
        )

    def __getitem__(self, index: Any) -> NDArray[Any]:
        rows, items = index if isinstance(index, tuple) else (index, slice(None))
        if isinstance(items, int | np.integer):
            column = int(items) % self.shape[1]
            return np.asarray(self.read(slice(0, len(self)), slice(column, column + 1))[rows, 0])
        if not isinstance(items, slice) or items != slice(None):
            wanted = validate.positions("items", items, self.shape[1])
            return np.asarray(pick_items(self, wanted)[rows])
        if isinstance(rows, slice) and rows.step in (None, 1):
            return self.read(rows, items)
        wanted = validate.positions("draws", rows, len(self))
        found = self._draws(np.atleast_1d(wanted))
        return found if wanted.ndim else np.asarray(found[0])

    def _draws(self, wanted: NDArray[np.intp]) -> NDArray[Any]:
        """Some draws: one at a time where they are stored so, else all blocks are gone over."""
        m, n = wanted.size, self.shape[1]
        validate.fits_in_memory(
            f"{m:,} draws of {n:,} items", m * n * self.dtype.itemsize, "take fewer at a time."
        )
        out = np.empty((m, n), dtype=self.dtype)
        if getattr(self.source, "chunks", (None,))[0] == 1:
            for k, draw in enumerate(wanted.tolist()):
                out[k] = self.read(slice(draw, draw + 1), slice(0, n))[0]
            return out
        blocks_of_them = map_items(of_draws, self, shared=(wanted,))
        for items, block in zip(item_blocks(self.shape), blocks_of_them, strict=True):
            out[:, items] = block
        return out

    @cached_property
    def _whole(self) -> NDArray[Any]:
        validate.fits_in_memory(
            f"{self.shape[0]:,} draws of {self.shape[1]:,} items",
            self.nbytes,
            "use what works on stored labels (see docs/scale.md), or thin the draws.",
        )
        out = self._draws(np.arange(len(self)))
        out.setflags(write=False)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._whole, dtype=dtype, copy=copy)


def ends_of(block: IntArray, items: slice) -> tuple[int, int]:
    """The least and the largest label of a block."""
    return int(block.min()), int(block.max())


def of_draws(block: IntArray, items: slice, wanted: NDArray[np.intp]) -> IntArray:
    """Some draws of a block."""
    return np.ascontiguousarray(block[wanted])


def first_seen(
    block: IntArray, items: slice, low: int, span: int, n_items: int
) -> NDArray[np.int64]:
    """The first item of a block that has label ``low + c`` in each draw; ``n_items`` if none."""
    out = np.full((block.shape[0], span), n_items, dtype=np.int64)
    for part in blocks(block.shape[0], _AT_ONCE // max(1, block.shape[1])):
        codes = _codes(block[part], low, span)[:, ::-1]  # of items of one label the first is left
        backwards = np.arange(items.stop, items.start, -1) - 1
        np.put_along_axis(out[part], codes, np.broadcast_to(backwards, codes.shape), axis=1)
    return out


def picked(block: IntArray, items: slice, wanted: NDArray[np.intp]) -> IntArray:
    """The columns of a block that are wanted; ``wanted`` is sorted."""
    lo, hi = np.searchsorted(wanted, [items.start, items.stop])
    return np.ascontiguousarray(block[:, wanted[lo:hi] - items.start])


def pick_items(labels: Any, items: NDArray[np.intp], *, n_jobs: int = 1) -> IntArray:
    """Return the labels of some items in every draw, shape (n_draws, n_picked).

    They are those of the whole partition: canonical there, with gaps here.
    """
    if isinstance(labels, np.ndarray):
        return np.ascontiguousarray(labels[:, items])
    order = np.argsort(items, kind="stable")
    out = np.empty((labels.shape[0], items.size), dtype=labels.dtype)
    done = 0
    for part in map_items(picked, labels, shared=(items[order],), n_jobs=n_jobs):
        out[:, order[done : done + part.shape[1]]] = part
        done += part.shape[1]
    return out


def _warn_of_chunks(source: LabelSource, n_draws: int, n_items: int) -> None:
    """Say so where chunks that several blocks of items cut are too large to be kept."""
    width = min(int(getattr(source, "decoded_together", None) or 1), n_items)
    size = item_blocks((n_draws, n_items))[0].stop
    n_bytes = n_draws * width * np.dtype(source.dtype).itemsize
    if n_bytes > MOST_KEPT and width >= 2 * size:
        warnings.warn(
            f"`labels` is stored in chunks of {width:,} items, of which all draws are "
            f"{validate.bytes_text(n_bytes)}: too many to keep, so they are decoded again for "
            f"every block of {size:,} items, {-(-width // size)} times a pass. Store all draws of "
            f"some {size:,} items to a chunk, or a plain .npy file.",
            PartitaWarning,
            stacklevel=4,
        )


def _codes(raw: IntArray, low: int, span: int) -> NDArray[np.int64]:
    """How far labels are above the least of them, less than ``span``."""
    codes = raw.astype(np.uint64 if low > np.iinfo(np.int64).max else np.int64)
    codes -= codes.dtype.type(low)
    if codes.size and not (codes.min() >= 0 and codes.max() < span):
        raise FileError("the labels are not those that were there when they were opened.")
    return codes.astype(np.int64, copy=False)


def _numbering(
    first: NDArray[np.int64], low: int, n_items: int
) -> tuple[Renumbering, NDArray[np.int64], NDArray[np.int64]]:
    """From where each label appears first to the numbering by that, and the labels in its order."""
    n_clusters = (first < n_items).sum(axis=1)
    order = np.argsort(first, axis=1, kind="stable")
    codes = order[np.arange(first.shape[1]) < n_clusters[:, None]] + low
    dtype = np.dtype(smallest_dtype(int(n_clusters.max())))
    numbers = np.empty(first.shape, dtype=np.int64)
    np.put_along_axis(numbers, order, np.arange(first.shape[1])[None, :], axis=1)
    numbers[first >= n_items] = 0  # never met
    is_canonical = low == 0 and bool(
        ((numbers == np.arange(first.shape[1])) | (first >= n_items)).all()
    )
    table = None if is_canonical else numbers.astype(dtype)
    return Renumbering(low, table, dtype), n_clusters, codes
