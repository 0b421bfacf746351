"""How many clusters runs of a clusterer agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita.errors import InvalidTypeError
from partita.plots._canvas import ACCENT, CHOSEN, panels, whole_ticks, without_box
from partita.plots._palette import palette

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMED = 12  # lines whose names fit beside them


def choice(table: Any, *, fig: Any = None) -> NDArray[Any]:
    """Draw what speaks for each number of clusters, a panel a reason.

    Left the distribution functions of the consensus: flat between 0 and 1 is good. Then the
    proportion of ambiguous clustering with the stability, and the expected loss; the number of
    clusters where the loss is least is marked.

    Parameters
    ----------
    table : DataFrame
        What :func:`partita.choose_n_clusters` returned.
    fig : Figure or SubFigure, optional

    Returns
    -------
    ndarray of Axes, three panels

    Examples
    --------
    >>> import partita as pt
    >>> runs = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 2, 2]]
    >>> [ax.get_ylabel() for ax in choice(pt.choose_n_clusters(runs, rng=0))]
    ['pairs at most so often together', '', 'expected loss']
    """
    if not hasattr(table, "attrs") or "cdf" not in table.attrs:
        raise InvalidTypeError(
            f"`table` must be what choose_n_clusters returned; got {type(table).__name__}."
        )
    left, middle, right = found = panels(fig, (1, 3), (3.6, 3.2)).ravel()
    k = table.index.to_numpy()
    best = int(k[table["expected_loss"].to_numpy().argmin()])
    for number, curve, colour in zip(k, table.attrs["cdf"], palette(len(k)), strict=True):
        label = f"K = {number}" if len(k) <= _NAMED else None
        width = 2.4 if number == best else 1.0
        left.plot(table.attrs["consensus"], curve, color=colour, linewidth=width, label=label)
    left.set_xlabel("consensus")
    left.set_ylabel("pairs at most so often together")
    left.set_ylim(0, 1.02)
    if len(k) <= _NAMED:
        left.legend(fontsize=7, frameon=False)
    for name, colour in (("pac", CHOSEN), ("stability", ACCENT), ("area", "0.6")):
        middle.plot(k, table[name], marker="o", markersize=4, color=colour, label=name)
    middle.set_ylim(min(-0.02, float(np.nanmin([table["stability"].min(), 0]))), 1.05)
    middle.legend(fontsize=7, frameon=False)
    right.plot(k, table["expected_loss"], marker="o", markersize=4, color=ACCENT)
    right.axvline(best, color=CHOSEN, linestyle="--", linewidth=1)
    right.set_title(f"least at K = {best}", fontsize=10)
    right.set_ylabel("expected loss")
    for ax in (middle, right):
        whole_ticks(ax, "x")
        ax.set_xlabel("K")
    for ax in found:
        without_box(ax)
    return np.asarray(found)
