"""Anything that can become draws, made into them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.draws._draws import Draws
from partita.draws._missing import missing_text
from partita.draws.writer import partial_of
from partita.errors import FileError, InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    from partita.typing import Path

_SHRINK = 20  # as much as compressed labels may grow when they are read


def read_draws(
    path: Path | Sequence[Path],
    *,
    orient: str | None = None,
    header: bool | None = None,
    index: int | str | bool | None = None,
    key: str | None = None,
    stored: bool | None = None,
    isolate: bool = False,
    missing: Any = None,
    noise: str = "absent",
) -> Draws:
    """Read draws from a file or folder of any format that samplers write.

    CSV, TSV and other text (gzip too; PReMiuM's ``_z.txt`` by its name), ``.npy``, ``.npz``,
    NetCDF, Zarr, Parquet, ``.rds``, ``.RData`` and CmdStan's CSV; which one, the first bytes say.

    Parameters
    ----------
    path : path or list of paths
        A list, or a pattern such as ``"fit_*.csv"``, is one chain a file. Nothing is ever
        unpickled.
    orient : {"draws", "items"}, optional
        What a row of the file is. A draw if None; a text file that looks like a row an item is
        an error that asks.
    header : bool, optional
        For text: whether the first row holds names. Found out if None.
    index : int, str or False, optional
        For text: the column that holds row names, by position or by name; False if there is none.
        If None, the first column is taken as one only when its header cell is empty, or not a
        number while all others are.
    key : str, optional
        Which array or variable holds the labels, such as ``"z"``, ``"posterior_predictive/z"`` or
        ``"fit$clust"``. If None, the one called ``labels``, or the only one with a whole number
        for every draw and item, or the only such one with a usual name.
    stored : bool, optional
        Leave the labels in their ``.npy``, Zarr or Parquet file and read them in blocks when they
        are needed. If None, where they would take more than half of the free memory. Parquet is
        for thousands of items, each a column; of many more, Zarr or ``.npy``.
    isolate : bool
        Read in a process of its own with limits of time and memory: for HDF5, Parquet, Zarr and
        R files from strangers, whose libraries a hostile file may lead to crash, to loop or to
        take all memory (SECURITY.md).
    missing : label or list of them, optional
        What stands for no label, such as -1. NaN, NA and empty cells are taken as missing anyway.
    noise : {"absent", "singleton"}
        What ``missing`` means: the item was left out, or it is a cluster of its own.

    Returns
    -------
    Draws
        Its ``assumptions`` say in words what was found out rather than told.
    """
    how: dict[str, Any] = {"orient": orient, "header": header, "index": index, "key": key}
    gaps = {"missing": missing, "noise": noise}
    if isolate:
        if stored:
            raise InvalidValueError("`stored` must be left out with `isolate`, which reads it all.")
        how, stored = {**how, "isolate": True}, False
    if not isinstance(path, str | PathLike):
        _one_file(stored)
        return _chains_of(list(path), how, gaps)
    text = os.fspath(path)
    found = io.matching(text) if isinstance(text, str) else [text]
    if len(found) > 1:
        _one_file(stored)
        return _chains_of(found, how, gaps)
    if isinstance(text, str):
        _say_if_unfinished(text)
    if stored is not False:
        kept = opened_in_place(text, orient=orient or "draws", key=key, must=bool(stored))
        if kept is not None and missing is not None:
            raise InvalidValueError(
                "`missing` needs labels that are read whole; these stay in their file. Pass "
                "stored=False."
            )
        if kept is not None:
            return kept
    return _from_file(text, how, gaps)


def _say_if_unfinished(path: str) -> None:
    """Of a file that a DrawsWriter has yet to close, say where the draws so far are."""
    part = partial_of(path)
    if not os.path.lexists(path) and os.path.isfile(part):
        raise FileError(
            f"{path!r} is not there yet; {part!r} has the draws so far of a chain that still runs, "
            "or broke off."
        )


def _one_file(stored: bool | None) -> None:
    if stored:
        raise InvalidValueError(
            "`stored` must go with one file; got several. Put their draws into one with "
            "DrawsWriter, or leave `stored` out."
        )


def opened_in_place(path: str, *, orient: str, key: str | None, must: bool) -> Draws | None:
    """Draws whose labels stay in their file; None where they can be, or must be, read whole."""
    if not stays(path, key):
        if must:
            raise InvalidValueError(
                f"`stored` needs labels in an .npy, Zarr or Parquet file; got {path!r}. Write it "
                "with DrawsWriter, or leave `stored` out."
            )
        return None
    room = validate.free_memory() // 2
    if not must and io.bytes_at(path) * _SHRINK < room:
        return None
    labels = io.open_stored(path, orient=orient, key=key)
    if not must and labels.shape[0] * labels.shape[1] * labels.dtype.itemsize < room:
        return None
    return around(labels, labels.beside)


def around(labels: Any, beside: io.Table) -> Draws:
    """Draws whose labels stay where they are, with what the file says of them beside."""
    return _of(replace(beside, labels=labels))


def stays(path: str, key: str | None) -> bool:
    """Whether a file can be read in blocks, by its name."""
    suffix = os.path.splitext(path.rstrip("/" + os.sep))[1].lower()
    if os.path.isdir(path) or suffix == ".zarr":
        return True
    return suffix in (".parquet", ".pq") or (suffix == ".npy" and key is None)


def as_draws(
    data: Any,
    *,
    key: str | None = None,
    keys: str | Sequence[str] | None = None,
    orient: str | None = None,
    missing: Any = None,
    noise: str = "absent",
) -> Draws:
    """Return ``data`` as draws, whatever holds them.

    Parameters
    ----------
    data : object
        A Draws, or a Similarity that was made from draws; a MarginalizedMixture; a path, or a list
        of paths, one chain each; an array (draws, items) or (chains, draws, items), nested lists or
        a DataFrame; ArviZ InferenceData or DataTree, an xarray Dataset or DataArray; a dict of
        samples; NumPyro's MCMC, PyMC's MultiTrace or a fit of CmdStanPy.
    key : str, optional
        The variable that holds the labels, where there are several.
    keys : str or list of str, optional
        Of an AnnData object: the columns of ``obs``, one a clustering, or what their names begin
        with.
    orient, missing, noise
        Of arrays, frames and files: see :class:`Draws`.

    Examples
    --------
    >>> import numpy as np
    >>> as_draws({"z": np.zeros((2, 50, 8), int), "mu": np.zeros((2, 50))})
    Draws(100 draws of 8 items, 1 cluster, 2 chains)
    """
    gaps = {"missing": missing, "noise": noise}
    if isinstance(data, str | PathLike) or _is_paths(data):
        return read_draws(data, key=key, orient=orient, **gaps)
    if isinstance(data, Draws):
        _only_for_labels(data, orient, missing)
        return data
    if hasattr(data, "to_dense") and hasattr(data, "draws"):
        if data.draws is None:
            raise InvalidTypeError(
                "`draws` must be posterior draws; got a similarity, which does not hold them. Pass "
                "the draws that it was made from."
            )
        return as_draws(data.draws)
    if hasattr(data, "responsibilities") and isinstance(data.draws, Draws):
        return data.draws
    if hasattr(data, "obs") and hasattr(data, "obsm"):
        frame = io.clusterings_of(data, keys)
        return Draws(frame, orient="items", **gaps)
    if keys is not None:
        raise InvalidValueError(
            f"`keys` must be left out for {type(data).__name__}: it names columns of AnnData."
        )
    variables = io.variables_of(data)
    if variables is not None:
        return _of(io.table_of(variables, key, orient or "draws"), **gaps)
    if key is not None:
        raise InvalidValueError(
            f"`key` must be left out for {type(data).__name__}, which holds one array; got {key!r}."
        )
    return Draws(data, orient=orient, **gaps)


def complete_draws(data: Any, verb: str) -> Draws:
    """Return ``data`` as draws that have every label, or say that ``verb`` needs them."""
    draws = as_draws(data)
    if draws.observed is not None:
        raise InvalidValueError(missing_text(f"`{verb}`", draws))
    return draws


def _only_for_labels(data: Any, orient: Any, missing: Any) -> None:
    for name, value in (("orient", orient), ("missing", missing)):
        if value is not None:
            raise InvalidValueError(
                f"`{name}` must be left out for {type(data).__name__}, which knows it already."
            )


def _from_file(path: Path, how: dict[str, Any], gaps: dict[str, Any]) -> Draws:
    table = io.read_table(path, **how)
    if table.label_names is not None:
        words, labels = table.label_names, table.labels
        validate.repeated_words(repr(os.fspath(path)), words, labels.size, len(labels))
    draws = _of(table, **_numbered(table, gaps))
    if table.label_names is not None:
        draws = draws._with(codes=np.array(table.label_names)[draws.codes])
    return draws


def _numbered(table: io.Table, gaps: dict[str, Any]) -> dict[str, Any]:
    """What is missing among labels that are text, as the numbers that stand for it."""
    if table.label_names is None or gaps["missing"] is None:
        return gaps
    given = gaps["missing"]
    words = set(map(str, given if isinstance(given, list | tuple | set) else [given]))
    return {**gaps, "missing": [i for i, name in enumerate(table.label_names) if name in words]}


def _of(found: io.Table, **gaps: Any) -> Draws:
    """Draws of what was found in a file."""
    return Draws(
        found.labels,
        weights=found.weights,
        chains=found.chains,
        item_names=found.item_names,
        traces=found.traces,
        codes=found.codes,  # type: ignore[arg-type]
        assumptions=found.assumptions,
        about=found.about,
        observed=found.observed,
        orient="draws",
        **gaps,
    )


def _is_paths(data: Any) -> bool:
    """Whether data are a list of paths; strings only if they exist: labels are text too."""
    if not isinstance(data, list | tuple) or not data:
        return False
    return all(
        isinstance(one, PathLike) or (isinstance(one, str) and os.path.exists(one)) for one in data
    )


def _chains_of(paths: Iterable[Path], how: dict[str, Any], gaps: dict[str, Any]) -> Draws:
    parts = [_from_file(path, how, gaps) for path in paths]
    if not parts:
        raise InvalidValueError("`path` must name at least one file; got an empty list.")
    if len(parts) == 1:
        return parts[0]
    joined = Draws.concat(parts)
    return replace(
        joined, assumptions=(f"Each of {len(parts)} files is a chain.", *joined.assumptions)
    )
