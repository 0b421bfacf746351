"""A pure function on every block of items of a label matrix, wherever that matrix is.

``labels`` is an array (n_draws, n_items), or anything with ``shape``, ``dtype`` and
``read(draws, items)`` that gives a part of it as an array. A block is all draws of some items.

``work(block, items, *pieces, *shared)`` must be a function of a module (it may travel to another
process) without side effects: ``block`` is a C-contiguous array (n_draws, some items), ``items``
the slice that it is of, ``pieces`` what belongs to those items and ``shared`` what all blocks get.

A source that lives elsewhere, such as a Dask array, has a method ``map_items(work, parts, *,
convert, along, shared, keep, add, reads, label)`` and runs the work there; it must give what
this process would give, in order, or, where it is to add, what `ordered_sum` makes of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from partita.parallel.threads import map_blocks

R = TypeVar("R")
_BLOCK = 1 << 25  # labels in a block, at most
_PARTS = 16  # blocks that there should be, at least, so that there is something to share out
_LEAST = 1024  # items in a block, unless that is more than `_BLOCK` labels
RUN = 4  # blocks whose results are added up first, wherever they are


@runtime_checkable
class LabelSource(Protocol):
    """Labels that are read a block at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_draws, n_items)."""

    @property
    def dtype(self) -> Any:
        """Of what :meth:`read` gives."""

    def read(self, draws: slice, items: slice) -> Any:
        """Return the labels of some draws and some items as an array."""


class Pieces(tuple[Any, ...]):
    """What belongs to the items, cut as :func:`item_blocks` cuts them: one value a block.

    On one machine they are arrays; elsewhere they may be references to where they are, which
    only that source's ``map_items`` can follow.
    """

    __slots__ = ()


def item_blocks(shape: tuple[int, int]) -> list[slice]:
    """Cut the items of labels of a shape (n_draws, n_items); by the shape and nothing else.

    Examples
    --------
    >>> [part.stop for part in item_blocks((1000, 100_000))][:3], len(item_blocks((100, 500)))
    ([6144, 12288, 18432], 1)
    """
    n_draws, n_items = shape
    size = max(_LEAST, n_items // _PARTS)
    size = max(1, min(size, _BLOCK // n_draws))
    if size > 256:
        size -= size % 256
    return [slice(i, min(i + size, n_items)) for i in range(0, n_items, size)]


def map_items(
    work: Callable[..., R],
    labels: Any,
    *,
    along: Sequence[Any] = (),
    shared: Sequence[Any] = (),
    reads: bool = True,
    n_jobs: int = 1,
    label: str = "",
) -> Iterator[R]:
    """Yield ``work(block, items, *pieces, *shared)`` for every block of items, in order.

    Parameters
    ----------
    work : callable
        A pure function of a module.
    labels : ndarray or LabelSource, shape (n_draws, n_items)
    along : sequence of ndarray or Pieces
        What belongs to the items: arrays whose first axis is theirs, of which a block gets its
        part, or pieces, of which it gets its own.
    shared : sequence
        What every block gets whole.
    reads : bool
        Whether ``work`` looks at the labels; if not, its block is None.
    n_jobs : int
        Threads, where the labels are on this machine.
    label : str
        Of the progress bar.
    """
    found: Iterator[R] = _run(work, labels, along, shared, reads, n_jobs, label)
    return found


def sum_items(
    work: Callable[..., R],
    labels: Any,
    *,
    along: Sequence[Any] = (),
    shared: Sequence[Any] = (),
    reads: bool = True,
    n_jobs: int = 1,
    label: str = "",
) -> R:
    """Do as :func:`map_items` for arrays or tuples of arrays, and add them up where they are.

    The order in which they are added is that of :func:`ordered_sum`, here and elsewhere, so the
    sum is the same to the last bit.
    """
    total: R = _run(work, labels, along, shared, reads, n_jobs, label, add=True)
    return total


def map_pieces(
    work: Callable[..., tuple[Any, R]],
    labels: Any,
    *,
    along: Sequence[Any] = (),
    shared: Sequence[Any] = (),
    n_kept: int = 1,
    add: bool = False,
    reads: bool = True,
    n_jobs: int = 1,
    label: str = "",
) -> tuple[Any, Any]:
    """Do as :func:`map_items` for work that returns (kept, sent).

    What is kept stays with its block and comes back as :class:`Pieces`; where ``n_kept`` is more
    than 1 it is a tuple of so many, which come back as so many pieces. What is sent is brought
    here, a list in order; with ``add``, their sum.
    """
    kept, sent = _run(work, labels, along, shared, reads, n_jobs, label, keep=n_kept, add=add)
    return kept, sent


def _run(
    work: Callable[..., Any], labels: Any, along: Sequence[Any], shared: Sequence[Any],
    reads: bool, n_jobs: int, label: str, *, keep: int = 0, add: bool = False,
) -> Any:  # fmt: skip
    """Work on every block, here or wherever the source of the labels runs it."""
    parts = item_blocks(labels.shape)
    elsewhere = getattr(getattr(labels, "source", labels), "map_items", None)
    if elsewhere is not None:
        return elsewhere(
            work, parts, convert=getattr(labels, "convert", None), along=tuple(along),
            shared=tuple(shared), keep=keep, add=add, reads=reads, label=label,
        )  # fmt: skip

    def one(number: int) -> Any:
        items = parts[number]
        block = _read(labels, items) if reads else None
        return work(block, items, *(_piece(x, number, items) for x in along), *shared)

    found = map_blocks(one, range(len(parts)), n_jobs=n_jobs, label=label)
    if not keep:
        return ordered_sum(found) if add else found
    kept = []

    def sending() -> Iterator[Any]:
        for own, sent in found:
            kept.append(own)
            yield sent

    sent = ordered_sum(sending()) if add else list(sending())
    if keep == 1:
        return Pieces(kept), sent
    return tuple(Pieces(own[k] for own in kept) for k in range(keep)), sent


def ordered_sum(parts: Iterable[Any]) -> Any:
    """Add up arrays, or tuples of arrays: runs of a few first, then their sums, each in order."""
    waiting = iter(parts)

    def runs() -> Iterator[Any]:
        while (one := added(islice(waiting, RUN))) is not None:
            yield one

    return added(runs())


def sums_of_runs(parts: Sequence[Any]) -> list[Any]:
    """The sums that `ordered_sum` adds up, of parts of which the first begins a run."""
    return [added(parts[i : i + RUN]) for i in range(0, len(parts), RUN)]


def added(parts: Iterable[Any]) -> Any:
    """Add up one after another: arrays in place, other things that know how to be added."""
    total: Any = None
    for part in parts:
        if isinstance(part, tuple):
            before = (None,) * len(part) if total is None else total
            total = tuple(_plus(a, b) for a, b in zip(before, part, strict=True))
        else:
            total = _plus(total, part)
    return total


def _plus(total: Any, part: Any) -> Any:
    if total is None:
        return np.array(part) if isinstance(part, np.ndarray | np.generic) else part
    total += part
    return total


def _read(labels: Any, items: slice) -> Any:
    if isinstance(labels, np.ndarray):
        return np.ascontiguousarray(labels[:, items])
    return np.ascontiguousarray(labels.read(slice(0, labels.shape[0]), items))


def _piece(x: Any, number: int, items: slice) -> Any:
    return x[number] if isinstance(x, Pieces) else x[items]
