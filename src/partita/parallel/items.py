"""A pure function on every block of items of a label matrix, wherever that matrix is.

``labels`` is an array (n_draws, n_items), or anything with ``shape``, ``dtype`` and
``read(draws, items)`` that gives a part of it as an array. A block is all draws of some items.

``work(block, items, *pieces, *shared)`` must be a function of a module without side effects, since
it may travel to another process. ``block`` is a C-contiguous array (n_draws, some items),
``items`` the slice of items in it, ``pieces`` what belongs to those items and ``shared`` what all
blocks get.

A source whose blocks are worked on elsewhere has a method ``map_items(work, parts, *, convert,
along, shared, add, label)``. It must give what this process would give, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from partita.parallel.threads import map_blocks

R = TypeVar("R")
_BLOCK = 1 << 25  # labels in a block, at most
_PARTS = 16  # blocks that there should be, at least, so that there is something to share out
_LEAST = 1024  # items in a block, unless that is more than `_BLOCK` labels


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
    n_jobs: int = 1,
    label: str = "",
    add: bool = False,
) -> Iterator[R]:
    """Yield ``work(block, items, *pieces, *shared)`` for every block of items, in order.

    Parameters
    ----------
    work : callable
        A pure function of a module.
    labels : ndarray or LabelSource, shape (n_draws, n_items)
    along : sequence of ndarray
        Arrays whose first axis is the items; a block gets its part of each.
    shared : sequence
        What every block gets whole.
    n_jobs : int
        Threads, where the labels are on this machine.
    label : str
        Of the progress bar.
    add : bool
        Let a source elsewhere add results up there, as :func:`sum_items` would.
    """
    parts = item_blocks(labels.shape)
    elsewhere = getattr(getattr(labels, "source", labels), "map_items", None)
    if elsewhere is not None:
        convert = getattr(labels, "convert", None)
        found: Iterator[R] = elsewhere(
            work, parts, convert=convert, along=along, shared=shared, add=add, label=label
        )
        return found
    held = isinstance(labels, np.ndarray)
    every = slice(0, labels.shape[0])

    def on_block(items: slice) -> R:
        block = np.ascontiguousarray(labels[:, items] if held else labels.read(every, items))
        return work(block, items, *(x[items] for x in along), *shared)

    return map_blocks(on_block, parts, n_jobs=n_jobs, label=label)


def sum_items(work: Callable[..., R], labels: Any, **how: Any) -> R:
    """Do as :func:`map_items` for arrays, or tuples of them, and add them up in order."""
    total: Any = None
    for part in map_items(work, labels, add=True, **how):
        total = plus(total, part)
    return total  # type: ignore[no-any-return]


def plus(total: Any, part: Any) -> Any:
    """Add a result, or each of a tuple of results, to the sum of those before; in place."""
    if isinstance(part, tuple):
        before = (None,) * len(part) if total is None else total
        return tuple(plus(a, b) for a, b in zip(before, part, strict=True))
    if total is None:
        return np.array(part) if isinstance(part, np.ndarray) else part
    total += part
    return total
