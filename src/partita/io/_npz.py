"""Every array of an ``.npz``, or those that a layout speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from partita.errors import FileError
from partita.io._layout import Layout, fitting
from partita.io._numpy import Archive
from partita.io._source import format_of, opened, path_text
from partita.typing import Path


def read_npz(
    path: Path,
    layouts: Mapping[str, Layout] | None = None,
    *,
    what: str = "the arrays asked for",
    sizes: Mapping[str, int] | None = None,
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an ``.npz`` file, without pickle.

    Parameters
    ----------
    path : str or path-like
        A file written by :func:`write_npz` or by ``np.savez``.
    layouts : mapping of str to Layout, optional
        What the arrays must be, which is seen to before any is read; others are left alone.
        Every array if None.
    what : str
        What the file should be, for errors.
    sizes : mapping of str to int, optional
        Sizes that layouts name.

    Returns
    -------
    dict of str to array
        Numbers and text; an archive that holds Python objects is refused.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from partita.io import write_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.npz")
    ...     write_npz(path, {"labels": np.array([[0, 0, 1]])})
    ...     print(read_npz(path))
    {'labels': array([[0, 0, 1]])}
    """
    text = path_text(path)
    with opened(text) as file:
        if format_of(file, text) != "npz":
            raise FileError(f"{text!r} is not an .npz file.")
        archive = Archive(file, text)
        names, wrong = list(archive.headers), None
        if layouts is not None:
            names, wrong = fitting(archive.headers, layouts, sizes or {})
        if wrong is not None:
            raise FileError(f"{text!r} does not hold {what} (array {wrong[0]!r}: {wrong[1]}).")
        archive.check_memory(names)
        return {name: archive.read(name) for name in names}
