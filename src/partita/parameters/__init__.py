"""What the reported clusters are like: their parameters, draw by draw, although labels switch.

One idea a file: ``arrays`` (what the sampler kept, by draw and component), ``clusters`` (the verb),
``result`` (what it returns), ``marginalized`` (mixtures whose labels were summed out, from PyMC and
NumPyro), ``stephens`` (their components against the reported clusters), ``prediction``.
Imports xarray, which neither ``import partita`` nor ``estimate`` does.
"""

from __future__ import annotations

from partita.parameters.clusters import cluster_parameters
from partita.parameters.marginalized import MarginalizedMixture
from partita.parameters.numpyro import from_numpyro
from partita.parameters.prediction import predict_memberships
from partita.parameters.pymc import from_pymc
from partita.parameters.result import ClusterParameters

__all__ = [
    "ClusterParameters",
    "MarginalizedMixture",
    "cluster_parameters",
    "from_numpyro",
    "from_pymc",
    "predict_memberships",
]
