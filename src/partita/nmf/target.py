"""What is factorised: a matrix of any array library, or a similarity that is never formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import devices, validate
from partita.devices import to_host
from partita.draws import pick_items
from partita.errors import InvalidTypeError, InvalidValueError
from partita.nmf.model import DEVICE_BLOCK, Factors, namespace
from partita.parallel import blocks, item_blocks, map_items
from partita.similarity import Similarity
from partita.similarity._counting import block as count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.nmf.descent import Matrix
    from partita.typing import IntArray

# Items beyond which landmarks stand for all: kl of all 1,500, ranks 2 to 12, takes half a minute.
MANY = 1_500
# Items up to which factors of all items are iterated until they gain little, and the norm is exact.
# Beyond, a product with n² numbers takes seconds.
EVERY = 20_000
BLOCK = 1 << 20  # numbers of a block of the similarity, which then stays in a cache
FROM_ROWS = 500  # rows that the norm is estimated from


@dataclass(frozen=True, eq=False)
class Target:
    """A symmetric non-negative matrix, given as an array or behind an operator.

    Parameters
    ----------
    array : array or None
        NumPy's in float64, or that of another library where it is.
    similarity : Similarity or None
        Where there is no array.
    dtype : dtype of the library
        Of the factors that are given back.
    """

    array: Any
    similarity: Similarity | None
    dtype: Any

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int((self.similarity or self.array).shape[0])

    @property
    def is_on_host(self) -> bool:
        """Whether it is NumPy's, or behind an operator."""
        return self.array is None or isinstance(self.array, np.ndarray)

    @property
    def most_looks(self) -> int:
        """Looks at all items, at most."""
        return 10 if self.n_items <= EVERY else 1

    def put_factors(self, factors: Factors) -> Factors:
        """Factors in the library, precision and place of the target."""
        return Factors(*(None if x is None else self.put(x) for x in factors))

    def put(self, x: NDArray[np.float64]) -> Any:
        """A host array in the library, precision and place of the target."""
        x = np.ascontiguousarray(x)
        if self.is_on_host:
            return x
        from array_api_compat import device

        xp = namespace(self.array)
        return xp.asarray(x, dtype=self.dtype, device=device(self.array))

    def rows(self, items: NDArray[np.intp] | None = None) -> Iterator[tuple[slice, Matrix]]:
        """Yield V[items], or all of V, on the host, some of its columns at a time.

        From draws it takes one pass over them, wherever they are.
        """
        n_rows = self.n_items if items is None else items.size
        for columns, part in self._rows(slice(None) if items is None else items):
            for cut in blocks(part.shape[1], max(64, BLOCK // n_rows)):
                place = slice(columns.start + cut.start, columns.start + cut.stop)
                yield place, np.ascontiguousarray(part[:, cut])

    def _rows(self, items: Any) -> Iterator[tuple[slice, Matrix]]:
        n = self.n_items
        if self.array is not None:
            most = BLOCK if self.is_on_host else DEVICE_BLOCK
            for part in blocks(n, max(64, most // n)):
                columns = to_host(self.array[part, :])  # V is symmetric
                yield part, np.asarray(columns[:, items].T, dtype=np.float64)
            return
        assert self.similarity is not None
        draws = self.similarity.draws
        if draws is None:
            for part in blocks(n, max(64, BLOCK // n)):
                every = np.arange(n)
                yield part, np.asarray(self.similarity.block(every[items], every[part]))
            return
        weights = None if draws.weights is None else draws.probabilities
        chosen = pick_items(draws.labels, np.arange(n)[items])
        found = map_items(shares, draws.labels, shared=(chosen, weights), label="similarity")
        yield from zip(item_blocks(draws.labels.shape), found, strict=True)

    def matrix(self) -> Matrix:
        """All of V on the host."""
        return np.concatenate([part for _, part in self.rows()], axis=1)

    def times(self, X: Matrix) -> Matrix:
        """X V for X of shape (r, n)."""
        if isinstance(self.array, np.ndarray):
            return np.asarray(X @ self.array)
        if self.array is None:
            assert self.similarity is not None
            return np.ascontiguousarray((self.similarity @ X.T).T)
        xp = namespace(self.array)
        product = xp.astype(self.put(X), self.array.dtype) @ self.array
        return np.asarray(to_host(product), dtype=np.float64)

    @cached_property
    def norm2(self) -> float:
        """Σ_ij V_ij²; of very many items an estimate from some rows, the same for every rank."""
        n = self.n_items
        if n > EVERY:
            items = np.linspace(0, n - 1, FROM_ROWS).astype(np.intp)
            squares = (float(np.vdot(part, part)) for _, part in self.rows(items))
            return sum(squares) * (n / items.size)
        if self.array is None:
            assert self.similarity is not None
            return float(self.similarity.frobenius2())
        return sum(float(np.vdot(part, part)) for _, part in self.rows())

    @cached_property
    def total(self) -> float:
        """Σ_ij V_ij."""
        return sum(float(part.sum()) for _, part in self.rows())

    @cached_property
    def entropy(self) -> float:
        """Σ_ij V_ij log V_ij - V_ij."""
        found = 0.0
        for _, part in self.rows():
            seen = part[part > 0]
            found += float((seen * np.log(seen) - seen).sum())
        return found

    def dense(self, *, why: str = "") -> Any:
        """The matrix itself, where it is; refused where memory does not hold it."""
        if self.array is not None:
            return self.array
        assert self.similarity is not None
        n = self.n_items
        validate.fits_in_memory(
            f"`similarity` as the matrix of {n:,} items that {why}", 8 * n * n,
            'use `solver="fast"`.',
        )  # fmt: skip
        return self.similarity.to_dense(n_jobs=1)


def shares(
    block: IntArray, items: slice, chosen: IntArray, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The similarity of chosen items, by their labels, with those of a block."""
    both = np.concatenate([chosen, block], axis=1)
    every = np.arange(both.shape[1])
    few = chosen.shape[1]
    return count(both, weights, every[:few], every[few:])


def as_target(similarity: Any, *, device: Any = None, dtype: Any = None) -> Target:
    """Check what a user hands over; a bare array is a similarity matrix here.

    It is factorised where ``device`` says, and else where it is. On the host all is float64; on a
    device factors are float32 unless ``dtype`` says otherwise.
    """
    if isinstance(similarity, Target):
        return similarity
    if isinstance(similarity, Similarity):
        return _of_similarity(similarity, device, dtype)
    where = devices.resolve(device)
    if isinstance(similarity, np.ndarray) or not _is_array(similarity):
        try:
            similarity = np.asarray(similarity, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidTypeError(
                "`similarity` must be a Similarity or a matrix of numbers; "
                f"got {type(similarity).__name__}. From draws: posterior_similarity(draws)."
            ) from None
    elif device is None and dtype is None:
        checked = validate.factorizable("similarity", similarity, namespace(similarity))
        return Target(checked, None, checked.dtype)
    elif device is None:
        where = devices.of(similarity)
    checked = validate.factorizable("similarity", to_host(similarity), np)
    if where is None:
        _check_host_dtype(dtype)
        return Target(np.array(checked, dtype=np.float64, order="C"), None, np.dtype(np.float64))
    array = where.put(
        checked, validate.float_dtype("dtype", np.float32 if dtype is None else dtype)
    )
    return Target(array, None, array.dtype)


def _of_similarity(similarity: Similarity, device: Any, dtype: Any) -> Target:
    device = similarity.device if device is None else device
    if devices.resolve(device) is not None:
        array = similarity.to_device(device, dtype=dtype).on_device
        return Target(array, None, array.dtype)
    _check_host_dtype(dtype)
    double = np.dtype(np.float64)
    if similarity.is_dense or similarity.device is not None or similarity.n_items <= MANY:
        array = np.ascontiguousarray(similarity.to_dense(n_jobs=1), dtype=np.float64)
        return Target(array, None, double)
    return Target(None, similarity, double)


def _check_host_dtype(dtype: Any) -> None:
    if validate.float_dtype("dtype", dtype) != np.float64:
        raise InvalidValueError(
            "`dtype` must be float64 on the host, where the compiled loops work in it; give a "
            "`device`, or leave it out."
        )


def _is_array(x: Any) -> bool:
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(x))
