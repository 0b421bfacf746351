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
            raise RuntimeError(f"CUDA could not launch a kernel: error {status}.")


def compiled(source: str, name: str, architecture: str) -> Kernel | None:
    """Compile for the device whose context is current; None where there is no compiler."""
    nvrtc, driver = _compiler(), _driver()
    if nvrtc is None or driver is None:
        return None
    image = _image(nvrtc, source, architecture)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if driver.cuModuleLoadData(ctypes.byref(module), image):
        return None
    if driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()):
        return None
    return Kernel(driver, function)


def _image(nvrtc: Any, source: str, architecture: str) -> Any:
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    try:
        options = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
        if nvrtc.nvrtcCompileProgram(program, 1, options):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"CUDA source did not compile: {log.value.decode()}")
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        image = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, image)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return image


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
