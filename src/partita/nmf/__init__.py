"""Non-negative factorisations of the posterior similarity matrix.

One file a model (``ls``, ``kl``, ``ns``, ``offset``, ``symmetric``): its start, R's updates in the
array API, what it fits, and how ``solver="fast"`` lowers it (``least_squares``,
``kullback_leibler``). ``updates`` runs R's solver; ``descent`` runs ours, on the items that stand
for all (``representatives``). ``NAMES`` maps the public strings to models. Rows 1 to 4 of the
design above it.
"""

from __future__ import annotations

from collections.abc import Mapping

from partita.nmf import kl, ls, ns, offset, symmetric
from partita.nmf.factorization import SOLVERS, Factorization, factorize, factorize_ranks
from partita.nmf.model import Factors, Model
from partita.nmf.rank_choice import cophenetic_correlation, inflection_rank, rank_before_fall
from partita.nmf.readings import OPEN, READINGS, Reading

__all__ = [
    "NAMES",
    "OPEN",
    "READINGS",
    "SOLVERS",
    "Factorization",
    "Factors",
    "Model",
    "Reading",
    "cophenetic_correlation",
    "factorize",
    "factorize_ranks",
    "inflection_rank",
    "rank_before_fall",
]

NAMES: Mapping[str, Model] = {
    "ls": ls.MODEL,
    "kl": kl.MODEL,
    "ns": ns.MODEL,
    "offset": offset.MODEL,
    "symmetric": symmetric.MODEL,
}
