"""Weights of a marginalised mixture, (draws, items, clusters), from wherever they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError, InvalidValueError
from partita.io._container import Container, item_names, matrix_in, weights_in
from partita.io._formats import CONTAINERS, open_container
from partita.io._numpy import Archive, read_open_npy
from partita.io._objects import container_of
from partita.io._source import Format, format_of, opened, path_text, reading

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights (draws, items, clusters), the chain of each draw and the names of the items."""

    array: NDArray[np.float64]
    chains: NDArray[np.int64] | None = None
    item_names: tuple[str, ...] | None = None


def read_weights(data: Any, key: str | None = None) -> Weights:
    """Return the weights that an array, an object of a sampler or a file holds.

    Parameters
    ----------
    data : array-like, object or path
        An array (draws, items, clusters) or (chains, draws, items, clusters), or what holds one.
    key : str, optional
        The variable; the only one of floats with two axes beside chain and draw if None.
    """
    if isinstance(data, str | os.PathLike):
        return _from_path(path_text(data), key)
    container = container_of(data)
    if container is not None:
        return _from_container(container, key)
    if key is not None:
        raise InvalidValueError(f"`key` must be left out for an array; got {key!r}.")
    return _stacked(_floats("log_weights", data), None, None)


def read_matrix(path: Any, key: str | None = None) -> NDArray[Any] | None:
    """Return the matrix of a NetCDF, Zarr, Parquet or R file; None for other formats."""
    text = path_text(path)
    kind: Format = "zarr"
    if not os.path.isdir(text):
        with opened(text) as file:
            kind = format_of(file, text)
    if kind not in CONTAINERS:
        return None
    with reading(text), open_container(kind, text) as (container, _):
        return matrix_in(container, key)


def _from_path(path: str, key: str | None) -> Weights:
    if os.path.isdir(path):
        return _from_file("zarr", path, key)
    with opened(path) as file:
        kind = format_of(file, path)
        if kind in CONTAINERS:
            return _from_file(kind, path, key)
        if kind == "npy":
            return _stacked(_floats(repr(path), read_open_npy(file, path)), None, None)
        if kind == "npz":
            archive = Archive(file, path)
            names = [k for k, header in archive.headers.items() if len(header.shape) in (3, 4)]
            name = key if key is not None else names[0] if len(names) == 1 else ""
            if name not in archive.headers:
                raise InvalidValueError(
                    f"`key` must name the array of {path!r} with a weight for every draw, item "
                    f"and cluster; it holds {archive.listing()}."
                )
            return _stacked(_floats(repr(path), archive.read(name)), None, None)
    raise InvalidValueError(
        f"{path!r} is a text table; weights for every draw, item and cluster are read from .npy, "
        ".npz, NetCDF, Zarr, Parquet, R's files and CmdStan's CSV."
    )


def _from_file(kind: Format, path: str, key: str | None) -> Weights:
    with reading(path), open_container(kind, path) as (container, _):
        return _from_container(container, key)


def _from_container(container: Container, key: str | None) -> Weights:
    array, axes, entry = weights_in(container, key)
    chains = None
    if axes.chain is not None:
        chains = np.repeat(np.arange(array.shape[0]), array.shape[1])
    names = item_names(container, entry, axes.rest[0])
    return _stacked(_floats(f"variable {entry.name!r} of {container.where}", array), chains, names)


def _floats(what: str, value: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"`{what}` must be an array of numbers.") from None


def _stacked(
    array: NDArray[np.float64],
    chains: NDArray[np.int64] | None,
    names: tuple[str, ...] | None,
) -> Weights:
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise InvalidValueError(
            "`log_weights` must have the shape (draws, items, clusters) or (chains, draws, items, "
            f"clusters), none of them zero; got {array.shape}."
        )
    if array.ndim == 4:
        chains = np.repeat(np.arange(array.shape[0]), array.shape[1])
        array = array.reshape(-1, *array.shape[2:])
    return Weights(array, chains, names)
