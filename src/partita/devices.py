"""Where arrays live: on the host as NumPy's, or on a GPU as PyTorch's or CuPy's.

A device is named in words: ``"cpu"`` is NumPy and compiled loops; ``"cuda"`` and ``"cuda:1"`` are
GPUs, through PyTorch where it is installed and else through CuPy; ``"torch:cuda"``,
``"cupy:cuda"`` and ``"torch:cpu"`` name the library too. Neither is imported until asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import (
    InvalidTypeError,
    InvalidValueError,
    MissingDependencyError,
    OutOfMemoryError,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PATTERN = re.compile(r"(?:(torch|cupy):)?(cpu|cuda(?::(\d+))?)")


@dataclass(frozen=True, eq=False)
class Device:
    """An array library, and what it calls the place where its arrays are."""

    name: str
    xp: Any
    handle: Any

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU, where half precision is quick and memory is its own."""
        return "cuda" in self.name

    def put(self, array: NDArray[Any], dtype: Any = None) -> Any:
        """Copy a host array to the device, as ``dtype`` if given (a NumPy dtype)."""
        array = np.ascontiguousarray(array, dtype=dtype)
        if not array.flags.writeable:  # PyTorch warns of what it cannot write to
            array = array.copy()
        return self.xp.asarray(array, device=self.handle)

    def check_room(self, what: str, n_bytes: int) -> None:
        """Refuse an allocation larger than what is free on the device."""
        if self.is_gpu:
            free = self.free_memory()
            if n_bytes > free:
                raise OutOfMemoryError(
                    f"{what} would take {validate.bytes_text(n_bytes)} and "
                    f"{validate.bytes_text(free)} are free on {self.name}; leave `device` out to "
                    "work from the draws on the host."
                )
        else:
            validate.fits_in_memory(what, n_bytes, "leave `device` out to work from the draws.")

    def has_room(self, n_bytes: int) -> bool:
        """Whether that much is free on the device; of a host's memory, at most a half is taken."""
        if self.is_gpu:
            return n_bytes <= self.free_memory()
        import psutil

        return n_bytes <= psutil.virtual_memory().available // 2

    @contextmanager
    def lane(self) -> Iterator[None]:
        """Queue what is done inside beside what others do, and wait for it at the end.

        What was queued before is done before; on a CPU nothing changes.
        """
        if not self.is_gpu:
            yield
        elif self.name.startswith("torch"):
            import torch

            stream = torch.cuda.Stream(self.handle)
            stream.wait_stream(torch.cuda.current_stream(self.handle))
            with torch.cuda.stream(stream):
                yield
            stream.synchronize()
        else:
            import cupy

            with self.handle:
                beside = cupy.cuda.Stream(non_blocking=True)
                beside.wait_event(cupy.cuda.get_current_stream().record())
                with beside:
                    yield
                beside.synchronize()

    def free_memory(self) -> int:
        """Bytes that are free on a GPU, those included that the library holds in reserve."""
        if self.name.startswith("torch"):
            import torch

            held = torch.cuda.memory_reserved(self.handle)
            used = torch.cuda.memory_allocated(self.handle)
            return int(torch.cuda.mem_get_info(self.handle)[0]) + int(held - used)
        import cupy

        with self.handle:
            pool = cupy.get_default_memory_pool()
            return int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())


@cache
def total_memory(name: str) -> int:
    """Bytes of memory that the GPU of that name, such as "torch:cuda:0", has."""
    library, _, place = name.partition(":")
    number = int(place.rpartition(":")[2])
    if library == "torch":
        import torch

        return int(torch.cuda.get_device_properties(number).total_memory)
    import cupy

    return int(cupy.cuda.runtime.getDeviceProperties(number)["totalGlobalMem"])


def resolve(device: Any) -> Device | None:
    """Return the device of that name, or None for the host.

    Raises
    ------
    InvalidValueError
        If there is no such device here; the message says why.
    MissingDependencyError
        If no library that could use it is installed.
    """
    if device is None or device == "cpu":
        return None
    if isinstance(device, Device):
        return device
    if not isinstance(device, str):
        raise InvalidTypeError(f"`device` must be a string such as 'cuda'; got {device!r}.")
    found = _PATTERN.fullmatch(device)
    if found is None or device == "cupy:cpu":
        raise InvalidValueError(
            "`device` must be 'cpu', 'cuda', 'cuda:N', or one of these after 'torch:' or 'cupy:' "
            f"(CuPy has no 'cpu'); got {device!r}."
        )
    library, place, number = found.groups()
    library = library or _library(device)
    open_ = _torch if library == "torch" else _cupy
    return open_(place, int(number or 0))


def _library(device: str) -> str:
    for name in ("torch", "cupy"):
        if find_spec(name) is not None:
            return name
    raise MissingDependencyError(
        f"`device` {device!r} needs PyTorch or CuPy, and neither is installed; "
        "pip install 'partita[gpu]', or leave `device` out to run on the CPU."
    )


def _need(library: str) -> None:
    if find_spec(library) is None:
        words = {"torch": "PyTorch", "cupy": "CuPy"}
        raise MissingDependencyError(
            f"`device` names {words[library]}, which is not installed; install it, or leave "
            "`device` out to run on the CPU."
        )


def _torch(place: str, number: int) -> Device:
    _need("torch")
    import torch
    from array_api_compat import torch as xp

    if place == "cpu":
        return Device("torch:cpu", xp, torch.device("cpu"))
    if not torch.cuda.is_available():
        why = "its build has no CUDA" if torch.version.cuda is None else "no driver or no card"
        raise InvalidValueError(
            f"`device` must exist: PyTorch {torch.__version__} sees no GPU here ({why}); leave "
            "`device` out to run on the CPU."
        )
    _check_number(number, torch.cuda.device_count())
    return Device(f"torch:cuda:{number}", xp, torch.device("cuda", number))


def _cupy(place: str, number: int) -> Device:
    _need("cupy")
    import cupy
    from array_api_compat import cupy as xp

    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InvalidValueError(
            f"`device` must exist: CuPy {cupy.__version__} sees no GPU here ({error}); leave "
            "`device` out to run on the CPU."
        ) from None
    _check_number(number, count)
    return Device(f"cupy:cuda:{number}", xp, cupy.cuda.Device(number))


def _check_number(number: int, count: int) -> None:
    if number >= count:
        raise InvalidValueError(
            f"`device` must be one of the {count} GPUs here, counted from 0; got number {number}."
        )


def of(array: Any) -> Device:
    """Return the device that an array of the array API is on."""
    from array_api_compat import array_namespace, device

    where = device(array)
    library = type(array).__module__.partition(".")[0]
    place = f"cuda:{where.id}" if library == "cupy" else str(where)
    return Device(f"{library}:{place}", array_namespace(array), where)


def dtype_name(array: Any) -> str:
    """Return the name of an array's dtype, such as "float32", in any library."""
    return str(array.dtype).rpartition(".")[2]


def to_host(x: Any) -> NDArray[Any]:
    """Return an array of any library as a NumPy array on the host."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "get"):
        return np.asarray(x.get())
    if hasattr(x, "detach"):
        return np.asarray(x.detach().cpu())
    return np.asarray(x)
