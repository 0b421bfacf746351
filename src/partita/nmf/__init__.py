"""Non-negative factorisations of the posterior similarity matrix.

One file a model (``ls``, ``kl``, ``ns``, ``offset``, ``symmetric``), each with the same names in
the same order: ``start``, ``multiply``, ``prepare``, ``step``, ``blocks``, ``factors``,
``objective``, ``MODEL``. None imports another; what they share is in the files with an underscore.
``NAMES`` maps the public strings to models. Rows 1 to 4 of the design above it.
"""

from __future__ import annotations

from collections.abc import Mapping

from partita.nmf import kl, ls, ns, offset, symmetric
from partita.nmf._common import Factors, Model
from partita.nmf._factorize import SOLVERS, Factorization, factorize, factorize_ranks
from partita.nmf._readings import READINGS, Reading
from partita.nmf._streamed import Streamed, StreamedFit
from partita.nmf._target import shared
from partita.nmf.rank_choice import cophenetic_correlation, inflection_rank, rank_before_fall

__all__ = [
    "NAMES",
    "READINGS",
    "SOLVERS",
    "Factorization",
    "Factors",
    "Model",
    "Reading",
    "Streamed",
    "StreamedFit",
    "cophenetic_correlation",
    "factorize",
    "factorize_ranks",
    "inflection_rank",
    "rank_before_fall",
    "shared",
]

NAMES: Mapping[str, Model] = {
    "ls": ls.MODEL,
    "kl": kl.MODEL,
    "ns": ns.MODEL,
    "offset": offset.MODEL,
    "symmetric": symmetric.MODEL,
}
