"""The posterior similarity matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.evidence import as_evidence
from partita.plots._average import average_similarity
from partita.plots._common import axes, labels_of
from partita.plots._matrix import CMAP, add_colorbar, draw_matrix, mark_clusters, mark_truth
from partita.plots._order import item_order, shown_truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOGETHER = "probability of sharing a cluster"


def similarity(
    data: Any,
    estimate: Any = None,
    *,
    truth: Any = None,
    order: Any = "estimate",
    max_cells: int = 600,
    cmap: str = CMAP,
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the posterior similarity matrix (eq. 4), ordered by the estimate.

    Lines are the boundaries of the estimate's clusters, the strip at the left their colours;
    dashed blocks are the true classes. Beyond ``max_cells`` items blocks of neighbours are
    averaged, from at most 1,000 draws that stand for all (the label of the axis then says so), so
    that 100,000 items are no matter.

    Parameters
    ----------
    data : Draws, Similarity or anything that can become draws
    estimate : Estimate or array-like of shape (n,), optional
        If None, items come in one optimal leaf order and no boundaries are drawn.
    truth : array-like of shape (n,), optional
    order : {"estimate", "truth", "given"} or array-like of shape (n,)
        See :func:`item_order`.
    max_cells : int
        Cells a side.
    cmap : str
    colorbar : bool
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(60, 100, rng=0)
    >>> ax = similarity(draws, pt.estimate(draws, rng=0))
    >>> ax.get_title()
    'posterior similarity'
    """
    evidence = as_evidence(data)
    n = evidence.n_items
    labels = np.zeros(n, dtype=np.int64) if estimate is None else labels_of(estimate, n)
    classes = shown_truth(truth, n)
    shown = item_order(labels, evidence, order=order, truth=classes)
    ax = axes(ax, (5.4, 4.8))
    averaged = average_similarity(evidence, shown, max_cells=max_cells)
    image = draw_matrix(ax, averaged, cmap=cmap)
    if estimate is not None:
        mark_clusters(ax, labels[shown])
    if classes is not None:
        mark_truth(ax, classes[shown])
    ax.set_title("posterior similarity")
    words = validate.count_text(n, "item") + _how(order, estimate)
    ax.set_xlabel("; ".join(filter(None, [words, averaged.note])))
    if colorbar:
        add_colorbar(image, ax, TOGETHER)
    return ax


def _how(order: Any, estimate: Any) -> str:
    if not isinstance(order, str):
        return ""
    if order == "estimate" and estimate is None:
        return ", by similarity"
    return {"estimate": ", by cluster", "truth": ", by true class", "given": ", as given"}[order]
