"""Columns of a table of draws by what their names say: items of a variable, or bookkeeping."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

CHAIN_NAMES = frozenset(("chain", ".chain", "chain__", "__chain__"))
# What samplers keep beside the draws and nobody looks for in a trace of the posterior.
_COUNTERS = frozenset(
    (
        *("draw", ".draw", "draw__", "iteration", ".iteration", "iter__", "iter"),
        *("accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__"),
        *("energy__", "__index_level_0__"),
    )
)
_MAY_COUNT = _COUNTERS | {"sample"}  # which alone may well be an item
LOG_DENSITIES = frozenset(("lp__", "lp", "log_joint"))
# z.1 as CmdStan writes it, z[1] as coda, nimble, posterior and CmdStanPy do; more indices: z.1.2.
_INDEXED = re.compile(
    r"(?P<name>[^\[\]]+?)"
    r"(?:\[(?P<inside>[0-9]{1,18}(?: ?, ?[0-9]{1,18})*)\]|(?P<dots>(?:\.[0-9]{1,18})+))"
)
_LETTER = re.compile(r"[^\W\d_]")
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
    has_brackets: bool = False
    """Whether a variable is written as in z[1]; a dot, as in z.1, may be part of any name."""

    @property
    def is_of_a_sampler(self) -> bool:
        """Whether there are columns that only a sampler writes."""
        return bool(self.chain is not None or self.scalars or self.n_counters)


def are_variables(names: Sequence[str]) -> bool:
    """Whether names of columns are those of a sampler's variables rather than an item each.

    >>> are_variables(["ada", "bob"]), are_variables([".chain", "ada"]), are_variables(["z[1]"])
    (False, True, True)
    """
    if not _LETTER.search("".join(names)):  # a million numbers are told quickly
        return False
    columns = sorted_out(names)
    return columns.is_of_a_sampler or columns.has_brackets


def sorted_out(names: Sequence[str]) -> Columns:
    """Tell the columns of a table apart by their names.

    >>> sorted_out(["lp__", "z.1", "z.2"])
    Columns(chain=None, scalars={'lp__': 0}, plain=(),
            indexed={'z': {(1,): 1, (2,): 2}}, n_counters=0, has_brackets=False)
    """
    chain: int | None = None
    n_counters, brackets = 0, False
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
        elif name.lower() in _MAY_COUNT:
            n_counters += name.lower() in _COUNTERS
        elif match is not None:
            text = match["inside"] or match["dots"][1:].replace(".", ",")
            index = tuple(int(part) for part in text.split(","))
            indexed.setdefault(match["name"], {})[index] = position
            brackets = brackets or match["inside"] is not None
        else:
            plain.append(position)
    return Columns(chain, scalars, tuple(plain), indexed, n_counters, brackets)
