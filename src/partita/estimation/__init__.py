"""The argmin of equation 8 and its result.

Everything of rows 1 to 7 may be used here; what surrounds the answer (comparison, uncertainty)
comes after.
"""

from __future__ import annotations

from partita.estimation._argmin import checked, estimate, expected_loss, warn_of_disagreement
from partita.estimation._estimate import Estimate, Step
from partita.estimation._way_taken import is_plain

__all__ = [
    "Estimate",
    "Step",
    "checked",
    "estimate",
    "expected_loss",
    "is_plain",
    "warn_of_disagreement",
]
