"""The posterior seen as a tree of items, and as a map of draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import as_draws, representative
from partita.evidence import as_evidence
from partita.partitions import canonical
from partita.plots._canvas import ACCENT, CHOSEN, FAINT, INK, axes, labels_of, some_of, without_box
from partita.plots._palette import MARKERS, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from partita.uncertainty import CredibleBall, Modes

_ITEMS = 1_500  # items of a tree, at most
_LEAVES = 100  # ends that are drawn of it
_NAMED = 40  # ends up to which they are named
_DRAWS = 400  # draws on a map, at most


def dendrogram(
    data: Any, estimate: Any = None, *, n_clusters: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the average linkage of the items on 1 - π̂, and the cut into as many clusters.

    Branches below the cut have colours. Of many items, 1,500 stand for all, and only the uppermost
    hundred branches are drawn; an end in brackets is a number of items.

    Parameters
    ----------
    data : Draws, Similarity or anything that can become draws
    estimate : Estimate or array-like of shape (n,), optional
        The tree is cut into as many clusters as this has.
    n_clusters : int, optional
        Cut into so many instead.

    Examples
    --------
    >>> ax = dendrogram([[0, 0, 1, 1], [0, 0, 1, 2]], n_clusters=2)
    >>> ax.get_ylabel()
    '1 - similarity'
    """
    from matplotlib.collections import LineCollection
    from scipy.cluster.hierarchy import dendrogram as layout
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    evidence = as_evidence(data)
    n = evidence.n_items
    items = np.linspace(0, n - 1, min(n, _ITEMS)).round().astype(np.int64)
    ax = axes(ax, (8.0, 3.4))
    ax.set_ylabel("1 - similarity")
    ax.set_ylim(0, 1.02)
    note = f"; {items.size:,} of {n:,} items" if items.size < n else ""
    if n == 1:
        ax.set_title("one item", fontsize=10)
        return without_box(ax)
    far = np.clip(1.0 - evidence.similarity.block(items, items), 0.0, 1.0)
    tree = linkage(squareform((far + far.T) / 2, checks=False), "average")
    k = n_clusters
    if k is None and estimate is not None:
        k = int(labels_of(estimate, n).max()) + 1
    k = min(k or 1, items.size)
    labels = canonical(fcluster(tree, k, "maxclust"))
    member = np.concatenate([labels, np.full(len(tree), -1)])  # of each node, -1 for several
    for node, (a, b) in enumerate(tree[:, :2].astype(np.int64), start=items.size):
        member[node] = member[a] if member[a] == member[b] else -1
    colours = palette(int(labels.max()) + 1)
    drawn = layout(
        tree, p=_LEAVES, truncate_mode="lastp", no_plot=True,
        link_color_func=lambda node: INK if member[node] < 0 else colours[member[node]],
    )  # fmt: skip
    lines = [
        list(zip(x, y, strict=True)) for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    ]
    ax.add_collection(LineCollection(lines, colors=drawn["color_list"], linewidths=1.2))
    ends = len(drawn["ivl"])
    ax.set_xlim(0, 10 * ends)
    ax.set_xticks([])
    if ends <= _NAMED:
        names = evidence.item_names or tuple(map(str, range(n)))
        said = [names[items[int(t)]] if t.isdigit() else t for t in drawn["ivl"]]
        ax.set_xticks(10 * np.arange(ends) + 5, said, rotation=90, fontsize=8)
    found = int(labels.max()) + 1
    if 1 < found < items.size:
        cut = float(tree[-found : len(tree) - found + 2, 2].mean())
        ax.axhline(cut, color=CHOSEN, linewidth=1, linestyle=(0, (4, 3)))
    cut_into = validate.count_text(found, "cluster")
    ax.set_title(f"average linkage, cut into {cut_into}{note}", fontsize=10)
    return without_box(ax)


