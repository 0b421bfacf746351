"""Compiled loops: arrays and scalars in, arrays out, nothing else.

Every kernel is ``njit(cache=True, nogil=True)`` (:func:`partita.kernels._compile.jit`), takes no
function arguments (they defeat the disk cache) and no Python objects, and its caller hands it
blocks of at most about 50 ms of work so that Ctrl-C, progress and time limits answer.

A kernel module is imported, and numba with it, when it is first named: ``kernels.labels``.
Nothing here imports the rest of the package.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partita.kernels import (
        alignment,
        cliques,
        contingency,
        debts,
        exact,
        greedy_attempt,
        greedy_blocks,
        greedy_chains,
        greedy_counts,
        greedy_crossing,
        greedy_draws,
        greedy_draws_bent,
        greedy_draws_runs,
        greedy_merges,
        greedy_near,
        greedy_pairs,
        greedy_proposals,
        greedy_recombine,
        greedy_similarity,
        greedy_similarity_attempt,
        greedy_similarity_runs,
        greedy_soften,
        labels,
        mixture_chain,
        mixture_collapsed,
        mixture_marginal,
        mixture_predict,
        mixture_proposal,
        mixture_random,
        mixture_slots,
        mixture_types,
        nmf_hals,
        nmf_newton,
        nmf_quotients,
        nmf_regression,
        nmf_symmetric,
        relaxation,
        similarity,
        sparse,
        streaming,
        subpartition,
        tree,
    )

__all__ = [
    "alignment",
    "cliques",
    "contingency",
    "debts",
    "exact",
    "greedy_attempt",
    "greedy_blocks",
    "greedy_chains",
    "greedy_counts",
    "greedy_crossing",
    "greedy_draws",
    "greedy_draws_bent",
    "greedy_draws_runs",
    "greedy_merges",
    "greedy_near",
    "greedy_pairs",
    "greedy_proposals",
    "greedy_recombine",
    "greedy_similarity",
    "greedy_similarity_attempt",
    "greedy_similarity_runs",
    "greedy_soften",
    "labels",
    "mixture_chain",
    "mixture_collapsed",
    "mixture_marginal",
    "mixture_predict",
    "mixture_proposal",
    "mixture_random",
    "mixture_slots",
    "mixture_types",
    "nmf_hals",
    "nmf_newton",
    "nmf_quotients",
    "nmf_regression",
    "nmf_symmetric",
    "relaxation",
    "similarity",
    "sparse",
    "streaming",
    "subpartition",
    "tree",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
