"""The partitions of a credible ball side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.losses import name_of
from partita.plots._average import average_partition
from partita.plots._canvas import panels, with_unit
from partita.plots._matrices import draw_matrix, mark_clusters
from partita.plots._order import item_order
from partita.plots._scatter import check_items, scatter

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
        unit = " bits" if with_unit(name_of(ball.loss)).endswith("bits") else ""
        title = f"{name}\nK = {bound.n_clusters}, at {bound.distance:.3g}{unit}"
        partitions[title] = bound.labels[0]
    if data is not None:
        return _scatters(partitions, check_items(data, centre.size), fig)
    evidence = draws if draws is not None else centre[None, :]
    order = item_order(centre, evidence)
    found = panels(fig, (1, 4), (2.6, 3.3))[0]
    for (name, labels), ax in zip(partitions.items(), found, strict=True):
        draw_matrix(ax, average_partition(np.asarray(labels, dtype=np.int64), order, _CELLS))
        mark_clusters(ax, np.asarray(centre, dtype=np.int64)[order], strip=False)
        ax.set_title(name, fontsize=9)
    found[0].set_xlabel("dark: together; lines: the centre", fontsize=8)
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
