"""Square matrices with the clusters of an estimate and a truth marked on them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidTypeError, InvalidValueError
from partita.evidence import as_evidence
from partita.nmf import Factorization, Factors, ns
from partita.partitions import meet
from partita.plots._average import Averaged, average_partition, average_similarity
from partita.plots._canvas import INK, axes, bin_edges, bin_means, labels_of, panels, runs
from partita.plots._order import item_order, shown_truth
from partita.plots._palette import rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

CMAP = "Blues"
TOGETHER = "probability of sharing a cluster"
_LINES = 60  # clusters up to which boundaries are drawn, the thinner the more there are
_NUMBERED = 0.045  # share of the items from which a cluster's number is written beside it
_CELLS = 400  # cells a side of a small panel


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
    """Draw the posterior similarity matrix (equation 4), ordered by the estimate.

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
        H = ns.fitted(Factors(W, H))[1]
    edges = bin_edges(order.size, max_cells)
    values = bin_means(W[order], edges) @ bin_means(H.T[order], edges).T
    if fit.offset is not None:
        values += bin_means(np.asarray(fit.offset)[order, None], edges)
    return Averaged(np.clip(values, 0.0, 1.0).astype(np.float32), edges)


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
        The same in every panel. If None, by the truth if there is one, else by what all methods
        put together, so that blocks are what they differ in.
    columns : int
        Panels a row.

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
    common = reduce(meet, partitions.values())
    order = item_order(common, evidence, order=order, truth=classes)
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
        image = draw_matrix(ax, average_partition(labels, order, _CELLS))
        if classes is not None:
            mark_truth(ax, classes[order])
        ax.set_title(f"{name} (K = {np.unique(labels).size})", fontsize=9)
    add_colorbar(image, found, TOGETHER)
    return np.asarray(found)


def draw_matrix(ax: Axes, averaged: Averaged, *, cmap: str = CMAP) -> AxesImage:
    """Draw an averaged matrix in units of items."""
    n = int(averaged.edges[-1])
    image = ax.imshow(
        averaged.values,
        cmap=cmap,
        vmin=0,
        vmax=1,
        extent=(0, n, n, 0),
        interpolation="nearest",
        aspect="equal",
    )
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.6)
    return image


def mark_clusters(ax: Axes, labels: NDArray[np.int64], *, strip: bool = True) -> None:
    """Draw the boundaries between runs of ``labels`` and a strip of their colours at the left."""
    from matplotlib.collections import LineCollection

    n, edges = labels.size, runs(labels)
    if edges.size - 1 <= _LINES:
        inner = edges[1:-1]
        segments: Any = [[(0, e), (n, e)] for e in inner] + [[(e, 0), (e, n)] for e in inner]
        width = 0.6 if edges.size <= 16 else 0.25
        ax.add_collection(LineCollection(segments, colors=INK, linewidths=width, alpha=0.75))
    if not strip:
        return
    middle = (np.arange(min(n, 600)) + 0.5) * n / min(n, 600)
    shown = rgb(int(labels.max()) + 1)[labels[middle.astype(np.int64)]]
    left = ax.imshow(
        shown[:, None, :], extent=(-0.045 * n, -0.015 * n, n, 0), interpolation="nearest"
    )
    left.set_clip_on(False)
    for a, b in itertools.pairwise(edges):
        if b - a >= _NUMBERED * n:
            ax.text(-0.06 * n, (a + b) / 2, str(labels[a]), ha="right", va="center", fontsize=8)
    ax.set_xlim(0, n)
    ax.set_ylim(n, 0)


def true_blocks(truth: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    """Return first and last row and column of the blocks of pairs that are truly together.

    Of a class in several runs all pairs of runs are blocks; of very many runs each with itself.
    """
    edges = runs(truth).tolist()
    spans = [(a, b, int(truth[a])) for a, b in itertools.pairwise(edges)]
    if len(spans) > _LINES:
        return [(a, b, a, b) for a, b, _ in spans]
    return [(a, b, c, d) for a, b, k in spans for c, d, j in spans if k == j]


def mark_truth(ax: Axes, truth: NDArray[np.int64]) -> None:
    """Draw dashed blocks around pairs of items that are truly together, in the shown order."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    blocks = [Rectangle((c, a), d - c, b - a) for a, b, c, d in true_blocks(truth)]
    ax.add_collection(
        PatchCollection(
            blocks, facecolor="none", edgecolor="#d55e00", linestyle=(0, (4, 3)), linewidth=1.1
        )
    )


def add_colorbar(image: AxesImage, where: Any, label: str) -> None:
    """Add a slim colour bar to the figure of ``where``, axes or several."""
    first = np.atleast_1d(np.asarray(where, dtype=object)).ravel()[0]
    bar = first.get_figure().colorbar(image, ax=where, shrink=0.82, aspect=28, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)
