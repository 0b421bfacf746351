"""Figures on matplotlib, one function a figure.

A figure of one panel draws on ``ax`` if that is given and returns it; one of several panels draws
in ``fig``, a Figure or SubFigure, and returns its axes. Matplotlib is an extra,
``pip install 'partita[plots]'``, and is imported when a figure is drawn; no figure needs a display.
``NAMES`` maps what the shell calls a figure to its function. May use everything of rows 1 to 10
of the design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from partita.partitions import matched_labels
from partita.plots._average import Averaged, average_similarity
from partita.plots._ball import credible_ball
from partita.plots._canvas import pyplot as pyplot
from partita.plots._choice import choice
from partita.plots._curves import loss_by_rank, n_clusters, traces
from partita.plots._map import dendrogram, posterior_map
from partita.plots._matrices import comparison, reconstruction, similarity
from partita.plots._memberships import memberships, memberships_by_rank
from partita.plots._modes import alluvial, modes
from partita.plots._order import item_order
from partita.plots._palette import palette
from partita.plots._parameters import parameters
from partita.plots._scatter import scatter
from partita.plots._sure import chips, sensitivity

__all__ = [
    "NAMES",
    "Averaged",
    "alluvial",
    "average_similarity",
    "chips",
    "choice",
    "comparison",
    "credible_ball",
    "dendrogram",
    "item_order",
    "loss_by_rank",
    "matched_labels",
    "memberships",
    "memberships_by_rank",
    "modes",
    "n_clusters",
    "palette",
    "parameters",
    "posterior_map",
    "reconstruction",
    "scatter",
    "sensitivity",
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
    "modes": modes,
    "chips": chips,
    "sensitivity": sensitivity,
    "alluvial": alluvial,
    "dendrogram": dendrogram,
    "map": posterior_map,
}
