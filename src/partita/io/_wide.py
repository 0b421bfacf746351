"""A table with a column for each item, or for each entry of each variable, as a container."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import FileError
from partita.io._choose import Entry
from partita.io._columns import Columns, sorted_out
from partita.io._container import Box

if TYPE_CHECKING:
    from numpy.typing import NDArray

ITEMS = "items"


@dataclass(frozen=True, eq=False)
class Wide:
    """Columns by name, of which those of one variable are taken together.

    Parameters
    ----------
    where : str
        What it is, for errors.
    held : int or None
        Its bytes on disk.
    n_rows : int
    names, kinds, widths
        Of the columns: name, NumPy kind, bytes of a value.
    columns_at : callable
        ``columns_at(positions, start, stop)`` gives those columns, (rows, columns).
    prefix : str
        What the names of its variables begin with: "" or an R object and "$".
    """

    where: str
    held: int | None
    n_rows: int
    names: Sequence[str]
    kinds: Sequence[str]
    widths: Sequence[int]
    columns_at: Callable[[Sequence[int], int, int], NDArray[Any]]
    prefix: str = ""

    @cached_property
    def columns(self) -> Columns:
        """The columns by what their names say."""
        return sorted_out(self.names)

    @cached_property
    def _found(self) -> dict[str, tuple[Entry, tuple[int, ...]]]:
        """Every variable with the positions of its columns in the order of its entries."""
        columns = self.columns
        plain = [i for i in columns.plain if self.kinds[i] in "biufU"]
        indexed = [i for found in columns.indexed.values() for i in found.values()]
        every = sorted((*plain, *indexed))
        only_labels = all(self.kinds[i] in "biuU" for i in every)
        if not columns.indexed or (
            only_labels and not columns.is_of_a_sampler and len(columns.indexed) > 1
        ):
            items = plain if not columns.indexed else every
            return dict([*self._items(items), *self._scalars(columns.scalars)])
        scalars = columns.scalars | {self.names[i].strip(): i for i in plain}
        return dict([*self._vectors(), *self._scalars(scalars)])

    def _items(self, positions: list[int]) -> list[tuple[str, tuple[Entry, tuple[int, ...]]]]:
        if not positions:
            return []
        shape = (self.n_rows, len(positions))
        dims = ("draw", ITEMS)
        entry = Entry(self._whole, shape, *self._dtype(positions), dims, self.prefix)
        return [(entry.name, (entry, tuple(positions)))]

    def _vectors(self) -> list[tuple[str, tuple[Entry, tuple[int, ...]]]]:
        found = []
        for name, cells in self.columns.indexed.items():
            order = sorted(cells)
            sizes = _sizes(order)
            if sizes is None:
                continue
            dims = ("draw", *(f"{name}_dim_{k}" for k in range(len(sizes))))
            positions = tuple(cells[index] for index in order)
            shape = (self.n_rows, *sizes)
            path = self.prefix + name
            entry = Entry(path, shape, *self._dtype(positions), dims, self.prefix)
            found.append((entry.name, (entry, positions)))
        return found

    def _scalars(self, scalars: dict[str, int]) -> list[tuple[str, tuple[Entry, tuple[int, ...]]]]:
        chain = {} if self.columns.chain is None else {"chain": self.columns.chain}
        found: list[tuple[str, tuple[Entry, tuple[int, ...]]]] = []
        for name, i in (scalars | chain).items():
            kind, width = self._dtype([i])
            path = self.prefix + name
            entry = Entry(path, (self.n_rows,), kind, width, ("draw",), self.prefix)
            found.append((path, (entry, (i,))))
        return found

    @property
    def _whole(self) -> str:
        """What the table itself is called."""
        return self.prefix.rstrip("$")

    def _dtype(self, positions: Sequence[int]) -> tuple[str, int]:
        kinds = {self.kinds[i] for i in positions}
        widest = max(self.widths[i] for i in positions)
        for kind in "Ufiub":
            if kind in kinds:
                return kind, max(widest, 8 if len(kinds) > 1 else 1)
        return "other", widest

    @property
    def entries(self) -> Sequence[Entry]:
        """The variables, and the names of the items where columns have them."""
        found = [entry for entry, _ in self._found.values()]
        names = self.item_names
        if names is not None:
            path = self.prefix + ITEMS
            found.append(Entry(path, (len(names),), "U", 4, (ITEMS,), self.prefix))
        return found

    @property
    def item_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where columns are items."""
        found = self._found.get(self._whole)
        return None if found is None else tuple(self.names[i] for i in found[1])

    def positions(self, entry: Entry) -> tuple[int, ...]:
        """The columns of a variable, in the order of its entries."""
        return self._found[entry.name][1]

    def read(self, entry: Entry, box: Box) -> NDArray[Any]:
        """Return a part of a variable."""
        if entry.name == self.prefix + ITEMS and entry.name not in self._found:
            return np.array(self.item_names, dtype=np.str_)
        start, stop = box[0]
        array = self.columns_at(self.positions(entry), start, stop)
        if array.shape != (stop - start, len(self.positions(entry))):
            raise FileError(f"{self.where} is corrupt: its rows are not as many as it says.")
        shaped = array.reshape(stop - start, *entry.shape[1:])
        return shaped[(slice(None), *(slice(*part) for part in box[1:]))]


def _sizes(order: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The sizes of a variable whose sorted indices fill a box from 0 or 1; None if they do not."""
    first, last = order[0], order[-1]
    if any(len(index) != len(first) for index in order) or not set(first) <= {0, 1}:
        return None
    sizes = tuple(b - a + 1 for a, b in zip(first, last, strict=True))
    n = 1
    for size in sizes:
        n *= size
    return sizes if n == len(order) else None
