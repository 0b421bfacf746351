"""The figures of the pages; matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partita import plots
from studies.paper import Frame


def grid(titles: Sequence[str], n_columns: int, size: tuple[float, float], **words: Any) -> Any:
    """Return a figure and one axes a title, each of some inches."""
    from matplotlib.figure import Figure

    n_rows = -(-len(titles) // n_columns)
    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **words).ravel()
    for ax in axes[len(titles) :]:
        ax.set_axis_off()
    for ax, title in zip(axes, titles, strict=False):
        ax.set_title(title, fontsize=10)
    return figure, axes[: len(titles)]


def planes(panels: Mapping[str, tuple[NDArray[np.float64], NDArray[np.int64]]]) -> Any:
    """Draw items in the plane, one panel a data set or a partition."""
    figure, axes = grid(list(panels), min(4, len(panels)), (3.4, 3.2), sharex=True, sharey=True)
    for ax, (title, (data, labels)) in zip(axes, panels.items(), strict=True):
        plots.scatter(data, labels, ax=ax)
        ax.set_title(title, fontsize=10)
    return figure


def matrices(panels: Mapping[str, NDArray[np.float64]], n_columns: int, truth: Any = ()) -> Any:
    """Draw matrices side by side, items in their order, borders of the true clusters dashed."""
    figure, axes = grid(list(panels), n_columns, (3.1, 3.2))
    for ax, matrix in zip(axes, panels.values(), strict=True):
        square = (0.5, len(matrix) + 0.5, len(matrix) + 0.5, 0.5)  # items count from 1
        ax.imshow(matrix, cmap="Greys", vmin=0, vmax=1, interpolation="nearest", extent=square)
        for border in np.flatnonzero(np.diff(truth)) + 1.5:
            ax.axhline(border, color="tab:red", lw=0.7, ls="--")
            ax.axvline(border, color="tab:red", lw=0.7, ls="--")
    return figure


def lines(values: NDArray[np.float64], partitions: Mapping[str, Any], label: str) -> Any:
    """Draw numbers on a line, one line a partition."""
    figure, (ax,) = grid([""], 1, (9.0, 0.42 * len(partitions) + 1))
    plots.scatter(values.reshape(-1, 1), dict(partitions), ax=ax)
    ax.set_xlabel(label)
    return figure


def memberships(by_rank: Mapping[int, NDArray[np.float64]], losses: Mapping[int, float]) -> Any:
    """Draw memberships against item, a panel a rank, below the losses of all ranks if given."""
    titles = ["expected Binder loss by rank"] * bool(losses) + [f"K = {k}" for k in by_rank]
    figure, axes = grid(titles, 1, (9.0, 2.5))
    if losses:
        axes[0].plot(list(losses), list(losses.values()), "o-", color="black")
        axes[0].set(xlabel="K", ylabel="expected Binder loss")
    for ax, shares in zip(axes[bool(losses) :], by_rank.values(), strict=True):
        items = np.arange(1, len(shares) + 1)
        for cluster, colour in enumerate(plots.palette(shares.shape[1])):
            mark = "os^xDvP*"[cluster % 8]
            ax.plot(items, shares[:, cluster], marker=mark, ms=3, lw=0.8, color=colour)
        ax.set(ylim=(-0.03, 1.03), xlabel="item", ylabel="membership")
    return figure


def growth(seconds: Frame) -> Any:
    """Draw seconds against N, a panel a model, a line a rank."""
    models = list(seconds.index.unique("model"))
    figure, axes = grid(models, len(models), (3.0, 3.2), sharey=True)
    for ax, model in zip(axes, models, strict=True):
        for rank, line in seconds.loc[model].iterrows():
            ax.plot(line.index, line.to_numpy(), "o-", ms=3, label=f"K = {rank}")
        ax.set(xlabel="N", xscale="log", yscale="log")
        ax.set_xticks(seconds.columns, [f"{n}" for n in seconds.columns])
        ax.minorticks_off()
    axes[0].set_ylabel("CPU seconds")
    axes[0].legend(fontsize=8)
    return figure


def clusters(panels: Mapping[str, Frame], truth: int = 4, most: int = 8) -> Any:
    """Draw the share of each K as stacked bars: fewer than the truth blue, more orange."""
    from matplotlib import colormaps

    blue, orange = (colormaps[name](np.linspace(0.35, 0.9, 4)) for name in ("Blues", "Oranges"))
    figure, axes = grid(list(panels), 4, (3.4, 3.0), sharey=True)
    for ax, frame in zip(axes, panels.values(), strict=True):
        left = np.zeros(len(frame.columns))
        for k in range(1, most + 1):
            chosen = (frame.clip(upper=most) == k).mean().to_numpy()
            near = min(abs(k - truth) - 1, 3)
            colour = "0.85" if k == truth else (blue if k < truth else orange)[near]
            label = f"{k} or more" if k == most else str(k)
            ax.barh(frame.columns, chosen, left=left, color=colour, label=label)
            left += chosen
    axes[0].invert_yaxis()
    figure.supxlabel("share of the data sets", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), title="K", loc="outside right upper")
    return figure
