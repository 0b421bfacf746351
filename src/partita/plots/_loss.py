"""The expected loss against K."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError
from partita.plots._common import ACCENT, CHOSEN, axes, whole_ticks, without_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def loss_by_rank(estimate: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the expected loss against K along an estimate's path, with the choice marked.

    Parameters
    ----------
    estimate : Estimate
        With a path, as from ``search="nmf-kl"`` or ``"average"``.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(40, 100, n_clusters=3, rng=0)
    >>> loss_by_rank(pt.estimate(draws, search="nmf-kl", rng=0)).get_xlabel()
    'K'
    """
    if not estimate.path:
        raise InvalidValueError(
            "`estimate` must have a path of ranks; estimate with search='nmf-kl', for one."
        )
    ranks = np.array([step.rank for step in estimate.path])
    values = np.array([step.expected_loss for step in estimate.path])
    best = int(values.argmin())
    near = slice(0, max(3 * best + 1, 40)) if ranks.size > 60 else slice(None)
    ax = axes(ax, (5.4, 3.0))
    ax.plot(ranks[near], values[near], color=ACCENT, marker="o", markersize=4, linewidth=1.2)
    ax.plot(
        ranks[best], values[best], "o", markersize=11, markerfacecolor="none",
        markeredgecolor=CHOSEN, markeredgewidth=1.8,
    )  # fmt: skip
    # Below the least value there is no line to write over.
    ax.annotate(
        f"K = {ranks[best]}",
        (float(ranks[best]), float(values[best])),
        xytext=(0, -13),
        textcoords="offset points",
        ha="center",
        va="top",
        color=CHOSEN,
    )
    ax.margins(y=0.3)
    whole_ticks(ax, "x")
    ax.set_xlabel("K")
    ax.set_ylabel(f"expected {estimate.loss_name}")
    return without_box(ax)
