"""Labels in a Dask array: the same blocks of items, worked on where Dask puts them.

A block is a slice of the array, so that the workers read of a store what they need and nothing
else; nothing of the labels comes to this process. What a block needs besides (the function, what is
shared, what belongs to its items) stands in the graph itself, never in scattered data: Dask can
make anything again from the graph when a worker is lost, and does. Results come back in the order
of the blocks. Nothing here schedules: ``dask.compute`` and ``dask.persist`` run on the cluster that
a client is connected to, or on Dask's threads where there is none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.distributed._alone import one_blas_thread
from partita.distributed._items import Pieces
from partita.distributed._threads import progress
from partita.errors import InvalidValueError, OutOfMemoryError, PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.distributed._items import LabelSource


def is_dask_array(x: Any) -> bool:
    """Whether ``x`` is an array of Dask; nothing is imported to find out."""
    kind = type(x)
    return kind.__module__.split(".")[0] == "dask" and hasattr(x, "chunks") and hasattr(x, "dtype")


class DaskLabels:
    """Labels (n_draws, n_items) in a ``dask.array``, a :class:`~partita.distributed.LabelSource`.

    Parameters
    ----------
    array : dask.array.Array, shape (n_draws, n_items)
        Integers, best chunked over items alone and kept where every worker can read it (Zarr) or
        persisted on the workers: each pass over the draws computes it again.
    """

    def __init__(self, array: Any) -> None:
        if array.ndim != 2 or any(np.isnan(size) for size in array.shape):
            raise InvalidValueError(
                "`labels` in a Dask array must have a row for each draw and a column for each item "
                f"and a known shape; got shape {array.shape}."
                + (" Call compute_chunk_sizes() on it." if array.ndim == 2 else "")
            )
        if array.numblocks[0] > 1:
            warnings.warn(
                f"`labels` is chunked over draws, {array.numblocks[0]} chunks of them; every pass "
                "over the items puts them together again. Keep it chunked over items alone: "
                "rechunk((-1, size)) and to_zarr(), or persist().",
                PartitaWarning,
                stacklevel=4,
            )
        self.array = array
        self._cut: dict[tuple[int, ...], list[Any]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        return (int(self.array.shape[0]), int(self.array.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        """As stored."""
        found: np.dtype[Any] = np.dtype(self.array.dtype)
        return found

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Bring a part of the labels here: a few draws, or a few items, not all."""
        return np.asarray(_told(lambda: self.array[draws, items].compute()))

    def map_items(
        self,
        work: Callable[..., Any],
        parts: Sequence[slice],
        *,
        convert: Callable[[Any], Any] | None,
        along: Sequence[Any],
        shared: Sequence[Any],
        keep: int,
        reads: bool,
        label: str,
    ) -> Any:
        """Run ``work`` on every block; see :mod:`partita.distributed._items`.

        Returns
        -------
        iterator of results in order; if ``keep``, (Pieces or a tuple of so many, what is sent)
        """
        import dask

        same = dask.delayed((work, convert, tuple(shared)), traverse=False, pure=False)
        blocks = self._raw(parts) if reads else [None] * len(parts)
        on_block = dask.delayed(_on_block, pure=False)
        done = [
            on_block(same, block, items, [_piece(x, number, items) for x in along])
            for number, (block, items) in enumerate(zip(blocks, parts, strict=True))
        ]
        if not keep:
            return _gathered(done, label)
        kept = [[one[0]] if keep == 1 else [one[0][k] for k in range(keep)] for one in done]
        there, sent = _persisted(kept, [one[1] for one in done], label)
        pieces = tuple(Pieces(one[k] for one in there) for k in range(keep))
        return pieces[0] if keep == 1 else pieces, sent

    def _raw(self, parts: Sequence[slice]) -> list[Any]:
        """The blocks as delayed arrays; slices of a store become reads of just that slice."""
        key = tuple(part.stop for part in parts)
        if key not in self._cut:
            pieces = [self.array[:, part].rechunk(-1, method="tasks") for part in parts]
            self._cut[key] = [piece.to_delayed().ravel()[0] for piece in pieces]
        return self._cut[key]


