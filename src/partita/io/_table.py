"""``read_table``: any file of labels to one ``Table``."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError
from partita.io._blocks import chain_numbers
from partita.io._container import Container, Found, beside_labels, labels_in
from partita.io._formats import CONTAINERS, open_container
from partita.io._layout import Layout, fitting
from partita.io._lines import delimiter_name, text_lines
from partita.io._numpy import Archive, Header, read_open_npy
from partita.io._premium import is_premium, n_subjects
from partita.io._source import Format, format_of, opened, path_text, reading
from partita.io._text import Begun, begin, read_text
from partita.io._text_columns import DelimitedColumns
from partita.typing import Path

_TRACE, _ABOUT = "trace:", "about:"
_BESIDE = {
    "weights": Layout("iuf", ("draws",)),
    "chains": Layout("iuU", ("draws",)),
    "item_names": Layout("U", ("items",)),
    _TRACE + "*": Layout("biuf", ("draws",)),
    _ABOUT + "*": Layout("Uf", ()),
}


@dataclass(frozen=True, eq=False)
class Table:
    """A file of labels as arrays, and what was assumed in reading it.

    Parameters
    ----------
    labels : array, shape (n_draws, n_items)
        Integers; from ``.npy`` and ``.npz`` also text. Text labels of a text file come as
        integers that index ``label_names``.
    item_names : tuple of str, optional
        One name an item.
    label_names : tuple of str, optional
        The distinct labels of a text file whose labels are text.
    weights, chains : array, shape (n_draws,), optional
        As saved with a ``Draws``.
    traces : dict of str to array, shape (n_draws,)
        As saved with a ``Draws``.
    about : dict of str to str or float
        As saved with a ``Draws``.
    assumptions : tuple of str
        A sentence for everything that the file did not say outright.
    """

    labels: NDArray[Any]
    item_names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    weights: NDArray[Any] | None = None
    chains: NDArray[Any] | None = None
    traces: dict[str, NDArray[Any]] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    about: dict[str, str | float] = field(default_factory=dict)


def read_table(
    path: Path,
    *,
    orient: str = "draws",
    header: bool | None = None,
    index: int | str | bool | None = None,
    key: str | None = None,
) -> Table:
    r"""Read labels from any file or folder that samplers write.

    What the file is, its first bytes say; the suffix matters where they say nothing. Nothing is
    unpickled, and nothing is allocated on the word of a header alone.

    Parameters
    ----------
    path : str or path-like
        Delimited text (gzip too), ``.npy``, ``.npz``, NetCDF, Zarr, Parquet, ``.rds``,
        ``.RData`` or CmdStan's CSV.
    orient : {"draws", "items"}
        Whether a row is a draw (columns are items) or an item (columns are draws).
    header : bool, optional
        For text: whether the first line is a header. By default it is one if it holds text above
        whole numbers, or, where the labels are text, if its cells are all distinct and none is a
        label below.
    index : int, str or False, optional
        For text: the column that names the rows, by position or by header cell; False for none.
        By default the first column is one if its header cell is empty, or text where all other
        header cells are numbers, or if the header is one cell short, as R writes it.
    key : str, optional
        For ``.npz``: the array to read, alone. By default ``labels`` with what ``Draws.save`` put
        beside it, else the only 2-D array. For other formats that hold several variables: the one
        that holds the labels, by default the only one that can.

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
    validate.choice("orient", orient, ("draws", "items"))
    if os.path.isdir(text):
        _only_for("text", text, header=header, index=index)
        return _checked(_from_container("zarr", text, key, orient), text)
    with opened(text) as file:
        kind = format_of(file, text)
        if kind in CONTAINERS:
            _only_for("text", text, header=header, index=index)
            return _checked(_from_container(kind, text, key, orient), text)
        if kind in ("npy", "npz"):
            _only_for("text", text, header=header, index=index)
            if kind == "npz":
                table = _from_npz(file, text, key, orient)
            else:
                table = _from_npy(file, text, key)
        else:
            begun = begin(text_lines(file, text, gzipped=kind == "gzip"), text)
            shape = begun.columns(index) if orient == "draws" and header is not False else None
            if shape is not None:
                return _checked(_from_columns(begun, kind == "gzip", shape, key), text)
            _only_for(".npz, NetCDF, Zarr, Parquet, R and CmdStan", text, key=key)
            table = _from_text(begun, kind == "gzip", orient, header, index)
    return _checked(_oriented(table, orient), text)