def posterior_map(
    draws: Any,
    estimate: Any = None,
    *,
    ball: CredibleBall | None = None,
    modes: Modes | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a map of the draws in which distances are, as far as two axes can, those of VI.

    Classical multidimensional scaling of at most 400 draws that stand for all, in which the
    estimate, the bounds of the ball and the modes are then placed (Gower 1968). The axes say which
    share of the squared distances they hold: where that is small, much that looks near is not.

    Parameters
    ----------
    draws : Draws or anything that can become one
    estimate : Estimate or array-like of shape (n,), optional
    ball : CredibleBall, optional
        Draws outside of it are hollow, and its bounds are marked.
    modes : Modes, optional
        Draws have the colour of the nearest, which are marked.

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, Psychometrika 17. Gower
    (1968), Adding a point to vector diagrams in multivariate analysis, Biometrika 55.

    Examples
    --------
    >>> ax = posterior_map([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 1, 1]], [0, 0, 1, 1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['draws', 'estimate']
    """
    given = as_draws(draws)
    some = representative(given, _DRAWS)
    marks: dict[str, Any] = {}
    if estimate is not None:
        marks["estimate"] = labels_of(estimate, given.n_items)
    if ball is not None:
        marks["farthest in the ball"] = ball.horizontal.labels[0]
        marks["fewest clusters"] = ball.upper_vertical.labels[0]
        marks["most clusters"] = ball.lower_vertical.labels[0]
    count = 0 if modes is None else modes.n_modes
    if modes is not None:
        marks |= {f"mode {mode}": labels for mode, labels in enumerate(modes.labels)}
    marked = [canonical(labels) for labels in marks.values()]
    rows = np.stack([*np.asarray(some.labels, dtype=np.int64), *marked])
    far = losses.distances(losses.VI(), rows, some)
    points, shares = _scaled(far, some.n_draws)
    ax = axes(ax, (6.6, 4.6))
    nearest = np.zeros(some.n_draws, dtype=np.int64)
    if modes is not None:
        nearest = far[-count:].argmin(axis=0)
    inside = np.ones(some.n_draws, dtype=bool)
    if ball is not None:
        own = losses.distances(ball.loss, ball.center[None, :], some)[0]
        inside = own <= ball.radius + 1e-12
    colours = np.array(palette(max(count, 1))) if modes is not None else np.array([ACCENT])
    _dots(ax, points[: some.n_draws], colours[nearest], inside)
    for x, (name, point) in enumerate(zip(marks, points[some.n_draws :], strict=True)):
        is_mode = name.startswith("mode ")
        ax.plot(*point, "*" if name == "estimate" else MARKERS[x % len(MARKERS)], label=name,
                color=colours[int(name[5:])] if is_mode else CHOSEN, linestyle="",
                markersize=15 if name == "estimate" else 9, markeredgecolor=INK)  # fmt: skip
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    ax.set_xlabel(f"axis 1 ({shares[0]:.0%} of the squared distances)")
    ax.set_ylabel(f"axis 2 ({shares[1]:.0%})")
    note = some_of(some.n_draws, given.n_draws)
    ax.set_title("distances between draws, VI in bits" + (f"; {note}" if note else ""), fontsize=10)
    if not points.any():
        ax.update_datalim([(-1, -1), (1, 1)])
    ax.set_aspect("equal", adjustable="datalim")
    return without_box(ax)


def _dots(ax: Axes, points: Any, colours: Any, inside: Any) -> None:
    """Draws, those outside of the ball hollow."""
    (x, y), (far_x, far_y) = points[inside].T, points[~inside].T
    ax.scatter(x, y, s=14, c=colours[inside], alpha=0.55, linewidths=0, label="draws")
    if not inside.all():
        ax.scatter(far_x, far_y, s=14, facecolors="none", edgecolors=colours[~inside],
                   linewidths=0.7, label="draws outside of the ball")  # fmt: skip
    ax.axhline(0, color=FAINT, linewidth=0.4, zorder=0)
    ax.axvline(0, color=FAINT, linewidth=0.4, zorder=0)


def _scaled(far: NDArray[np.float64], n_draws: int) -> tuple[NDArray[np.float64], list[float]]:
    """Two axes of the draws, with others placed in them, and the share of each axis."""
    squares = far**2
    own = (squares[:n_draws] + squares[:n_draws].T) / 2
    centred = own.mean(axis=0) + squares.mean(axis=1)[:, None] - own.mean() - squares
    values, vectors = np.linalg.eigh((centred[:n_draws] + centred[:n_draws].T) / 4)
    total = float(values[values > 0].sum()) or 1.0
    points, shares = np.zeros((len(far), 2)), [0.0, 0.0]
    for axis in range(min(2, n_draws)):
        value, vector = float(values[-1 - axis]), vectors[:, -1 - axis]
        if value > 1e-9 * max(total, 1e-9):
            side = np.sign(vector[np.abs(vector).argmax()])
            points[:, axis] = side * (centred / 2 @ vector) / np.sqrt(value)
            shares[axis] = value / total
    return points, shares
