"""Containers of many variables (NetCDF, Zarr, ArviZ, a sampler's dict, a wide table) to labels.

Whatever the format, a container lists its variables and reads them; which one holds the labels,
which axis is what, and what comes along is found out here, once for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from partita import validate
from partita.errors import InvalidValueError
from partita.io._blocks import chain_numbers, check_size
from partita.io._choose import DRAW_DIMS, Axes, Entry, axes_of, choose, listing, named

if TYPE_CHECKING:
    from numpy.typing import NDArray

Box: TypeAlias = tuple[tuple[int, int], ...]

WEIGHTS = "partita_weights"
_PROBED = 1 << 16
_MOST_TRACES = 64
_LOG_DENSITIES = ("sample_stats/lp", "sample_stats/lp__")
_NUMBERS = "biuf"


class Container(Protocol):
    """Variables by name, from a file or an object."""

    @property
    def where(self) -> str:
        """What it is, for errors."""

    @property
    def held(self) -> int | None:
        """The bytes that it has on disk; None where nothing need be read."""

    @property
    def entries(self) -> Sequence[Entry]:
        """What it holds."""

    def read(self, entry: Entry, box: Box) -> NDArray[Any]:
        """Return a part of a variable, numbers or text."""


@dataclass(frozen=True, eq=False)
class Found:
    """Labels (draws, items) and what came with them."""

    labels: NDArray[Any]
    chains: NDArray[np.int64] | None
    item_names: tuple[str, ...] | None
    traces: dict[str, NDArray[Any]]
    weights: NDArray[Any] | None
    assumptions: tuple[str, ...]


def whole(container: Container, entry: Entry) -> NDArray[Any]:
    """Return all of a variable, if it can be as large as it says."""
    if container.held is not None:
        n_bytes = math.prod(entry.shape) * entry.itemsize
        check_size(f"variable {entry.name!r} of {container.where}", n_bytes, container.held)
    return container.read(entry, tuple((0, size) for size in entry.shape))


def labels_in(container: Container, key: str | None, orient: str = "draws") -> Found:
    """Find the labels of a container and read them, with chains, names and traces."""
    entry, axes, said = _chosen(container, key, orient)
    check = getattr(container, "check_labels", None)
    if check is not None:
        check(entry)
    array = whole(container, entry).transpose(axes.order)
    labels = array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
    return _found(container, entry, axes, said, labels)


def beside_labels(container: Container, key: str | None, orient: str = "draws") -> Found:
    """What comes with the labels; they are not read, and stand as zeros that take no memory."""
    entry, axes, said = _chosen(container, key, orient)
    sizes = [entry.shape[i] for i in axes.order]
    labels = np.broadcast_to(np.uint8(0), (math.prod(sizes[:-1]), sizes[-1]))
    return _found(container, entry, axes, said, labels)


def _chosen(
    container: Container, key: str | None, orient: str
) -> tuple[Entry, Axes, tuple[str, ...]]:
    entry, why = choose(container.entries, key, container.where, lambda e: _probe(container, e))
    said = (f"Labels are the variable {entry.name!r}: {why}.",) if entry.name else ()
    return entry, _label_axes(entry, container.where, orient), said


def _found(
    container: Container, entry: Entry, axes: Axes, said: tuple[str, ...], labels: NDArray[Any]
) -> Found:
    rest, shape = _Beside(container, entry, axes), tuple(entry.shape[i] for i in axes.order)
    weights, check = rest.scalar(WEIGHTS), getattr(container, "check_unweighted", None)
    if weights is None and check is not None:
        check(entry)
    return Found(
        labels=labels,
        chains=chain_numbers(shape) if axes.chain is not None else rest.chains(),
        item_names=rest.names(axes.rest[0]),
        traces=rest.traces(),
        weights=weights,
        assumptions=said + rest.said(shape),
    )


def _label_axes(entry: Entry, where: str, orient: str) -> Axes:
    axes = axes_of(entry, 1)
    if axes is None or len(axes.rest) != 1 or 0 in entry.shape:
        raise InvalidValueError(
            f"variable {entry.name!r} of {where} must have a label for every draw and item, "
            f"(draws, items) or (chains, draws, items); got shape {entry.shape}"
            + ("." if entry.dims is None else f" along {', '.join(entry.dims)}.")
            + _hint(axes)
        )
    if orient == "items":
        if axes.chain is not None or (entry.dims or ("draw",))[axes.draw] in DRAW_DIMS - {"draw"}:
            raise InvalidValueError(
                f"`orient` must be left out for {where}: its dimensions are named."
            )
        return Axes(None, axes.rest[0], (axes.draw,))
    return axes


def _hint(axes: Axes | None) -> str:
    if axes is not None and len(axes.rest) == 2:
        return " For weights (draws, items, clusters) see Draws.from_log_weights."
    return ""


def weights_in(container: Container, key: str | None) -> tuple[NDArray[Any], Axes, Entry]:
    """Return the variable (draws, items, clusters), with chains before if there are any."""
    if key is None:
        tables = [e for e in container.entries if e.kind == "f" and _has_two(e)]
        if len(tables) != 1:
            raise InvalidValueError(
                f"`key` must name the variable of {container.where} with a weight for every draw, "
                f"item and cluster; there are {len(tables)} that may be it"
                + (f": {', '.join(repr(e.name) for e in tables[:12])}." if tables else ".")
            )
        entry = tables[0]
    else:
        entry = named(container.entries, key, container.where)
    axes = axes_of(entry, 2)
    if axes is None or len(axes.rest) != 2:
        raise InvalidValueError(
            f"variable {entry.name!r} of {container.where} must have a weight for every draw, "
            f"item and cluster; got shape {entry.shape}."
        )
    return whole(container, entry).transpose(axes.order), axes, entry


def matrix_in(container: Container, key: str | None) -> NDArray[Any]:
    """Return the matrix of numbers that ``key`` names, or the only square one."""
    if key is not None:
        entry = named(container.entries, key, container.where)
    else:
        square = [e for e in container.entries if len(e.shape) == 2 and e.shape[0] == e.shape[1]]
        square = [e for e in square if e.kind in _NUMBERS]
        if len(square) != 1:
            raise InvalidValueError(
                f"`key` must name the matrix of {container.where}; it holds "
                f"{len(square)} that are square: {listing(container.entries)}."
            )
        entry = square[0]
    if entry.kind not in _NUMBERS:
        raise InvalidValueError(f"variable {entry.name!r} of {container.where} holds no numbers.")
    return whole(container, entry)


def item_names(container: Container, entry: Entry, axis: int) -> tuple[str, ...] | None:
    """The names of the items along an axis of a variable, where they have any."""
    axes = Axes(None, 0, (axis,))
    return _Beside(container, entry, axes).names(axis)


def _has_two(entry: Entry) -> bool:
    axes = axes_of(entry, 2)
    return axes is not None and len(axes.rest) == 2


def _probe(container: Container, entry: Entry) -> bool:
    """Whether the first draws of a variable of floats are whole numbers."""
    axes = axes_of(entry, 1)
    if axes is None:
        return False
    per_draw = max(1, math.prod(entry.shape[i] for i in axes.rest))
    n_draws = min(entry.shape[axes.draw], max(1, _PROBED // per_draw))
    box = [(0, size) for size in entry.shape]
    box[axes.draw] = (0, n_draws)
    if axes.chain is not None:
        box[axes.chain] = (0, 1)
    if container.held is not None:
        check_size(container.where, per_draw * n_draws * entry.itemsize, container.held)
    head = container.read(entry, tuple(box))
    return bool(np.isfinite(head).all() and (head == np.round(head)).all())


class _Beside:
    """What a container has beside the labels: names of items, chains, scalars."""

    def __init__(self, container: Container, entry: Entry, axes: Axes) -> None:
        self.container, self.entry, self.axes = container, entry, axes
        self.by_name = {e.name: e for e in container.entries}
        dims = entry.dims
        self.dims = None if dims is None else tuple(dims[i] for i in axes.order[:-1])
        self.sizes = tuple(entry.shape[i] for i in axes.order[:-1])

    def _vector(self, dim: str, size: int) -> Entry | None:
        """The coordinate variable of a dimension, in the group of the labels or above."""
        for name in (self.entry.folder + dim, dim):
            found = self.by_name.get(name)
            if found is not None and found.shape == (size,):
                return found
        return None

    def names(self, axis: int) -> tuple[str, ...] | None:
        """The names of the items, unless they only count."""
        if self.entry.dims is None:
            return None
        found = self._vector(self.entry.dims[axis], self.entry.shape[axis])
        if found is None or found.kind not in "biufUS":
            return None
        values = whole(self.container, found)
        names = tuple(str(value) for value in values.tolist())
        counts = (tuple(map(str, range(start, start + len(names)))) for start in (0, 1))
        return None if names in counts else names

    def chains(self) -> NDArray[np.int64] | None:
        """The chain of each draw, where a coordinate or a column tells."""
        found = self._vector("chain", self.sizes[0])
        if found is None or found.kind not in "biufU" or len(self.sizes) != 1:
            return None
        values = validate.whole_numbers("chain", whole(self.container, found))
        return np.unique(values, return_inverse=True)[1].astype(np.int64)

    def scalar(self, name: str) -> NDArray[Any] | None:
        """One number a draw, by its name in the group of the labels."""
        found = self.by_name.get(self.entry.folder + name)
        return None if found is None else self._scalar(found)

    def _scalar(self, found: Entry) -> NDArray[Any] | None:
        if found.kind not in _NUMBERS or math.prod(found.shape) != math.prod(self.sizes):
            return None
        axes = axes_of(found, 0)
        if axes is None or axes.rest or tuple(found.shape[i] for i in axes.order) != self.sizes:
            return None
        return whole(self.container, found).transpose(axes.order).reshape(-1)

    def traces(self) -> dict[str, NDArray[Any]]:
        """The scalars of every draw: those beside the labels, and the log density."""
        beside = [e for e in self.container.entries if e.folder == self.entry.folder]
        density = [self.by_name[name] for name in _LOG_DENSITIES if name in self.by_name]
        taken: dict[str, NDArray[Any]] = {}
        for found in (*beside, *density):
            skipped = found.short in ("chain", "draw", WEIGHTS) or found.name == self.entry.name
            if skipped or found.short in taken or len(taken) == _MOST_TRACES:
                continue
            trace = self._scalar(found)
            if trace is not None:
                taken[found.short] = trace
        return taken

    def said(self, shape: tuple[int, ...]) -> tuple[str, ...]:
        """What was assumed of the axes."""
        if self.axes.chain is None:
            return ()
        return (f"There are {validate.count_text(shape[0], 'chain')} of {shape[1]:,} draws.",)
