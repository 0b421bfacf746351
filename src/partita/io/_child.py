"""The other side of the sandbox: opens one file, answers requests, ends with its input.

Runs in a process of its own and keeps to the limits that come with each request.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from partita.errors import PartitaError
from partita.io._sandbox import _HEAD

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Reader(Protocol):
    """What a format offers: what is in the file, and arrays of it."""

    def describe(self) -> dict[str, Any]: ...

    def read(self, request: Mapping[str, Any]) -> NDArray[Any]: ...


_READERS = {
    "netcdf": ("partita.io._netcdf_child", "NetcdfReader"),
    "parquet": ("partita.io._parquet_child", "ParquetReader"),
    "rdata": ("partita.io._rdata_child", "RdataReader"),
}


def main() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # a library that prints must not spoil the answers
    reader: Reader | None = None
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            if reader is None:
                module, name = _READERS[request["reader"]]
                kind = getattr(import_module(module), name)  # its libraries come before the limits
                limit(request)
                reader = kind(request["path"])
                _send(answers, reader.describe(), b"")
            else:
                limit(request)
                array = reader.read(request)
                about = {"dtype": array.dtype.str, "shape": array.shape}
                _send(answers, about, array.tobytes())
        except BaseException as error:
            _send(answers, failure(error), b"")


def failure(error: BaseException) -> dict[str, str]:
    """What to tell the parent of an error."""
    if isinstance(error, PartitaError):
        return {"error": str(error), "kind": "said"}
    text = " ".join(str(error).split()).rstrip(".")[:300] or type(error).__name__
    memory = isinstance(error, MemoryError) or "llocat" in text or "out of memory" in text.lower()
    return {"error": text, "kind": "memory" if memory else "broken"}


def _send(answers: BinaryIO, about: Mapping[str, Any], raw: bytes) -> None:
    text = json.dumps(about).encode()
    answers.write(_HEAD.pack(len(text), len(raw)))
    answers.write(text)
    answers.write(raw)
    answers.flush()


def limit(request: Mapping[str, Any]) -> None:
    """Take the limits of a request: memory and time beyond what is used now; no file written."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with open("/proc/self/statm") if os.path.exists("/proc/self/statm") else open(os.devnull) as f:
        pages = f.read().split()
    if pages:  # elsewhere the size of the address space is not to be had, and only time is limited
        most = int(pages[0]) * resource.getpagesize() + int(request["memory"])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + int(request["seconds"]) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
