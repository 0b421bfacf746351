"""A reader in a process of its own, with limits, for formats whose libraries may hang or crash.

A damaged HDF5 file can loop for ever inside the library that reads it, and a hostile Parquet or R
file can ask for any amount of memory. So these are read by a child process that may use so much
memory and processor time and can write nothing; what it sends back is JSON and plain bytes, never
pickle. Where the system has no such limits (Windows), only the time is limited.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from types import TracebackType
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError, MissingDependencyError, OutOfMemoryError
from partita.io._source import MEND

_NEEDS = {
    "netcdf": ("h5py", "NetCDF", "netcdf"),
    "parquet": ("pyarrow", "Parquet", "parquet"),
    "rdata": ("rdata", "R's .rds and .RData", "rdata"),
}
_START = "import sys; sys.path[:] = {path!r}; from partita.io._child import main; main()"
_HEAD = struct.Struct("<QQ")
_MOST_JSON = 1 << 28
_BASE_MEMORY = 1 << 30
_BASE_SECONDS = 30
_BYTES_A_SECOND = 4 << 20  # slower than any of the libraries reads on a bad day
_WALL_FOR_CPU = 10  # a busy machine gives a process a tenth of its time
_QUIET = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "HDF5_PLUGIN_PRELOAD": "::",  # no filter is loaded from a library on disk
    "HDF5_USE_FILE_LOCKING": "FALSE",
    "MALLOC_ARENA_MAX": "1",
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}


class Sandbox:
    """A child process that has one file open and answers requests about it."""

    def __init__(self, reader: str, path: str) -> None:
        module, format_name, extra = _NEEDS[reader]
        if find_spec(module) is None:
            raise MissingDependencyError(
                f"{format_name} files need {module}, which is not installed; "
                f"pip install 'partita[{extra}]'."
            )
        self.path = path
        self.size = os.path.getsize(path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=[p or os.getcwd() for p in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _QUIET,
        )
        self._late = False
        self._finalizer = weakref.finalize(self, _end, self._process)
        try:
            request = {"reader": reader, "path": os.path.abspath(path)}
            self.described = self.ask(request, self.size)[0]
        except BaseException:
            self.close()
            raise

    def ask(self, request: Mapping[str, Any], n_bytes: int) -> tuple[dict[str, Any], bytes]:
        """Send a request whose answer takes some ``n_bytes`` to make, and wait for the answer."""
        seconds = _BASE_SECONDS + n_bytes // _BYTES_A_SECOND
        memory = min(_BASE_MEMORY + 4 * n_bytes, max(validate.free_memory(), _BASE_MEMORY))
        limits = {"seconds": seconds, "memory": memory}
        alarm = threading.Timer(_WALL_FOR_CPU * seconds, self._stop)
        alarm.daemon = True
        alarm.start()
        try:
            to = cast("IO[bytes]", self._process.stdin)
            to.write(json.dumps({**request, **limits}).encode() + b"\n")
            to.flush()
            answer, raw = self._answer(memory)
        except (OSError, EOFError, ValueError, KeyError):
            raise self._dead() from None
        finally:
            alarm.cancel()
        if "error" in answer:
            raise self._error(answer, memory)
        return answer, raw

    def array(self, request: Mapping[str, Any], n_bytes: int) -> NDArray[Any]:
        """Ask for an array: numbers, or text as fixed-width Unicode."""
        answer, raw = self.ask(request, n_bytes)
        try:
            dtype, shape = np.dtype(str(answer["dtype"])), tuple(map(int, answer["shape"]))
            if dtype.kind not in "biufU":
                raise ValueError(dtype)
            return np.frombuffer(raw, dtype).reshape(shape)
        except (KeyError, TypeError, ValueError):
            raise FileError(f"{self.path!r} is corrupt: its reader broke.") from None

    def _answer(self, memory: int) -> tuple[dict[str, Any], bytes]:
        source = cast("IO[bytes]", self._process.stdout)
        head = source.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise EOFError
        n_json, n_raw = _HEAD.unpack(head)
        if n_json > _MOST_JSON or n_raw > memory:
            raise ValueError("sizes")
        text, raw = source.read(n_json), source.read(n_raw)
        if len(text) < n_json or len(raw) < n_raw:
            raise EOFError
        answer = json.loads(text)
        if not isinstance(answer, dict):
            raise ValueError("answer")
        return answer, raw

    def _error(self, answer: Mapping[str, Any], memory: int) -> Exception:
        message = str(answer["error"])
        if answer.get("kind") == "memory":
            return OutOfMemoryError(
                f"{self.path!r} would take more than the {validate.bytes_text(memory)} that its "
                "reader may use; if it is sound, save the labels as .npy or .npz."
            )
        if answer.get("kind") == "said":
            return FileError(message)
        return FileError(f"{self.path!r} is truncated or corrupt: {message}. {MEND}")

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def _dead(self) -> FileError:
        self._process.kill()
        code = self._process.wait()
        late = self._late or code in (-24, -9)  # SIGXCPU, SIGKILL at the hard limit
        if late:
            return FileError(
                f"{self.path!r} is corrupt, or there is too much in it: it took too long to read. "
                "If it is whole, keep the labels as .npy or Zarr."
            )
        return FileError(
            f"{self.path!r} is truncated or corrupt: its reader broke (status {code}). {MEND}"
        )

    def close(self) -> None:
        """End the child; it also ends when nobody holds this any longer."""
        self._finalizer()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what a child that died has not read
                pipe.close()
    process.wait()
