"""Labels in a Dask array: the same blocks of items, worked on where Dask puts them.

Each block is one task: a worker reads the block, or takes the slice of the array, and does the
work; the labels never come to this process. The graph itself holds all that a block needs (the
function, what is shared, what belongs to its items), so Dask can make any result again when a
worker is lost. ``dask.compute`` runs on the cluster that a client is connected to, or on Dask's
threads.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError, OutOfMemoryError, PartitaWarning
from partita.parallel.items import plus
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
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        self._cut: dict[tuple[int, int], Any] = {}

    @property
    def said(self) -> str:
        """What it is, in words."""
        return "an array of Dask"

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Bring a part of the labels here: a few draws, or a few items, not all."""
        return np.asarray(_computed([self.array[draws, items]])[0])

    def block(self, items: slice) -> Any:
        """A block, to be computed on a worker; a slice of a store is a read of just that slice."""
        where = (items.start, items.stop)
        if where not in self._cut:  # building the graph costs more than the read
            part = self.array[:, items].rechunk(-1, method="tasks")
            self._cut[where] = part.to_delayed().ravel()[0]
        return self._cut[where]

    def map_items(
        self, work: Callable[..., Any], parts: Sequence[slice], *, convert: Any,
        along: Sequence[Any], shared: Sequence[Any], add: bool, label: str,
    ) -> Iterator[Any]:  # fmt: skip
        """Run ``work`` on every block; see :mod:`partita.parallel.items`.

        Results come in order, or with ``add`` their sum alone.
        """
        import dask

        run, add_up = (dask.delayed(f, pure=False) for f in (_on_block, plus))
        same = _packed((work, convert, tuple(shared)))
        done = [
            run(same, self.block(items), items, _packed([x[items] for x in along]))
            for items in parts
        ]
        if add:
            done = [reduce(add_up, done)]
        with progress(None, label):
            return iter(_computed(done))


class OnWorkers(DaskLabels):
    """Labels in files that every worker sees, each block read by the worker that needs it.

    Parameters
    ----------
    handle : LabelSource
        A handle that opens its file again where it is sent, such as :func:`partita.io.open_stored`
        gives.
    """

    def __init__(self, handle: LabelSource) -> None:
        self.handle = handle
        self.shape = (int(handle.shape[0]), int(handle.shape[1]))
        self.dtype = np.dtype(handle.dtype)

    @property
    def said(self) -> str:
        """What it is, in words."""
        path = getattr(self.handle, "path", type(self.handle).__name__)
        return f"{path}, read by the workers of a Dask cluster"

    def read(self, draws: slice, items: slice) -> NDArray[Any]:
        """Read a part of the labels here."""
        return np.asarray(self.handle.read(draws, items))

    def block(self, items: slice) -> Any:
        """The handle, for the worker to read the block from."""
        return _packed(self.handle)


def _packed(value: Any) -> Any:
    """The bytes of a value, for the graph.

    Dask would send arrays beside its messages, where they can land at odd addresses. NumPy
    multiplies such arrays without BLAS, which rounds differently; from bytes they come out aligned.
    """
    import dask

    return dask.delayed(pickle.dumps(value, protocol=4), traverse=False, pure=False)


def _on_block(same: bytes, raw: Any, items: slice, own: bytes) -> Any:
    """What a worker runs: the labels of a block made canonical, then the work."""
    work, convert, shared = pickle.loads(same)
    if isinstance(raw, bytes):
        handle = pickle.loads(raw)
        raw = handle.read(slice(0, handle.shape[0]), items)
    labels = np.require(raw, requirements=["C", "A"])
    if convert is not None:
        labels = np.ascontiguousarray(convert(labels))
    with one_blas_thread():
        return work(labels, items, *pickle.loads(own), *shared)


def _computed(parts: list[Any]) -> tuple[Any, ...]:
    """Compute with Dask: no word about large graphs, and a clear one where workers keep dying."""
    import dask

    with suppress(ImportError):  # before its options are set: what it adds to them must stay
        import_module("distributed")
    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return tuple(dask.compute(*parts))
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise OutOfMemoryError(
                "`labels` on the cluster: workers died at the same block of items again and again, "
                f"most likely for want of memory ({error}). Give them more, or fewer threads."
            ) from error
        raise
