"""Posterior draws of a partition: the noun, the ways to read it, and a few that stand for many.

Labels are in memory, or in a store that is read in blocks (``_stored``). Imports ``errors``,
``validate``, ``typing``, ``partitions``, ``parallel`` and ``io``, and the core.
"""

from partita.draws._blocks import (
    MOST_HELD,
    cluster_sums,
    counts_in,
    gathered,
    is_few,
    offsets_of,
    own_of,
    scattered,
    spread,
    streams,
)
from partita.draws._counts import (
    DenseCounts,
    SparseCounts,
    contingency,
    is_sparse,
    own_sums,
    own_values,
    sparse_counts_in,
)
from partita.draws._draws import Draws
from partita.draws._log_weights import component_order, in_order, probabilities
from partita.draws._missing import missing_text
from partita.draws._representative import representative
from partita.draws._stored import StoredLabels, pick_items
from partita.draws.overlaps import METHODS, Overlap, Reported, overlap_of_draws
from partita.draws.read import as_draws, complete_draws, read_draws
from partita.draws.writer import DrawsWriter

__all__ = [
    "METHODS",
    "MOST_HELD",
    "DenseCounts",
    "Draws",
    "DrawsWriter",
    "Overlap",
    "Reported",
    "SparseCounts",
    "StoredLabels",
    "as_draws",
    "cluster_sums",
    "complete_draws",
    "component_order",
    "contingency",
    "counts_in",
    "gathered",
    "in_order",
    "is_few",
    "is_sparse",
    "missing_text",
    "offsets_of",
    "overlap_of_draws",
    "own_of",
    "own_sums",
    "own_values",
    "pick_items",
    "probabilities",
    "read_draws",
    "representative",
    "scattered",
    "sparse_counts_in",
    "spread",
    "streams",
]
