"""Figures on matplotlib, one function a figure; each takes ``ax=`` (or ``fig=``) and returns axes.

Matplotlib is an extra, ``pip install 'partita[plots]'``, and is imported when a figure is drawn;
no figure needs a display. ``NAMES`` maps what the shell calls a figure to its function. May use
everything of rows 1 to 9 of the design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from partita.partitions import matched_labels
from partita.plots._average import Averaged, average_similarity
from partita.plots._ball import credible_ball
from partita.plots._canvas import pyplot as pyplot
from partita.plots._choice import choice
from partita.plots._curves import loss_by_rank, n_clusters, search_history, traces
from partita.plots._matrices import comparison, reconstruction, similarity
from partita.plots._memberships import memberships, memberships_by_rank
from partita.plots._order import item_order
from partita.plots._palette import palette
from partita.plots._parameters import parameters
from partita.plots._scatter import scatter

__all__ = [
    "NAMES",
    "Averaged",
    "average_similarity",
    "choice",
    "comparison",
    "credible_ball",
    "item_order",
    "loss_by_rank",
    "matched_labels",
    "memberships",
    "memberships_by_rank",
    "n_clusters",
    "palette",
    "parameters",
    "reconstruction",
    "scatter",
    "search_history",
    "similarity",
    "traces",
]

NAMES: Mapping[str, Callable[..., Any]] = {
    "similarity": similarity,
    "reconstruction": reconstruction,
    "memberships": memberships,
    "memberships-by-rank": memberships_by_rank,
    "loss": loss_by_rank,
    "n-clusters": n_clusters,
    "choice": choice,
    "parameters": parameters,
    "scatter": scatter,
    "ball": credible_ball,
    "comparison": comparison,
    "traces": traces,
    "history": search_history,
}
