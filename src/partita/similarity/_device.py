"""A similarity that is a matrix on a GPU, or in another array library."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.devices import Device, dtype_name, to_host
from partita.parallel import blocks
from partita.similarity._backing import Backing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws
    from partita.typing import FloatArray, IntArray

_BLOCK = 1 << 28  # numbers in a temporary
_EXACT_IN_HALF = 2048  # whole numbers up to this are exact in half precision


@dataclass(frozen=True, eq=False)
class OnDevice(Backing):
    """π̂ held as an (n, n) array of PyTorch or CuPy; sums are taken there, in float64."""

    array: Any
    device: Device

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.array.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the matrix."""
        return np.dtype(dtype_name(self.array))

    def astype(self, dtype: np.dtype[Any]) -> OnDevice:
        """The same in another precision, where it is."""
        xp = self.device.xp
        return OnDevice(xp.astype(self.array, getattr(xp, dtype.name)), self.device)

    def _rows(self) -> list[slice]:
        return blocks(self.n_items, _BLOCK // self.n_items)

    def _double(self, rows: slice) -> Any:
        xp = self.device.xp
        return xp.astype(self.array[rows, :], xp.float64)

    def matmul(self, x: FloatArray, n_jobs: int) -> FloatArray:
        """π̂ x."""
        moved = self.device.put(x, np.float64)
        return np.concatenate([to_host(self._double(rows) @ moved) for rows in self._rows()])

    def block(self, rows: IntArray, cols: IntArray) -> FloatArray:
        """π̂[rows][:, cols]."""
        xp = self.device.xp
        picked = xp.take(self.array, self.device.put(rows, np.int64), axis=0)
        return to_host(xp.take(picked, self.device.put(cols, np.int64), axis=1))

    def dense(self, dtype: Any, n_jobs: int) -> FloatArray:
        """The whole matrix, on the host."""
        return np.asarray(to_host(self.array), dtype=dtype)

    def own_sums(self, labels: IntArray, n_clusters: int, n_jobs: int) -> NDArray[np.float64]:
        """Σ_j x_ij π̂_ij for every item i."""
        xp = self.device.xp
        moved = self.device.put(labels, np.int64)
        numbers = xp.arange(n_clusters, device=self.device.handle)
        member = xp.astype(moved[:, None] == numbers, xp.float64)
        sums = (
            xp.sum((self._double(rows) @ member) * member[rows, :], axis=1) for rows in self._rows()
        )
        return np.concatenate([to_host(part) for part in sums])

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Σ_j π̂_ij for every item i."""
        xp = self.device.xp
        return np.asarray(to_host(xp.sum(self.array, axis=1, dtype=xp.float64)))

    def frobenius2(self) -> float:
        """Σ_ij π̂_ij²."""
        xp = self.device.xp
        return sum(float(xp.sum(x * x)) for x in map(self._double, self._rows()))


def counted(draws: Draws, device: Device, dtype: Any) -> OnDevice:
    """Count on the device: π̂ = ZZᵀ/M with Z the stacked one-hot draws, a block of them at a time.

    Without weights the counts are exact: a product of zeros and ones in half precision, on a GPU,
    over no more draws than half precision can count, summed in ``dtype``.
    """
    xp, n = device.xp, draws.n_items
    dtype = validate.float_dtype("dtype", dtype)
    device.check_room(f"The dense similarity of {n:,} items", n * n * (dtype.itemsize + 2))
    out = xp.zeros((n, n), dtype=getattr(xp, dtype.name), device=device.handle)
    for part in _chunks(draws):
        _add(out, device, draws, part)
    if draws.weights is None:
        # Divided by an array: PyTorch multiplies by the reciprocal of a number, which rounds twice.
        out /= xp.full((1, 1), draws.n_draws, dtype=out.dtype, device=device.handle)
    return OnDevice(out, device)


def _chunks(draws: Draws) -> list[NDArray[np.intp]]:
    """Draws of like numbers of clusters, few enough that their one-hots fit a block."""
    order = np.argsort(draws.n_clusters, kind="stable")
    chunks, lo = [], 0
    while lo < order.size:
        hi, width = lo, 0
        while hi < order.size and hi - lo < _EXACT_IN_HALF:
            width = int(draws.n_clusters[order[hi]])
            if hi > lo and (hi + 1 - lo) * width * draws.n_items > 2 * _BLOCK:
                break
            hi += 1
        chunks.append(order[lo:hi])
        lo = hi
    return chunks


def _add(out: Any, device: Device, draws: Draws, part: NDArray[np.intp]) -> None:
    """Add the draws of one chunk to the matrix, a block of its rows at a time."""
    xp, n = device.xp, draws.n_items
    width = int(draws.n_clusters[part].max())
    labels = device.put(draws.labels[part], np.uint8 if width <= 1 << 8 else np.int32)
    numbers = xp.astype(xp.arange(width, device=device.handle), labels.dtype)
    hits = labels[:, None, :] == numbers[:, None]
    if draws.weights is None:
        exact = xp.float16 if device.is_gpu else xp.float32
        left = right = xp.reshape(xp.astype(hits, exact), (-1, n))
    else:
        right = xp.astype(hits, out.dtype)
        share = device.put(draws.probabilities[part], dtype_name(out))
        left = xp.reshape(right * share[:, None, None], (-1, n))
        right = xp.reshape(right, (-1, n))
    for rows in blocks(n, _BLOCK // n):
        counts = xp.matrix_transpose(left[:, rows]) @ right
        out[rows, :] += xp.astype(counts, out.dtype)
