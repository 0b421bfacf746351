"""Posterior draws of a partition: the noun, the ways to read it, and a few that stand for many.

Imports ``errors``, ``validate``, ``typing``, ``partitions`` and ``io``.
"""

from partita.draws._draws import Draws
from partita.draws._read import as_draws, read_draws
from partita.draws._representative import representative

__all__ = ["Draws", "as_draws", "read_draws", "representative"]
