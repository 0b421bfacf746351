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
_LEAST_HEADER = 64  # bytes; a shorter file was left while its header was written
_AT_ONCE = 1 << 24  # labels copied at once when a writer is closed


def _record(n_items: int, *, weighted: bool) -> np.dtype[Any]:
    """A draw in the file: labels of 32 bits, so that no later draw needs wider ones."""
    fields: list[Any] = [("labels", "<i4", (n_items,))]
    return np.dtype(fields + [(io.WEIGHTS, "<f8")] * weighted)


class _Records:
    """An ``.npy`` file to which draws are appended.

    Its header says that it has none. Readers count those that are there in full, so the file is
    whole at every moment.
    """

    def __init__(self, path: str, *, resume: bool) -> None:
        self.path = path
        self.dtype: np.dtype[Any] | None = None  # known from the first draw on
        self.n_draws = self._begin = 0
        with _said(path, _SO_FAR):
            self._file = open(path, "r+b" if resume else "w+b", buffering=0)  # noqa: SIM115
        try:
            if os.path.getsize(path) >= _LEAST_HEADER:
                self._find_draws()
            self.keep()
        except BaseException:
            self._file.close()
            raise

    @property
    def n_items(self) -> int:
        """The number of items, 0 before the first draw."""
        return 0 if self.dtype is None else int(self.dtype["labels"].shape[0])

    @property
    def weighted(self) -> bool:
        """Whether the draws have weights."""
        return self.dtype is not None and io.WEIGHTS in (self.dtype.names or ())

    def _find_draws(self) -> None:
        try:
            np.lib.format.read_magic(self._file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(self._file)
        except ValueError as error:
            raise FileError(f"{self.path!r} is no .npy file ({error}); move it away.") from None
        sizes = [] if dtype.names is None else [*dtype[0].shape, len(dtype.names) == 2]
        if len(sizes) != 2 or dtype != _record(sizes[0], weighted=sizes[1]) or shape != (0,):
            raise FileError(
                f"{self.path!r} does not hold draws that a DrawsWriter of this version left; move "
                "it away."
            )
        self.dtype, self._begin = dtype, self._file.tell()
        self.n_draws = (os.path.getsize(self.path) - self._begin) // dtype.itemsize

    def append(self, labels: NDArray[Any], weight: float | None) -> None:
        """Add a draw. One that could not be written whole is cut off again."""
        with _said(self.path, _SO_FAR):
            try:
                if self.dtype is None:
                    self.dtype = _record(labels.size, weighted=weight is not None)
                    form = {"descr": self.dtype.descr, "fortran_order": False, "shape": (0,)}
                    np.lib.format.write_array_header_1_0(self._file, form)
                    self._begin = self._file.tell()
                record = np.zeros((), self.dtype)
                record["labels"] = labels
                if weight is not None:
                    record[io.WEIGHTS] = weight
                rest = memoryview(record.tobytes())
                while rest:
                    rest = rest[self._file.write(rest) :]
            except BaseException:
                with suppress(OSError):
                    self.keep()
                raise
            self.n_draws += 1

    def keep(self) -> None:
        """Cut off what follows the draws that count."""
        if not self.n_draws:
            self.dtype, self._begin = None, 0
        size = self._begin + self.n_draws * (0 if self.dtype is None else self.dtype.itemsize)
        self._file.truncate(size)
        self._file.seek(size)

    def leave(self) -> None:
        """Close the file. Without a draw it is removed."""
        self.keep()
        self._file.close()
        if not self.n_draws:
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
        self._records = _Records(self.partial, resume=bool(resume and is_there))
        self._is_closed = False

    @property
    def n_items(self) -> int | None:
        """The number of items; None before the first draw."""
        return self._records.n_items or None

    @property
    def n_draws(self) -> int:
        """The number of draws written."""
        return self._records.n_draws

    def __repr__(self) -> str:
        done = "closed" if self._is_closed else "open"
        weighted = " with weights" if self._records.weighted else ""
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
        if self._is_closed:
            raise InvalidValueError("`writer` is closed; open another for more draws.")
        row = validate.labels("labels", labels, n_items=self.n_items)
        if words_or(row, labels).dtype.kind == "U":
            raise InvalidTypeError(
                "`labels` must be whole numbers, since the file holds no text; number the words."
            )
        limits = np.iinfo(np.int32)
        if row.min() < limits.min or row.max() > limits.max:
            raise InvalidValueError(
                f"`labels` must be within 32 bits; got {row.min()} to {row.max()}. Number the "
                "clusters of each draw from 0."
            )
        self._records.append(row, self._checked(weight))

    def _checked(self, weight: float | None) -> float | None:
        if weight is not None and not self._is_store:
            raise InvalidValueError(
                "`weight` must be left out for an .npy file, which holds labels and nothing else; "
                f"write to a path that ends in .zarr. Got {weight!r}."
            )
        if self.n_draws and (weight is not None) != self._records.weighted:
            raise InvalidValueError(
                f"`weight` must be given for every draw or for none; got {weight!r}, and the "
                f"{validate.count_text(self.n_draws, 'draw')} before have "
                + ("one each." if self._records.weighted else "none.")
            )
        return None if weight is None else validate.real("weight", weight, low=0)

    def close(self) -> None:
        """Put the draws in their place; at least one must have been written."""
        if self._is_closed:
            return
        if not self.n_draws:
            self._leave()
            raise InvalidValueError("`writer` must be given at least one draw; got none.")
        kept = f"The draws are in {self.partial!r}; close the writer again when this is mended"
        with _said(self._target, kept):
            self._copy()
        self._leave()
        with suppress(OSError):
            os.remove(self.partial)

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
            width = item_blocks(shape)[0].stop
            io.write_store(self._target, stored, dtype, stored.beside.weights, width)
            return
        with io.write_atomically(self._target) as file:
            form = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, form)
            for part in parts:
                file.write(stored.read(part, whole).astype(dtype).tobytes())

    def _leave(self) -> None:
        self._records.leave()
        self._is_closed = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        elif not self._is_closed:
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
