"""Which of many variables holds the labels, and which of its axes is what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from partita.errors import FileError, InvalidValueError

CHAIN_DIMS = frozenset(("chain", "chains"))
DRAW_DIMS = frozenset(
    ("draw", "draws", "sample", "samples", "__sample__", "iteration", "iterations", "iter")
)
# As people call the cluster of an item; the first names are the surest.
USUAL_NAMES = (
    *("labels", "label", "z", "clusters", "cluster", "clust", "assignments", "assignment"),
    *("allocations", "allocation", "categories", "category", "component", "components", "c", "s"),
)
_GROUPS = ("posterior", "", "posterior_predictive", "predictions")
_LISTED = 12


@dataclass(frozen=True)
class Entry:
    """A variable of a container: its path within, shape, dtype kind and, if known, dimensions."""

    name: str
    shape: tuple[int, ...]
    kind: str
    itemsize: int
    dims: tuple[str, ...] | None = None
    within: str | None = None
    """What the names of its neighbours begin with, where that is not the group."""

    @property
    def folder(self) -> str:
        """What the names of its neighbours begin with."""
        if self.within is not None:
            return self.within
        return f"{self.group}/" if self.group else ""

    @property
    def group(self) -> str:
        """The group that it is in; "" is the root."""
        return self.name.rpartition("/")[0]

    @property
    def short(self) -> str:
        """Its name without the group, or without the R object that it is a part of."""
        return self.name.replace("$", "/").rpartition("/")[2]

    def __str__(self) -> str:
        kinds = {"f": "float", "i": "int", "u": "int", "b": "bool", "U": "text"}
        return f"{self.name!r} {self.shape} {kinds.get(self.kind, self.kind)}"


@dataclass(frozen=True)
class Axes:
    """Where an array has its chains (None: it has none), its draws and the rest."""

    chain: int | None
    draw: int
    rest: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The axes in the order chain, draw, rest."""
        return (*(() if self.chain is None else (self.chain,)), self.draw, *self.rest)


def axes_of(entry: Entry, n_rest: int | None = None) -> Axes | None:
    """Return the axes of a variable by the names of its dimensions, else by their number.

    Without names, ``n_rest`` axes after the draws are expected; what is before is chain and draw.
    """
    ndim = len(entry.shape)
    if entry.dims is not None:
        chain = [i for i, name in enumerate(entry.dims) if name in CHAIN_DIMS]
        draw = [i for i, name in enumerate(entry.dims) if name in DRAW_DIMS]
        if len(draw) == 1 and len(chain) <= 1:
            rest = tuple(i for i in range(ndim) if i not in (*chain, *draw))
            return Axes(chain[0] if chain else None, draw[0], rest)
    if n_rest is None or ndim - n_rest not in (1, 2):
        return None
    rest = tuple(range(ndim - n_rest, ndim))
    return Axes(0 if ndim - n_rest == 2 else None, ndim - n_rest - 1, rest)


def choose(
    entries: Sequence[Entry],
    key: str | None,
    where: str,
    is_whole: Callable[[Entry], bool],
) -> tuple[Entry, str]:
    """Return the variable that holds the labels, and why it; an error lists the candidates."""
    if key is not None:
        return named(entries, key, where), "as told"
    tables = [entry for entry in entries if _may_be_labels(entry) and entry.group in _GROUPS]
    for group in _GROUPS:
        for kinds in ("biu", "f", "U"):
            found = [
                entry
                for entry in tables
                if entry.group == group
                and entry.kind in kinds
                and (entry.kind != "f" or is_whole(entry))
            ]
            if len(found) == 1:
                return found[0], "it is the only one with a label for every draw and item"
            usual = [entry for entry in found if entry.short.lower() in USUAL_NAMES]
            if len(usual) == 1:
                return usual[0], "it has a name that labels usually have"
            if found:
                raise FileError(
                    f"{where} holds several variables that may be the labels; pass key= with one "
                    f"of {listing(found)}."
                )
    raise FileError(
        f"{where} holds no variable with a whole number for every draw and item; it holds "
        f"{listing(entries)}. For weights of a marginalised mixture see Draws.from_log_weights."
    )


def named(entries: Sequence[Entry], key: str, where: str) -> Entry:
    """Return the variable that ``key`` names, by its path or, in the likeliest group, its name."""
    if not isinstance(key, str):
        raise InvalidValueError(f"`key` must be the name of a variable; got {key!r}.")
    found = [entry for entry in entries if entry.name == key.strip("/")]
    found += [entry for group in _GROUPS for entry in entries if entry.name == f"{group}/{key}"]
    found += [entry for entry in entries if entry.short == key]
    if not found:
        raise InvalidValueError(
            f"`key` must name a variable of {where}; got {key!r} and it holds {listing(entries)}."
        )
    return found[0]


def _may_be_labels(entry: Entry) -> bool:
    axes = axes_of(entry, 1)
    return axes is not None and len(axes.rest) == 1 and 0 not in entry.shape


def listing(entries: Sequence[Entry]) -> str:
    """The variables, with shape and kind, for an error that asks which one was meant."""
    if not entries:
        return "nothing"
    more = f" and {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
    return ", ".join(map(str, entries[:_LISTED])) + more
