"""Named variables, whatever they are stored in, and which of them are the labels of draws.

Files of every format but plain tables of text, and samplers' objects, become :class:`Variables`.
Which variable holds the labels, which axis is what, and what belongs to the labels is found here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from partita import validate
from partita.errors import FileError, InvalidValueError
from partita.io.files import check_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

Box: TypeAlias = tuple[tuple[int, int], ...]

WEIGHTS = "partita_weights"  # the variable, beside labels, with the weight of each draw
CHAIN_DIMS = frozenset(("chain", "chains"))
DRAW_DIMS = frozenset(
    ("draw", "draws", "sample", "samples", "__sample__", "iteration", "iterations", "iter")
)
# What people call the cluster of an item.
_USUAL_NAMES = frozenset(
    (
        *("labels", "label", "z", "clusters", "cluster", "clust", "assignments", "assignment"),
        *("allocations", "allocation", "categories", "category", "component", "components"),
        *("c", "s"),
    )
)
_GROUPS = ("posterior", "", "posterior_predictive", "predictions")  # of ArviZ, likeliest first
_LOG_DENSITIES = ("sample_stats/lp", "sample_stats/lp__")
ROWS = {
    "draws": "Each row is a draw, each column an item.",
    "items": "Each row is an item, each column a draw.",
}
_LISTED = 12  # variables named in an error
_PROBED = 1 << 16  # values looked at to see whether floats are whole numbers
_MOST_TRACES = 64


@dataclass(frozen=True, eq=False)
class Table:
    """Labels as arrays, with what came with them and what was assumed in reading them.

    Parameters
    ----------
    labels : array, shape (n_draws, n_items)
        Integers or text. Text labels of a text file come as integers that index ``label_names``.
    item_names : tuple of str, optional
    label_names : tuple of str, optional
        The distinct labels of a text file whose labels are text.
    weights, chains : array, shape (n_draws,), optional
    traces : dict of str to array, shape (n_draws,)
    codes, about
        As saved with a ``Draws``.
    assumptions : tuple of str
        A sentence for everything that the file did not say outright.
    observed : array of bool, shape (n_draws, n_items), optional
        Which labels are there, if some are not.
    """

    labels: NDArray[Any]
    item_names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    weights: NDArray[Any] | None = None
    chains: NDArray[Any] | None = None
    traces: dict[str, NDArray[Any]] = field(default_factory=dict)
    codes: NDArray[Any] | None = None
    assumptions: tuple[str, ...] = ()
    about: dict[str, str | float] = field(default_factory=dict)
    observed: NDArray[np.bool_] | None = None


class Axes(NamedTuple):
    """Where an array has its chains (None if it has no such axis), its draws, and the rest."""

    chain: int | None
    draw: int
    rest: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The axes in the order chain, draw, rest."""
        return (*(() if self.chain is None else (self.chain,)), self.draw, *self.rest)


