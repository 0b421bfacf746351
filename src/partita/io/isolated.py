"""A file from a stranger, read in a process of its own that has limits.

A damaged HDF5 file can loop for ever inside the library that reads it, and a hostile Parquet, Zarr
or R file can ask for any amount of memory. The process may use so much memory and processor time
and can write no file; what it sends back are the bytes of an ``.npz``, read without pickle. It ends
with the process that started it. Windows has no such limits: there only the time is limited.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from partita import errors, validate
from partita.errors import FileError, OutOfMemoryError, PartitaError
from partita.io.files import bytes_at

_START = "import sys; sys.path[:] = {path!r}; from partita.io.isolated import serve; serve()"
_BASE_MEMORY = 1 << 30  # what the libraries take before they have read anything
_BASE_SECONDS = 30
_BYTES_A_SECOND = 4 << 20  # slower than any of the libraries reads on a bad day
_WALL_FOR_CPU = 10  # a busy machine gives a process a tenth of its time
_LOOK = 0.5  # seconds between two looks at whether the parent is there
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_QUIET = {"HDF5_PLUGIN_PRELOAD": "::", "MALLOC_ARENA_MAX": "1", **_ONE_THREAD}


def read_isolated(what: str, path: str, how: dict[str, Any], seconds: float = _BASE_SECONDS) -> Any:
    """Call a reader of :mod:`partita.io` on a file in another process.

    Parameters
    ----------
    what : {"read_table", "read_weights", "read_matrix"}
    path : str
    how : dict
        What that function takes beside the path: text, numbers and None.
    seconds : float
        Of the processor that the process may take, and some more for a large file.

    Returns
    -------
    dict, array or None
        The fields of what the function returns, or the array.
    """
    seconds += bytes_at(path) / _BYTES_A_SECOND
    request = {"what": what, "path": os.path.abspath(path), "how": how, "parent": os.getpid()}
    request |= {"seconds": int(seconds) + 1, "memory": _BASE_MEMORY + validate.free_memory() // 2}
    late = f"{path!r} is corrupt, or there is too much in it: it took too long to read."
    try:
        done = subprocess.run(
            [sys.executable, "-c", _START.format(path=[p or os.getcwd() for p in sys.path])],
            input=json.dumps(request).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | _QUIET, timeout=_WALL_FOR_CPU * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FileError(late) from None
    if done.returncode in (-24, -9):  # SIGXCPU, and SIGKILL at the hard limit
        raise FileError(late)
    try:
        with np.load(io.BytesIO(done.stdout), allow_pickle=False) as arrays:
            found = dict(arrays.items())
        answer = json.loads(str(found.pop("answer")))
    except Exception:
        raise FileError(
            f"{path!r} is truncated or corrupt: its reader broke (status {done.returncode})."
        ) from None
    if "error" in answer:
        raise _error(path, answer["error"], answer["said"])
    return _unpacked(answer, found)


def _error(path: str, name: str, said: str) -> Exception:
    kind = getattr(errors, name, None)
    if name in ("MemoryError", "OutOfMemoryError"):
        return OutOfMemoryError(
            f"{path!r} would take more memory than a process that reads a file for itself may use."
        )
    if isinstance(kind, type) and issubclass(kind, PartitaError):
        return kind(said)
    return FileError(f"{path!r} is truncated or corrupt: {said}.")


def serve() -> None:
    """In the other process: answer the request on standard input, and end."""
    answer = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # a library that prints must not spoil the answer
    request = json.loads(sys.stdin.read())
    threading.Thread(target=_end_with, args=(request["parent"],), daemon=True).start()
    _limit(request["seconds"], request["memory"])
    content = io.BytesIO()
    arrays: dict[str, Any] = {}
    try:
        import partita.io

        found = getattr(partita.io, request["what"])(request["path"], **request["how"])
        said = _packed(found if isinstance(found, np.ndarray | None) else asdict(found), arrays)
        np.savez(content, answer=np.array(json.dumps(said)), allow_pickle=False, **arrays)
    except Exception as error:
        said = {"error": type(error).__name__, "said": " ".join(str(error).split())}
        content = io.BytesIO()
        np.savez(content, answer=np.array(json.dumps(said)))
    answer.write(content.getvalue())
    answer.close()


def _end_with(parent: int) -> None:
    """End when the process that waits for the answer has been killed."""
    while os.getppid() == parent or os.name == "nt":
        time.sleep(_LOOK)
    os._exit(1)


def _limit(seconds: int, memory: int) -> None:
    with suppress(ImportError):
        import resource

        wanted = {"RLIMIT_CPU": seconds, "RLIMIT_AS": memory, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0}
        for name, value in wanted.items():
            with suppress(ValueError, OSError, AttributeError):  # macOS has no limit of memory
                resource.setrlimit(getattr(resource, name), (value, value))


def _packed(value: Any, arrays: dict[str, Any]) -> Any:
    """A value for JSON, whose arrays go to ``arrays`` and are referred to by name."""
    if isinstance(value, dict):
        return {"dict": {str(k): _packed(v, arrays) for k, v in value.items()}}
    if isinstance(value, np.ndarray):
        name, is_words = f"array{len(arrays)}", value.dtype.hasobject
        arrays[name] = value.astype(np.str_) if is_words else value
        return {"array": name}
    return {"plain": value}


def _unpacked(packed: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """What :func:`_packed` took apart."""
    ((kind, value),) = packed.items()
    if kind == "dict":
        return {k: _unpacked(v, arrays) for k, v in value.items()}
    return arrays[value] if kind == "array" else tuple(value) if isinstance(value, list) else value
