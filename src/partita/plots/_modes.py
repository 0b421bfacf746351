"""Several partitions in one figure: the modes, and where items go from one to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError
from partita.partitions import matched_labels
from partita.plots._average import average_similarity
from partita.plots._canvas import ACCENT, INK, axes, labels_of, panels, without_box
from partita.plots._matrices import TOGETHER, add_colorbar, draw_matrix, mark_clusters
from partita.plots._order import item_order
from partita.plots._palette import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from partita.uncertainty import Modes

_SHOWN = 6  # modes with a matrix of their own
_CELLS = 300
_BEND = 24  # points of a band's edge
_NAMED = 0.03  # share of the items from which a cluster has its number written on it


def modes(found: Modes, *, fig: Any = None) -> NDArray[Any]:
    r"""Draw the weights of the modes, and the similarity of the draws that are nearest to each.

    Items are in the same order in every panel, by what all modes put together; lines are the
    boundaries of the mode's own clusters.

    Parameters
    ----------
    found : Modes
        What :func:`partita.summarize_modes` returned; the six heaviest have a matrix.

    Examples
    --------
    >>> import partita as pt
    >>> draws = [[0, 0, 1, 1]] * 7 + [[0, 1, 0, 1]] * 3
    >>> [ax.get_title() for ax in modes(pt.summarize_modes(draws, rng=0))[1:]]
    ['mode 0, weight 0.70\nK = 2', 'mode 1, weight 0.30\nK = 2']
    """
    shown = range(min(found.n_modes, _SHOWN))
    grid = panels(fig, (1, len(shown) + 1), (2.6, 3.3))[0]
    bars, matrices = grid[0], grid[1:]
    bars.barh(np.arange(found.n_modes), found.weights, color=ACCENT)
    bars.set_yticks(np.arange(found.n_modes))
    bars.set_ylim(found.n_modes - 0.4, -0.6)
    bars.set_xlim(0, 1)
    bars.set_xlabel("weight")
    bars.set_ylabel("mode")
    without_box(bars)
    order = item_order(found.meet(), found.draws)
    for mode, ax in zip(shown, matrices, strict=True):
        own = found.draws.take((found.nearest == mode) & (found.draws.probabilities > 0))
        image = draw_matrix(ax, average_similarity(own, order, max_cells=_CELLS))
        labels = np.asarray(found.labels[mode], dtype=np.int64)
        mark_clusters(ax, labels[order], strip=False)
        weight = f"mode {mode}, weight {found.weights[mode]:.2f}"
        ax.set_title(f"{weight}\nK = {int(labels.max()) + 1}", fontsize=9)
    add_colorbar(image, matrices, TOGETHER)
    return np.asarray(grid)


def alluvial(partitions: Any, *, ax: Axes | None = None) -> Axes:
    r"""Draw how items move between the clusters of two partitions, or of several in a row.

    A column is a partition, a box a cluster, as high as it has items; a band is the items that two
    clusters share, in the colour of the first partition's.

    Parameters
    ----------
    partitions : mapping of names to estimates or labels, or sequence of them
        Such as ``{"vi": best, "binder": other}``, ``Comparison.estimates`` or the
        labels of modes.

    Examples
    --------
    >>> ax = alluvial({"one": [0, 0, 1, 1], "other": [0, 1, 1, 1]})
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['one\nK = 2', 'other\nK = 2']
    """
    named = _named(partitions)
    columns = list(named.values())
    n, last = columns[0].size, len(columns) - 1
    ax = axes(ax, (2.2 + 2.2 * last, 4.2))
    places = [_places(labels) for labels in columns]
    colours = palette(1 + max(int(labels.max()) for labels in columns))
    for x in range(last):
        _bands(ax, x, columns, places, colours)
    for x, (labels, (start, size)) in enumerate(zip(columns, places, strict=True)):
        for cluster in np.unique(labels).tolist():
            ax.bar(x, size[cluster], 0.12, start[cluster], color=colours[cluster],
                   edgecolor="white", linewidth=0.4)  # fmt: skip
            if size[cluster] >= _NAMED * n:
                side, align = (-1, "right") if x == 0 else (1, "left")
                middle = start[cluster] + size[cluster] / 2
                ax.text(x + 0.09 * side, middle, f"{cluster}", ha=align, va="center",
                        fontsize=8, color=INK)  # fmt: skip
    names = [f"{name}\nK = {np.unique(c).size}" for name, c in named.items()]
    ax.set_xticks(range(last + 1), names)
    ax.tick_params(length=0)
    ax.set_yticks([])
    ax.set_xlim(-0.3, last + 0.3)
    ax.set_ylim(1.0 * ax.get_ylim()[1], 0)
    ax.spines[:].set_visible(False)
    return ax


def _named(partitions: Any) -> dict[str, NDArray[np.int64]]:
    """Labels by name, each renumbered to match the one before it."""
    several = partitions if isinstance(partitions, Mapping) else dict(enumerate(partitions))
    if len(several) < 2:
        raise InvalidValueError(
            f"`partitions` must hold at least two partitions; got {len(several)}."
        )
    found: dict[str, NDArray[np.int64]] = {}
    before = None
    for name, one in several.items():
        labels = labels_of(
            one, np.size(getattr(one, "labels", one)) if before is None else before.size
        )
        before = labels if before is None else matched_labels(before, labels)
        found[str(name)] = before
    return found


_Places = tuple[dict[int, float], dict[int, int]]


def _places(labels: NDArray[np.int64]) -> _Places:
    """Where each cluster begins, from the top, and its size; there are gaps between them."""
    clusters, sizes = np.unique(labels, return_counts=True)
    gap = 0.25 * labels.size / max(clusters.size, 8)
    starts = np.concatenate([[0.0], np.cumsum(sizes + gap)[:-1]])
    keys = clusters.tolist()
    return dict(zip(keys, starts.tolist(), strict=True)), dict(
        zip(keys, sizes.tolist(), strict=True)
    )


def _bands(ax: Axes, x: int, columns: Any, places: Any, colours: list[str]) -> None:
    """Bands from column x to the next, as smooth steps."""
    from matplotlib.collections import PolyCollection

    pairs, counts = np.unique(np.stack(columns[x : x + 2], axis=1), axis=0, return_counts=True)
    at = [dict(places[x][0]), dict(places[x + 1][0])]
    t = np.linspace(0, 1, _BEND)
    across, rise = x + 0.06 + 0.88 * t, t**2 * (3 - 2 * t)
    bands, fills = [], []
    for (left, right), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        top = at[0][left] + rise * (at[1][right] - at[0][left])
        bands.append(np.concatenate([np.column_stack([across, top]),
                                     np.column_stack([across, top + count])[::-1]]))  # fmt: skip
        fills.append(colours[left])
        at[0][left] += count
        at[1][right] += count
    ax.add_collection(PolyCollection(bands, facecolors=fills, alpha=0.45, linewidths=0))
