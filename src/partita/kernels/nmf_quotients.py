"""The update of ``kl`` and ``ns`` on a GPU in one pass: Σ_i A_ki V_ij / (AᵀB)_ij.

Written with arrays, AᵀB and the quotients are items by items for every restart, and go to memory
and back four times. Here a thread keeps a few columns of B and of the sums in registers and goes
down the rows of V: of all that is items by items only V is read, and nothing of it is written.
V is symmetric, so that neighbouring threads read neighbouring numbers.

The rows are cut into parts of some hundreds. Sums within a part are in the precision of V, sums
over parts in double. Nothing is added in an order that could change from run to run.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from partita.errors import PartitaWarning
from partita.kernels import _nvrtc
from partita.kernels._nvrtc import KernelError

THREADS = 128
TILE = 64  # rows of V whose columns of A are shared by a block of threads
DEPTH = 4  # rows of V that are on their way
BLOCKS = 3  # of threads, at least, that one multiprocessor can hold
MOST_PARTS = 32
_LEAST_PART = 512  # rows: more in a part is less to add up, fewer parts to fill a card
_REGISTERS = 96  # for B and the sums

SOURCE = r"""
struct __align__(16) Vec { REAL x[16 / sizeof(REAL)]; };
#define WIDE (16 / (int)sizeof(REAL))
#define PADDED ((K + WIDE - 1) / WIDE * WIDE)

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
quotient_sums(const REAL* __restrict__ V, const REAL* __restrict__ A,
              const REAL* __restrict__ B, REAL* __restrict__ out, int n, int chunk)
{
    __shared__ Vec shared[TILE * PADDED / WIDE];
    REAL* tile = (REAL*)shared;
    const int fit = blockIdx.x;
    const size_t row_length = n;
    A += fit * (size_t)K * row_length;
    B += fit * (size_t)K * row_length;

    int column[ITEMS];
    REAL b[K][ITEMS], s[K][ITEMS];
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        int j = (blockIdx.y * ITEMS + u) * THREADS + threadIdx.x;
        column[u] = j < n ? j : n - 1;
#pragma unroll
        for (int k = 0; k < K; k++) {
            b[k][u] = B[k * row_length + column[u]];
            s[k][u] = 0;
        }
    }

    const int begin = blockIdx.z * chunk;
    const int end = begin + chunk < n ? begin + chunk : n;
    REAL ahead[DEPTH][ITEMS];
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        const REAL* row = V + (begin + d < end ? begin + d : end - 1) * row_length;
#pragma unroll
        for (int u = 0; u < ITEMS; u++) ahead[d][u] = row[column[u]];
    }
    for (int first = begin; first < end; first += TILE) {
        __syncthreads();
        for (int at = threadIdx.x; at < PADDED * TILE; at += THREADS) {
            const int k = at / TILE, i = at % TILE;
            tile[i * PADDED + k] =
                k < K && first + i < end ? A[k * row_length + first + i] : (REAL)0;
        }
        __syncthreads();
        for (int group = 0; group < TILE; group += DEPTH) {
#pragma unroll
            for (int d = 0; d < DEPTH; d++) {
                REAL v[ITEMS], a[PADDED];
                const int next = first + group + d + DEPTH;
                const REAL* row = V + (next < end ? next : end - 1) * row_length;
#pragma unroll
                for (int u = 0; u < ITEMS; u++) {
                    v[u] = ahead[d][u];
                    ahead[d][u] = row[column[u]];
                }
#pragma unroll
                for (int w = 0; w < PADDED / WIDE; w++) {
                    const Vec some = shared[(group + d) * (PADDED / WIDE) + w];
#pragma unroll
                    for (int x = 0; x < WIDE; x++) a[w * WIDE + x] = some.x[x];
                }
#pragma unroll
                for (int u = 0; u < ITEMS; u++) {
                    REAL t = TINY;
#pragma unroll
                    for (int k = 0; k < K; k++) t += a[k] * b[k][u];
                    const REAL q = DIVIDE(v[u], t);
#pragma unroll
                    for (int k = 0; k < K; k++) s[k][u] += a[k] * q;
                }
            }
        }
    }

    out += ((size_t)blockIdx.z * gridDim.x + fit) * K * row_length;
