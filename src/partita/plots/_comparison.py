"""Every method's partition beside the similarity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidValueError
from partita.evidence import as_evidence
from partita.plots._average import average_partition
from partita.plots._common import labels_of, panels
from partita.plots._matrix import draw_matrix, mark_truth
from partita.plots._order import item_order, shown_truth
from partita.plots._similarity import similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CELLS = 400


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
    if not isinstance(estimates, Mapping) or not estimates:
        raise InvalidValueError(
            f"`table` must be a Comparison or map names to at least one partition; got {table!r}."
        )
    partitions = {str(k): labels_of(e, n) for k, e in estimates.items()}
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
    note = found[0].get_xlabel().partition("; ")[2]
    found[0].set_xlabel(note, fontsize=8)
    for (name, labels), ax in zip(partitions.items(), found[1:], strict=True):
        draw_matrix(ax, average_partition(labels, order, _CELLS))
        if classes is not None:
            mark_truth(ax, classes[order])
        ax.set_title(f"{name} (K = {np.unique(labels).size})", fontsize=9)
    return np.asarray(found)
