"""A square matrix on axes, with the clusters of an estimate and a truth marked on it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.plots._common import INK, runs
from partita.plots._palette import rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from partita.plots._average import Averaged

CMAP = "Blues"
_LINES = 60  # clusters up to which boundaries are drawn
_NUMBERED = 0.045  # share of the items from which a cluster's number is written beside it


def draw_matrix(ax: Axes, averaged: Averaged, *, cmap: str = CMAP) -> AxesImage:
    """Draw an averaged matrix in units of items."""
    n = int(averaged.edges[-1])
    image = ax.imshow(
        averaged.values,
        cmap=cmap,
        vmin=0,
        vmax=1,
        extent=(0, n, n, 0),
        interpolation="nearest",
        aspect="equal",
    )
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.6)
    return image


def mark_clusters(ax: Axes, labels: NDArray[np.int64], *, strip: bool = True) -> None:
    """Draw the boundaries between runs of ``labels`` and a strip of their colours at the left."""
    from matplotlib.collections import LineCollection

    n, edges = labels.size, runs(labels)
    if edges.size - 1 <= _LINES:
        inner = edges[1:-1]
        segments: Any = [[(0, e), (n, e)] for e in inner] + [[(e, 0), (e, n)] for e in inner]
        ax.add_collection(LineCollection(segments, colors=INK, linewidths=0.6, alpha=0.75))
    if not strip:
        return
    middle = (np.arange(min(n, 600)) + 0.5) * n / min(n, 600)
    shown = rgb(int(labels.max()) + 1)[labels[middle.astype(np.int64)]]
    left = ax.imshow(
        shown[:, None, :], extent=(-0.045 * n, -0.015 * n, n, 0), interpolation="nearest"
    )
    left.set_clip_on(False)
    for a, b in itertools.pairwise(edges):
        if b - a >= _NUMBERED * n:
            ax.text(-0.06 * n, (a + b) / 2, str(labels[a]), ha="right", va="center", fontsize=8)
    ax.set_xlim(0, n)
    ax.set_ylim(n, 0)


def true_blocks(truth: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    """Return first and last row and column of the blocks of pairs that are truly together.

    Of a class in several runs all pairs of runs are blocks; of very many runs each with itself.
    """
    edges = runs(truth).tolist()
    spans = [(a, b, int(truth[a])) for a, b in itertools.pairwise(edges)]
    if len(spans) > _LINES:
        return [(a, b, a, b) for a, b, _ in spans]
    return [(a, b, c, d) for a, b, k in spans for c, d, j in spans if k == j]


def mark_truth(ax: Axes, truth: NDArray[np.int64]) -> None:
    """Draw dashed blocks around pairs of items that are truly together, in the shown order."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    blocks = [Rectangle((c, a), d - c, b - a) for a, b, c, d in true_blocks(truth)]
    ax.add_collection(
        PatchCollection(
            blocks, facecolor="none", edgecolor="#d55e00", linestyle=(0, (4, 3)), linewidth=1.1
        )
    )


def add_colorbar(image: AxesImage, where: Any, label: str) -> None:
    """Add a slim colour bar to the figure of ``where``, axes or several."""
    first = np.atleast_1d(np.asarray(where, dtype=object)).ravel()[0]
    bar = first.get_figure().colorbar(image, ax=where, shrink=0.82, aspect=28, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)
