"""How sure: what surrounds the answer.

One idea a file: credible balls, tables of items and of clusters, memberships by alignment, modes,
sub-partitions, the Monte Carlo error of the loss. Rows 1 to 8 of the design may be used here.
"""

from __future__ import annotations

from partita.uncertainty._ball import Bound, CredibleBall, credible_ball

__all__ = ["Bound", "CredibleBall", "credible_ball"]
