"""partita: from posterior draws of a clustering to the partition to report.

>>> import partita as pt
>>> draws = pt.datasets.simulate_draws(60, 200, n_clusters=3, rng=0)
>>> best = pt.estimate(draws, loss="vi", rng=0)
>>> best.n_clusters
3

Names are imported when they are first used, so ``import partita`` itself is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita._version import __version__

if TYPE_CHECKING:
    from partita import (
        datasets,
        diagnostics,
        errors,
        estimators,
        losses,
        mixture,
        nmf,
        partitions,
        plots,
        search,
    )
    from partita.annotated import to_anndata
    from partita.certificates import Certificate, certify
    from partita.comparison import (
        Comparison,
        adjusted_rand_index,
        compare,
        rand_index,
        variation_of_information,
    )
    from partita.diagnostics import Diagnosis, diagnose
    from partita.draws import Draws, DrawsWriter, as_draws, read_draws
    from partita.ensembles import choose_n_clusters, consensus
    from partita.estimation import Estimate, estimate, expected_loss
    from partita.mixture import sample_mixture
    from partita.nmf import Factorization, factorize
    from partita.parameters import (
        ClusterParameters,
        MarginalizedMixture,
        cluster_parameters,
        from_numpyro,
        from_pymc,
        predict_memberships,
    )
    from partita.reporting import report
    from partita.similarity import Similarity, SimilarityBuilder, posterior_similarity
    from partita.uncertainty import (
        AlignedMemberships,
        Chips,
        CredibleBall,
        LossError,
        Modes,
        Sensitivity,
        align_memberships,
        chips,
        cluster_uncertainty,
        credible_ball,
        item_uncertainty,
        loss_error,
        posterior_n_clusters,
        sensitivity,
        stability,
        summarize_modes,
    )

_WHERE = {
    "Certificate": "certificates",
    "AlignedMemberships": "uncertainty",
    "Chips": "uncertainty",
    "ClusterParameters": "parameters",
    "Comparison": "comparison",
    "CredibleBall": "uncertainty",
    "Diagnosis": "diagnostics",
    "Draws": "draws",
    "DrawsWriter": "draws",
    "Estimate": "estimation",
    "Factorization": "nmf",
    "LossError": "uncertainty",
    "MarginalizedMixture": "parameters",
    "Modes": "uncertainty",
    "Sensitivity": "uncertainty",
    "Similarity": "similarity",
    "SimilarityBuilder": "similarity",
    "adjusted_rand_index": "comparison",
    "as_draws": "draws",
    "certify": "certificates",
    "choose_n_clusters": "ensembles",
    "consensus": "ensembles",
    "align_memberships": "uncertainty",
    "chips": "uncertainty",
    "cluster_parameters": "parameters",
    "cluster_uncertainty": "uncertainty",
    "compare": "comparison",
    "credible_ball": "uncertainty",
    "diagnose": "diagnostics",
    "estimate": "estimation",
    "expected_loss": "estimation",
    "factorize": "nmf",
    "from_numpyro": "parameters",
    "from_pymc": "parameters",
    "item_uncertainty": "uncertainty",
    "loss_error": "uncertainty",
    "posterior_n_clusters": "uncertainty",
    "posterior_similarity": "similarity",
    "predict_memberships": "parameters",
    "rand_index": "comparison",
    "read_draws": "draws",
    "report": "reporting",
    "sample_mixture": "mixture",
    "sensitivity": "uncertainty",
    "stability": "uncertainty",
    "summarize_modes": "uncertainty",
    "to_anndata": "annotated",
    "variation_of_information": "comparison",
}
_ROOMS = (
    "datasets",
    "diagnostics",
    "errors",
    "estimators",
    "losses",
    "mixture",
    "nmf",
    "partitions",
    "plots",
    "search",
)

__all__ = [
    "AlignedMemberships",
    "Certificate",
    "Chips",
    "ClusterParameters",
    "Comparison",
    "CredibleBall",
    "Diagnosis",
    "Draws",
    "DrawsWriter",
    "Estimate",
    "Factorization",
    "LossError",
    "MarginalizedMixture",
    "Modes",
    "Sensitivity",
    "Similarity",
    "SimilarityBuilder",
    "__version__",
    "adjusted_rand_index",
    "align_memberships",
    "as_draws",
    "certify",
    "chips",
    "choose_n_clusters",
    "cluster_parameters",
    "cluster_uncertainty",
    "compare",
    "consensus",
    "credible_ball",
    "datasets",
    "diagnose",
    "diagnostics",
    "errors",
    "estimate",
    "estimators",
    "expected_loss",
    "factorize",
    "from_numpyro",
    "from_pymc",
    "item_uncertainty",
    "loss_error",
    "losses",
    "mixture",
    "nmf",
    "partitions",
    "plots",
    "posterior_n_clusters",
    "posterior_similarity",
    "predict_memberships",
    "rand_index",
    "read_draws",
    "report",
    "sample_mixture",
    "search",
    "sensitivity",
    "stability",
    "summarize_modes",
    "to_anndata",
    "variation_of_information",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"partita.{_WHERE[name]}"), name)
    if name in _ROOMS:
        return import_module(f"partita.{name}")
    raise AttributeError(f"module 'partita' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
