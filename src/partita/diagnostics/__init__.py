"""Can the chains be trusted: R-hat and effective sizes of what matters about partitions.

``estimate`` asks ``disagreement`` before it answers.
"""

from __future__ import annotations

from partita.diagnostics._chains import Chains, monte_carlo_error
from partita.diagnostics._diagnose import Diagnosis, diagnose, disagreement
from partita.diagnostics._pairs import Gap
from partita.diagnostics._rhat import ess_bulk, ess_mean, rhat

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
