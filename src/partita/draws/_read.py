"""Anything that can become draws, made into them."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from partita import io
from partita.draws._draws import Draws

if TYPE_CHECKING:
    from partita.typing import Path


def read_draws(
    path: Path,
    *,
    orient: str = "draws",
    header: bool | None = None,
    index: int | str | bool | None = None,
    key: str | None = None,
) -> Draws:
    """Read draws from a CSV, TSV, ``.npy`` or ``.npz`` file.

    Parameters
    ----------
    path : path
        Text may be compressed with gzip. Nothing is ever unpickled.
    orient : {"draws", "items"}
        What a row of the file is.
    header : bool, optional
        Whether the first row holds names. Found out if None.
    index : int, str or False, optional
        The column that holds row names, by position or by name; False if there is none. If None,
        the first column is taken as one only when its header cell is empty, or not a number while
        all others are.
    key : str, optional
        Which array of an ``.npz`` holds the labels; ``labels``, or the only 2-D array, if None.

    Returns
    -------
    Draws
        Its ``assumptions`` say in words what was found out rather than told.
    """
    table = io.read_table(path, orient=orient, header=header, index=index, key=key)
    return Draws(
        table.labels,
        weights=table.weights,
        chains=table.chains,
        item_names=table.item_names,
        traces=table.traces,
        assumptions=table.assumptions,
        about=table.about,
    )


def as_draws(data: Any) -> Draws:
    """Return ``data`` as draws: a Draws, a path, a DataFrame, an array or nested lists."""
    if isinstance(data, Draws):
        return data
    if isinstance(data, str | PathLike):
        return read_draws(data)
    return Draws(data)
