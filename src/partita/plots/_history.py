"""What a search came upon, against time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError
from partita.plots._common import ACCENT, CHOSEN, FAINT, axes, without_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def search_history(estimate: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the loss of what a search came upon against the time it took.

    Points are partitions that were kept on the way; the line is the best so far. Hollow points
    were scored on some of the draws only, as a greedy search does before it polishes.

    Parameters
    ----------
    estimate : Estimate
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(40, 100, n_clusters=3, rng=0)
    >>> search_history(pt.estimate(draws, rng=0)).get_xlabel()
    'seconds'
    """
    history = estimate.history
    if history is None or not len(history):
        raise InvalidValueError(
            "`estimate` has no history; one that pt.estimate returned, or that was saved, has."
        )
    seconds, values, share = np.asarray(history, dtype=np.float64).T
    whole = share >= 1
    ax = axes(ax, (5.4, 3.0))
    ax.plot(seconds[~whole], values[~whole], "o", markersize=3.5, markerfacecolor="none",
            markeredgecolor=FAINT, label="on some draws")  # fmt: skip
    ax.plot(seconds[whole], values[whole], "o", markersize=3.5, color=ACCENT, label="on all draws")
    if whole.any():
        ax.step(
            seconds[whole],
            np.minimum.accumulate(values[whole]),
            where="post",
            color=ACCENT,
            linewidth=1.2,
        )
    if not whole.all():
        ax.legend(frameon=False, fontsize=8)
    ax.axhline(estimate.expected_loss, color=CHOSEN, linewidth=1, linestyle=(0, (4, 3)))
    high = float(np.quantile(values, 0.9))
    if values.max() > 3 * max(high, 1e-12):
        ax.set_yscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel(f"expected {estimate.loss_name}")
    return without_box(ax)
