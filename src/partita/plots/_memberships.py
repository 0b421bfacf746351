"""How strongly each item belongs to each cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidValueError
from partita.nmf import OPEN
from partita.plots._canvas import axes, bin_edges, bin_means, check_order, panels, whole_ticks
from partita.plots._order import item_order
from partita.plots._palette import MARKERS, OTHER, column_numbers, palette
from partita.uncertainty import align_memberships

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Soft = tuple[NDArray[np.int64], NDArray[np.float64]]

_CELLS = 800
_COLUMNS = 40  # clusters beyond this many share one colour


def memberships(
    estimate: Any,
    draws: Any = None,
    *,
    order: Any = "estimate",
    style: str = "stack",
    numbers: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the memberships of every item in every cluster.

    A grey line shows how far a factorisation leaves them open (``membership_spread``), where that
    exceeds 0.1 for some item.

    Parameters
    ----------
    estimate : Estimate, Factorization, or array-like of shape (n,) or (n, K)
        With memberships; or labels, whose memberships are then taken from the draws.
    draws : Draws or anything that can become one, optional
        Where there are no memberships: P(item in cluster) by :func:`partita.align_memberships`.
    order : {"estimate", "given"} or array-like of shape (n,)
        ``"estimate"`` puts the items of a cluster side by side, ``"given"`` leaves them.
    style : {"stack", "lines"}
        A column an item, or a curve a cluster as in the paper.
    numbers : array-like of shape (K,), optional
        The numbers, hence colours, of the clusters; 0, 1, ... if None.

    Examples
    --------
    >>> ax = memberships([[1.0, 0.0], [0.4, 0.6]])
    >>> ax.get_ylabel()
    'membership'
    """
    validate.choice("style", style, ("stack", "lines"))
    labels, values = _soft(estimate, draws)
    n, k = values.shape
    own = np.arange(k) if numbers is None else np.asarray(numbers, dtype=np.int64)
    values, own = values[:, np.argsort(own)], np.sort(own)
    shown = _ordered(labels, draws, order)
    edges = bin_edges(n, _CELLS)
    means = bin_means(values[shown], edges)
    ax = axes(ax, (8.0, 2.6))
    colours = palette(int(own.max()) + 1)
    if style == "stack":
        _stack(ax, means, edges, [colours[c] for c in own])
    else:
        _lines(ax, means, edges, own, [colours[c] for c in own])
    spread = getattr(estimate, "membership_spread", None)
    if spread is not None and bool((spread > OPEN).any()):
        heights = bin_means(np.nan_to_num(spread)[shown][:, None], edges)[:, 0]
        ax.stairs(heights, edges, color="0.3", lw=1.2, zorder=4, label="left open by the fit")
        ax.legend(loc="upper right", fontsize=8)
    ax.set_xlim(0, n)
    ax.set_ylim(0, 1)
    ax.set_ylabel("membership")
    whole_ticks(ax, "x")
    ax.set_xlabel(_item_label(order))
    ax.set_title(f"K = {k}", loc="left", fontsize=10)
    return ax


