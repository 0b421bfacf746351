"""The posterior of the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.plots._common import ACCENT, CHOSEN, INK, axes, whole_ticks, without_box
from partita.uncertainty import posterior_n_clusters

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def n_clusters(draws: Any, estimate: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the number of clusters, with Monte Carlo errors.

    Parameters
    ----------
    draws : Draws or anything that can become one
    estimate : Estimate or array-like of shape (n,), optional
        Its number of clusters is marked.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> len(n_clusters([[0, 0, 1], [0, 1, 2], [0, 1, 1], [0, 0, 0]]).patches)
    3
    """
    table = posterior_n_clusters(draws)
    k = table.index.to_numpy()
    ax = axes(ax, (5.4, 3.0))
    errors = np.nan_to_num(table["mcse"].to_numpy())
    chosen = -1 if estimate is None else _count(estimate)
    colours = [CHOSEN if value == chosen else ACCENT for value in k]
    heights = table["probability"].to_numpy()
    ax.bar(k, heights, yerr=errors, color=colours, ecolor=INK, error_kw={"linewidth": 0.8})
    if estimate is not None:
        ax.set_title(f"the estimate has {validate.count_text(chosen, 'cluster')}", fontsize=10)
    whole_ticks(ax, "x")
    ax.set_xlabel("number of clusters")
    ax.set_ylabel("posterior probability")
    ax.set_ylim(0, None)
    return without_box(ax)


def _count(estimate: Any) -> int:
    return int(np.unique(validate.labels("estimate", getattr(estimate, "labels", estimate))).size)
