"""``read_table``: any file of labels to one ``Table``."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita import validate
from partita.errors import FileError, InvalidTypeError, InvalidValueError
from partita.io.arrays import Archive, Layout, fitting, read_npy
from partita.io.containers import CONTAINERS, open_container
from partita.io.files import Format, format_of, kind_at, opened, path_text, text_of
from partita.io.variables import Table, Variables
from partita.typing import Path

_TRACE, _ABOUT = "trace:", "about:"
_BESIDE = {
    "weights": Layout("iuf", ("draws",)),
    "chains": Layout("iuU", ("draws",)),
    "item_names": Layout("U", ("items",)),
    "codes": Layout("iuU", ("codes",)),
    _TRACE + "*": Layout("biuf", ("draws",)),
    _ABOUT + "*": Layout("Uf", ()),
}


def read_table(
    path: Path,
    *,
    orient: str = "draws",
    header: bool | None = None,
    index: int | str | bool | None = None,
    key: str | None = None,
    isolate: bool = False,
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
    isolate : bool
        Read the file in a process of its own with limits of time and memory, for HDF5, Parquet,
        Zarr and R files from strangers.

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
    if isolate:
        from partita.io.isolated import read_isolated

        how = {"orient": orient, "header": header, "index": index, "key": key}
        return Table(**read_isolated("read_table", text, how))
    if os.path.isdir(text):
        kind: Format = "zarr"
        table = _from_container(kind, text, key, orient)
    else:
        with opened(text) as file:
            kind = format_of(file, text)
            if kind == "text":  # which may be a pipe, and be read only once
                table = _from_text(text_of(file, text), text, orient, header, index, key)
            elif kind == "npz":
                table = _oriented(_from_npz(Archive(file, text), text, key, orient), orient)
            elif kind == "npy":
                _only_for(".npz, NetCDF, Zarr, Parquet, R and CmdStan", text, key=key)
                table = _oriented(_in_chains(read_npy(text), repr(text)), orient)
            else:
                table = _from_container(kind, text, key, orient)
    if kind != "text":
        _only_for("text", text, header=header, index=index)
    return _checked(table, text)


def table_of(variables: Variables, key: str | None, orient: str = "draws") -> Table:
    """Return the labels among some variables, with what belongs to them."""
    table = variables.table(key, orient)
    return replace(table, labels=_labels(table.labels, f"the labels of {variables.where}"))


def read_beside(path: str, *, key: str | None = None, orient: str = "draws") -> Table | None:
    """Return what comes with labels that are not read; None for ``.npy``."""
    kind = kind_at(path)
    if kind not in CONTAINERS:
        return None
    with open_container(kind, path) as (variables, said):
        table = variables.table(key, orient, reads=False)
    return replace(table, assumptions=(*said, *table.assumptions))


def _from_container(kind: Format, path: str, key: str | None, orient: str) -> Table:
    with open_container(kind, path) as (variables, said):
        table = table_of(variables, key, orient)
    return replace(table, assumptions=(*said, *table.assumptions))


def _only_for(what: str, path: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidValueError(
                f"`{name}` must be left out here: it is for {what} files, and {path!r} is none."
            )


def _from_text(
    content: str, path: str, orient: str, header: bool | None, index: int | str | bool | None,
    key: str | None,
) -> Table:  # fmt: skip
    from partita.io.header import begin
    from partita.io.samplers import is_premium, table_samples, without_predictions
    from partita.io.text import read_text

    head = begin(content, path)
    named = head.variables(index) if orient == "draws" and header is not False else None
    if named is not None:
        names, column = named
        table = table_of(table_samples(head, names, column), key)
        said = [f"Line {head.line} is a header: it names variables, as samplers do."]
        if column is not None:
            said.append(f"Column {column + 1} is an index and left out.")
        return replace(table, assumptions=(*said, *table.assumptions))
    _only_for(".npz, NetCDF, Zarr, Parquet, R and CmdStan", path, key=key)
    by_premium = is_premium(path) and orient == "draws"
    if by_premium:
        header, index = header or False, False if index is None else index
    table = read_text(head, orient=orient, header=header, index=index)
    table = without_predictions(table, path) if by_premium else table
    return _oriented(table, orient)


def _from_npz(archive: Archive, path: str, key: str | None, orient: str) -> Table:
    chosen, why = _chosen(archive, path, key)
    said = f"Labels are the array {chosen!r}: {why}."
    names = _beside(archive, path, orient) if key is None and chosen == "labels" else []
    found = archive.read((chosen, *names))
    table = _in_chains(found[chosen], f"array {chosen!r} of {path!r}")
    item_names = found.get("item_names")
    return replace(
        table,
        item_names=None if item_names is None else tuple(item_names.tolist()),
        weights=found.get("weights"),
        chains=found.get("chains", table.chains),
        traces={k.removeprefix(_TRACE): v for k, v in found.items() if k.startswith(_TRACE)},
        codes=found.get("codes"),
        about={k.removeprefix(_ABOUT): v.item() for k, v in found.items() if k.startswith(_ABOUT)},
        assumptions=(said, *table.assumptions),
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
        tables = [k for k, h in headers.items() if len(h.shape) == 2 and h.dtype.kind in kinds]
        if len(tables) == 1:
            return tables[0], "it is the only 2-D one of its kind"
        if tables:
            break
    raise FileError(
        f"{path!r} holds no array named 'labels' and not exactly one that is 2-D; pass key= with "
        f"one of {archive.listing()}."
    )


def _in_chains(array: NDArray[Any], what: str) -> Table:
    """Labels (draws, items), or (chains, draws, items) with the chains told apart."""
    if array.ndim != 3:
        return Table(_labels(array, what))
    validate.labels_by_chain(what, array)
    said = f"The array is (chains, draws, items): {validate.count_text(len(array), 'chain')}."
    chains = np.repeat(np.arange(len(array)), array.shape[1])
    labels = _labels(array.reshape(-1, array.shape[2]), what)
    return Table(labels, chains=chains, assumptions=(said,))


def _labels(array: NDArray[Any], what: str) -> NDArray[Any]:
    """Check that an array can be labels of draws; whole floats become integers."""
    if array.ndim != 2:
        hint = f" If it is one draw, save it with shape (1, {array.size})." * (array.ndim == 1)
        raise InvalidValueError(
            f"{what} must be 2-D, draws by items; got shape {array.shape}.{hint}"
        )
    if array.dtype.kind == "f":
        return validate.whole_numbers(what, array)
    if array.dtype.kind == "S":
        validate.fits_in_memory(what, 4 * array.nbytes, "save the labels as integers.")
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError:
            raise InvalidTypeError(f"{what} must hold integers or text; got bytes.") from None
    return array


def _oriented(table: Table, orient: str) -> Table:
    rows, labels = "Each row is a draw, each column an item.", table.labels
    if orient == "items":
        rows, labels = "Each row is an item, each column a draw.", table.labels.T
    return replace(table, labels=labels, assumptions=(*table.assumptions, rows))


def _checked(table: Table, path: str) -> Table:
    """Check that there are labels, and as many names as items."""
    n_draws, n_items = table.labels.shape
    if not table.labels.size:
        raise InvalidValueError(
            f"{path!r} must hold at least one draw of at least one item; got {n_draws} draws of "
            f"{n_items} items."
        )
    if table.item_names is not None and len(table.item_names) != n_items:
        raise _not_ours(path, "item_names", f"{len(table.item_names)} names for {n_items} items")
    return table


def _not_ours(path: str, name: str, got: str) -> FileError:
    return FileError(
        f"array {name!r} of {path!r} does not fit its labels: {got}; pass key='labels' to read "
        "the labels alone."
    )
