"""Labels that a run left out: which they are, and the numbering of those that are there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidTypeError, InvalidValueError
from partita.partitions import counted_rows, smallest_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws._draws import Draws
    from partita.typing import IntArray

NOISE = ("absent", "singleton")
_NOTHING = frozenset(("NAType", "NaTType", "NoneType"))  # of pandas and Python


def separated(
    labels: Any, missing: Any, noise: str
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return labels without gaps, and which of them are there; None if all are.

    NaN, None, pandas' NA and masked entries are absent. What equals ``missing``, a label or several
    of them, is absent too, or with ``noise="singleton"`` a cluster of its own for each item.
    """
    validate.choice("noise", noise, NOISE)
    array, absent = _without_gaps(labels)
    if missing is not None:
        marked = np.zeros(array.shape, dtype=bool)
        for one in missing if isinstance(missing, list | tuple | set) else (missing,):
            marked |= _equal(array, one)
        if absent is not None:
            marked &= ~absent
        if noise == "singleton":
            array = _singletons(array, marked)
        else:
            absent = marked if absent is None else absent | marked
    return array, None if absent is None or not absent.any() else ~absent


def mask(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Return a mask of the labels' shape, or None if it leaves out nothing."""
    array = np.asarray(value)
    if array.dtype != bool or array.shape != shape:
        raise InvalidValueError(
            f"`{name}` must be True or False for every draw and item, shape {shape}; got "
            f"{array.dtype} of shape {array.shape}."
        )
    return None if array.all() else np.array(array)


def numbered(
    array: IntArray, observed: NDArray[np.bool_]
) -> tuple[IntArray, NDArray[np.int64], NDArray[np.int64]]:
    """Number the clusters of each draw among the items that are there.

    Returns
    -------
    labels : (n_draws, n_items)
        Canonical where ``observed``; elsewhere one number that is the label of no draw.
    n_clusters : (n_draws,)
    first : (n_clusters.sum(),)
        Where in the flattened labels each cluster of each draw appears first.
    """
    if not observed.any(axis=1).all():
        draw = int(np.flatnonzero(~observed.any(axis=1))[0])
        raise InvalidValueError(
            f"`labels` must have at least one label in every draw; draw {draw} has none. Leave it "
            "out."
        )
    values = np.unique(array[observed], return_inverse=True)[1]
    whole = np.zeros(array.shape, dtype=np.int64)  # 0 is what is absent
    whole[observed] = values.reshape(-1) + 1
    labels, n_clusters = counted_rows(whole)
    labels = labels.astype(np.int64)
    rows = np.flatnonzero(~observed.all(axis=1))
    absent = labels[rows, (~observed[rows]).argmax(axis=1)]
    labels[rows] -= labels[rows] > absent[:, None]
    n_clusters[rows] -= 1
    most = int(n_clusters.max())
    labels[~observed] = most
    starts = np.cumsum(n_clusters) - n_clusters
    place = (starts[:, None] + labels)[observed]
    first = np.empty(int(n_clusters.sum()), dtype=np.int64)
    first[place[::-1]] = np.flatnonzero(observed)[::-1]  # the last that is written is the first
    return labels.astype(smallest_dtype(most + 1)), n_clusters, first


def missing_text(what: str, draws: Draws) -> str:
    """Say that something needs complete labels, and what to do."""
    share = 0.0 if draws.observed is None else 1 - draws.observed.mean()
    return (
        f"{what} needs a label for every item in every draw; {share:.1%} of the labels are "
        "missing. Estimates under 'vi-lower-bound', 'binder' and 'pear' and the tables of items "
        "and clusters work without them; noise='singleton' makes each missing item a cluster of "
        "its own when the draws are read."
    )


def joined(parts: Sequence[Draws]) -> NDArray[np.bool_] | None:
    """Which labels are there of draws that are put together."""
    if all(part.observed is None for part in parts):
        return None
    shapes = [part.labels.shape for part in parts]
    return np.concatenate(
        [
            np.ones(shape, dtype=bool) if part.observed is None else part.observed
            for part, shape in zip(parts, shapes, strict=True)
        ]
    )


def _without_gaps(labels: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The labels with some value where there was none, and where that is."""
    absent: NDArray[np.bool_] | None
    if validate.is_masked(labels):
        absent = np.asarray(np.ma.getmaskarray(labels))
        array = np.asarray(labels.data)
    else:
        if hasattr(labels, "columns") and hasattr(labels, "astype"):
            own = {dtype for dtype in labels.dtypes if not isinstance(dtype, np.dtype)}
            labels = labels.astype(object) if own else labels  # categories cast NaN to a number
        try:
            array = np.asarray(labels)
        except ValueError:
            return validate.whole_numbers("labels", labels), None  # which says what is wrong
        absent = _gaps(array)
    if absent is None or not absent.any() or absent.all():
        if absent is not None and absent.all() and absent.size:
            raise InvalidValueError("`labels` must hold at least one label; all are missing.")
        return array, None
    array = np.array(array)
    array[absent] = array[~absent].flat[0]
    return array, absent


def _gaps(array: NDArray[Any]) -> NDArray[np.bool_] | None:
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind != "O":
        return None
    flat = [
        type(x).__name__ in _NOTHING or (isinstance(x, float | np.floating) and x != x)
        for x in array.ravel().tolist()
    ]
    return np.array(flat, dtype=bool).reshape(array.shape)


def _equal(array: NDArray[Any], value: Any) -> NDArray[np.bool_]:
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        raise InvalidTypeError(f"`missing` must be a label, or a list of them; got {value!r}.")
    if array.dtype.kind in "US":
        value = str(value)
    return np.broadcast_to(np.asarray(array == value, dtype=bool), array.shape)


def _singletons(array: NDArray[Any], marked: NDArray[np.bool_]) -> NDArray[Any]:
    """Give each marked item a label of its own in its draw."""
    whole = np.array(validate.whole_numbers("labels", array), dtype=np.int64)
    whole = np.unique(whole, return_inverse=True)[1].reshape(whole.shape)
    own = int(whole.max(initial=0)) + 1 + np.arange(np.atleast_1d(marked).shape[-1])
    return np.where(marked, own, whole)
