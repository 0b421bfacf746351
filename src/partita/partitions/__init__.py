"""Labels as values: canonical form, contingency, meet, join, enumeration, nested cuts.

Row 1 of the design above it, the core beside it, nothing below it.
"""

from __future__ import annotations

from partita.partitions._labels import (
    bell_number,
    canonical,
    canonical_rows,
    contingency,
    counted_rows,
    distinct_rows,
    enumerate_partitions,
    extended,
    first_values,
    join,
    matched_labels,
    meet,
    n_clusters,
    smallest_dtype,
)
from partita.partitions._tree import Tree

__all__ = [
    "Tree",
    "bell_number",
    "canonical",
    "canonical_rows",
    "contingency",
    "counted_rows",
    "distinct_rows",
    "enumerate_partitions",
    "extended",
    "first_values",
    "join",
    "matched_labels",
    "meet",
    "n_clusters",
    "smallest_dtype",
]
