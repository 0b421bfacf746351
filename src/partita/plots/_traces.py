"""Traces of the chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.draws import as_draws
from partita.errors import InvalidValueError
from partita.plots._common import panels, whole_ticks, without_box
from partita.plots._palette import palette

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.draws import Draws


def traces(draws: Any, names: Sequence[str] | None = None, *, fig: Any = None) -> NDArray[Any]:
    """Draw the trace of K, and of what was recorded with the draws, chain by chain.

    Parameters
    ----------
    draws : Draws or anything that can become one
    names : sequence of str, optional
        ``"K"`` and names of the draws' traces; K and the log posterior, where there is one, if
        None.
    fig : Figure or SubFigure, optional

    Returns
    -------
    ndarray of Axes, shape (len(names),)

    Examples
    --------
    >>> [ax.get_ylabel() for ax in traces([[0, 0, 1], [0, 1, 2], [0, 1, 1]])]
    ['K']
    """
    given = as_draws(draws)
    if names is None:
        names = ["K", *(name for name in given.traces if name.lower().startswith("log"))]
    if isinstance(names, str) or not len(names):
        raise InvalidValueError(
            f"`names` must be a list of at least one of {', '.join(['K', *given.traces])}; "
            f"got {names!r}."
        )
    values = {name: _trace(given, name) for name in names}
    found = panels(fig, (len(values), 1), (8.0, 2.1), sharex=True)[:, 0]
    chains = np.zeros(given.n_draws, dtype=np.int64) if given.chains is None else given.chains
    colours = palette(int(chains.max()) + 1)
    for (name, trace), ax in zip(values.items(), found, strict=True):
        for chain in np.unique(chains):
            of_chain = trace[chains == chain]
            ax.plot(
                of_chain, color=colours[chain], linewidth=0.6, alpha=0.8, label=f"chain {chain}"
            )
        ax.set_ylabel(name)
        without_box(ax)
    if 1 < given.n_chains <= 12:
        legend = found[0].legend(frameon=False, fontsize=8, ncols=6, loc="lower left",
                                 bbox_to_anchor=(0, 1))  # fmt: skip
        for line in legend.get_lines():
            line.set_linewidth(2)
    whole_ticks(found[0], "y" if names[0] == "K" else "x")
    found[-1].set_xlabel("draw")
    return found


def _trace(draws: Draws, name: str) -> NDArray[Any]:
    if name == "K":
        return draws.n_clusters
    return np.asarray(validate.lookup("names", name, {k.lower(): v for k, v in
                                                       draws.traces.items()}))  # fmt: skip
