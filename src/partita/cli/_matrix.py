"""A similarity matrix from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partita import io, validate
from partita.errors import FileError, PartitaError

if TYPE_CHECKING:
    from partita.similarity import Similarity


def read_similarity(path: str, *, key: str | None) -> Similarity:
    """Return the similarity that a file holds: npy, npz, a container of variables, or csv."""
    from partita.similarity import Similarity

    if path.endswith((".npy", ".npz")):
        arrays = io.read_npz(path) if path.endswith(".npz") else {"only": io.read_npy(path)}
        if key is None and len(arrays) > 1:
            key = "similarity"
        name = key or next(iter(arrays), "similarity")
        return Similarity(validate.lookup("key", name, arrays))
    matrix = io.read_matrix(path, key)
    if matrix is not None:
        return Similarity(matrix)
    import pandas as pd

    try:
        with io.open_text(path) as stream:
            frame = pd.read_csv(stream, index_col=0)
        return Similarity(frame.to_numpy(dtype=float), item_names=list(map(str, frame.columns)))
    except PartitaError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError):
        raise FileError(
            f"{path!r} does not hold a similarity with a row and a column of item names."
        ) from None
