"""The data, coloured by cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import mixture, validate
from partita.draws import as_draws, representative
from partita.errors import InvalidValueError
from partita.mixture.data import read_data
from partita.partitions import matched_labels
from partita.plots._canvas import FAINT, INK, axes, labels_of
from partita.plots._palette import MARKERS, rgb
from partita.uncertainty import align_memberships

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_FAINTEST = 0.25  # opacity of an item that is nowhere at home
_GRID = 400
_DENSITY_DRAWS = 2_000  # that the predictive density is averaged over, at most
_LEGEND = 12  # clusters up to which there is a legend


def scatter(
    X: Any,
    estimate: Any,
    draws: Any = None,
    *,
    certainty: Any = None,
    density: Any = None,
    reference: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the data coloured by cluster, the less certain the paler.

    One column of data gives a line of points below their predictive density, and several
    partitions a line each, as in the paper's galaxy figure; two columns a plane; more columns
    their first two principal components.

    Parameters
    ----------
    X : array-like of shape (n, p)
    estimate : Estimate or array-like of shape (n,), or a mapping of names to them
        Several only where p = 1. A :class:`partita.Comparison` has such a mapping,
        ``estimates``.
    draws : Draws or anything that can become one, optional
        For the certainty of an item, the probability that it is in its cluster
        (:func:`partita.align_memberships`), and the predictive density.
    certainty : array-like of shape (n,), optional
        In [0, 1], in place of that; the estimate's own memberships if there are neither.
    density : mapping, pair of arrays, or bool, optional
        Where p = 1: keywords of :func:`partita.mixture.predictive_density` such as ``prior``; or
        points and densities there. If None, drawn with the default prior if the draws have a
        trace of the concentration, as those of :func:`partita.sample_mixture` do. The title says
        which prior, and whether it was assumed.
    reference : Estimate or array-like of shape (n,), optional
        A cluster has the colour of the cluster of this partition that it overlaps most; of
        several partitions, the first if None.

    Examples
    --------
    >>> ax = scatter([[0.0, 0.1], [0.2, 0.0], [3.0, 3.1]], [0, 0, 1])
    >>> len(ax.collections)
    2
    """
    columns = [str(name) for name in getattr(X, "columns", ())]
    data, _ = read_data(X)
    partitions = _partitions(estimate, reference, data.shape[0])
    if data.shape[1] == 1:
        given = None if draws is None else as_draws(draws)
        ax = axes(ax, (8.0, 2.6 + 0.32 * len(partitions)))
        top = _density(ax, data, given, density)
        _lines(ax, data[:, 0], partitions, estimate, given, certainty, top)
        if ax.lines:
            words = prior_words(density, draws)
            ax.set_title(f"predictive density, {words}, and clusters", fontsize=10)
        ax.set_xlabel(columns[0] if columns else "")
        return ax
    if len(partitions) > 1:
        raise InvalidValueError(
            f"`estimate` must be one partition of data with {data.shape[1]} columns; draw each of "
            f"the {len(partitions)} on axes of its own."
        )
    ax = axes(ax, (5.6, 4.6))
    points, names = plane(data)
    (labels,) = partitions.values()
    one = next(iter(estimate.values())) if isinstance(estimate, Mapping) else estimate
    _points(ax, points[:, 0], points[:, 1], labels, _certainty(one, labels, draws, certainty))
    names = (columns[0], columns[1]) if len(columns) == 2 else names
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    _legend(ax, labels)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _partitions(estimate: Any, reference: Any, n: int) -> dict[str, NDArray[np.int64]]:
    several = estimate if isinstance(estimate, Mapping) else {"": estimate}
    if not several:
        raise InvalidValueError("`estimate` must hold at least one partition; got none.")
    found = {str(name): labels_of(one, n) for name, one in several.items()}
    first = next(iter(found.values())) if reference is None else labels_of(reference, n)
    return {name: matched_labels(first, one) for name, one in found.items()}


def _certainty(
    estimate: Any, labels: NDArray[np.int64], draws: Any, given: Any
) -> NDArray[np.float64]:
    everyone = np.arange(labels.size)
    if given is not None:
        found = np.asarray(given, dtype=np.float64)
        if found.shape != labels.shape:
            raise InvalidValueError(
                f"`certainty` must be one number for each of the {labels.size} items; got shape "
                f"{found.shape}."
            )
        return np.clip(found, 0.0, 1.0)
    if draws is not None:
        aligned = align_memberships(labels, draws, n_jobs=-1)
        return aligned.memberships[everyone, aligned.labels]
    soft = getattr(estimate, "memberships", None)
    if soft is not None:
        return np.asarray(soft, dtype=np.float64)[everyone, labels_of(estimate, labels.size)]
    return np.ones(labels.size)


