"""From data to draws: Gaussian mixtures with a prior on the partition, sampled.

One file each: ``priors`` (cluster parameters), ``partition_priors``, ``moves`` (what a scan does),
``starts``, ``chain`` (one chain), ``running`` (several), ``sampler`` (the verb), ``predictive``.
What is compiled is in ``kernels/mixture_*``. May import ``draws`` and the rooms above it.
"""

from __future__ import annotations

from partita.mixture.chain import Report
from partita.mixture.moves import Moves
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
