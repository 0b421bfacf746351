"""Partitions side by side: with a truth, and method by method."""

from __future__ import annotations

from partita.comparison._compare import Comparison, compare
from partita.comparison._scores import (
    adjusted_rand_index,
    rand_index,
    variation_of_information,
)

__all__ = [
    "Comparison",
    "adjusted_rand_index",
    "compare",
    "rand_index",
    "variation_of_information",
]