def table_of(container: Container, key: str | None, orient: str = "draws") -> Table:
    """Return the labels that a container holds, with what came along."""
    found = labels_in(container, key, orient)
    return Table(
        _labels(found.labels, f"the labels of {container.where}"),
        item_names=found.item_names,
        weights=found.weights,
        chains=found.chains,
        traces=found.traces,
        assumptions=found.assumptions,
    )


def _from_container(kind: Format, path: str, key: str | None, orient: str) -> Table:
    with reading(path), open_container(kind, path) as (container, said):
        table = table_of(container, key, orient)
    return replace(table, assumptions=(*said, *table.assumptions))


def read_beside(path: str, *, key: str | None = None, orient: str = "draws") -> Found | None:
    """What comes with labels that stay in their file, which are not read; None for ``.npy``."""
    kind: Format = "zarr"
    if not os.path.isdir(path):
        with opened(path) as file:
            kind = format_of(file, path)
    if kind not in CONTAINERS:
        return None
    with reading(path), open_container(kind, path) as (container, said):
        found = beside_labels(container, key, orient)
    return replace(found, assumptions=(*said, *found.assumptions))


def _only_for(what: str, path: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidValueError(
                f"`{name}` must be left out here: it is for {what} files, and {path!r} is none."
            )


def _from_columns(
    begun: Begun, gzipped: bool, shape: tuple[int | None, bool], key: str | None
) -> Table:
    """Labels of a text table whose header names variables, as a sampler's does."""
    index, short = shape
    file = DelimitedColumns(
        begun.path, gzipped=gzipped, delimiter=begun.delimiter, index=index, short=short
    )
    table = table_of(file.container(), key)
    said = [f"Cells are separated by {delimiter_name(begun.delimiter)}."]
    said.append(f"Line {begun.top.line} is a header: it names variables, as samplers do.")
    if index is not None:
        said.append(f"Column {index + 1} is an index and left out.")
    return replace(table, assumptions=(*said, *table.assumptions))


def _from_text(
    begun: Begun,
    gzipped: bool,
    orient: str,
    header: bool | None,
    index: int | str | bool | None,
) -> Table:
    path = begun.path
    if is_premium(path) and orient == "draws":
        header, index = header or False, False if index is None else index
    read = read_text(begun, orient=orient, header=header, index=index)
    said = ("The file is compressed with gzip.", *read.assumptions)
    n_fitted = n_subjects(path) if is_premium(path) and orient == "draws" else None
    if n_fitted is not None and 0 < n_fitted < read.labels.shape[1] and not read.column_names:
        beyond = f"Columns beyond {n_fitted} are predictions, as PReMiuM's log says, and left out."
        return Table(
            read.labels[:, :n_fitted],
            label_names=read.label_names,
            assumptions=(*said[not gzipped :], beyond),
        )
    return Table(
        read.labels,
        item_names=read.column_names if orient == "draws" else read.row_names,
        label_names=read.label_names,
        assumptions=said if gzipped else said[1:],
    )


def _from_npy(file: BinaryIO, path: str, key: str | None) -> Table:
    _only_for(".npz, NetCDF, Zarr, Parquet, R and CmdStan", path, key=key)
    return _in_chains(read_open_npy(file, path), repr(path))


def _from_npz(file: BinaryIO, path: str, key: str | None, orient: str) -> Table:
    archive = Archive(file, path)
    chosen, why = _chosen(archive, path, key)
    beside = key is None and chosen == "labels"
    names = _beside(archive, path, orient) if beside else []
    archive.check_memory((chosen, *names))
    table = _in_chains(archive.read(chosen), f"array {chosen!r} of {path!r}")
    said = (f"Labels are the array {chosen!r}: {why}.", *table.assumptions)
    table = replace(table, assumptions=said)
    if not beside:
        return table
    found = {name: archive.read(name) for name in names}
    item_names = found.get("item_names")
    return replace(
        table,
        item_names=None if item_names is None else tuple(item_names.tolist()),
        weights=found.get("weights"),
        chains=found.get("chains", table.chains),
        traces={k.removeprefix(_TRACE): v for k, v in found.items() if k.startswith(_TRACE)},
        about={k.removeprefix(_ABOUT): v.item() for k, v in found.items() if k.startswith(_ABOUT)},
    )


def _beside(archive: Archive, path: str, orient: str) -> list[str]:
    """The arrays beside the labels, if their headers fit them; nothing is read."""
    shape = archive.headers["labels"].shape
    if len(shape) < 2:
        return []
    n_draws, n_items = math.prod(shape[:-1]), shape[-1]
    if orient == "items":
        n_draws, n_items = n_items, n_draws
    names, wrong = fitting(archive.headers, _BESIDE, {"draws": n_draws, "items": n_items})
    if wrong is not None:
        count = f"{n_items} items" if wrong[0] == "item_names" else f"{n_draws} draws"
        raise _not_ours(path, wrong[0], f"{wrong[1]} for {count}")
    return names


def _chosen(archive: Archive, path: str, key: str | None) -> tuple[str, str]:
    """The name of the array to read, and why it."""
    headers = archive.headers
    if key is not None:
        if key not in headers:
            raise InvalidValueError(
                f"`key` must name an array of {path!r}; got {key!r} and it holds "
                f"{archive.listing()}."
            )
        return key, "as told"
    if "labels" in headers:
        return "labels", "it has that name"
    for kinds in ("biuf", "US"):
        tables = [name for name, header in headers.items() if _is_table(header, kinds)]
        if len(tables) == 1:
            return tables[0], "it is the only 2-D one of its kind"
        if tables:
            break
    raise FileError(
        f"{path!r} holds no array named 'labels' and not exactly one that is 2-D; pass key= with "
        f"one of {archive.listing()}."
    )


def _is_table(header: Header, kinds: str) -> bool:
    return len(header.shape) == 2 and header.dtype is not None and header.dtype.kind in kinds


def _in_chains(array: NDArray[Any], what: str) -> Table:
    """Labels (draws, items), or (chains, draws, items) with the chains told apart."""
    if array.ndim != 3:
        return Table(_labels(array, what))
    validate.labels_by_chain(what, array)
    table = Table(_labels(array.reshape(-1, array.shape[2]), what))
    said = f"The array is (chains, draws, items): {validate.count_text(len(array), 'chain')}."
    return replace(table, chains=chain_numbers(array.shape), assumptions=(said,))


def _labels(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Check that an array can be labels of draws; whole floats become integers."""
    if array.ndim == 1:
        raise InvalidValueError(
            f"{what} must be 2-D, draws by items; got shape {array.shape}. If it is one draw, "
            f"save it with shape (1, {array.size})."
        )
    if array.ndim != 2:
        raise InvalidValueError(
            f"{what} must be 2-D, draws by items; got an array of {array.ndim} dimensions."
        )
    if array.dtype.kind == "f":
        try:
            return validate.whole_numbers(what, array)
        except InvalidValueError as error:
            raise InvalidValueError(str(error).replace(f"`{what}`", what)) from None
    if array.dtype.kind == "S":
        return _decoded(array, what)
    return array


def _decoded(array: NDArray[Any], what: str) -> NDArray[Any]:
    validate.fits_in_memory(what, 4 * array.nbytes, "save the labels as integers.")
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError:
        raise InvalidTypeError(f"{what} must hold integers or text; got bytes.") from None


def _oriented(table: Table, orient: str) -> Table:
    rows, labels = "Each row is a draw, each column an item.", table.labels
    if orient == "items":
        rows, labels = "Each row is an item, each column a draw.", table.labels.T
    return replace(table, labels=labels, assumptions=(*table.assumptions, rows))


def _checked(table: Table, path: str) -> Table:
    """Check that there are labels, and that what came with them is of their size."""
    n_draws, n_items = table.labels.shape
    if not table.labels.size:
        raise InvalidValueError(
            f"{path!r} must hold at least one draw of at least one item; got {n_draws} draws of "
            f"{n_items} items."
        )
    if table.item_names is not None and len(table.item_names) != n_items:
        raise _not_ours(path, "item_names", f"{len(table.item_names)} names for {n_items} items")
    per_draw = {"weights": table.weights, "chains": table.chains}
    per_draw |= {_TRACE + name: trace for name, trace in table.traces.items()}
    for name, array in per_draw.items():
        if array is not None and array.shape != (n_draws,):
            raise _not_ours(path, name, f"shape {array.shape} for {n_draws} draws")
    return table


def _not_ours(path: str, name: str, got: str) -> FileError:
    return FileError(
        f"array {name!r} of {path!r} does not fit its labels: {got}; pass key='labels' to read "
        "the labels alone."
    )