def memberships_by_rank(
    estimate: Any,
    ranks: Sequence[int] | None = None,
    draws: Any = None,
    *,
    order: Any = "estimate",
    style: str = "stack",
    fig: Any = None,
) -> NDArray[Any]:
    """Draw the memberships at several ranks, one above the other (the paper's soft figures).

    A cluster keeps its colour from rank to rank, by overlap with the estimate's.

    Parameters
    ----------
    estimate : Estimate
        With a path, as from ``search="nmf-kl"``.
    ranks : sequence of int, optional
        The best three of the path by expected loss if None.
    draws, order, style
        As for :func:`memberships`.

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(40, 100, n_clusters=3, rng=0)
    >>> best = pt.estimate(draws, search="nmf-kl", rng=0)
    >>> [ax.get_title(loc="left") for ax in memberships_by_rank(best, [2, 3])]
    ['K = 2', 'K = 3']
    """
    steps = {s.rank: s for s in estimate.path if s.labels is not None}
    if not steps:
        raise InvalidValueError(
            "`estimate` must have a path of ranks; estimate with search='nmf-kl', for one."
        )
    if ranks is None:
        best = sorted(steps.values(), key=lambda s: s.expected_loss)[:3]
        ranks = sorted(s.rank for s in best)
    missing = [k for k in ranks if k not in steps]
    if missing or not len(ranks):
        listed = ", ".join(map(str, steps))
        raise InvalidValueError(f"`ranks` must be among {listed}; got {list(ranks)}.")
    found = panels(fig, (len(ranks), 1), (8.0, 2.0), sharex=True)[:, 0]
    shown = _ordered(estimate.labels, draws, order)
    for rank, ax in zip(ranks, found, strict=True):
        labels, values = _soft(steps[rank], draws)
        numbers = column_numbers(estimate.labels, labels, values.shape[1])
        memberships(values, order=shown, style=style, numbers=numbers, ax=ax)
        ax.set_xlabel("")
        if rank != max(ranks) and ax.get_legend() is not None:
            ax.get_legend().remove()
    found[-1].set_xlabel(_item_label(order))
    return found


def _item_label(order: Any) -> str:
    """What the axis of items says: nothing of an order that the caller made."""
    return "item, by cluster" if isinstance(order, str) and order == "estimate" else "item"


def _soft(estimate: Any, draws: Any) -> Soft:
    """Labels and memberships, of whatever has them."""
    values = getattr(estimate, "memberships", None)
    if values is None and not hasattr(estimate, "labels") and np.ndim(estimate) == 2:
        values = estimate
    if values is not None:
        array = np.asarray(values, dtype=np.float64)
        return np.asarray(getattr(estimate, "labels", array.argmax(axis=1))), array
    if draws is None:
        raise InvalidValueError("`estimate` has no memberships; pass `draws` to take them from.")
    found = align_memberships(estimate, draws, n_jobs=-1)
    return found.labels, found.memberships


def _ordered(labels: NDArray[np.int64], draws: Any, order: Any) -> NDArray[np.int64]:
    if not isinstance(order, str):
        return check_order(order, labels.size)
    validate.choice("order", order, ("given", "estimate"))
    if order == "given":
        return np.arange(labels.size)
    if draws is None:
        return np.argsort(labels, kind="stable")
    return item_order(labels, draws)


def _stack(
    ax: Axes, means: NDArray[np.float64], edges: NDArray[np.int64], colours: list[str]
) -> None:
    """Columns of height 1; what is missing to 1 stays grey: in no cluster of the partition."""
    if means.shape[1] > _COLUMNS:
        rest = means[:, _COLUMNS:].sum(axis=1, keepdims=True)
        means = np.column_stack([means[:, :_COLUMNS], rest])
        colours = [*colours[:_COLUMNS], OTHER]
    tops = np.minimum(np.cumsum(means, axis=1), 1.0)
    low = np.zeros(len(means) + 1)
    for column, colour in zip(tops.T, colours, strict=True):
        high = np.append(column, column[-1])
        ax.fill_between(edges, low, high, step="post", facecolor=colour, linewidth=0)
        low = high
    ax.fill_between(edges, low, np.ones_like(low), step="post", facecolor="#e8e8e8", linewidth=0)


def _lines(
    ax: Axes,
    means: NDArray[np.float64],
    edges: NDArray[np.int64],
    own: NDArray[np.int64],
    colours: list[str],
) -> None:
    middle = (edges[:-1] + edges[1:]) / 2
    size = 3.5 if middle.size <= 150 else 0.0
    for column, number, colour in zip(means.T, own, colours, strict=True):
        marker = MARKERS[number % len(MARKERS)]
        ax.plot(
            middle, column, color=colour, marker=marker, markersize=size, linewidth=1,
            label=f"cluster {number}",
        )  # fmt: skip
    if own.size <= 12:
        place: Any = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.1}
        ax.legend(frameon=False, fontsize=8, ncols=own.size, columnspacing=1, **place)
