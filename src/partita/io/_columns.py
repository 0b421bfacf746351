"""Columns of a table of draws by what their names say: items of a variable, or bookkeeping."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from partita.errors import FileError, InvalidValueError
from partita.io._choose import USUAL_NAMES

CHAIN_NAMES = frozenset(("chain", ".chain", "chain__", "__chain__"))
# What samplers keep beside the draws and nobody looks for in a trace of the posterior.
_COUNTERS = frozenset(
    (
        *("draw", ".draw", "draw__", "iteration", ".iteration", "iter__", "iter", "sample"),
        *("accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__"),
        *("energy__", "__index_level_0__"),
    )
)
LOG_DENSITIES = frozenset(("lp__", "lp", "log_joint"))
# z.1 as CmdStan writes it, z[1] as coda, nimble, posterior and CmdStanPy do; more indices: z.1.2.
_INDEXED = re.compile(
    r"(?P<name>[^\[\]]+?)"
    r"(?:\[(?P<inside>[0-9]{1,18}(?: ?, ?[0-9]{1,18})*)\]|(?P<dots>(?:\.[0-9]{1,18})+))"
)
_LONGEST_NAME = 200  # longer ones are not looked into: the search takes the square of the length


@dataclass(frozen=True)
class Columns:
    """Where a table has its chains, its scalars and its variables; numbers are positions."""

    chain: int | None = None
    scalars: dict[str, int] = field(default_factory=dict)
    plain: tuple[int, ...] = ()
    """Columns whose names have no index and are no bookkeeping."""
    indexed: dict[str, dict[tuple[int, ...], int]] = field(default_factory=dict)
    """For a variable, the column of each index, in the order of the table."""
    n_counters: int = 0

    @property
    def is_of_a_sampler(self) -> bool:
        """Whether there are columns that only a sampler writes."""
        return bool(self.chain is not None or self.scalars or self.n_counters)


def sorted_out(names: Sequence[str]) -> Columns:
    """Tell the columns of a table apart by their names.

    >>> sorted_out(["lp__", "z.1", "z.2"])
    Columns(chain=None, scalars={'lp__': 0}, plain=(),
            indexed={'z': {(1,): 1, (2,): 2}}, n_counters=0)
    """
    chain: int | None = None
    n_counters = 0
    scalars: dict[str, int] = {}
    plain: list[int] = []
    indexed: dict[str, dict[tuple[int, ...], int]] = {}
    for position, raw in enumerate(names):
        name = raw.strip()
        match = _INDEXED.fullmatch(name) if len(name) < _LONGEST_NAME else None
        if name.lower() in CHAIN_NAMES and chain is None:
            chain = position
        elif name.lower() in LOG_DENSITIES:
            scalars[name] = position
        elif name.lower() in _COUNTERS:
            n_counters += 1
        elif match is not None:
            text = match["inside"] or match["dots"][1:].replace(".", ",")
            index = tuple(int(part) for part in text.split(","))
            indexed.setdefault(match["name"], {})[index] = position
        else:
            plain.append(position)
    return Columns(chain, scalars, tuple(plain), indexed, n_counters)


def item_columns(
    names: Sequence[str],
    kinds: Sequence[str],
    key: str | None,
    what: str,
    is_whole: Callable[[tuple[int, ...]], bool],
) -> tuple[tuple[int, ...], str]:
    """Return the columns that are items, in order, and why they.

    They are those of the variable that ``key`` names, of the only variable with one index whose
    values are whole numbers, or, where no column has an index, all that are no bookkeeping.
    """
    columns = sorted_out(names)
    if key is not None:
        return _told(columns, names, key, what), "as told"
    usable = [i for i in columns.plain if kinds[i] in "biufU"]
    if not columns.indexed:
        if not usable:
            raise FileError(f"{what} holds no column of labels.")
        return tuple(usable), "no column has a name with an index"
    indexed = [i for found in columns.indexed.values() for i in found.values()]
    every = tuple(sorted((*columns.plain, *indexed)))
    only_labels = all(kinds[i] in "biuU" for i in every)
    if only_labels and not columns.is_of_a_sampler and len(columns.indexed) > 1:
        return every, "every column holds labels, and none is a sampler's"
    vectors = {
        name: tuple(found[index] for index in sorted(found))
        for name, found in columns.indexed.items()
        if all(len(index) == 1 for index in found)
    }
    return _vector(vectors, kinds, what, is_whole)


def _told(columns: Columns, names: Sequence[str], key: str, what: str) -> tuple[int, ...]:
    found = columns.indexed.get(key)
    if found is not None and all(len(index) == 1 for index in found):
        return tuple(found[index] for index in sorted(found))
    if found is None and key in names:
        return (list(names).index(key),)
    listed = ", ".join(map(repr, list(columns.indexed)[:12] or list(names)[:12]))
    raise InvalidValueError(
        f"`key` must name a variable of {what} with a value for every item, such as {listed}; "
        f"got {key!r}."
    )


def _vector(
    vectors: dict[str, tuple[int, ...]],
    kinds: Sequence[str],
    what: str,
    is_whole: Callable[[tuple[int, ...]], bool],
) -> tuple[tuple[int, ...], str]:
    for accepted in ("biu", "f", "U"):
        found = [
            name
            for name, positions in vectors.items()
            if all(kinds[i] in accepted for i in positions)
            and (accepted != "f" or is_whole(positions))
        ]
        usual = [name for name in found if name.lower() in USUAL_NAMES]
        if len(found) == 1 or len(usual) == 1:
            name = (found if len(found) == 1 else usual)[0]
            why = "it is the only variable of whole numbers" if len(found) == 1 else "by its name"
            return vectors[name], f"{name!r} holds the labels: {why}"
        if found:
            raise FileError(
                f"{what} holds several variables that may be the labels; pass key= with one of "
                f"{', '.join(map(repr, found[:12]))}."
            )
    raise FileError(
        f"{what} holds no variable with a whole number for every item; it holds "
        f"{', '.join(map(repr, list(vectors)[:12])) or 'none with one index'}. For weights of a "
        "marginalised mixture see Draws.from_log_weights."
    )