def plane(data: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Two columns as they are, more as principal components with their shares of variance."""
    if data.shape[1] == 2:
        return data, ("x", "y")
    centred = data - data.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    share = s**2 / max(float((s**2).sum()), 1e-300)
    points = np.zeros((data.shape[0], 2))
    found = (u * s)[:, :2]
    points[:, : found.shape[1]] = found
    shares = (*share.tolist(), 0.0)[:2]
    first, second = (f"component {i + 1} ({p:.0%} of the variance)" for i, p in enumerate(shares))
    return points, (first, second)


def _points(ax: Axes, x: Any, y: Any, labels: Any, certainty: Any, size: float = 26.0) -> None:
    """Draw a symbol at a time, so that many clusters cost no more than few."""
    colours = np.empty((labels.size, 4))
    colours[:, :3] = rgb(int(labels.max()) + 1)[labels]
    colours[:, 3] = _FAINTEST + (1 - _FAINTEST) * certainty
    size = size if labels.size <= 1_000 else size * max(0.08, (1_000 / labels.size) ** 0.7)
    for s, marker in enumerate(MARKERS):
        of_symbol = labels % len(MARKERS) == s
        if of_symbol.any():
            ax.scatter(
                x[of_symbol], y[of_symbol], s=size, c=colours[of_symbol], marker=marker,
                linewidths=0, rasterized=labels.size > 5_000,
            )  # fmt: skip


def _legend(ax: Axes, labels: NDArray[np.int64]) -> None:
    from matplotlib.lines import Line2D

    shown = np.unique(labels)
    if shown.size > _LEGEND:
        return
    colours = rgb(int(labels.max()) + 1)
    sizes = np.bincount(labels)
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=MARKERS[k % len(MARKERS)],
            color=tuple(colours[k]),
            label=f"{k} ({sizes[k]:,})",
        )
        for k in shown.tolist()
    ]
    ax.legend(handles=handles, title="cluster (size)", frameon=False, fontsize=8,
              loc="upper left", bbox_to_anchor=(1.0, 1.0))  # fmt: skip


def _density(ax: Axes, data: NDArray[np.float64], draws: Any, density: Any) -> float:
    """Draw the predictive density, if there is one to draw, and return its height."""
    curve = density_curve(data, draws, density)
    if curve is None:
        ax.set_yticks([])
        return 1.0
    grid, height = curve
    ax.fill_between(grid, 0, height, color="#dfe6ec", linewidth=0)
    ax.plot(grid, height, color=INK, linewidth=1)
    return float(height.max())


def density_curve(data: Any, draws: Any, density: Any) -> tuple[Any, Any] | None:
    if isinstance(density, tuple | list):
        grid, height = (np.asarray(part, dtype=np.float64) for part in density)
        return grid, height
    has_trace = draws is not None and "concentration" in draws.traces
    if density is None and not has_trace:
        return None
    if density is False:
        return None
    if draws is None:
        raise InvalidValueError("`density` needs `draws` to be taken from.")
    keywords = dict(density) if isinstance(density, Mapping) else {}
    low, high = float(data.min()), float(data.max())
    margin = 0.12 * (high - low) or 1.0
    grid = np.linspace(low - margin, high + margin, _GRID)
    some = representative(draws, _DENSITY_DRAWS)
    height = mixture.predictive_density(some, data, grid, **{"rng": 0, **keywords})
    return grid, height


def prior_words(density: Any, draws: Any) -> str:
    """Return which prior a predictive density was taken under, and whether that was said.

    What is not said is taken from what the draws know of how they were made.
    """
    if isinstance(density, tuple | list):
        return "as given"
    told = dict(density) if isinstance(density, Mapping) else {}
    given = {**draws.about, **{name: value for name, value in told.items() if value is not None}}
    prior = given.pop("prior", None)
    more = "".join(
        f", {name}={value}"
        for name, value in given.items()
        if name in ("df", "covariance", "partition", "concentration")
        and value not in ("full", "dirichlet")
    )
    return f"under prior={prior or 'independent'}{more}{'' if prior else ' (assumed)'}"


def _lines(
    ax: Axes,
    x: NDArray[np.float64],
    partitions: dict[str, NDArray[np.int64]],
    estimate: Any,
    draws: Any,
    certainty: Any,
    top: float,
) -> None:
    """A line of points for each partition, below zero."""
    step = 0.16 * top
    ticks = []
    for row, (name, labels) in enumerate(partitions.items(), start=1):
        one = estimate[name] if isinstance(estimate, Mapping) else estimate
        sure = _certainty(one, labels, draws, certainty)
        _points(ax, x, np.full(x.size, -row * step), labels, sure)
        k = np.unique(labels).size
        ticks.append(f"{name} (K = {k})" if name else f"K = {k}")
    kept = [] if top == 1.0 and not ax.lines else [t for t in ax.get_yticks() if 0 <= t <= top]
    ax.set_yticks(
        [*(-row * step for row in range(1, len(ticks) + 1)), *kept],
        [*ticks, *(f"{t:g}" for t in kept)],
    )
    ax.set_ylim(-(len(ticks) + 0.7) * step, 1.08 * top if ax.lines else 0.7 * step)
    if ax.lines:
        ax.axhline(0, color=FAINT, linewidth=0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if len(partitions) == 1:
        _legend(ax, next(iter(partitions.values())))


def check_items(X: Any, n_items: int) -> NDArray[np.float64]:
    """Return the data after checking that there is a row for each item."""
    data, _ = read_data(X, name="data")
    if data.shape[0] != n_items:
        raise InvalidValueError(
            f"`data` must have a row for each of the {validate.count_text(n_items, 'item')}; got "
            f"{data.shape[0]}."
        )
    return data
