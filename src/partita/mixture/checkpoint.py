"""A chain's state in a file, and back: believed only where it fits the job.

What is read goes to compiled code that indexes with it, so sizes are compared with the job before
anything is read, and every index with its range before it is used.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from partita import io, kernels, validate
from partita.errors import FileError, PartitaError
from partita.io import Layout
from partita.kernels import mixture_types as types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.mixture.chain import Job

_WHAT = "a checkpoint of this run; remove its folder or give another `checkpoint`"
_STATE = "state:"
_ROUNDING = 1e-6
_WHOLE, _REAL = ("i", 8), ("f", 8)
_SHAPES: dict[str, tuple[tuple[str, int], tuple[int | str, ...]]] = {
    "labels": (_WHOLE, ("items",)),
    **dict.fromkeys(("order", "place", "free", "count"), (_WHOLE, ("slots",))),
    **dict.fromkeys(("total", "mean"), (_REAL, ("slots", "p"))),
    **dict.fromkeys(("cross", "root"), (_REAL, ("slots", "p", "q"))),
    "log_marginal": (_REAL, ("slots",)),
    "known": (("b", 1), ("slots",)),
    "cursor": (_WHOLE, (types.CURSOR_SIZE,)),
    **dict.fromkeys(("concentration", "proxy_log_det", "reallocate"), (_REAL, (1,))),
    **dict.fromkeys(("proxy", "proxy_inverse"), (_REAL, ("p", "q"))),
    "tally": (_WHOLE, (3, 3)),
    "random": (("u", 8), (4,)),
}
_LAYOUTS = {
    "fingerprint": Layout("U", (), required=True),
    "traces": Layout("f", ("done", "traces"), 8, required=True),
    **{
        _STATE + name: Layout(kind, shape, itemsize, required=True)
        for name, ((kind, itemsize), shape) in _SHAPES.items()
    },
}


def state_path(job: Job) -> Path:
    """Where the state of a chain is kept."""
    assert job.folder is not None
    return Path(job.folder) / f"state-{job.chain}.npz"


def save(job: Job, state: types.State, traces: NDArray[np.float64]) -> None:
    """Write the state and the traces so far."""
    done = int(state.cursor[types.STORED])
    arrays: dict[str, Any] = {f"{_STATE}{name}": v for name, v in state._asdict().items()}
    arrays["traces"] = traces[:done]
    arrays["fingerprint"] = np.array(job.fingerprint)
    io.write_npz(state_path(job), arrays)


def load(
    job: Job, model: types.Model, n_traces: int
) -> tuple[types.State, NDArray[np.float64]] | None:
    """Return the state and the traces that were saved, or None if there are none."""
    if not job.keep_state or not state_path(job).exists():
        return None
    path = state_path(job)
    p, q = model.prior.scale.shape
    sizes = {"items": model.x.shape[0], "p": p, "q": q, "traces": n_traces}
    arrays = io.read_npz(path, _LAYOUTS, what=_WHAT, sizes=sizes)
    if str(arrays["fingerprint"]) != job.fingerprint:
        raise FileError(f"{str(path)!r} belongs to another run; give another `checkpoint`.")
    state = types.State(**{name: arrays[_STATE + name] for name in types.State._fields})
    traces = arrays["traces"]
    _check_cursor(path, job, model, state, len(traces))
    _check_slots(path, state)
    _check_numbers(path, job, state)
    _check_sums(path, job, model, state)
    return state, traces


def labels_store(path: Path, shape: tuple[int, int], dtype: Any, *, old: bool) -> Any:
    """The file that draws go to; one that is there already must be of this shape."""
    if not old:
        try:
            store = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
            _reserve(path)
        except OSError as error:
            with suppress(OSError):
                os.remove(path)
            need = validate.bytes_text(np.dtype(dtype).itemsize * shape[0] * shape[1])
            said = io.said_of(error, f"The draws of a chain take {need}")
            raise FileError(f"{str(path)!r} cannot be written: {said}") from None
        return store
    try:
        found = io.open_npy(path)
    except PartitaError as error:
        raise FileError(f"{str(path)!r} does not hold {_WHAT} ({error}).") from None
    if found.shape != shape or found.dtype != dtype or found.chains is not None:
        _refuse(path, f"shape {found.shape}, dtype {found.dtype}")
    del found
    return np.lib.format.open_memmap(path, mode="r+")


def _reserve(path: Path) -> None:
    """Have the disk set the whole file aside: a mapped file that it has no room for is no error.

    It would be the end of the process, at the first draw that finds none.
    """
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise


def _refuse(path: Path, why: str) -> NoReturn:
    raise FileError(f"{str(path)!r} does not hold {_WHAT} ({why}).")


def _check_cursor(
    path: Path, job: Job, model: types.Model, state: types.State, n_traces: int
) -> None:
    cursor, slots = state.cursor.tolist(), state.order.size
    scans, stored = cursor[types.SCANS], cursor[types.STORED]
    most = model.sizes.log_more.size - 1 if model.sizes.kind == types.FINITE else slots
    in_range = (
        0 <= scans <= job.n_scans
        and 0 <= cursor[types.ITEM] <= state.labels.size
        and 1 <= cursor[types.N_CLUSTERS] <= min(most, state.labels.size)
        and cursor[types.N_CLUSTERS] + cursor[types.N_FREE] == slots
        and cursor[types.MOVES] >= 0
        and (cursor[types.MOVES] == 0 or cursor[types.ITEM] == state.labels.size)
        and cursor[types.PROXY_SCANS] >= 0
    )
    if not in_range or stored != max(0, scans - job.n_burn) // job.thin or stored != n_traces:
        _refuse(path, f"it stands at scan {scans} with {stored} draws and {n_traces} traces")


def _check_slots(path: Path, state: types.State) -> None:
    """Every slot is in use or free, once, and the items are in those in use."""
    slots, n_clusters = state.order.size, int(state.cursor[types.N_CLUSTERS])
    used = state.order[:n_clusters]
    every = np.concatenate([used, state.free[: slots - n_clusters]])
    if not np.array_equal(np.sort(every), np.arange(slots)):
        _refuse(path, "its slots are in disorder")
    if not np.array_equal(state.place[used], np.arange(n_clusters)):
        _refuse(path, "its slots are in disorder")
    if state.labels.min() < 0 or state.labels.max() >= slots:
        _refuse(path, "a label is out of range")
    counts = np.bincount(state.labels, minlength=slots)
    if not np.array_equal(counts[used], state.count[used]) or counts.sum() != counts[used].sum():
        _refuse(path, "its clusters are not of the sizes it says")


def _check_numbers(path: Path, job: Job, state: types.State) -> None:
    used = state.order[: int(state.cursor[types.N_CLUSTERS])]
    numbers = [part[used] for part in (state.total, state.cross, state.mean, state.root)]
    numbers += [state.log_marginal[used][state.known[used]]]
    numbers += [state.proxy, state.proxy_inverse, state.proxy_log_det, state.concentration]
    good = all(bool(np.isfinite(part).all()) for part in numbers)
    good = good and state.concentration[0] > 0 and 0 <= state.reallocate[0] <= job.moves.reallocate
    if not good or not state.random.any() or (state.tally < 0).any():
        _refuse(path, "it holds numbers that no chain comes to")


def _check_sums(path: Path, job: Job, model: types.Model, state: types.State) -> None:
    """Sums that the chain would go on with are those of the items, but for rounding."""
    if job.moves.items != "collapsed" and state.cursor[types.MOVES] == 0:
        return  # they are taken anew before anything looks at them
    anew = types.State(*(part.copy() for part in state))
    kernels.mixture_slots.recount(model.x, anew)
    used = state.order[: int(state.cursor[types.N_CLUSTERS])]
    for ours, theirs in ((anew.total, state.total), (anew.cross, state.cross)):
        near = _ROUNDING * max(1.0, float(np.abs(ours[used]).max()))
        if not np.allclose(theirs[used], ours[used], rtol=_ROUNDING, atol=near):
            _refuse(path, "its sums are not those of the items")
