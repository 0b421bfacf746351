"""From what a user hands over to a target: checked, on its own device, equal items merged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import devices, validate
from partita.errors import InvalidTypeError, InvalidValueError
from partita.nmf._common import Target, has_room_for_double, namespace
from partita.similarity import Similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Items beyond which every other restart begins another way. Of fewer all begin with least squares,
# as they did when the results that are kept were made.
MIXED = 1_000


def as_target(
    similarity: Any, *, dense_only: bool, device: Any = None, dtype: Any = None,
    exact: bool = False,
) -> Target:  # fmt: skip
    """Return the similarity as a target; a bare array is a similarity matrix here.

    It is where ``device`` says, and else where the similarity is. With ``exact`` and no ``dtype``
    it is in float64 on a device, where there is room, for factors in float32.
    """
    if isinstance(similarity, Target):
        return similarity
    where = devices.resolve(device)
    if isinstance(similarity, Similarity):
        return _of_similarity(similarity, dense_only, device, dtype, exact)
    if isinstance(similarity, np.ndarray) or not _is_array(similarity):
        try:
            similarity = np.asarray(similarity, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidTypeError(
                "`similarity` must be a Similarity or a matrix of numbers; "
                f"got {type(similarity).__name__}. From draws: posterior_similarity(draws)."
            ) from None
        stays = where is None
    elif device is None:
        where = devices.of(similarity)
        stays = dtype is None
    else:
        stays = False
    if stays:
        check_host_dtype(similarity, dtype)
        return of_array(similarity)
    if where is None:
        return of_array(np.asarray(devices.to_host(similarity), dtype=np.float64))
    checked = validate.factorizable("similarity", devices.to_host(similarity), np)
    if exact and dtype is None and has_room_for_double(where, checked.shape[0]):
        target = of_array(where.put(checked, np.float64), symmetric=True)
        return replace(target, given=target.xp.float32)
    wanted = validate.float_dtype("dtype", np.float32 if dtype is None else dtype)
    return of_array(where.put(checked, wanted), symmetric=True)


def _of_similarity(
    similarity: Similarity, dense_only: bool, device: Any, dtype: Any, exact: bool
) -> Target:
    if device is None:
        device = similarity.device
    where = devices.resolve(device)
    if where is not None:
        if not exact or dtype is not None or not has_room_for_double(where, similarity.n_items):
            return of_array(similarity.to_device(device, dtype=dtype).on_device, symmetric=True)
        given = "float32" if similarity.device is None else devices.dtype_name(similarity.on_device)
        there = similarity.to_device(device, dtype=np.float64).on_device
        return replace(of_array(there, symmetric=True), given=getattr(where.xp, given))
    check_host_dtype(np.empty(0), dtype)
    if dense_only and not similarity.is_dense and similarity.device is None:
        n = similarity.n_items
        validate.fits_in_memory(
            f"`similarity` as the matrix of {n:,} items that the models 'kl' and 'ns' and the "
            "solver 'mu' factorise",
            8 * n * n,
            "use estimate(draws, search='nmf-kl') or 'nmf-ns', which fit a sample of the items and "
            "extend it to the others, or factorize with model='ls' and solver='fast'.",
        )
    if similarity.is_dense or similarity.device is not None or dense_only:
        return of_array(np.asarray(similarity.to_dense(n_jobs=1)), symmetric=True)
    return _of_operator(similarity)


def check_host_dtype(array: Any, dtype: Any) -> None:
    """Refuse single precision where the compiled loops have none."""
    if isinstance(array, np.ndarray) and validate.float_dtype("dtype", dtype) != np.float64:
        raise InvalidValueError(
            "`dtype` must be float64 on the host, where the compiled loops work in it; give a "
            "`device`, or leave it out."
        )


def like(target: Target, x: NDArray[np.float64]) -> Any:
    """A host array in the target's library, dtype and place."""
    if target.is_numpy:
        return np.ascontiguousarray(x)
    return target.xp.asarray(x, dtype=target.dtype, device=target.device)


def shared(similarity: Any, *, device: Any = None, dtype: Any = None) -> Target:
    """Return a target for several models in turn: what they have in common is computed once."""
    target = as_target(similarity, dense_only=True, device=device, dtype=dtype, exact=True)
    return replace(target, fits={})


def _is_array(x: Any) -> bool:
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(x))


def of_array(array: Any, *, symmetric: bool = False) -> Target:
    """A target in memory. NumPy arrays are worked on in float64, others in their own dtype."""
    if isinstance(array, np.ndarray):
        if not symmetric:
            array = validate.factorizable("similarity", array, np)
        if array.dtype != np.float64 or not array.flags.c_contiguous or not array.flags.writeable:
            array = np.array(array, dtype=np.float64, order="C")
        n = array.shape[0]
        mixed = n > MIXED
        return Target(_numpy(), array, None, n, array.dtype, None, np.ones(n), mixed=mixed)
    from array_api_compat import device

    xp = namespace(array)
    if not symmetric:
        array = validate.factorizable("similarity", array, xp)
    n = array.shape[0]
    where = device(array)
    border = xp.ones(n, dtype=array.dtype, device=where)
    return Target(xp, array, None, n, array.dtype, where, border, mixed=n > MIXED)


def _of_operator(similarity: Similarity) -> Target:
    n = similarity.n_items
    return Target(_numpy(), None, similarity, n, np.dtype(np.float64), None, np.ones(n))


def _numpy() -> Any:
    return namespace(np.empty(0))
