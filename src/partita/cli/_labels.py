"""One partition from a file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from partita import io
from partita.errors import InvalidValueError, PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read(option: str, path: str) -> NDArray[Any]:
    """Return one partition: a row, a column, a column beside names, or a saved estimate."""
    if path.endswith(".npz") and "about" in (saved := io.read_npz(path)):
        return saved["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartitaWarning)
        try:
            labels = io.read_table(path).labels
        except InvalidValueError:
            labels = io.read_table(path, index=0).labels
        else:
            if labels.shape[1] == 2 and labels.shape[0] > 1:
                labels = io.read_table(path, index=0).labels
    if 1 not in labels.shape:
        raise InvalidValueError(
            f"{option} must be one row or one column of labels, or names and labels in two "
            f"columns; {path!r} has {labels.shape[0]} rows and {labels.shape[1]} columns."
        )
    return labels.ravel()
