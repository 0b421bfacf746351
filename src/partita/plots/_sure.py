"""How sure: the path of CHIPS, and what hangs on the weight of the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.partitions import matched_labels
from partita.plots._canvas import (
    ACCENT,
    CHOSEN,
    FAINT,
    axes,
    panels,
    runs,
    whole_ticks,
    with_unit,
    without_box,
)
from partita.plots._palette import rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from partita.uncertainty import Chips, Sensitivity

_ROWS = 800  # items that are drawn, at most
_COUNTED = 0.05  # share of the axis from which a stretch has its number of clusters written on it


def chips(found: Chips, *, ax: Axes | None = None) -> Axes:
    """Draw the path of CHIPS: how probable the best sub-partition of each size is.

    Parameters
    ----------
    found : Chips
        What :func:`partita.chips` returned; its own size and probability are marked.

    Examples
    --------
    >>> import partita as pt
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]]
    >>> chips(pt.chips(draws, prob=0.9, rng=0)).get_title()
    '3 of 4 items hold with probability 1; area under the path 0.938'
    """
    ax = axes(ax, (5.8, 3.4))
    n = found.path.size
    sizes = np.arange(1, n + 1)
    ax.fill_between(sizes, found.path, step="mid", color=ACCENT, alpha=0.15, linewidth=0)
    ax.step(sizes, found.path, where="mid", color=ACCENT, linewidth=1.6)
    ax.plot(
        found.n_kept, found.probability, "o", color=CHOSEN, markersize=7, zorder=3, clip_on=False
    )
    guide: Any = {"color": FAINT, "linewidth": 0.8, "linestyle": (0, (4, 3))}
    ax.vlines(found.n_kept, 0, found.probability, **guide)
    ax.hlines(found.probability, 0, found.n_kept, **guide)
    ax.set_title(
        f"{found.n_kept:,} of {n:,} items hold with probability {found.probability:.3g}; "
        f"area under the path {found.area:.3g}",
        fontsize=10,
    )
    ax.set_xlim(0.5, n + 0.5)
    ax.set_ylim(0, 1.04)
    whole_ticks(ax, "x")
    ax.set_xlabel("items kept")
    ax.set_ylabel("probability that they are so")
    return without_box(ax)


def sensitivity(found: Sensitivity, *, fig: Any = None) -> NDArray[Any]:
    """Draw the partitions that are best along the weight of a loss, and which items move.

    Above, the least expected loss against the weight a, its pieces with their numbers of clusters;
    below, a column for each piece and a row for each item, in the colour of its cluster: where a
    row changes its colour, the item changes its place. Losses without a weight are left out.

    Parameters
    ----------
    found : Sensitivity
        What :func:`partita.sensitivity` returned.

    Examples
    --------
    >>> import partita as pt
    >>> draws = [[0, 0, 1, 1]] * 5 + [[0, 0, 0, 0]] * 3 + [[0, 1, 2, 3]] * 2
    >>> axes = sensitivity(pt.sensitivity(draws, losses=["binder"], rng=0))
    >>> axes.shape, axes[0, 0].get_ylabel()
    ((2, 1), 'expected binder')
    """
    frame = found.frame.dropna(subset=["low"])
    names = list(dict.fromkeys(frame["loss"]))
    grid = panels(fig, (2, max(len(names), 1)), (4.6, 2.7), sharex="col")
    order = np.argsort(found.reference, kind="stable")
    order = order[np.linspace(0, order.size - 1, min(order.size, _ROWS)).round().astype(int)]
    for column, name in enumerate(names):
        rows = frame[frame["loss"] == name]
        _levels(grid[0, column], rows, name)
        _items(grid[1, column], rows, found, order)
    grid[1, 0].set_ylabel("item, by the reference")
    return grid


def _levels(ax: Axes, rows: Any, name: str) -> None:
    """The envelope: pieces of straight lines, told apart by colour."""
    low, high = rows["low"].to_numpy(), rows["high"].to_numpy()
    ends = rows[["loss_at_low", "loss_at_high"]].to_numpy()
    centres, middle = (low + high) / 2, ends.mean(axis=1)
    ax.plot([*low, high[-1]], [*ends[:, 0], ends[-1, 1]], color=ACCENT, linewidth=1.6)
    for edge in low[1:]:
        ax.axvline(edge, color=FAINT, linewidth=0.6)
    for x, y, k, width in zip(centres, middle, rows["n_clusters"], high - low, strict=True):
        if width >= _COUNTED * (high[-1] - low[0]):
            ax.annotate(f"K = {k}", (x, y), (0, 7), textcoords="offset points", ha="center",
                        fontsize=8, color=CHOSEN)  # fmt: skip
    ax.axvline(1.0, color=CHOSEN, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.margins(y=0.25)
    ax.set_xlim(low[0], high[-1])
    ax.set_ylabel(f"expected {with_unit(name)}")
    without_box(ax)


def _items(ax: Axes, rows: Any, found: Sensitivity, order: NDArray[np.int64]) -> None:
    """A column for each piece, as wide as it is long; a row for each item."""
    labels = [matched_labels(found.reference, found.labels[row]) for row in rows.index]
    colours = rgb(1 + max(int(one.max()) for one in labels))
    edges = [*rows["low"], rows["high"].iloc[-1]]
    shown = colours[np.stack([one[order] for one in labels], axis=1)]
    ax.pcolormesh(edges, np.arange(order.size + 1), shown, rasterized=True)
    for edge in runs(found.reference[order])[1:-1]:
        ax.axhline(edge, color="white", linewidth=0.5)
    ax.set_ylim(order.size, 0)
    ax.set_yticks([])
    ax.set_xlabel("weight a: above 1, joining is cheaper than splitting")
