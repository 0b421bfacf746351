"""Non-negative factorisations of the posterior similarity matrix.

One file a model (``ls``, ``kl``, ``ns``, ``offset``, ``symmetric``): its start, R's updates in the
array API, what it fits, and how ``solver="fast"`` lowers it (``least_squares``,
``kullback_leibler``). ``updates`` runs R's solver; ``descent`` runs ours, on the items that stand
for all (``representatives``). ``NAMES`` maps the public strings to models. Rows 1 to 4 of the
design above it. Solvers are imported when they are first used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita.nmf.model import SOLVERS, Factors, Model
from partita.nmf.readings import OPEN, READINGS, Reading

if TYPE_CHECKING:
    from partita.nmf.factorization import Factorization, factorize, factorize_ranks
    from partita.nmf.rank_choice import cophenetic_correlation, inflection_rank, rank_before_fall

    NAMES: Mapping[str, Model]

__all__ = [
    "MODELS",
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

MODELS = ("ls", "kl", "ns", "offset", "symmetric")  # one file each
_WHERE = {
    "Factorization": "factorization",
    "factorize": "factorization",
    "factorize_ranks": "factorization",
    "cophenetic_correlation": "rank_choice",
    "inflection_rank": "rank_choice",
    "rank_before_fall": "rank_choice",
}


def __getattr__(name: str) -> Any:
    if name == "NAMES":
        found: Any = {one: import_module(f"partita.nmf.{one}").MODEL for one in MODELS}
    elif name in _WHERE:
        found = getattr(import_module(f"partita.nmf.{_WHERE[name]}"), name)
    else:
        raise AttributeError(f"module 'partita.nmf' has no attribute {name!r}")
    globals()[name] = found
    return found
