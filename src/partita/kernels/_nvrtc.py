"""CUDA source to a function that launches it, by the compiler that PyTorch brings along.

CuPy has a public call for that; PyTorch has none that needs no toolkit. So this speaks to NVRTC and
to the driver directly, in the context that PyTorch has made current.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any


class KernelError(RuntimeError):
    """A kernel that could not be compiled, loaded or launched; arrays can do its work."""


class Kernel:
    """A function on the device: called with a grid, threads, pointers, whole numbers, a stream."""

    def __init__(self, driver: Any, function: ctypes.c_void_p) -> None:
        self._driver = driver
        self._function = function

    def __call__(
        self, grid: tuple[int, int, int], threads: int, pointers: Sequence[int],
        numbers: Sequence[int], stream: int,
    ) -> None:  # fmt: skip
        """Launch; the work is queued on the stream."""
        values: list[Any] = [ctypes.c_void_p(x) for x in pointers]
        values += [ctypes.c_int(x) for x in numbers]
        places = [ctypes.cast(ctypes.byref(x), ctypes.c_void_p) for x in values]
        table = (ctypes.c_void_p * len(places))(*places)
        status = self._driver.cuLaunchKernel(
            self._function, *grid, threads, 1, 1, 0, ctypes.c_void_p(stream), table, None
        )
        if status:
            raise KernelError(f"it could not be launched, error {status}")


def compiled(source: str, name: str, architecture: str) -> Kernel | None:
    """Compile for the device whose context is current; None where there is no compiler."""
    nvrtc, driver = _compiler(), _driver()
    if nvrtc is None or driver is None:
        return None
    try:
        image = _image(nvrtc, source, architecture)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        _check("loaded", driver.cuModuleLoadData(ctypes.byref(module), image))
        _check("found", driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    except (AttributeError, OSError, ctypes.ArgumentError) as error:  # of another version
        raise KernelError(f"its compiler or driver is not as expected, {error}") from None
    return Kernel(driver, function)


def _image(nvrtc: Any, source: str, architecture: str) -> Any:
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    words = (source.encode(), b"kernel.cu", 0, None, None)
    _check("read", nvrtc.nvrtcCreateProgram(ctypes.byref(program), *words))
    try:
        options = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
        if nvrtc.nvrtcCompileProgram(program, 1, options):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(max(1, size.value))
            nvrtc.nvrtcGetProgramLog(program, log)
            said = " ".join(log.value.decode(errors="replace").split())
            raise KernelError(f"it did not compile for {architecture}, {said[:300]}")
        _check("measured", nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        image = ctypes.create_string_buffer(max(1, size.value))
        _check("copied", nvrtc.nvrtcGetCUBIN(program, image))
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return image


def _check(what: str, status: int) -> None:
    if status:
        raise KernelError(f"it could not be {what}, error {status}")


@cache
def _compiler() -> Any | None:
    return next(_opened(_compiler_names()), None)


@cache
def _driver() -> Any | None:
    return next(_opened(["nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"]), None)


def _opened(names: Sequence[str]) -> Iterator[Any]:
    for name in names:
        try:
            yield ctypes.CDLL(name)
        except OSError:
            continue


def _compiler_names() -> list[str]:
    """Where the compiler of PyTorch's CUDA may be: beside PyTorch, or on the loader's path."""
    import torch

    major = str(torch.version.cuda).partition(".")[0]
    home = Path(torch.__file__).parent
    if sys.platform == "win32":
        name = f"nvrtc64_{major}0_0.dll"
        return [str(home / "lib" / name), name]
    name = f"libnvrtc.so.{major}"
    beside = sorted((home.parent / "nvidia").glob(f"*/lib/{name}"))
    return [*map(str, beside), *map(str, (home / "lib").glob(f"libnvrtc*.so.{major}")), name]
