"""Any file to arrays: labels of draws, weights of a marginalised mixture, a matrix."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError
from partita.io.arrays import Layout, fitting
from partita.io.containers import open_container
from partita.io.files import format_of, kind_at, matching, opened, path_text, text_of
from partita.io.objects import variables_of
from partita.io.variables import ROWS, Table, Variable, Variables, label_axes, listing
from partita.typing import Path

_SEVERAL = ".npz, NetCDF, Zarr, Parquet, R and CmdStan"  # formats that hold several variables
_TRACE, _ABOUT = "trace:", "about:"
# What Draws.save puts beside the labels.
_BESIDE = {
    "weights": Layout("iuf", ("draws",)),
    "chains": Layout("iuU", ("draws",)),
    "item_names": Layout("U", ("items",)),
    "codes": Layout("iuU", ("codes",)),
    "observed": Layout("b", ("draws", "items")),
    _TRACE + "*": Layout("biuf", ("draws",)),
    _ABOUT + "*": Layout("Uf", ()),
}


def read_table(
    path: Path,
    *,
    orient: str | None = None,
    header: bool | None = None,
    index: int | str | bool | None = None,
    key: str | None = None,
    isolate: bool = False,
) -> Table:
    r"""Read labels from any file or folder that samplers write.

    The arguments are those of :func:`partita.read_draws`. Nothing is unpickled, and nothing is
    allocated on the word of a header alone.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "draws.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("a;b;c\n1;1;2\n1;2;2\n")
    ...     table = read_table(path)
    >>> table.labels.tolist(), table.item_names
    ([[1, 1, 2], [1, 2, 2]], ('a', 'b', 'c'))
    >>> print(*table.assumptions, sep="\n")
    Cells are separated by semicolons.
    Line 1 is a header: it holds text, 'a', above whole numbers.
    There is no index column: no header cell says so.
    Each row is a draw, each column an item.
    """
    text = path_text(path)
    told, orient = orient, orient or "draws"
    validate.choice("orient", orient, ("draws", "items"))
    if isolate:
        from partita.io.isolated import read_isolated

        how = {"orient": told, "header": header, "index": index, "key": key}
        return Table(**read_isolated("read_table", text, how))
    content = None if os.path.isdir(text) else _text_in(text)
    if content is not None:
        from partita.io.text import read_text

        return read_text(content, text, orient=told, header=header, index=index, key=key)
    kind = kind_at(text)
    _only_for("text", text, header=header, index=index)
    if kind == "npy":
        _only_for(_SEVERAL, text, key=key)
    with open_container(kind, text) as (variables, said):
        of_ours = kind == "npz" and key is None and variables.get("labels") is not None
        table = (_saved if of_ours else table_of)(variables, key, orient)
    return replace(table, assumptions=(*said, *table.assumptions))


def _text_in(path: str) -> str | None:
    """The content of a table of text, which may be a pipe and be read only once; else None."""
    with opened(path) as file:
        return text_of(file, path) if format_of(file, path) == "text" else None


def _only_for(what: str, path: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidValueError(
                f"`{name}` must be left out here: it is for {what} files, and {path!r} is none."
            )


def table_of(variables: Variables, key: str | None, orient: str = "draws") -> Table:
    """Return the labels among some variables, with what belongs to them."""
    one, why = (variables.found[0], "") if _is_alone(variables) else variables.labels(key)
    axes = label_axes(one, variables.where, orient)
    one.check()
    beside = variables.beside(one, axes, why)
    labels = _labels(variables.whole(one), one, variables.where).transpose(axes.order)
    return replace(beside, labels=labels.reshape(beside.labels.shape))


def _is_alone(variables: Variables) -> bool:
    """Whether there is one array and nothing else, as in an ``.npy`` file."""
    return [one.name for one in variables.found] == [""]


def _labels(array: NDArray[Any], one: Variable, where: str) -> NDArray[Any]:
    """Check that an array can be labels of draws; whole floats become integers."""
    what = one.of(where)
    if array.ndim == 3 and one.dims is None:
        validate.labels_by_chain(what, array)
    if array.dtype.kind == "f" and not np.isnan(array).any():
        return validate.whole_numbers(what, array)
    if array.dtype.kind == "S":
        validate.fits_in_memory(what, 4 * array.nbytes, "save the labels as integers.")
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError:
            raise InvalidTypeError(f"{what} must hold integers or text; got bytes.") from None
    return array


def _saved(variables: Variables, key: str | None, orient: str) -> Table:
    """The labels of an ``.npz`` file with what ``Draws.save`` puts beside them."""
    one = variables["labels"]
    axes = label_axes(one, variables.where, orient)
    n_items = one.shape[axes.rest[0]]
    n_draws = math.prod(one.shape) // n_items
    beside, wrong = fitting(variables, _BESIDE, {"draws": n_draws, "items": n_items})
    if wrong is not None:
        count = f"{n_items} items" if wrong[0] == "item_names" else f"{n_draws} draws"
        raise FileError(
            f"array {wrong[0]!r} of {variables.where} does not fit its labels: {wrong[1]} for "
            f"{count}; pass key='labels' to read the labels alone."
        )
    found = variables.together([one, *beside])
    labels = _labels(found["labels"], one, variables.where).transpose(axes.order)
    names, observed = found.get("item_names"), found.get("observed")
    if observed is not None and orient == "items":
        observed = observed.T
    return Table(
        labels.reshape(n_draws, n_items),
        item_names=None if names is None else tuple(names.tolist()),
        weights=found.get("weights"),
        chains=found.get("chains", variables.chains(one, axes)),
        traces={k.removeprefix(_TRACE): v for k, v in found.items() if k.startswith(_TRACE)},
        codes=found.get("codes"),
        observed=observed,
        about={k.removeprefix(_ABOUT): v.item() for k, v in found.items() if k.startswith(_ABOUT)},
        assumptions=("Labels are the variable 'labels': it has that name.", ROWS[orient]),
    )


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
        An array (draws, items, clusters) or (chains, draws, items, clusters), or what holds one. A
        pattern such as ``"chain_*.csv"`` names files that are a chain each.
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
    paths = matching(path_text(data))
    if len(paths) > 1:
        return _chains_of([read_weights(one, key, isolate=isolate) for one in paths])
    path = paths[0]
    if isolate:
        from partita.io.isolated import read_isolated

        return Weights(**read_isolated("read_weights", path, {"key": key}))
    kind = kind_at(path)
    if kind == "text":
        raise InvalidValueError(
            f"{path!r} is a text table; weights for every draw, item and cluster are read from "
            ".npy, .npz, NetCDF, Zarr, Parquet, R's files and CmdStan's CSV."
        )
    with open_container(kind, path) as (variables, _):
        return _weights_in(variables, key)


def _chains_of(parts: list[Weights]) -> Weights:
    """The weights of several files, each a chain."""
    shapes = {part.array.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise InvalidValueError(
            "`log_weights` must have the same items and clusters in every file; got "
            f"{', '.join(f'{n:,} x {k}' for n, k in sorted(shapes)[:4])}."
        )
    chains = np.repeat(np.arange(len(parts)), [len(part.array) for part in parts])
    return replace(parts[0], array=np.concatenate([part.array for part in parts]), chains=chains)


def _weights_in(variables: Variables, key: str | None) -> Weights:
    """The variable (draws, items, clusters), with chains before if there are any."""
    if key is None and not _is_alone(variables):
        floats = [one for one in variables.found if one.dtype.kind == "f"]
        tables = [one for one in floats if (at := one.axes(2)) is not None and len(at.rest) == 2]
        if len(tables) != 1:
            raise InvalidValueError(
                f"`key` must name the variable of {variables.where} with a weight for every draw, "
                f"item and cluster; there are {len(tables)} that may be it"
                + (f": {listing(tables)}." if tables else ".")
            )
        key = tables[0].name
    one = variables[key or ""]
    at = one.axes(2)
    if at is None or len(at.rest) != 2 or one.dtype.kind not in "biuf":
        raise InvalidValueError(
            f"{one.of(variables.where)} must have a weight for every draw, item and cluster; got "
            f"shape {one.shape} of {one.dtype}."
        )
    found = _weights(one.of(variables.where), variables.whole(one).transpose(at.order))
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
    """Return the matrix of a file that ``key`` names, or the only one; None for tables of text."""
    text = path_text(path)
    if isolate:
        from partita.io.isolated import read_isolated

        found: NDArray[Any] | None = read_isolated("read_matrix", text, {"key": key})
        return found
    kind = kind_at(text)
    if kind == "text":
        return None
    with open_container(kind, text) as (variables, _):
        square = [
            one
            for one in variables.found
            if len(one.shape) == 2 and one.shape[0] == one.shape[1] and one.dtype.kind in "biuf"
        ]
        named = [one for one in square if one.name == "similarity"]
        square = named or square
        if key is None and len(square) != 1:
            raise InvalidValueError(
                f"`key` must name the matrix of {text!r}; it holds {len(square)} that are square: "
                f"{listing(variables.found)}."
            )
        one = square[0] if key is None else variables[key]
        if one.dtype.kind not in "biuf":
            raise InvalidValueError(f"{one.of(repr(text))} holds no numbers.")
        return variables.whole(one)
