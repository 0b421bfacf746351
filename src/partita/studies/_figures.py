"""The figures of the studies; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.plots import palette
from partita.studies._common import Frame

if TYPE_CHECKING:
    from partita.typing import FloatArray, IntArray

MARKERS = "os^xDvP*<>"


def _figure(n_rows: int, n_columns: int, size: tuple[float, float], **words: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **words)


def matrices(
    panels: Mapping[str, FloatArray], *, n_columns: int, truth: IntArray | None = None
) -> Any:
    """Draw matrices side by side, the blocks of the truth dashed."""
    n_rows = -(-len(panels) // n_columns)
    figure, axes = _figure(n_rows, n_columns, (3.1 * n_columns, 3.2 * n_rows))
    edges = np.flatnonzero(np.diff(truth if truth is not None else [])) + 0.5
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, matrix) in zip(axes.flat, panels.items(), strict=False):
        ax.imshow(matrix, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        for edge in edges:
            ax.axhline(edge, color="tab:red", lw=0.7, ls="--")
            ax.axvline(edge, color="tab:red", lw=0.7, ls="--")
        ax.set_title(title, fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    return figure


def scatters(data: FloatArray, partitions: Mapping[str, IntArray]) -> Any:
    """Draw items in the plane once for each partition."""
    figure, axes = _figure(1, len(partitions), (4.2 * len(partitions), 4), sharex=True, sharey=True)
    for ax, (title, labels) in zip(axes.flat, partitions.items(), strict=True):
        for cluster, colour in enumerate(palette(int(labels.max()) + 1)):
            mark = MARKERS[cluster % len(MARKERS)]
            ax.scatter(*data[labels == cluster].T, marker=mark, s=28, color=colour)
        ax.set_title(title, fontsize=10)
    return figure


def realisations(panels: Mapping[str, tuple[FloatArray, IntArray]]) -> Any:
    """Draw one data set a panel, its components told apart by mark and colour."""
    n_columns = min(4, len(panels))
    n_rows = -(-len(panels) // n_columns)
    size = (3.1 * n_columns, 3.2 * n_rows)
    figure, axes = _figure(n_rows, n_columns, size, sharex=True, sharey=True)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, (data, labels)) in zip(axes.flat, panels.items(), strict=False):
        for cluster, colour in enumerate(palette(int(labels.max()) + 1)):
            mark = MARKERS[cluster % len(MARKERS)]
            ax.scatter(*data[labels == cluster].T, marker=mark, s=9, lw=0.6, color=colour)
        ax.set_title(title, fontsize=10)
        ax.set_aspect("equal")
    return figure


def memberships(by_rank: Mapping[int, FloatArray]) -> Any:
    """Draw memberships against item, one panel a rank."""
    figure, axes = _figure(len(by_rank), 1, (9, 2.4 * len(by_rank)), sharex=True)
    for ax, (rank, shares) in zip(axes.flat, by_rank.items(), strict=True):
        _curves(ax, shares)
        ax.set_ylabel(f"K = {rank}")
    axes.flat[-1].set_xlabel("item")
    return figure


def _curves(ax: Any, shares: FloatArray) -> None:
    items = np.arange(1, len(shares) + 1)
    for cluster, colour in enumerate(palette(shares.shape[1])):
        mark = MARKERS[cluster % len(MARKERS)]
        ax.plot(items, shares[:, cluster], marker=mark, ms=3, lw=0.8, color=colour)
    ax.set_ylim(-0.03, 1.03)


def losses_and_memberships(loss: Frame, by_rank: Mapping[int, FloatArray]) -> Any:
    """Draw expected loss against rank above memberships at some ranks."""
    figure, axes = _figure(1 + len(by_rank), 1, (8, 2.6 * (1 + len(by_rank))))
    axes[0, 0].plot(loss.index, loss.to_numpy(), "o-", color="black")
    axes[0, 0].plot([loss.idxmin()], [loss.min()], "o", color="tab:red")
    axes[0, 0].set(xlabel="K", ylabel="expected Binder loss")
    for ax, (rank, shares) in zip(axes.flat[1:], by_rank.items(), strict=True):
        _curves(ax, shares)
        ax.set(ylabel=f"K = {rank}", xlabel="item")
    return figure


def strips(values: FloatArray, partitions: Mapping[str, IntArray], *, label: str) -> Any:
    """Draw numbers on a line, one line a partition, clusters told apart by mark and colour."""
    figure, axes = _figure(1, 1, (9, 0.42 * len(partitions) + 1))
    ax = axes[0, 0]
    names = list(partitions)
    for row, labels in enumerate(partitions.values()):
        for cluster, colour in enumerate(palette(int(labels.max()) + 1)):
            mine = values[labels == cluster]
            mark = MARKERS[cluster % len(MARKERS)]
            ax.scatter(mine, np.full(mine.size, row), marker=mark, s=18, lw=0.8, color=colour)
    titles = [f"{name} (K = {len(np.unique(partitions[name]))})" for name in names]
    ax.set_yticks(range(len(names)), titles)
    ax.set_xlabel(label)
    ax.invert_yaxis()
    return figure


def growth(seconds: Frame, models: Sequence[str]) -> Any:
    """Draw seconds against N, a panel a model, a line a rank."""
    figure, axes = _figure(1, len(models), (3 * len(models), 3.2), sharey=True)
    for ax, model in zip(axes.flat, models, strict=True):
        for rank, line in seconds.loc[model].iterrows():
            ax.plot(line.index, line.to_numpy(), "o-", ms=3, label=f"K = {rank}")
        ax.set(title=model, xlabel="N", xscale="log", yscale="log")
        # The sizes themselves: the usual ticks of a short logarithmic axis run into one another.
        ax.set_xticks(seconds.columns, [f"{n}" for n in seconds.columns])
        ax.minorticks_off()
    axes[0, 0].set_ylabel("CPU seconds")
    axes[0, 0].legend(fontsize=8)
    return figure


def shares(panels: Mapping[str, Frame], *, title: str, truth: int) -> Any:
    """Draw counts as stacked bars of equal length: a panel a table, a bar a row.

    What is below the ``truth`` is blue, what is above it orange, the truth itself grey.
    """
    from matplotlib import colormaps

    n_columns = min(4, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure, axes = _figure(n_rows, n_columns, (3.2 * n_columns + 1, 3.2 * n_rows), sharey=True)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (name, counts) in zip(axes.flat, panels.items(), strict=False):
        parts = counts.div(counts.sum(axis=1), axis=0)
        left = np.zeros(len(parts))
        fewer = [c for c in parts.columns if str(c).isdigit() and int(c) < truth]
        more = [c for c in parts.columns if c != truth and c not in fewer]
        colours = dict(
            zip(fewer, colormaps["Blues_r"](np.linspace(0.1, 0.6, len(fewer))), strict=True)
        )
        colours |= dict(
            zip(more, colormaps["Oranges"](np.linspace(0.35, 1.0, len(more))), strict=True)
        )
        for column in parts.columns:
            colour = colours.get(column, "0.85")
            ax.barh(parts.index, parts[column], left=left, color=colour, label=str(column))
            left += parts[column].to_numpy()
        ax.set_title(name, fontsize=10)
    axes[0, 0].invert_yaxis()
    figure.supxlabel("share of the data sets", fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), title=title, loc="outside right upper")
    return figure
