"""What is drawn against a number: the loss, K, the draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import Draws, as_draws
from partita.errors import InvalidValueError
from partita.plots._canvas import (
    ACCENT,
    CHOSEN,
    INK,
    axes,
    panels,
    whole_ticks,
    with_unit,
    without_box,
)
from partita.plots._palette import palette
from partita.uncertainty import posterior_n_clusters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def loss_by_rank(estimate: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the expected loss against K along an estimate's path, with the choice marked.

    Parameters
    ----------
    estimate : Estimate
        With a path, as from ``search="nmf-kl"`` or ``"average"``.

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(40, 100, n_clusters=3, rng=0)
    >>> loss_by_rank(pt.estimate(draws, search="nmf-kl", rng=0)).get_ylabel()
    'expected vi, bits'
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
    ax.set_xlabel("number of clusters, K")
    ax.set_ylabel(f"expected {with_unit(estimate.loss_name)}")
    return without_box(ax)


def n_clusters(draws: Any, estimate: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the number of clusters, with Monte Carlo errors.

    Parameters
    ----------
    draws : Draws or anything that can become one
    estimate : Estimate or array-like of shape (n,), optional
        Its number of clusters is marked.

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


def traces(draws: Any, names: Sequence[str] | None = None, *, fig: Any = None) -> NDArray[Any]:
    """Draw the trace of K, and of what was recorded with the draws, chain by chain.

    Parameters
    ----------
    draws : Draws or anything that can become one
    names : sequence of str, optional
        ``"K"`` and names of the draws' traces; K and the log posterior, where there is one, if
        None.

    Examples
    --------
    >>> [ax.get_ylabel() for ax in traces([[0, 0, 1], [0, 1, 2], [0, 1, 1]])]
    ['K']
    """
    given = as_draws(draws)
    if names is None:
        names = ["K", *(name for name in given.traces if name.lower().startswith("log"))]
    if isinstance(names, str) or not len(names):
        raise InvalidValueError(
            f"`names` must be a list of at least one of {', '.join(['K', *given.traces])}; "
            f"got {names!r}."
        )
    values = {name: _trace(given, name) for name in names}
    found = panels(fig, (len(values), 1), (8.0, 2.1), sharex=True)[:, 0]
    chains = np.zeros(given.n_draws, dtype=np.int64) if given.chains is None else given.chains
    colours = palette(int(chains.max()) + 1)
    for (name, trace), ax in zip(values.items(), found, strict=True):
        for chain in np.unique(chains):
            of_chain = trace[chains == chain]
            ax.plot(
                of_chain, color=colours[chain], linewidth=0.6, alpha=0.8, label=f"chain {chain}"
            )
        ax.set_ylabel(name)
        without_box(ax)
    if 1 < given.n_chains <= 12:
        legend = found[0].legend(frameon=False, fontsize=8, ncols=6, loc="lower left",
                                 bbox_to_anchor=(0, 1))  # fmt: skip
        for line in legend.get_lines():
            line.set_linewidth(2)
    whole_ticks(found[0], "y" if names[0] == "K" else "x")
    found[-1].set_xlabel("draw")
    return found


def _trace(draws: Draws, name: str) -> NDArray[Any]:
    if name == "K":
        return draws.n_clusters
    return np.asarray(validate.lookup("names", name, {k.lower(): v for k, v in
                                                       draws.traces.items()}))  # fmt: skip
