"""Weights of a marginalised mixture, and matrices, from wherever they are."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita.errors import InvalidTypeError, InvalidValueError
from partita.io.arrays import Archive, read_npy
from partita.io.containers import CONTAINERS, open_container
from partita.io.files import kind_at, opened, path_text
from partita.io.objects import variables_of
from partita.io.variables import Variables


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights (draws, items, clusters), the chain of each draw, names of items and clusters."""

    array: NDArray[np.float64]
    chains: NDArray[np.int64] | None = None
    item_names: tuple[str, ...] | None = None
    codes: NDArray[Any] | None = None


def read_weights(data: Any, key: str | None = None, *, isolate: bool = False) -> Weights:
    """Return the weights of a marginalised mixture that an array, an object or a file holds.

    Parameters
    ----------
    data : array-like, object or path
        An array (draws, items, clusters) or (chains, draws, items, clusters), or what holds one.
    key : str, optional
        The variable; the only one of floats with two axes beside chain and draw if None.
    isolate : bool
        Read a file in a process of its own with limits of time and memory.
    """
    if not isinstance(data, str | os.PathLike):
        variables = variables_of(data)
        if variables is not None:
            return _weights_in(variables, key)
        if key is not None:
            raise InvalidValueError(f"`key` must be left out for an array; got {key!r}.")
        return _weights("`log_weights`", data)
    path = path_text(data)
    if isolate:
        from partita.io.isolated import read_isolated

        return Weights(**read_isolated("read_weights", path, {"key": key}))
    kind = kind_at(path)
    if kind in CONTAINERS:
        with open_container(kind, path) as (variables, _):
            return _weights_in(variables, key)
    if kind == "npy":
        return _weights(repr(path), read_npy(path))
    if kind == "text":
        raise InvalidValueError(
            f"{path!r} is a text table; weights for every draw, item and cluster are read from "
            ".npy, .npz, NetCDF, Zarr, Parquet, R's files and CmdStan's CSV."
        )
    with opened(path) as file:
        archive = Archive(file, path)
        names = [k for k, header in archive.headers.items() if len(header.shape) in (3, 4)]
        name = key if key is not None else names[0] if len(names) == 1 else ""
        if name not in archive.headers:
            raise InvalidValueError(
                f"`key` must name the array of {path!r} with a weight for every draw, item and "
                f"cluster; it holds {archive.listing()}."
            )
        return _weights(repr(path), archive.read([name])[name])


def _weights_in(variables: Variables, key: str | None) -> Weights:
    """The variable (draws, items, clusters), with chains before if there are any."""
    axes = {one.name: one.axes(2) for one in variables.found if one.dtype.kind in "biuf"}
    if key is None:
        floats = [one.name for one in variables.found if one.dtype.kind == "f"]
        tables = [k for k in floats if (at := axes[k]) is not None and len(at.rest) == 2]
        if len(tables) != 1:
            raise InvalidValueError(
                f"`key` must name the variable of {variables.where} with a weight for every draw, "
                f"item and cluster; there are {len(tables)} that may be it"
                + (f": {', '.join(map(repr, tables[:12]))}." if tables else ".")
            )
        key = tables[0]
    one = variables[key]
    at = axes.get(one.name)
    if at is None or len(at.rest) != 2:
        raise InvalidValueError(
            f"variable {one.name!r} of {variables.where} must have a weight for every draw, item "
            f"and cluster; got shape {one.shape}."
        )
    array = variables.whole(one).transpose(at.order)
    found = _weights(f"variable {one.name!r} of {variables.where}", array)
    names, codes = variables.item_names(one, at.rest[0]), variables.coordinate(one, at.rest[1])
    return replace(found, item_names=names, codes=codes)


def _weights(what: str, value: Any) -> Weights:
    try:
        given = np.asarray(value)
        array = given.astype(np.float64) if given.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        array = None
    if array is None:
        raise InvalidTypeError(f"{what} must be an array of numbers.")
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise InvalidValueError(
            "`log_weights` must have the shape (draws, items, clusters) or (chains, draws, items, "
            f"clusters), none of them zero; got {array.shape}."
        )
    if array.ndim == 3:
        return Weights(array)
    chains = np.repeat(np.arange(array.shape[0]), array.shape[1])
    return Weights(array.reshape(-1, *array.shape[2:]), chains)


def read_matrix(path: Any, key: str | None = None, *, isolate: bool = False) -> NDArray[Any] | None:
    """Return the matrix of a NetCDF, Zarr, Parquet or R file that ``key`` names, or the only one.

    None for other formats.
    """
    text = path_text(path)
    if isolate:
        from partita.io.isolated import read_isolated

        found: NDArray[Any] | None = read_isolated("read_matrix", text, {"key": key})
        return found
    kind = kind_at(text)
    if kind not in CONTAINERS:
        return None
    with open_container(kind, text) as (variables, _):
        square = [
            one.name
            for one in variables.found
            if len(one.shape) == 2 and one.shape[0] == one.shape[1] and one.dtype.kind in "biuf"
        ]
        if key is None and len(square) != 1:
            raise InvalidValueError(
                f"`key` must name the matrix of {text!r}; it holds {len(square)} that are square: "
                f"{', '.join(map(str, variables.found[:12]))}."
            )
        one = variables[square[0] if key is None else key]
        if one.dtype.kind not in "biuf":
            raise InvalidValueError(f"variable {one.name!r} of {text!r} holds no numbers.")
        return variables.whole(one)
