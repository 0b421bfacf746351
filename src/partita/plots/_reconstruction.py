"""What a factorisation restores of the posterior similarity matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError
from partita.evidence import as_evidence
from partita.nmf import Factorization, ns
from partita.plots._average import Averaged
from partita.plots._common import bin_edges, bin_means, labels_of, panels
from partita.plots._matrix import CMAP, add_colorbar, draw_matrix, mark_clusters, mark_truth
from partita.plots._order import item_order, shown_truth
from partita.plots._similarity import TOGETHER, similarity

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    add_colorbar(image, both, TOGETHER)
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
