"""Draws written to a file one at a time, while a sampler runs, and read before it is done."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, validate
from partita.draws._checks import words_or
from partita.errors import FileError, InvalidTypeError, InvalidValueError
from partita.parallel import blocks, item_blocks

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from partita.typing import Path

_SO_FAR = "The draws so far are in it"
_LABEL = np.dtype("<i4")  # of labels until the writer is closed: no later draw may need a wider one
_WEIGHT = np.dtype("<f8")
_LEAST_HEADER = 128  # bytes; a shorter file was left while its header was written
_AT_ONCE = 1 << 24  # labels copied at once when a writer is closed


class _Appended:
    """An ``.npy`` file to which rows are appended.

    Its header says that it has no rows. Readers count those that are there in full, so the file is
    whole at every moment.
    """

    def __init__(self, path: str, dtype: np.dtype[Any], *, resume: bool = False) -> None:
        self.path, self.dtype = path, dtype
        self.n_columns = self.n_rows = self._begin = 0
        with _said(path, _SO_FAR):
            self._file = open(path, "r+b" if resume else "w+b", buffering=0)  # noqa: SIM115
        try:
            if os.path.getsize(path) >= _LEAST_HEADER:
                self._find_rows()
            self.keep(self.n_rows)
        except BaseException:
            self._file.close()
            raise

    def _find_rows(self) -> None:
        try:
            version = np.lib.format.read_magic(self._file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(self._file)
        except ValueError as error:
            raise FileError(f"{self.path!r} is no .npy file ({error}); move it away.") from None
        if (version, len(shape), shape[:1], dtype) != ((1, 0), 2, (0,), self.dtype):
            raise FileError(
                f"{self.path!r} holds {shape} {dtype}, not draws that a DrawsWriter of this "
                "version left; move it away."
            )
        self.n_columns, self._begin = shape[1], self._file.tell()
        held = os.path.getsize(self.path) - self._begin
        self.n_rows = held // (dtype.itemsize * self.n_columns)

    def append(self, row: NDArray[Any]) -> None:
        """Add a row. One that could not be written whole is cut off again."""
        with _said(self.path, _SO_FAR):
            try:
                if not self._begin:
                    form = {"descr": self.dtype.str, "fortran_order": False, "shape": (0, row.size)}
                    np.lib.format.write_array_header_1_0(self._file, form)
                    self.n_columns, self._begin = row.size, self._file.tell()
                rest = memoryview(row.astype(self.dtype).tobytes())
                while rest:
                    rest = rest[self._file.write(rest) :]
            except BaseException:
                with suppress(OSError):
                    self.keep(self.n_rows)
                raise
            self.n_rows += 1

    def keep(self, n_rows: int) -> None:
        """Cut off what follows the first rows."""
        size = self._begin + n_rows * self.n_columns * self.dtype.itemsize
        self._file.truncate(size)
        self._file.seek(size)
        self.n_rows = n_rows

    def leave(self) -> None:
        """Close the file. Without a row it is removed."""
        self._file.close()
        if not self.n_rows:
            with suppress(OSError):
                os.remove(self.path)


@contextmanager
def _said(path: str, kept: str) -> Iterator[None]:
    """Turn what the system says of a write into an error that says where the draws are."""
    try:
        yield
    except FileError as error:
        raise FileError(f"{str(error).rstrip('.')}. {kept}.") from None
    except OSError as error:
        raise FileError(f"{path!r} cannot be written: {io.said_of(error, kept)}") from None


class DrawsWriter:
    """Write draws to a file or store as a sampler emits them; memory stays that of one draw.

    Until the writer is closed the draws are in a file beside, ``partial``, ``chain.part.npy`` for
    ``chain.npy`` or ``chain.zarr``. :func:`read_draws` gives the draws that are in it so far, in
    this process or another, also after the writer was killed. Closing copies the draws to
    ``path``; until then, what was there is untouched.

    The file keeps the numbers that the sampler gave its clusters, so that :func:`read_draws` finds
    them (``Draws.codes``) and :func:`cluster_parameters` can look up their parameters.

    If the block it stands in raises (a full disk, Ctrl-C), the draws so far stay in
    ``partial``, which a note on the error says.

    Parameters
    ----------
    path : path
        Of an ``.npy`` file, which holds labels and nothing else, or of a ``.zarr`` store, which
        has weights too and is stored by items, so that blocks of them are read quicker.
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
    ...     draws = read_draws(path)
    1 so far
    2 so far
    >>> draws.labels
    array([[0, 0, 1],
           [0, 1, 1]], dtype=uint8)
    >>> draws.codes
    array([3, 7, 0, 1], dtype=uint8)
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
        _check_target(path, self._target, is_store=self._is_store)
        self.partial = partial_of(self._target)
        is_there = os.path.lexists(self.partial)
        if is_there and resume is None:
            raise FileError(
                f"{self.partial!r} has the draws of a chain that broke off or still runs: read it "
                "with read_draws, carry on after it with resume=True, or begin anew with "
                "resume=False."
            )
        if resume and not is_there and os.path.lexists(self._target):
            raise FileError(
                f"{os.fspath(path)!r} is a chain that is finished, with nothing to resume: write "
                "to another path, or begin anew in its place with resume=False."
            )
        goes_on = bool(resume and is_there)
        self._labels: _Appended | None = _Appended(self.partial, _LABEL, resume=goes_on)
        self._n_draws, self._n_items = self._labels.n_rows, self._labels.n_columns
        self._weights: _Appended | None = None
        place = _weights_of(self.partial)
        if self._n_draws and os.path.exists(place):
            self._weights = _Appended(place, _WEIGHT, resume=True)
        else:
            with suppress(OSError):
                os.remove(place)

    @property
    def n_items(self) -> int | None:
        """The number of items; None before the first draw."""
        return self._n_items or None

    @property
    def n_draws(self) -> int:
        """The number of draws written."""
        return self._n_draws

    def __repr__(self) -> str:
        done = "closed" if self._labels is None else "open"
        weighted = " with weights" if self._weights is not None else ""
        draws = validate.count_text(self.n_draws, "draw")
        return f"DrawsWriter({self._target!r}, {draws}{weighted}, {done})"

    def __enter__(self) -> DrawsWriter:
        return self

    def write(self, labels: Any, *, weight: float | None = None) -> None:
        """Add one draw, of as many items as the draws before.

        One that could not be written whole is not counted, and the writer can be written to again.

        Parameters
        ----------
        labels : array-like of int, shape (n,)
            As the sampler numbers its clusters, within 32 bits.
        weight : float, optional
            Of the draw, for every draw or for none; to a ``.zarr`` store.
        """
        if self._labels is None:
            raise InvalidValueError("`writer` is closed; open another for more draws.")
        row = validate.labels("labels", labels, n_items=self.n_items)
        if words_or(row, labels).dtype.kind == "U":
            raise InvalidTypeError(
                "`labels` must be whole numbers, since the file holds no text; number the words."
            )
        limits = np.iinfo(_LABEL)
        if row.min() < limits.min or row.max() > limits.max:
            raise InvalidValueError(
                f"`labels` must be within 32 bits; got {row.min()} to {row.max()}. Number the "
                "clusters of each draw from 0."
            )
        self._write_weight(weight)
        self._labels.append(row)
        self._n_draws, self._n_items = self._labels.n_rows, row.size

    def _write_weight(self, weight: float | None) -> None:
        """Write the weight of the next draw, which counts when the draw does."""
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
            if self._weights is not None:  # of a first draw that was not written
                self._weights.keep(0)
                self._weights.leave()
                self._weights = None
            return
        value = validate.real("weight", weight, low=0)
        if self._weights is None:
            self._weights = _Appended(_weights_of(self.partial), _WEIGHT)
        self._weights.keep(self.n_draws)
        self._weights.append(np.array([value]))

    def close(self) -> None:
        """Put the draws in their place; at least one must have been written."""
        if self._labels is None:
            return
        if not self.n_draws:
            self._leave()
            raise InvalidValueError("`writer` must be given at least one draw; got none.")
        kept = f"The draws are in {self.partial!r}; close the writer again when this is mended"
        with _said(self._target, kept):
            self._copy()
        self._leave()
        for path in (self.partial, _weights_of(self.partial)):
            with suppress(OSError):
                os.remove(path)

    def _copy(self) -> None:
        """Copy the draws to their place, in the smallest dtype."""
        stored = io.open_stored(self.partial)
        n_draws, n_items = shape = stored.shape
        parts = blocks(n_draws, max(1, _AT_ONCE // n_items))
        whole = slice(0, n_items)
        low = high = 0
        for part in parts:
            read = stored.read(part, whole)
            low, high = min(low, int(read.min())), max(high, int(read.max()))
        dtype = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high)).newbyteorder("<")
        if self._is_store:
            weights = weights_beside(self.partial, n_draws)
            io.write_store(self._target, stored, dtype, weights, item_blocks(shape)[0].stop)
            return
        with io.write_atomically(self._target) as file:
            form = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, form)
            for part in parts:
                file.write(stored.read(part, whole).astype(dtype).tobytes())

    def _leave(self) -> None:
        for file in (self._labels, self._weights):
            if file is not None:
                file.keep(self.n_draws)
                file.leave()
        self._labels = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif self._labels is not None:
            self._leave()
            if self.n_draws:
                error.add_note(
                    f"{validate.count_text(self.n_draws, 'draw')} so far are in {self.partial!r}."
                )


def _check_target(path: Path, target: str, *, is_store: bool) -> None:
    """Refuse what could not be written to in the end."""
    if is_store:
        io.check_store(os.fspath(path))
        return
    io.check_place(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        raise FileError(f"{os.fspath(path)!r} is no plain file; draws are written to one.")


def partial_of(path: str) -> str:
    """Return where the draws are until the file is finished."""
    return os.path.splitext(path)[0] + ".part.npy"


def _weights_of(partial: str) -> str:
    return os.path.splitext(partial)[0] + ".weights"


def weights_beside(path: str, n_draws: int) -> NDArray[np.float64] | None:
    """Return the weights of the draws so far of an unfinished chain; None where it has none."""
    place = _weights_of(path)
    if not path.endswith(".part.npy") or not os.path.isfile(place):
        return None
    weights = io.read_npy(place)
    if weights.dtype != np.float64 or weights.ndim != 2 or len(weights) < n_draws:
        raise FileError(
            f"{place!r} must hold a weight for each of {n_draws} draws in {path!r}; it does not. "
            "Without it the draws are read as of equal weight."
        )
    return weights[:n_draws, 0]
