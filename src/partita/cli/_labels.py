"""One partition from a file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from partita import io
from partita.cli import _written
from partita.cli._match import order_of
from partita.errors import InvalidValueError, PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.estimation import Estimate

_HINT = re.compile(r"[;,.]?\s[^;.]*\bpass (?:header|index)=[^.;]*[.;]?")  # of the file of draws


def read(option: str, path: str, items: Sequence[str] | None = None) -> NDArray[Any]:
    """Return one partition: a row, a column, a column beside names, or an estimate of ours.

    Where the file names the items and they are ``items`` in another order, the labels come in
    the order of ``items``.
    """
    known = _estimate(path)
    if known is not None:
        order = order_of(known.item_names, items, option)
        return known.labels if order is None else known.labels[order]
    table = _table(option, path)
    labels = table.labels
    if 1 not in labels.shape:
        raise InvalidValueError(
            f"{option} must be one row or one column of labels, names and labels in two columns, "
            f"or an estimate that partita wrote; {path!r} holds {labels.shape[0]} rows and "
            f"{labels.shape[1]} columns of labels."
        )
    names = table.item_names if labels.shape[0] == 1 else None
    order = order_of(names, items, option, is_ours=names is not None and _is_ours(path))
    return labels.ravel() if order is None else labels.ravel()[order]


def _estimate(path: str) -> Estimate | None:
    """The estimate that ``--save`` or ``-o FILE.json`` wrote; None if it is another file."""
    if path.lower().endswith(".json"):
        return _written.read_estimate(path)
    if path.endswith(".npz") and "about" in io.read_npz(path):
        from partita.estimation import Estimate

        return Estimate.load(path)
    return None


def _table(option: str, path: str) -> io.Table:
    """The file as a table: as it is, or else with names in its first column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartitaWarning)
        try:
            table = io.read_table(path)
        except InvalidValueError as error:
            try:
                return io.read_table(path, index=0, orient="items")
            except InvalidValueError as other:
                worse = error if "`index`" in str(other) else other
                said = _HINT.sub(".", str(worse))
                raise InvalidValueError(f"{option} cannot be read as labels: {said}") from None
        if table.labels.shape[1] == 2 and table.labels.shape[0] > 1:
            table = io.read_table(path, index=0, orient="items")
    return table


def _is_ours(path: str) -> bool:
    """Whether the names are in a column of the name that `partita estimate` gives it."""
    with io.open_text(path) as stream:
        first = stream.first()
    return re.split(r"[,;\t ]", first)[0].strip(' "\r\n') == "item"
