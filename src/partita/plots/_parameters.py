"""What the reported clusters are like: intervals of their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidTypeError
from partita.plots._canvas import FAINT, panels, without_box
from partita.plots._palette import palette

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.parameters import ClusterParameters

_MOST_PANELS = 12  # what a page of three rows holds
_MOST_NAMES = 40  # clusters whose names fit beside an axis
_COLUMNS = 4


def parameters(
    found: ClusterParameters,
    names: str | list[str] | None = None,
    *,
    prob: float = 0.95,
    fig: Any = None,
) -> NDArray[Any]:
    """Draw the mean and the shortest interval of each parameter of each cluster (a forest plot).

    Parameters
    ----------
    found : ClusterParameters
        What :func:`partita.cluster_parameters` returned.
    names : str or list of str, optional
        The parameters to draw, a panel an entry; if None all, of which the first twelve entries
        are drawn.
    prob : float
        Of the intervals.

    Examples
    --------
    >>> import partita as pt
    >>> z, mu = [[0, 0, 1, 1], [1, 1, 0, 0]], [[-1.0, 5.0], [5.2, -1.2]]
    >>> found = pt.cluster_parameters([0, 0, 1, 1], z, {"mu": mu})
    >>> [ax.get_title(loc="left") for ax in parameters(found, "mu")]
    ['mu']
    """
    if not hasattr(found, "summary"):
        raise InvalidTypeError(
            f"`found` must be what cluster_parameters returned; got {type(found).__name__}."
        )
    table = found.summary(prob)
    if names is not None:
        wanted = [names] if isinstance(names, str) else list(names)
        known = {str(name): name for name in found.data_vars if name != "matched_share"}
        for name in wanted:
            validate.lookup("names", name, known)
        entry = table.index.get_level_values(0)
        table = table[[name.partition("[")[0] in wanted for name in entry]]
    entries = list(dict.fromkeys(table.index.get_level_values(0)))[:_MOST_PANELS]
    clusters = list(dict.fromkeys(table.index.get_level_values(1)))
    columns = min(_COLUMNS, len(entries))
    rows = -(-len(entries) // columns)
    height = min(6.0, 0.9 + 0.25 * len(clusters))
    axes = panels(fig, (rows, columns), (2.6, height), sharey=True).ravel()
    colours, y = np.array(palette(len(clusters))), np.arange(len(clusters))
    for entry, ax in zip(entries, axes, strict=False):
        part = table.loc[entry]
        ax.hlines(y, part["hdi_low"], part["hdi_high"], color=colours, linewidth=2)
        ax.scatter(part["mean"], y, color=colours, s=18, zorder=3)
        ax.set_title(entry, loc="left", fontsize=10)
        ax.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.5)
        if len(clusters) <= _MOST_NAMES:
            ax.set_yticks(y, clusters)
        without_box(ax)
    for ax in axes[::columns]:
        ax.set_ylabel("cluster")
    axes[0].invert_yaxis()
    for ax in axes[len(entries) :]:
        ax.set_visible(False)
    return np.asarray(axes[: len(entries)])
