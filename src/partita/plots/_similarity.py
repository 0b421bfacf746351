"""The posterior similarity matrix, and what a factorisation makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidTypeError
from partita.evidence import as_evidence
from partita.nmf import Factorization, ns
from partita.plots._average import Averaged, average_similarity
from partita.plots._common import axes, bin_edges, bin_means, labels_of, panels
from partita.plots._matrix import CMAP, add_colorbar, draw_matrix, mark_clusters, mark_truth
from partita.plots._order import item_order, shown_truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_TOGETHER = "probability of sharing a cluster"


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
    averaged from the draws, so that 100,000 items are no matter.

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
    image = draw_matrix(ax, average_similarity(evidence, shown, max_cells=max_cells), cmap=cmap)
    if estimate is not None:
        mark_clusters(ax, labels[shown])
    if classes is not None:
        mark_truth(ax, classes[shown])
    ax.set_title("posterior similarity")
    ax.set_xlabel(f"{validate.count_text(n, 'item')}" + _how(order, estimate))
    if colorbar:
        add_colorbar(image, ax, _TOGETHER)
    return ax


def _how(order: Any, estimate: Any) -> str:
    if not isinstance(order, str):
        return ""
    if order == "estimate" and estimate is None:
        return ", by similarity"
    return {"estimate": ", by cluster", "truth": ", by true class", "given": ", as given"}[order]


def reconstruction(
    fit: Any,
    data: Any,
    estimate: Any = None,
    *,
    truth: Any = None,
    order: Any = "estimate",
    max_cells: int = 600,
    cmap: str = CMAP,
    fig: Any = None,
) -> NDArray[Any]:
    """Draw the posterior similarity and, beside it, what a factorisation restores of it.

    Parameters
    ----------
    fit : Factorization
        WH of its model: with the smoothing of ``ns``, the offset of ``offset``.
    data : Draws, Similarity or anything that can become draws
    estimate : Estimate or array-like of shape (n,), optional
        Whose order and boundaries to show; the factorisation's own labels if None.
    truth, order, max_cells, cmap
        As for :func:`similarity`.
    fig : Figure or SubFigure, optional

    Returns
    -------
    ndarray of Axes, shape (2,)

    Examples
    --------
    >>> import partita as pt
    >>> psm = pt.posterior_similarity(pt.datasets.simulate_draws(30, 50, rng=0))
    >>> left, right = reconstruction(pt.factorize(psm, rank=4, rng=0), psm)
    >>> right.get_title()
    'NMF-kl, rank 4'
    """
    if not isinstance(fit, Factorization):
        raise InvalidTypeError(
            f"`fit` must be what pt.factorize returns, with W and H; got {type(fit).__name__}."
        )
    evidence = as_evidence(data)
    labels = labels_of(fit if estimate is None else estimate, evidence.n_items)
    shown = item_order(labels, evidence, order=order, truth=truth)
    left, right = panels(fig, (1, 2), (4.6, 4.4))[0]
    settings: Any = {"truth": truth, "order": shown, "cmap": cmap, "max_cells": max_cells}
    similarity(evidence, labels, colorbar=False, ax=left, **settings)
    image = draw_matrix(right, _restored(fit, shown, max_cells), cmap=cmap)
    mark_clusters(right, labels[shown], strip=False)
    classes = shown_truth(truth, evidence.n_items)
    if classes is not None:
        mark_truth(right, classes[shown])
    right.set_title(f"NMF-{fit.model}, rank {fit.rank}")
    right.set_xlabel("restored from W and H")
    both = np.array([left, right], dtype=object)
    add_colorbar(image, both, _TOGETHER)
    return both


def _restored(fit: Factorization, order: NDArray[np.int64], max_cells: int) -> Averaged:
    """The means of WH over blocks, which are the products of the means."""
    W, H = np.asarray(fit.W, dtype=np.float64), np.asarray(fit.H, dtype=np.float64)
    if fit.model == "ns":
        H = ns.smooth(np, H)
    edges = bin_edges(order.size, max_cells)
    values = bin_means(W[order], edges) @ bin_means(H.T[order], edges).T
    if fit.offset is not None:
        values += bin_means(np.asarray(fit.offset)[order, None], edges)
    return Averaged(np.clip(values, 0.0, 1.0).astype(np.float32), edges)
