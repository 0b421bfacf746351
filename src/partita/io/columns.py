"""A table with a column for each item, or for each entry of each variable, as variables.

``z.1`` is what CmdStan writes for an entry, ``z[1]`` what coda, nimble, posterior and CmdStanPy do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from partita.errors import FileError
from partita.io.variables import Box, Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    ReadColumns: TypeAlias = Callable[[Sequence[int], int, int], NDArray[Any]]

_CHAINS = frozenset(("chain", ".chain", "chain__", "__chain__"))
_LOG_DENSITIES = frozenset(("lp__", "lp", "log_joint"))
# What samplers write beside the draws and nobody wants as a trace of the posterior.
_COUNTERS = frozenset(
    (
        *("draw", ".draw", "draw__", "iteration", ".iteration", "iter__", "iter"),
        *("accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__"),
        *("energy__", "__index_level_0__"),
    )
)
_INDEXED = re.compile(
    r"(?P<name>[^\[\]]+?)"
    r"(?:\[(?P<inside>[0-9]{1,18}(?: ?, ?[0-9]{1,18})*)\]|(?P<dots>(?:\.[0-9]{1,18})+))"
)
_LONGEST_NAME = 200  # matching takes the square of the length
_ITEMS = "items"


@dataclass
class _Columns:
    """Where a table has its chain, its scalars and its variables; numbers are positions."""

    chain: int | None = None
    scalars: dict[str, int] = field(default_factory=dict)
    plain: list[int] = field(default_factory=list)
    indexed: dict[str, dict[tuple[int, ...], int]] = field(default_factory=dict)
    has_counters: bool = False
    has_brackets: bool = False  # a dot, as in z.1, may be part of any name

    @property
    def is_of_a_sampler(self) -> bool:
        """Whether there are columns that only a sampler writes."""
        return self.chain is not None or bool(self.scalars) or self.has_counters


def are_variables(names: Sequence[str]) -> bool:
    """Whether names of columns are those of a sampler's variables rather than an item each.

    >>> are_variables(["ada", "bob"]), are_variables([".chain", "ada"]), are_variables(["z[1]"])
    (False, True, True)
    """
    if not any(map(str.isalpha, "".join(names))):  # a million numbers are told quickly
        return False
    found = _told_apart(names)
    return found.is_of_a_sampler or found.has_brackets


def _told_apart(names: Sequence[str]) -> _Columns:
    """Tell the columns of a table apart by their names."""
    found = _Columns()
    for position, name in enumerate(map(str.strip, names)):
        match = _INDEXED.fullmatch(name) if len(name) < _LONGEST_NAME else None
        if name.lower() in _CHAINS and found.chain is None:
            found.chain = position
        elif name.lower() in _LOG_DENSITIES:
            found.scalars[name] = position
        elif name.lower() in _COUNTERS:
            found.has_counters = True
        elif match is not None:
            text = match["inside"] or match["dots"][1:].replace(".", ",")
            index = tuple(int(part) for part in text.split(","))
            found.indexed.setdefault(match["name"], {})[index] = position
            found.has_brackets |= match["inside"] is not None
        elif name.lower() != "sample":  # which alone may be an item, and is not a label
            found.plain.append(position)
    return found


def from_columns(
    names: Sequence[str], dtypes: Sequence[np.dtype[Any]], n_rows: int, read: ReadColumns,
    *, prefix: str = "", height: int = 1,
) -> list[Variable]:  # fmt: skip
    """Return the variables of a table whose rows are draws.

    Parameters
    ----------
    names, dtypes : sequences
        Of the columns.
    n_rows : int
    read : callable
        ``read(positions, start, stop)`` gives rows of some columns.
    prefix : str
        What the names of the variables begin with: "" or the name of the table and "$".
    height : int
        Rows that are decoded together.
    """

    def variable(name: str, positions: Sequence[int], sizes: tuple[int, ...]) -> Variable:
        def part(box: Box) -> NDArray[Any]:
            (start, stop), *rest = box
            array = read(positions, start, stop)
            if array.shape != (stop - start, len(positions)):
                raise FileError("its rows are not as many as it says.")
            array = array.reshape(stop - start, *sizes)
            return array[(slice(None), *(slice(*side) for side in rest))]

        kinds = {dtypes[i].kind for i in positions}
        text = np.dtype(np.str_)
        dtype = text if "U" in kinds else np.result_type(*{dtypes[i] for i in positions})
        suffix = [f"{name}_dim_{k}" for k in range(len(sizes))] if name else [_ITEMS]
        shape, chunks = (n_rows, *sizes), (height, *(1 for _ in sizes))
        full = (prefix + name).rstrip("$")
        return Variable(full, shape, dtype, part, ("draw", *suffix[: len(sizes)]), chunks)

    columns = _told_apart(names)
    plain = [i for i in columns.plain if dtypes[i].kind in "biufU"]
    indexed = [i for cells in columns.indexed.values() for i in cells.values()]
    scalars, items = dict(columns.scalars), plain
    only_labels = all(dtypes[i].kind in "biuU" for i in (*plain, *indexed))
    if only_labels and not columns.is_of_a_sampler and len(columns.indexed) > 1:
        items, indexed = sorted((*plain, *indexed)), []  # names such as gene.1 and gene2.1
    found: list[Variable] = []
    if indexed:
        scalars |= {names[i].strip(): i for i in plain}
        for name, cells in columns.indexed.items():
            sizes = _sizes(sorted(cells))
            if sizes is not None:
                found.append(variable(name, [cells[index] for index in sorted(cells)], sizes))
    elif items:
        found.append(variable("", items, (len(items),)))
        own = np.array([names[i] for i in items], dtype=np.str_)
        found.append(Variable(prefix + _ITEMS, own.shape, own.dtype, lambda box: own, (_ITEMS,)))
    if columns.chain is not None:
        scalars["chain"] = columns.chain
    return found + [variable(name, [i], ()) for name, i in scalars.items()]


def _sizes(order: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The sizes of a variable whose sorted indices fill a box from 0 or 1; None if they do not."""
    first, last = order[0], order[-1]
    if any(len(index) != len(first) for index in order) or not set(first) <= {0, 1}:
        return None
    sizes = tuple(b - a + 1 for a, b in zip(first, last, strict=True))
    return sizes if math.prod(sizes) == len(order) else None