#pragma unroll
    for (int u = 0; u < ITEMS; u++) {
        const int j = (blockIdx.y * ITEMS + u) * THREADS + threadIdx.x;
        if (j < n)
#pragma unroll
            for (int k = 0; k < K; k++) out[k * row_length + j] = s[k][u];
    }
}
"""


class Launch(NamedTuple):
    """How a launch is cut: columns for each thread, rows of a part, and the grid."""

    items: int
    chunk: int
    grid: tuple[int, int, int]

    @classmethod
    def plan(cls, n_fits: int, rank: int, n: int, itemsize: int) -> Launch:
        """As many columns for a thread as its registers hold: 4, 2 or 1; or none at all."""
        most = _REGISTERS // (2 * rank * (itemsize // 4))
        items = next((x for x in (4, 2, 1) if x <= most), 0)
        chunk = max(_LEAST_PART, -(-n // MOST_PARTS))
        chunk = -(-chunk // TILE) * TILE
        columns = -(-n // (THREADS * max(items, 1)))
        return cls(items, chunk, (n_fits, columns, -(-n // chunk)))


def source(rank: int, items: int, dtype: str) -> str:
    """The CUDA source for one rank and precision."""
    single = dtype == "float32"
    words = {
        "REAL": "float" if single else "double",
        "DIVIDE(x, y)": "__fdividef(x, y)" if single else "((x) / (y))",
        "TINY": "1e-30f" if single else "1e-290",
        "K": rank,
        "ITEMS": items,
        "THREADS": THREADS,
        "TILE": TILE,
        "DEPTH": DEPTH if single else DEPTH // 2,
        "BLOCKS": BLOCKS,
    }
    return "".join(f"#define {name} {value}\n" for name, value in words.items()) + SOURCE


def quotient_sums(V: Any, A: Any, B: Any) -> Any | None:
    """Σ_i A_ki V_ij / (AᵀB)_ij in float64, for every restart.

    Parameters
    ----------
    V : array of PyTorch or CuPy on a GPU, shape (n, n)
        Symmetric; float32 or float64.
    A, B : arrays, shape (..., K, n)
        Of the same precision.

    Returns
    -------
    array of float64, shape (..., K, n), or None
        None where there is no kernel to be had: on a CPU, at ranks too wide for the registers,
        where CUDA's run-time compiler is missing, or, with a warning, where it fails. Arrays then
        do the same.
    """
    library = type(V).__module__.partition(".")[0]
    if library not in ("torch", "cupy") or not _is_on_gpu(V):
        return None
    dtype = str(V.dtype).rpartition(".")[2]
    K, n = (int(x) for x in B.shape[-2:])
    n_fits = 1
    for size in B.shape[:-2]:
        n_fits *= int(size)
    if dtype not in ("float32", "float64") or V.dtype != B.dtype or not n_fits:
        return None
    launch = Launch.plan(n_fits, K, n, 4 if dtype == "float32" else 8)
    if launch.items == 0:
        return None
    which = (library, K, launch.items, dtype)
    if which in _failed:
        return None
    try:
        out = (_torch if library == "torch" else _cupy)(launch, dtype, V, A, B)
    except KernelError as error:
        _failed.add(which)
        _warn(library, error)
        return None
    return None if out is None else out.reshape(B.shape)


_failed: set[tuple[str, int, int, str]] = set()  # which are not tried again


def _is_on_gpu(V: Any) -> bool:
    return bool(getattr(V, "is_cuda", True))  # CuPy has no other place


def _warn(library: str, error: Exception) -> None:
    warnings.warn(
        f"The CUDA kernel for `kl` and `ns` is not used with {library}: {error}. Array operations "
        "do the same, more slowly.",
        PartitaWarning,
        stacklevel=2,
    )


def _torch(launch: Launch, dtype: str, V: Any, A: Any, B: Any) -> Any | None:
    import torch

    K, n = B.shape[-2:]
    with torch.cuda.device(V.device):
        kernel = _torch_kernel(K, launch.items, dtype, V.device.index)
        if kernel is None:
            return None
        parts = torch.empty((launch.grid[2], launch.grid[0], K, n), dtype=V.dtype, device=V.device)
        arrays = [V.contiguous(), A.contiguous(), B.contiguous(), parts]
        stream = torch.cuda.current_stream().cuda_stream
        kernel(launch.grid, THREADS, [x.data_ptr() for x in arrays], [n, launch.chunk], stream)
        return torch.sum(parts, dim=0, dtype=torch.float64)


def _cupy(launch: Launch, dtype: str, V: Any, A: Any, B: Any) -> Any | None:
    import cupy

    K, n = B.shape[-2:]
    with V.device:
        kernel = _cupy_kernel(K, launch.items, dtype)
        parts = cupy.empty((launch.grid[2], launch.grid[0], K, n), dtype=V.dtype)
        arrays = [cupy.ascontiguousarray(x) for x in (V, A, B)]
        sizes = [np.int32(n), np.int32(launch.chunk)]
        kernel(launch.grid, (THREADS,), (*arrays, parts, *sizes))
        return cupy.sum(parts, axis=0, dtype=cupy.float64)


@cache
def _torch_kernel(rank: int, items: int, dtype: str, number: int) -> Any | None:
    import torch

    major, minor = torch.cuda.get_device_capability(number)
    return _nvrtc.compiled(source(rank, items, dtype), "quotient_sums", f"sm_{major}{minor}")


@cache
def _cupy_kernel(rank: int, items: int, dtype: str) -> Any:
    import cupy

    kernel = cupy.RawKernel(source(rank, items, dtype), "quotient_sums")
    try:
        kernel.compile()
    except Exception as error:  # CuPy's own kinds, which differ with its versions
        raise KernelError(f"it did not compile, {' '.join(str(error).split())[:300]}") from None
    return kernel
