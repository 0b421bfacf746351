"""Data sets that come with the package, and simulated draws."""

from __future__ import annotations

from partita.datasets._load import load_crabs, load_galaxies
from partita.datasets._simulate import simulate_draws

__all__ = ["load_crabs", "load_galaxies", "simulate_draws"]
