"""From data to draws: Gaussian mixtures with a prior on the partition, sampled.

One file each: ``priors`` (of cluster parameters), ``partition_priors``, ``model`` (both, by name
and for the core), ``starts``, ``chain`` (one chain), ``threads`` (several), ``checkpoint``,
``sampler`` (the verb), ``predictive``. The loops are the core's. May import ``draws`` and the rooms
above it.
"""

from __future__ import annotations

from partita.mixture.chain import Moves, Report
from partita.mixture.partition_priors import DirichletProcess, FiniteMixture, PitmanYor
from partita.mixture.predictive import (
    Parameters,
    component_parameters,
    join_probabilities,
    predictive_density,
)
from partita.mixture.priors import Conjugate, Independent, Paper
from partita.mixture.sampler import sample_mixture

__all__ = [
    "Conjugate",
    "DirichletProcess",
    "FiniteMixture",
    "Independent",
    "Moves",
    "Paper",
    "Parameters",
    "PitmanYor",
    "Report",
    "component_parameters",
    "join_probabilities",
    "predictive_density",
    "sample_mixture",
]
