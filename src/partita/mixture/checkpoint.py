"""A run in a folder, and back: believed only where it fits the job.

``run.npz`` has the seed, ``labels.npy`` the draws of all chains, ``chain-0.npz`` and so on where
each chain stands. Sizes are compared with the job before anything is read; the core looks at the
numbers.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from partita import io, validate
from partita.errors import FileError, PartitaError
from partita.io import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.mixture.chain import Job
    from partita.typing import Seed

_FORMAT = 3  # runs of other formats had other random numbers
_WHAT = "a checkpoint of this run; remove its folder or give another `checkpoint`"
_RUN = {
    "fingerprint": Layout("U", (), required=True),
    "seed": Layout("U", (), required=True),
    "format": Layout("i", ()),
}
_STATE = {
    "labels": Layout("i", ("items",), 4, required=True),
    "concentration": Layout("f", (), 8, required=True),
    "random": Layout("u", (4,), 8, required=True),
    "covariance": Layout("f", ("cells",), 8, required=True),
    "scans": Layout("i", (), 8, required=True),
    "traces": Layout("f", ("done", 3), 8, required=True),
}


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("a")
    except OSError as error:
        raise FileError(
            f"`checkpoint` must be a folder; {str(folder)!r} cannot be made ({error.strerror})."
        ) from None
    with file:
        try:
            _lock(file.fileno())
        except OSError:
            raise FileError(
                f"`checkpoint` {str(folder)!r} is in use by another run; wait until that is done, "
                "or give another path."
            ) from None
        yield


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed, by whatever end of the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def seed_of_run(folder: Path, rng: Seed, fingerprint: str) -> int:
    """The seed of a run that goes on, or a new one, written down before anything else is."""
    path = folder / "run.npz"
    if not path.exists():
        seed = validate.seed(rng)
        told = {"fingerprint": fingerprint, "seed": str(seed), "format": _FORMAT}
        io.write_npz(path, {name: np.array(value) for name, value in told.items()})
        return seed
    kept = io.read_npz(path, _RUN, what="a run; remove the folder or give another `checkpoint`")
    if int(kept.get("format", 1)) != _FORMAT:
        raise FileError(
            f"`checkpoint` {str(folder)!r} was written by another version of partita, whose "
            "random numbers are others; finish the run with that version, give another path, "
            "or remove the folder."
        )
    if str(kept["fingerprint"]) != fingerprint:
        raise FileError(
            f"`checkpoint` {str(folder)!r} holds a run with other data or settings; give "
            "another path, or remove it."
        )
    text = str(kept["seed"])
    if not (text.isascii() and text.isdigit() and len(text) < 100):
        raise FileError(f"{str(path)!r} is corrupt: its seed is no whole number.")
    if rng is not None and validate.seed(rng) != int(text):
        raise FileError(
            f"`checkpoint` {str(folder)!r} holds a run with seed {text}; give that seed or "
            "none, or another path."
        )
    return int(text)


def label_store(folder: Path, shape: tuple[int, int], dtype: Any) -> Any:
    """The file that draws go to; one that is there already must be of this shape."""
    path = folder / "labels.npy"
    if not path.exists():
        try:
            store = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
            _reserve(path)
        except OSError as error:
            with suppress(OSError):
                os.remove(path)
            need = validate.bytes_text(np.dtype(dtype).itemsize * shape[0] * shape[1])
            said = io.said_of(error, f"The draws take {need}")
            raise FileError(f"{str(path)!r} cannot be written: {said}") from None
        return store
    try:
        found = io.open_stored(path)
    except PartitaError as error:
        raise FileError(f"{str(path)!r} does not hold {_WHAT} ({error}).") from None
    if found.shape != shape or found.dtype != dtype or found.chains is not None:
        _refuse(path, f"shape {found.shape}, dtype {found.dtype}")
    return np.lib.format.open_memmap(path, mode="r+")


def _reserve(path: Path) -> None:
    """Have the disk set the whole file aside.

    Without room, writing to a mapped file is no error but the end of the process.
    """
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise


def write_state(job: Job, state: dict[str, Any], labels: Any, traces: NDArray[np.float64]) -> None:
    """First the draws, then the state that counts them: a kill between loses time alone."""
    labels.flush()
    arrays = {name: np.asarray(value) for name, value in state.items()}
    io.write_npz(_state_path(job), {**arrays, "traces": traces})


def read_state(job: Job) -> dict[str, Any] | None:
    """The state and the traces of a chain as they were saved, or None if there are none."""
    path = _state_path(job)
    if not path.exists():
        return None
    sizes = {"items": job.resolved.x.shape[0], "cells": job.resolved.scale_size}
    state: dict[str, Any] = io.read_npz(path, _STATE, what=_WHAT, sizes=sizes)
    state.update({name: state[name].item() for name in ("concentration", "scans")})
    n_traces = len(state["traces"])
    if state["scans"] > job.n_scans or n_traces != job.n_kept(state["scans"]):
        refuse(job, f"it stands at scan {state['scans']} with {n_traces} traces")
    return {name: state[name] for name in _STATE}


def refuse(job: Job, why: str) -> NoReturn:
    """Say that a chain's checkpoint cannot be one of this run."""
    _refuse(_state_path(job), why)


def _state_path(job: Job) -> Path:
    assert job.folder is not None
    return job.folder / f"chain-{job.chain}.npz"


def _refuse(path: Path, why: str) -> NoReturn:
    raise FileError(f"{str(path)!r} does not hold {_WHAT} ({why}).")
