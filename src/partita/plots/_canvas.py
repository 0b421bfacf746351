"""What figures share: matplotlib when there is one, axes and panels, the partition in question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidValueError, MissingDependencyError
from partita.partitions import canonical

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

INK = "#333333"
FAINT = "#8a8a8a"
ACCENT = "#0072b2"
CHOSEN = "#d55e00"


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingDependencyError(
            "Figures need matplotlib, which is not installed; pip install 'partita[plots]'."
        ) from None
    return plt


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return ``ax``, or new axes of ``size`` inches if None."""
    if ax is not None:
        return ax
    found: Axes = pyplot().subplots(figsize=size, layout="constrained")[1]
    return found


def panels(
    fig: Any, shape: tuple[int, int], cell: tuple[float, float], **share: Any
) -> NDArray[Any]:
    """Return (rows, columns) axes in ``fig``, or in a new figure of ``cell`` inches a panel."""
    rows, columns = shape
    if fig is None:
        size = (cell[0] * columns, cell[1] * rows)
        fig = pyplot().figure(figsize=size, layout="constrained")
        fig.get_layout_engine().set(h_pad=0.08, w_pad=0.06)
    found: NDArray[Any] = fig.subplots(rows, columns, squeeze=False, **share)
    return found


def labels_of(partition: Any, n_items: int) -> NDArray[np.int64]:
    """Return the canonical labels of an estimate, a factorisation or a label vector."""
    labels = getattr(partition, "labels", partition)
    return canonical(validate.labels("labels", labels, n_items=n_items))


def some_of(used: int, draws: int) -> str:
    """Return how many of the draws a figure rests on, or nothing if on all of them."""
    return "" if used == draws else f"{used:,} of {draws:,} draws"


def bin_edges(n_items: int, max_cells: int) -> NDArray[np.int64]:
    """Return the edges of at most ``max_cells`` bins of as equal a number of items as can be."""
    cells = min(n_items, validate.integer("max_cells", max_cells, least=1))
    return np.arange(cells + 1, dtype=np.int64) * n_items // cells


def bin_means(values: NDArray[np.float64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the means of the rows of ``values`` between the edges."""
    sums = np.add.reduceat(values, edges[:-1], axis=0)
    return np.asarray(sums / np.diff(edges)[:, None])


def runs(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where runs of equal labels begin, and the end: ``runs([5, 5, 2])`` is 0, 2, 3."""
    changes = np.flatnonzero(np.diff(labels)) + 1
    return np.concatenate([[0], changes, [labels.size]]).astype(np.int64)


def check_order(order: Any, n_items: int) -> NDArray[np.int64]:
    """Return ``order`` as positions after checking that it has every item once."""
    found = np.asarray(order)
    if found.shape != (n_items,) or not np.array_equal(np.sort(found), np.arange(n_items)):
        raise InvalidValueError(
            f"`order` must be 'estimate', 'truth', 'given' or every position below {n_items} once."
        )
    return found.astype(np.int64)


def without_box(ax: Axes) -> Axes:
    """Take away the upper and the right edge."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def whole_ticks(ax: Axes, which: str) -> None:
    """Mark whole numbers alone on the x or the y axis."""
    from matplotlib.ticker import MaxNLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(MaxNLocator(integer=True))


_BITS = ("vi", "id", "vi-lower-bound", "VI(")


def with_unit(loss_name: str) -> str:
    """Return the name of a loss with its unit, if it has one."""
    return f"{loss_name}, bits" if loss_name.startswith(_BITS) else loss_name
