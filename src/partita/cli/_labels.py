"""One partition from a file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partita import io
from partita.cli._match import order_of
from partita.errors import InvalidValueError, PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read(option: str, path: str, items: Sequence[str] | None = None) -> NDArray[Any]:
    """Return one partition: a row, a column, a column beside names, or a saved estimate.

    Where the file names the items and they are ``items`` in another order, the labels come in
    the order of ``items``.
    """
    if path.endswith(".npz") and "about" in io.read_npz(path):
        from partita.estimation import Estimate

        return Estimate.load(path).labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartitaWarning)
        try:
            table = io.read_table(path)
        except InvalidValueError:
            table = io.read_table(path, index=0, orient="items")
        else:
            if table.labels.shape[1] == 2 and table.labels.shape[0] > 1:
                table = io.read_table(path, index=0, orient="items")
    labels = table.labels
    if 1 not in labels.shape:
        raise InvalidValueError(
            f"{option} must be one row or one column of labels, or names and labels in two "
            f"columns; {path!r} has {labels.shape[0]} rows and {labels.shape[1]} columns."
        )
    order = order_of(table.item_names if labels.shape[0] == 1 else None, items, option)
    return labels.ravel() if order is None else labels.ravel()[order]
