"""Draws written to a file one at a time, while a sampler runs."""

from __future__ import annotations

import os
import stat
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.errors import FileError, InvalidValueError
from partita.partitions import canonical_rows, smallest_dtype

if TYPE_CHECKING:
    from partita.typing import Path


class DrawsWriter:
    """Write draws to an ``.npy`` file as a sampler emits them; memory stays that of one draw.

    Until the writer is closed the draws are in a file beside, ``partial``, ``chain.part.npy``
    for ``chain.npy``. It is whole after every draw: :func:`read_draws` gives the draws so far, in
    this process or another, and what was killed at any moment has left it so. Closing gives it the
    name ``path``; until then, what was at ``path`` is untouched.

    If the block it stands in raises (a full disk, Ctrl-C), the draws so far stay in
    ``partial``, which a note on the error says.

    Parameters
    ----------
    path : path
        Of the ``.npy`` file.
    resume : bool, optional
        Where a ``partial`` is there already: True carries on after its draws (``n_draws`` says
        how many), False begins anew in its place. If None, that is an error: another writer may be
        at it, or its draws may be wanted.

    Attributes
    ----------
    partial : str
        The file that is written to.
    n_draws : int
        How many draws it has.

    Examples
    --------
    >>> import os, tempfile
    >>> from partita.draws import read_draws
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "chain.npy")
    ...     with DrawsWriter(path) as writer:
    ...         for labels in ([3, 3, 7], [0, 1, 1]):
    ...             writer.write(labels)
    ...             print(len(read_draws(writer.partial)), "so far")
    ...     read_draws(path).labels
    1 so far
    2 so far
    array([[0, 0, 1],
           [0, 1, 1]], dtype=uint8)
    """

    def __init__(self, path: Path, *, resume: bool | None = None) -> None:
        io.check_place(path)
        suffix = os.path.splitext(os.fspath(path))[1]
        if suffix != ".npy":
            raise InvalidValueError(
                f"`path` must end in .npy, the one format that grows by a draw; got {suffix!r}."
            )
        self._target = os.path.realpath(path)
        self._mode = os.stat(self._target).st_mode if os.path.exists(self._target) else None
        if self._mode is not None and not stat.S_ISREG(self._mode):
            raise FileError(f"{os.fspath(path)!r} is no plain file; draws are written to one.")
        self.partial = partial_of(self._target)
        before = io.rows_in_progress(self.partial)
        if before is not None and resume is None:
            raise FileError(
                f"{self.partial!r} is there, {validate.count_text(before, 'draw')} of a chain that "
                "broke off or still runs: read it with read_draws, carry on after it with "
                "resume=True, or begin anew with resume=False."
            )
        self._file: io.GrowingNpy | None = io.GrowingNpy(
            self.partial, resume=bool(resume) and before is not None
        )
        self._form = self._file.form

    @property
    def n_items(self) -> int | None:
        """The number of items; None before the first draw."""
        return self._form.n_columns or None

    @property
    def n_draws(self) -> int:
        """The number of draws written."""
        return self._form.n_rows

    def __repr__(self) -> str:
        done = "closed" if self._file is None else "open"
        return f"DrawsWriter({self._target!r}, {validate.count_text(self.n_draws, 'draw')}, {done})"

    def __enter__(self) -> DrawsWriter:
        return self

    def write(self, labels: Any) -> None:
        """Add one draw: labels of any kind, of as many items as the draws before.

        One that could not be written whole is not counted, and the writer can be written to again.
        """
        if self._file is None:
            raise InvalidValueError("`writer` is closed; open another for more draws.")
        row = canonical_rows(validate.labels("labels", labels, n_items=self.n_items)[None, :])[0]
        try:
            self._file.append(row, np.dtype(smallest_dtype(int(row.max()) + 1)))
        finally:
            self._form = self._file.form

    def close(self) -> None:
        """Put the file in its place; at least one draw must have been written."""
        if self._file is None:
            return
        if not self.n_draws:
            self._leave()
            raise InvalidValueError("`writer` must be given at least one draw; got none.")
        self._file.finish(self._target, self._mode)
        self._file = None

    def _leave(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.leave()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._file is not None:
            self._leave()
            if self.n_draws:
                error.add_note(
                    f"{validate.count_text(self.n_draws, 'draw')} so far are in {self.partial!r}."
                )


def partial_of(path: str) -> str:
    """Where the draws are until the file is finished."""
    return os.path.splitext(path)[0] + ".part.npy"
