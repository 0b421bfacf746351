"""Draws written to a file one at a time, while a sampler runs."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.distributed import item_blocks
from partita.errors import FileError, InvalidValueError
from partita.partitions import canonical_rows, smallest_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import Path

_WEIGHT = np.dtype(np.uint64)  # the bits of a float64, in a file that knows whole numbers


class DrawsWriter:
    """Write draws to a file or store as a sampler emits them; memory stays that of one draw.

    Until the writer is closed the draws are in a file beside, ``partial``, ``chain.part.npy``
    for ``chain.npy`` or ``chain.zarr``. It is whole after every draw: :func:`read_draws` gives the
    draws so far, in this process or another, and what was killed at any moment has left it so.
    Closing puts the draws at ``path``; until then, what was there is untouched.

    If the block it stands in raises (a full disk, Ctrl-C), the draws so far stay in
    ``partial``, which a note on the error says.

    Parameters
    ----------
    path : path
        Of an ``.npy`` file, which holds labels and nothing else, or of a ``.zarr`` store, which
        has weights too and is stored by items, so that blocks of them are read quicker; closing
        it copies the draws.
    resume : bool, optional
        Where a ``partial`` is there already: True carries on after its draws (``n_draws`` says
        how many), False begins anew in its place. If None, that is an error: another writer may be
        at it, or its draws may be wanted. True where the chain is finished is an error too.

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
        suffix = os.path.splitext(os.fspath(path))[1]
        if suffix not in (".npy", ".zarr"):
            raise InvalidValueError(
                "`path` must end in .npy or .zarr, the formats that draws are written to one at a "
                f"time; got {suffix!r}."
            )
        self._is_store = suffix == ".zarr"
        self._target = os.path.realpath(path)
        self._mode = self._checked(path)
        self.partial = partial_of(self._target)
        before = io.rows_in_progress(self.partial)
        if before is not None and resume is None:
            raise FileError(
                f"{self.partial!r} is there, {validate.count_text(before, 'draw')} of a chain that "
                "broke off or still runs: read it with read_draws, carry on after it with "
                "resume=True, or begin anew with resume=False."
            )
        if before is None and resume and os.path.lexists(self._target):
            raise FileError(
                f"{os.fspath(path)!r} is a chain that is finished, with nothing to resume: write "
                "to another path, or begin anew in its place with resume=False."
            )
        is_begun = before is not None and os.path.getsize(self.partial) > 0
        carries_on = bool(resume) and is_begun
        self._file: io.GrowingNpy | None = io.GrowingNpy(self.partial, resume=carries_on)
        self._form = self._file.form
        self._weights = self._begun_weights(carries_on)

    def _checked(self, path: Path) -> int | None:
        """The mode of the file that will give way; refuses what could not be written to."""
        if self._is_store:
            io.check_store(os.fspath(path))
            return None
        io.check_place(path)
        mode = os.stat(self._target).st_mode if os.path.exists(self._target) else None
        if mode is not None and not stat.S_ISREG(mode):
            raise FileError(f"{os.fspath(path)!r} is no plain file; draws are written to one.")
        return mode

    def _begun_weights(self, carries_on: bool) -> io.GrowingNpy | None:
        """The weights of draws that are carried on with; those of others are removed."""
        place = weights_of(self.partial)
        if carries_on and self.n_draws and os.path.exists(place):
            return io.GrowingNpy(place, resume=True)
        with suppress(OSError):
            os.remove(place)
        return None

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
        weighted = " with weights" if self._weights is not None else ""
        draws = validate.count_text(self.n_draws, "draw")
        return f"DrawsWriter({self._target!r}, {draws}{weighted}, {done})"

    def __enter__(self) -> DrawsWriter:
        return self

    def write(self, labels: Any, *, weight: float | None = None) -> None:
        """Add one draw: labels of any kind, of as many items as the draws before.

        One that could not be written whole is not counted, and the writer can be written to again.

        Parameters
        ----------
        labels : array-like, shape (n,)
        weight : float, optional
            Of the draw, for every draw or for none; to a ``.zarr`` store.
        """
        if self._file is None:
            raise InvalidValueError("`writer` is closed; open another for more draws.")
        row = canonical_rows(validate.labels("labels", labels, n_items=self.n_items)[None, :])[0]
        self._write_weight(weight)
        try:
            self._file.append(row, np.dtype(smallest_dtype(int(row.max()) + 1)))
        finally:
            self._form = self._file.form

    def _write_weight(self, weight: float | None) -> None:
        """Put the weight of the next draw in its place; it counts when the draw does."""
        if weight is not None and not self._is_store:
            raise InvalidValueError(
                "`weight` must be left out for an .npy file, which holds labels and nothing else; "
                f"write to a path that ends in .zarr. Got {weight!r}."
            )
        if self.n_draws and (weight is None) != (self._weights is None):
            raise InvalidValueError(
                f"`weight` must be given for every draw or for none; got {weight!r}, and the "
                f"{validate.count_text(self.n_draws, 'draw')} before have "
                + ("none." if self._weights is None else "one each.")
            )
        if weight is None:
            self._drop_weights()
            return
        value = np.float64(validate.real("weight", weight, low=0))
        if self._weights is None:
            self._weights = io.GrowingNpy(weights_of(self.partial))
        self._weights.keep(self.n_draws)
        self._weights.append(value.reshape(1).view(_WEIGHT), _WEIGHT)

    def _drop_weights(self) -> None:
        """Forget the weight of a first draw that was not written."""
        if self._weights is not None:
            self._weights.keep(0)
            self._weights.leave()
            self._weights = None

    def close(self) -> None:
        """Put the draws in their place; at least one must have been written."""
        if self._file is None:
            return
        if not self.n_draws:
            self._leave()
            raise InvalidValueError("`writer` must be given at least one draw; got none.")
        if self._is_store:
            self._store()
            self._leave()
            for path in (self.partial, weights_of(self.partial)):
                with suppress(OSError):
                    os.remove(path)
        else:
            self._file.finish(self._target, self._mode)
        self._file = None

    def _store(self) -> None:
        """Copy the draws to their store; if that fails they stay where they are."""
        labels = io.open_npy(self.partial).mapped
        width = item_blocks(labels.shape)[0].stop
        weights = None if self._weights is None else weights_beside(self.partial, self.n_draws)
        try:
            io.write_store(self._target, labels, weights, width)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            kept = f"The draws are in {self.partial!r}; close the writer again when this is mended"
            raise FileError(
                f"{self._target!r} cannot be written: {io.said_of(error)} {kept}."
            ) from None

    def _leave(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.leave()
        if self._weights is not None:
            self._weights.keep(self.n_draws)
            self._weights.leave()

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


def weights_of(partial: str) -> str:
    """Where the weights are until then."""
    return os.path.splitext(partial)[0] + ".weights"


def weights_beside(path: str, n_draws: int) -> NDArray[np.float64] | None:
    """The weights of the draws so far of a file that a writer is at; None where it has none."""
    place = weights_of(path)
    if not os.path.isfile(place) or not io.is_in_progress(path):
        return None
    bits = io.open_npy(place).read(slice(None), slice(None))
    if bits.shape[1] != 1 or bits.dtype != _WEIGHT or bits.shape[0] < n_draws:
        raise FileError(
            f"{place!r} must hold a weight for each of {n_draws} draws in {path!r}; it does not. "
            "Without it the draws are read as of equal weight."
        )
    return bits[:n_draws, 0].view(np.float64)