@dataclass(frozen=True, eq=False)
class Variable:
    """One array: its path within the file, shape, dtype, and a way to read a part of it.

    Parameters
    ----------
    name : str
        Groups are separated by ``/``, parts of an R object by ``$``.
    dtype : dtype
        Of kind "U" for text of any kind, "V" for what is neither numbers nor text.
    read : callable
        ``read(box)`` gives the part between (start, stop) along every axis.
    dims : tuple of str, optional
        The names of the axes.
    chunks : tuple of int, optional
        The part that is decoded together.
    check : callable, optional
        Raises if the variable is not whole; called before it is used as labels or weights.
    attributes : mapping
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[Box], NDArray[Any]]
    dims: tuple[str, ...] | None = None
    chunks: tuple[int, ...] | None = None
    check: Callable[[], None] = lambda: None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """The name without the group, or without the R object that it is a part of."""
        return self.name.replace("$", "/").rpartition("/")[2]

    @property
    def folder(self) -> str:
        """What the names of its neighbours begin with."""
        return self.name[: len(self.name) - len(self.short)]

    def axes(self, n_rest: int) -> Axes | None:
        """Return the axes by the names of the dimensions, else by their number.

        Without names, ``n_rest`` axes follow the draws, and what is before is chain and draw.
        """
        ndim = len(self.shape)
        if self.dims is not None:
            chain = [i for i, name in enumerate(self.dims) if name in CHAIN_DIMS]
            draw = [i for i, name in enumerate(self.dims) if name in DRAW_DIMS]
            if len(draw) == 1 and len(chain) <= 1:
                rest = tuple(i for i in range(ndim) if i not in (*chain, *draw))
                return Axes(chain[0] if chain else None, draw[0], rest)
        if ndim - n_rest not in (1, 2):
            return None
        draw_axis = ndim - n_rest - 1
        return Axes(0 if draw_axis else None, draw_axis, tuple(range(draw_axis + 1, ndim)))

    def of(self, where: str) -> str:
        """The variable and where it is, for errors."""
        return f"variable {self.name!r} of {where}" if self.name else where

    def __str__(self) -> str:
        kinds = {"f": "float", "i": "int", "u": "int", "b": "bool", "U": "text"}
        return f"{self.name!r} {self.shape} {kinds.get(self.dtype.kind, self.dtype.kind)}"


@dataclass(frozen=True, eq=False)
class Variables:
    """All variables of a file or an object.

    Parameters
    ----------
    where : str
        What it is, for errors.
    found : sequence of Variable
    held : int, optional
        Its bytes on disk, where the variables may claim more than they can be; else None.
    """

    where: str
    found: Sequence[Variable]
    held: int | None = None

    def __getitem__(self, key: str) -> Variable:
        """The variable that ``key`` names, by its path or, in the likeliest group, its name."""
        names = [str(key).strip("/"), *(f"{group}/{key}" for group in _GROUPS)]
        found = [one for name in names for one in self.found if one.name == name]
        found += [one for one in self.found if one.short == key]
        if not found or not isinstance(key, str):
            raise InvalidValueError(
                f"`key` must name a variable of {self.where}; got {key!r} and it holds "
                f"{listing(self.found)}."
            )
        return found[0]

    def get(self, name: str) -> Variable | None:
        """Return the variable of exactly this path, if there is one."""
        return next((one for one in self.found if one.name == name), None)

    def part(self, one: Variable, box: Box) -> NDArray[Any]:
        """Return a part of a variable, if it can be as large as it says."""
        if self.held is not None:
            n_bytes = math.prod(stop - start for start, stop in box) * one.dtype.itemsize
            check_size(one.of(self.where), n_bytes, self.held)
        return one.read(box)

    def whole(self, one: Variable) -> NDArray[Any]:
        """Return all of a variable."""
        return self.part(one, tuple((0, size) for size in one.shape))

    def together(self, wanted: Iterable[Variable]) -> dict[str, NDArray[Any]]:
        """Return several variables, which must fit in the memory together."""
        ones = list(wanted)
        n_bytes = sum(math.prod(one.shape) * one.dtype.itemsize for one in ones)
        validate.fits_in_memory(self.where, n_bytes, "read it in parts or free some.")
        return {one.name: self.whole(one) for one in ones}

    def labels(self, key: str | None) -> tuple[Variable, str]:
        """Return the variable that holds the labels and why it; an error lists the candidates."""
        if key is not None:
            return self[key], "as told"
        if [one.name for one in self.found] == [""]:  # an array and nothing else
            return self.found[0], ""
        tables = [one for one in self.found if _may_be_labels(one)]
        for group in _GROUPS:
            for kinds in ("biu", "f", "US"):
                found = [
                    one
                    for one in tables
                    if one.name.rpartition("/")[0] == group
                    and one.dtype.kind in kinds
                    and (one.dtype.kind != "f" or self._is_whole(one))
                ]
                if len(found) == 1:
                    return found[0], "it is the only one with a label for every draw and item"
                usual = [one for one in found if one.short.lower() in _USUAL_NAMES]
                if len(usual) == 1:
                    return usual[0], "it has a name that labels usually have"
                if found:
                    raise FileError(
                        f"{self.where} holds several variables that may be the labels; pass key= "
                        f"with one of {listing(found)}."
                    )
        raise FileError(
            f"{self.where} holds no variable with a whole number for every draw and item; it holds "
            f"{listing(self.found)}. For weights of a marginalised mixture see "
            "Draws.from_log_weights."
        )

    def _is_whole(self, one: Variable) -> bool:
        """Whether the first draws of a variable of floats are whole numbers."""
        axes = one.axes(1)
        assert axes is not None
        box = [(0, size) for size in one.shape]
        per_draw = max(1, math.prod(one.shape[i] for i in axes.rest))
        box[axes.draw] = (0, min(one.shape[axes.draw], max(1, _PROBED // per_draw)))
        if axes.chain is not None:
            box[axes.chain] = (0, 1)
        head = self.part(one, tuple(box))
        there = head[~np.isnan(head)]
        return bool(there.size and np.isfinite(there).all() and (there == np.round(there)).all())

    def coordinate(self, one: Variable, axis: int) -> NDArray[Any] | None:
        """Return the values that belong to an axis of a variable, where there are any."""
        if one.dims is None:
            return None
        return self._values_along(one, one.dims[axis], one.shape[axis])

    def item_names(self, one: Variable, axis: int) -> tuple[str, ...] | None:
        """Return the names along an axis of a variable, unless they only count."""
        values = self.coordinate(one, axis)
        names = () if values is None else tuple(map(str, values.tolist()))
        return None if values is None or only_count(names) else names

    def _values_along(self, one: Variable, dim: str, size: int) -> NDArray[Any] | None:
        """The variable that describes a dimension, in the group of another or above."""
        for name in (one.folder + dim, dim):
            found = self.get(name)
            if found is not None and found.shape == (size,):
                return self.whole(found) if found.dtype.kind in "biufU" else None
        return None

    def chains(self, one: Variable, axes: Axes) -> NDArray[np.int64] | None:
        """Return the chain of each draw, where an axis, a coordinate or a column tells."""
        n_draws = one.shape[axes.draw]
        if axes.chain is not None:
            return np.repeat(np.arange(one.shape[axes.chain]), n_draws)
        found = self._values_along(one, "chain", n_draws)
        if found is None:
            return None
        values = validate.whole_numbers("chain", found)
        return np.unique(values, return_inverse=True)[1].astype(np.int64)

    def per_draw(self, one: Variable, axes: Axes, name: str) -> NDArray[Any] | None:
        """Return the variable of this path if it is one number for each draw of another."""
        found = self.get(name)
        if found is None or found.dtype.kind not in "biuf":
            return None
        own = found.axes(0)
        sizes = tuple(one.shape[i] for i in axes.order[: -len(axes.rest)])
        if own is None or own.rest or tuple(found.shape[i] for i in own.order) != sizes:
            return None
        found.check()
        return self.whole(found).transpose(own.order).reshape(-1)

    def traces(self, one: Variable, axes: Axes) -> dict[str, NDArray[Any]]:
        """Return the scalars of every draw: those beside the labels, and the log density."""
        beside = [other.name for other in self.found if other.folder == one.folder]
        taken: dict[str, NDArray[Any]] = {}
        for name in (*beside, *_LOG_DENSITIES):
            short = name.replace("$", "/").rpartition("/")[2]
            skipped = short in ("chain", "draw", WEIGHTS) or name == one.name
            if skipped or short in taken or len(taken) == _MOST_TRACES:
                continue
            trace = self.per_draw(one, axes, name)
            if trace is not None:
                taken[short] = trace
        return taken

    def beside(self, one: Variable, axes: Axes, why: str) -> Table:
        """Return what belongs to some labels, with zeros in their place."""
        weights = self.per_draw(one, axes, one.folder + WEIGHTS)
        if weights is None and one.attributes.get(WEIGHTS) is True:
            raise FileError(
                f"{self.where} has labels of draws with weights and lacks the weights, the array "
                f"{WEIGHTS!r} beside them. Read the whole store or write the draws again; to give "
                f"all draws the same weight, remove the attribute {WEIGHTS!r} of the labels."
            )
        said = [f"Labels are the variable {one.name!r}: {why}."] if one.name else []
        n_items, n_draws = one.shape[axes.rest[0]], one.shape[axes.draw]
        if axes.chain is not None:
            count = validate.count_text(one.shape[axes.chain], "chain")
            said.append(f"There are {count} of {n_draws:,} draws.")
        elif one.dims is None:
            said.append(ROWS["items" if axes.draw > axes.rest[0] else "draws"])
        return Table(
            np.broadcast_to(np.uint8(0), (math.prod(one.shape) // n_items, n_items)),
            item_names=self.item_names(one, axes.rest[0]),
            weights=weights,
            chains=self.chains(one, axes),
            traces=self.traces(one, axes),
            assumptions=tuple(said),
        )


def _may_be_labels(one: Variable) -> bool:
    axes = one.axes(1)
    return axes is not None and len(axes.rest) == 1 and 0 not in one.shape


def label_axes(one: Variable, where: str, orient: str) -> Axes:
    """Return the axes of labels, or say that a variable does not hold any."""
    axes, what = one.axes(1), one.of(where)
    if axes is None or len(axes.rest) != 1:
        along = "" if one.dims is None else f" along {', '.join(one.dims)}"
        hint = ""
        if len(one.shape) == 1 and one.dims is None:
            hint = f" If it is one draw, save it with shape (1, {one.shape[0]})."
        elif axes is not None and len(axes.rest) == 2:
            hint = " For weights (draws, items, clusters) see Draws.from_log_weights."
        raise InvalidValueError(
            f"{what} must have a label for every draw and item, (draws, items) or (chains, draws, "
            f"items); got shape {one.shape}{along}.{hint}"
        )
    if 0 in one.shape:
        raise InvalidValueError(
            f"{what} must hold at least one draw of at least one item; got shape {one.shape}."
        )
    if orient == "items":
        if axes.chain is not None or (one.dims or ("draw",))[axes.draw] in DRAW_DIMS - {"draw"}:
            raise InvalidValueError(
                f"`orient` must be left out for {where}: its dimensions are named."
            )
        return Axes(None, axes.rest[0], (axes.draw,))
    return axes


def only_count(names: Sequence[str]) -> bool:
    """Whether names are 0, 1, 2, ... or 1, 2, 3, ..."""
    return any(list(names) == [str(start + i) for i in range(len(names))] for start in (0, 1))


def listing(found: Sequence[Variable]) -> str:
    """Name the variables, with shape and kind, for an error that asks which one was meant."""
    if not found:
        return "nothing"
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(map(str, found[:_LISTED])) + more