class OnWorkers(DaskLabels):
    """Labels in files that every worker sees, each block read by the worker that needs it.

    Parameters
    ----------
    handle : LabelSource
        A handle that opens its file again where it is sent, such as :func:`partita.io.open_zarr`
        gives.
    """

    def __init__(self, handle: LabelSource) -> None:
        self.handle = handle

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""
        return self.handle.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """As stored."""
        found: np.dtype[Any] = np.dtype(self.handle.dtype)
        return found

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Read a part of the labels here."""
        return np.asarray(self.handle.read(draws, items))

    def _raw(self, parts: Sequence[slice]) -> list[Any]:
        import dask

        return [dask.delayed(_Unread(self.handle), traverse=False, pure=False)] * len(parts)


@dataclass(frozen=True, eq=False)
class _Unread:
    """A block that the worker is to read itself."""

    handle: LabelSource

    def __call__(self, items: slice) -> Any:
        return self.handle.read(slice(0, self.handle.shape[0]), items)


def _on_block(same: Any, raw: Any, items: slice, pieces: list[Any]) -> Any:
    """What a worker runs: the block as canonical labels, then the work."""
    work, convert, shared = _aligned(same)
    pieces = _aligned(pieces)
    with one_blas_thread():
        block = None
        if isinstance(raw, _Unread):
            raw = raw(items)
        if raw is not None:
            raw = _aligned(np.asarray(raw))
            block = np.ascontiguousarray(raw if convert is None else convert(raw))
        return work(block, items, *pieces, *shared)


def _aligned(x: Any) -> Any:
    """Copy arrays that a message left at an odd address.

    NumPy multiplies those without BLAS, which rounds differently, and numba compiles anew for them.
    """
    if isinstance(x, np.ndarray):
        return x if x.flags.aligned else np.array(x)
    if isinstance(x, list):
        return [_aligned(one) for one in x]
    if isinstance(x, tuple):
        parts = [_aligned(one) for one in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if is_dataclass(x) and not isinstance(x, type):
        held = {one.name: getattr(x, one.name) for one in fields(x)}
        moved = {name: _aligned(value) for name, value in held.items()}
        return x if all(moved[k] is held[k] for k in held) else replace(x, **moved)
    return x


def _piece(x: Any, number: int, items: slice) -> Any:
    """A reference to what is on the workers already, or the part of an array, to travel."""
    if isinstance(x, Pieces):
        return x[number]
    import dask

    return dask.delayed(np.ascontiguousarray(x[items]), traverse=False, pure=False)


def _persisted(
    kept: list[list[Any]], sent: list[Any], label: str
) -> tuple[list[list[Any]], list[Any]]:
    """Compute all in one graph; leave what is kept where it is and bring what is sent."""
    import dask

    n, width = len(kept), len(kept[0])
    there = _told(lambda: dask.persist(*(x for one in kept for x in one), *sent))
    here = list(_gathered(list(there[n * width :]), label))
    return [list(there[i * width : (i + 1) * width]) for i in range(n)], here


def _gathered(tasks: list[Any], label: str) -> Iterator[Any]:
    """Bring results here, in order; those that are under way on a cluster without a new graph."""
    import dask

    with progress(len(tasks), label) as bar:
        futures = _futures(tasks)
        if futures is None:
            done = _told(lambda: dask.compute(*tasks))
        else:
            done = _told(lambda: futures[0].client.gather(futures))
        bar.advance(len(tasks))
    return iter(done)


def _futures(tasks: list[Any]) -> list[Any] | None:
    """What a cluster is computing already, one future a task; None if it is not."""
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import futures_of

    found = futures_of(tasks)
    keys = [future.key for future in found]
    return found if keys == [task.key for task in tasks] else None


def _told(call: Callable[[], Any]) -> Any:
    """Call Dask: no word about large graphs, and a clear one where workers keep dying."""
    import dask

    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return call()
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise OutOfMemoryError(
                "`labels` on the cluster: workers died at the same block of items again and again, "
                f"most likely for want of memory ({error}). Give them more, or fewer threads."
            ) from error
        raise
