"""A path to a container of variables, whatever the format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partita.errors import FileError
from partita.io._cmdstan import CmdStanFile
from partita.io._container import WEIGHTS, Box, Container
from partita.io._sandbox import Sandbox
from partita.io._sandboxed import NetcdfContainer, RdataContainer, parquet_container
from partita.io._zarr import ZarrArray
from partita.io._zarr_blocks import entry_of, zarr_arrays
from partita.io._zarr_meta import WEIGHTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from partita.io._choose import Entry
    from partita.io._source import Format

CONTAINERS = frozenset(("netcdf", "zarr", "parquet", "rdata", "cmdstan", "cmdstan-gzip"))
_IN_WORDS = {
    "netcdf": "The file is NetCDF.",
    "zarr": "The folder is a Zarr store.",
    "parquet": "The file is Parquet.",
    "rdata": "The file is R's.",
    "cmdstan": "The file is CmdStan's CSV.",
    "cmdstan-gzip": "The file is CmdStan's CSV, compressed with gzip.",
}


@dataclass(frozen=True, eq=False)
class ZarrContainer:
    """The arrays of a Zarr array or group."""

    path: str
    arrays: dict[str, ZarrArray]
    whole: set[str] = field(default_factory=set)
    """Those of which no chunk may be missing."""

    @property
    def where(self) -> str:
        """The folder, for errors."""
        return repr(self.path)

    @property
    def held(self) -> int:
        """The bytes that the folder holds."""
        return sum(array.stored_bytes for array in self.arrays.values())

    @property
    def entries(self) -> Sequence[Entry]:
        """The arrays."""
        return [entry_of(name, array) for name, array in self.arrays.items()]

    def read(self, entry: Entry, box: Box) -> NDArray[Any]:
        """Return a part of an array."""
        is_whole = entry.name in self.whole or entry.name == WEIGHTS
        return self.arrays[entry.name].read(box, frozenset() if is_whole else None)

    def check_labels(self, entry: Entry) -> None:
        """Refuse labels of which chunks have no file, unless the store says that none is lost."""
        array = self.arrays[entry.name]
        array.check(array.absent())
        if not array.meta.may_miss:
            self.whole.add(entry.name)

    def check_unweighted(self, entry: Entry) -> None:
        """Refuse labels that come without weights and say that they have some."""
        meta = self.arrays[entry.name].meta
        if meta.is_weighted:
            raise FileError(
                f"{self.where} has labels of draws with weights and lacks the weights, one for "
                f"each draw in the array {WEIGHTS!r} beside them. Read the whole store, copy that "
                "folder from where it came from, or write the draws again; to have all draws weigh "
                f"the same, let the labels say so: del zarr.open({meta.folder!r})"
                f".attrs[{WEIGHTED!r}]."
            )


@contextmanager
def open_container(kind: Format, path: str) -> Iterator[tuple[Container, tuple[str, ...]]]:
    """Open a file or folder of a known format; what is open ends with the block."""
    said = (_IN_WORDS[kind],)
    if kind == "zarr":
        yield ZarrContainer(path, zarr_arrays(path)), said
    elif kind in ("cmdstan", "cmdstan-gzip"):
        file = CmdStanFile(path, gzipped=kind == "cmdstan-gzip")
        warm = f"The first {file.n_skipped} rows are warm-up, as its comments say, and left out."
        yield file.container(), (*said, *([warm] if file.n_skipped else []))
    else:
        with Sandbox(kind, path) as sandbox:
            if kind == "netcdf":
                yield NetcdfContainer(sandbox), said
            elif kind == "rdata":
                yield RdataContainer(sandbox), said
            else:
                yield parquet_container(sandbox), said
