"""How sure: what surrounds the answer.

One idea a file: credible balls, tables of items and of clusters, memberships by alignment, modes,
sub-partitions, the Monte Carlo error of the loss. Rows 1 to 8 of the design may be used here.
"""

from __future__ import annotations

from partita.uncertainty._align import AlignedMemberships, align_memberships
from partita.uncertainty._ball import Bound, CredibleBall, credible_ball
from partita.uncertainty._chips import Chips, chips
from partita.uncertainty._clusters import cluster_uncertainty, posterior_n_clusters
from partita.uncertainty._items import item_uncertainty
from partita.uncertainty._modes import Modes, summarize_modes
from partita.uncertainty._sensitivity import Sensitivity, sensitivity
from partita.uncertainty._stability import LossError, loss_error, stability

__all__ = [
    "AlignedMemberships",
    "Bound",
    "Chips",
    "CredibleBall",
    "LossError",
    "Modes",
    "Sensitivity",
    "align_memberships",
    "chips",
    "cluster_uncertainty",
    "credible_ball",
    "item_uncertainty",
    "loss_error",
    "posterior_n_clusters",
    "sensitivity",
    "stability",
    "summarize_modes",
]
