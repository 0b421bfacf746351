"""Several partitions side by side: the credible ball, and every method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.evidence import as_evidence
from partita.plots._average import average_partition
from partita.plots._common import panels
from partita.plots._matrix import CMAP, draw_matrix, mark_clusters, mark_truth
from partita.plots._order import item_order, shown_truth
from partita.plots._scatter import check_items, scatter
from partita.plots._similarity import similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.typing import IntArray

_CELLS = 400


def credible_ball(ball: Any, draws: Any = None, *, data: Any = None, fig: Any = None) -> Any:
    """Draw the partitions of a credible ball: its centre and the bounds, side by side.

    Parameters
    ----------
    ball : CredibleBall
    draws : Draws or anything that can become one, optional
        For the order of the items; by the centre alone if None.
    data : array-like of shape (n, p), optional
        Draw these, coloured by each partition; binary matrices if None.
    fig : Figure or SubFigure, optional

    Returns
    -------
    ndarray of Axes, shape (4,)

    Examples
    --------
    >>> import partita as pt
    >>> draws = [[0, 0, 1, 1]] * 8 + [[0, 0, 0, 1], [0, 1, 2, 3]]
    >>> axes = credible_ball(pt.credible_ball([0, 0, 1, 1], draws))
    >>> [ax.get_title().splitlines()[0] for ax in axes]
    ['centre', 'horizontal', 'fewest clusters', 'most clusters']
    """
    centre = np.asarray(ball.center)
    bounds = {
        "horizontal": ball.horizontal,
        "fewest clusters": ball.upper_vertical,
        "most clusters": ball.lower_vertical,
    }
    partitions: dict[str, IntArray] = {f"centre\nK = {int(centre.max()) + 1}": centre}
    for name, bound in bounds.items():
        title = f"{name}\nK = {bound.n_clusters}, at {bound.distance:.3g}"
        partitions[title] = bound.labels[0]
    if data is not None:
        return _scatters(partitions, check_items(data, centre.size), fig)
    evidence = draws if draws is not None else centre[None, :]
    order = item_order(centre, evidence)
    found = panels(fig, (1, 4), (2.6, 2.9))[0]
    for (name, labels), ax in zip(partitions.items(), found, strict=True):
        _binary(ax, np.asarray(labels, dtype=np.int64), centre, order, name)
    return found


def _scatters(partitions: dict[str, IntArray], data: Any, fig: Any) -> NDArray[Any]:
    in_line = data.shape[1] == 1
    found = panels(fig, (4, 1) if in_line else (1, 4), (7.0, 0.85) if in_line else (3.0, 3.0),
                   sharex=True, sharey=not in_line).ravel()  # fmt: skip
    centre = next(iter(partitions.values()))
    for (name, labels), ax in zip(partitions.items(), found, strict=True):
        scatter(data, labels, density=False, reference=centre, ax=ax)
        ax.set_title(name.replace("\n", ", ") if in_line else name, fontsize=9)
        if ax.get_legend() is not None:
            ax.get_legend().remove()
        if in_line:
            ax.set_yticks([])
    return found


def _binary(
    ax: Any, labels: NDArray[np.int64], centre: Any, order: NDArray[np.int64], title: str
) -> None:
    draw_matrix(ax, average_partition(labels, order, _CELLS), cmap=CMAP)
    mark_clusters(ax, np.asarray(centre, dtype=np.int64)[order], strip=False)
    ax.set_title(title, fontsize=9)


def comparison(
    table: Any,
    data: Any,
    *,
    truth: Any = None,
    order: Any = None,
    columns: int = 5,
    fig: Any = None,
) -> NDArray[Any]:
    """Draw the similarity and the binary matrix of every method's partition (the crabs figure).

    Parameters
    ----------
    table : Comparison, or mapping of names to estimates or labels
    data : Draws, Similarity or anything that can become draws
    truth : array-like of shape (n,), optional
        Dashed blocks are the true classes.
    order : {"estimate", "truth", "given"} or array-like of shape (n,), optional
        The same in every panel: by the truth if there is one, else by the last method's
        partition.
    columns : int
        Panels a row.
    fig : Figure or SubFigure, optional

    Returns
    -------
    ndarray of Axes
        One a panel, the similarity first.

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(30, 50, rng=0)
    >>> axes = comparison(pt.compare(draws, methods=["minvi", "medv"]), draws)
    >>> [ax.get_title() for ax in axes]
    ['posterior similarity', 'minvi (K = 4)', 'medv (K = 3)']
    """
    estimates = getattr(table, "estimates", table)
    evidence = as_evidence(data)
    n = evidence.n_items
    classes = shown_truth(truth, n)
    partitions = {k: np.asarray(getattr(e, "labels", e)) for k, e in estimates.items()}
    if order is None:
        order = "estimate" if truth is None else "truth"
    order = item_order(list(partitions.values())[-1], evidence, order=order, truth=classes)
    columns = min(columns, len(partitions) + 1)
    rows = -(-(len(partitions) + 1) // columns)
    grid = panels(fig, (rows, columns), (2.3, 2.45)).ravel()
    found, spare = grid[: len(partitions) + 1], grid[len(partitions) + 1 :]
    for ax in spare:
        ax.remove()
    similarity(evidence, truth=classes, order=order, colorbar=False, max_cells=_CELLS, ax=found[0])
    found[0].set_title("posterior similarity", fontsize=9)
    found[0].set_xlabel("")
    for (name, labels), ax in zip(partitions.items(), found[1:], strict=True):
        draw_matrix(ax, average_partition(labels.astype(np.int64), order, _CELLS))
        if classes is not None:
            mark_truth(ax, classes[order])
        ax.set_title(f"{name} (K = {np.unique(labels).size})", fontsize=9)
    return np.asarray(found)
