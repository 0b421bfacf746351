"""Can the chains be trusted: R-hat and effective sizes of what matters about partitions.

Rows 1 to 6 of the design may be used here; ``estimation`` asks this room before it answers.
"""

from __future__ import annotations

from partita.diagnostics._diagnose import Diagnosis, diagnose, disagreement
from partita.diagnostics._gap import Gap
from partita.diagnostics._scalar import ess_bulk, ess_mean, rhat
from partita.diagnostics._traces import Chains, monte_carlo_error

__all__ = [
    "Chains",
    "Diagnosis",
    "Gap",
    "diagnose",
    "disagreement",
    "ess_bulk",
    "ess_mean",
    "monte_carlo_error",
    "rhat",
]
