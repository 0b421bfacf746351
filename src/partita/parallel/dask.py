"""Labels in a Dask array: the same blocks of items, worked on where Dask puts them.

A block is a slice of the array, so that the workers read of a store what they need and nothing
else; nothing of the labels comes to this process. What a block needs besides (the function, what is
shared, what belongs to its items) stands in the graph itself, never in scattered data: Dask can
make anything again from the graph when a worker is lost, and does. Results come back in the order
of the blocks. Nothing here schedules: ``dask.compute`` and ``dask.persist`` run on the cluster that
a client is connected to, or on Dask's threads where there is none.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError, OutOfMemoryError, PartitaWarning
from partita.parallel.items import RUN, Pieces, added, sums_of_runs
from partita.parallel.stop import check
from partita.parallel.threads import one_blas_thread, progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.parallel.items import LabelSource


def is_dask_array(x: Any) -> bool:
    """Whether ``x`` is an array of Dask; nothing is imported to find out."""
    kind = type(x)
    return kind.__module__.split(".")[0] == "dask" and hasattr(x, "chunks") and hasattr(x, "dtype")


class DaskLabels:
    """Labels (n_draws, n_items) in a ``dask.array``, a :class:`~partita.parallel.LabelSource`.

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
        self._cut: dict[tuple[int, int], Any] = {}
        self._n_tasks: int | None = None

    @property
    def said(self) -> str:
        """What it is, in words."""
        return "an array of Dask"

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
        add: bool,
        reads: bool,
        label: str,
    ) -> Any:
        """Run ``work`` on every block; see :mod:`partita.parallel.items`.

        Returns
        -------
        iterator of results in order, or their sum if ``add``; if ``keep``, (Pieces or a tuple of
        so many, what is sent)
        """
        import dask

        check()
        same = dask.delayed((work, convert, tuple(shared)), traverse=False, pure=False)
        groups = self._groups(parts)
        done = [self._done(same, group, at, along, reads) for at, group in enumerate(groups)]
        if not keep:
            if add:
                return next(_gathered([_added(done)], label))
            return (one for found in _gathered(done, label) for one in found)
        part_of = dask.delayed(_part_of, pure=False)
        kept = [[part_of(one, k, keep) for k in range(keep)] for one in done]
        sent = [part_of(one, None, keep) for one in done]
        there, here = _persisted(kept, [_added(sent)] if add else sent, label)
        pieces = tuple(Pieces(one[k] for one in there) for k in range(keep))
        found = here[0] if add else [one for some in here for one in some]
        return pieces[0] if keep == 1 else pieces, found

    def _groups(self, parts: Sequence[slice]) -> list[list[slice]]:
        """Blocks that are worked on one after another: few tasks, and enough for every thread."""
        if self._n_tasks is None:
            self._n_tasks = 2 * _n_threads()
        size = -(-len(parts) // self._n_tasks)
        size += -size % RUN  # whole runs, whose sums are what travels
        return [list(parts[i : i + size]) for i in range(0, len(parts), size)]

    def _done(
        self, same: Any, group: list[slice], at: int, along: Sequence[Any], reads: bool
    ) -> Any:
        """What comes of a group of blocks, as a list that is not computed yet."""
        import dask

        pieces = [_piece(x, at, group) for x in along]
        on_blocks = dask.delayed(_on_blocks, pure=False)
        if not reads:
            return on_blocks(same, None, group, 0, *pieces)
        return self._read_and_done(on_blocks, same, group, pieces)

    def _read_and_done(
        self, on_blocks: Any, same: Any, group: list[slice], pieces: list[Any]
    ) -> Any:
        """A task for each block, so that one block at a time is in memory, and one for the list."""
        import dask

        raw = self._raw(group)
        ones = [
            on_blocks(same, block, [items], number, *pieces)
            for number, (block, items) in enumerate(zip(raw, group, strict=True))
        ]
        return dask.delayed(_chained, pure=False)(*ones)

    def _raw(self, parts: Sequence[slice]) -> list[Any]:
        """The blocks as delayed arrays; slices of a store become reads of just that slice."""
        for part in parts:
            if (part.start, part.stop) not in self._cut:
                piece = self.array[:, part].rechunk(-1, method="tasks")
                self._cut[part.start, part.stop] = piece.to_delayed().ravel()[0]
        return [self._cut[part.start, part.stop] for part in parts]


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
        self._n_tasks = None

    @property
    def said(self) -> str:
        """What it is, in words."""
        path = getattr(self.handle, "path", type(self.handle).__name__)
        return f"{path}, read by the workers of a Dask cluster"

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

    def _read_and_done(
        self, on_blocks: Any, same: Any, group: list[slice], pieces: list[Any]
    ) -> Any:
        """One task for the group, which reads a block when its turn comes."""
        import dask

        unread = dask.delayed(_Unread(self.handle), traverse=False, pure=False)
        return on_blocks(same, unread, group, 0, *pieces)


@dataclass(frozen=True, eq=False)
class _Unread:
    """A block that the worker is to read itself."""

    handle: LabelSource

    def __call__(self, items: slice) -> Any:
        return self.handle.read(slice(0, self.handle.shape[0]), items)


def _on_blocks(same: Any, raw: Any, group: list[slice], first: int, *pieces: Any) -> list[Any]:
    """What a worker runs: block by block, the labels made canonical, then the work.

    ``first`` is the number of the first block among those that the pieces are of.
    """
    work, convert, shared = _aligned(same)
    out = []
    with one_blas_thread():
        for number, items in enumerate(group, start=first):
            block = None
            if raw is not None:
                labels = _aligned(np.asarray(raw(items) if isinstance(raw, _Unread) else raw))
                block = np.ascontiguousarray(labels if convert is None else convert(labels))
            own = [_aligned(_own(piece, number, items)) for piece in pieces]
            out.append(work(block, items, *own, *shared))
            del block, own
    return out


@dataclass(frozen=True, eq=False)
class _Along:
    """Rows of an array from item ``start`` on."""

    start: int
    rows: Any


def _own(piece: Any, number: int, items: slice) -> Any:
    """The part of a piece of a group that is a block's own."""
    if isinstance(piece, _Along):
        return piece.rows[items.start - piece.start : items.stop - piece.start]
    return piece[number]


def _part_of(done: list[Any], k: int | None, keep: int) -> list[Any]:
    """Of what the work returned for each block, what is sent (None) or the k-th that is kept."""
    if k is None:
        return [one[1] for one in done]
    return [one[0] if keep == 1 else one[0][k] for one in done]


def _added(lists: list[Any]) -> Any:
    """The sum of lists of results: of runs where each list is, then of those at one worker."""
    import dask

    runs = [dask.delayed(sums_of_runs, pure=False)(one) for one in lists]
    return dask.delayed(_sum_of_runs, pure=False)(*runs)


def _sum_of_runs(*lists: list[Any]) -> Any:
    return added(one for some in lists for one in some)


def _chained(*lists: list[Any]) -> list[Any]:
    return [one for some in lists for one in some]


def _n_threads() -> int:
    """The threads of the cluster that a client is connected to, or of this machine."""
    import sys

    if "distributed" in sys.modules:
        from distributed import default_client

        try:
            return max(1, int(sum(default_client().nthreads().values())))
        except ValueError:  # no client
            pass
    return os.cpu_count() or 1


def _aligned(x: Any) -> Any:
    """Copy arrays that a message left at an odd address.

    NumPy multiplies those without BLAS, which rounds differently.
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


def _piece(x: Any, at: int, group: list[slice]) -> Any:
    """A reference to what is on the workers already, or the part of an array, to travel."""
    if isinstance(x, Pieces):
        return x[at]
    import dask

    start = group[0].start
    rows = np.ascontiguousarray(x[start : group[-1].stop])
    return dask.delayed(_Along(start, rows), traverse=False, pure=False)


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

    with suppress(ImportError):  # before its options are set: what it adds to them must stay
        import_module("distributed")
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
