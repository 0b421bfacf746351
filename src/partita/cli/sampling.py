"""``partita sample`` and ``partita run``: from a file of data to draws, and on to a partition."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from partita import validate
from partita.cli import aims, commands, writing
from partita.cli.data import read_data
from partita.errors import PartitaWarning

if TYPE_CHECKING:
    from partita.draws import Draws
    from partita.estimation import Estimate
    from partita.parameters import ClusterParameters


def sample(arguments: argparse.Namespace) -> None:
    """Sample the partition of the rows of a data file under a mixture of Gaussians.

    With --checkpoint a run that was stopped or killed goes on, called again with the same words, to
    the draws it would have given. Ctrl-C keeps the draws that are done.
    """
    draws = _sample(read_data(arguments), arguments)
    writing.save(arguments.output, draws.save, repr(draws), arguments)


def _sample(data: Any, arguments: argparse.Namespace) -> Draws:
    from partita.mixture import sample_mixture

    return sample_mixture(
        data,
        n_draws=arguments.n_draws,
        n_burn=arguments.n_burn,
        thin=arguments.thin,
        n_chains=arguments.n_chains,
        **aims.model_of(arguments),
        concentration=arguments.concentration,
        start=arguments.start,
        rng=arguments.seed,
        n_jobs=arguments.n_jobs,
        checkpoint=arguments.checkpoint,
    )


def run(arguments: argparse.Namespace) -> None:
    """From a data file to a partition: sample a mixture of Gaussians, then estimate.

    The estimate is printed; --save-draws keeps the draws as well, for the other commands, and
    --report writes a page about it all.
    """
    from partita.estimation import estimate

    how = aims.keywords(arguments)  # before the sampling, so that a slip costs no time
    if arguments.seed is None and not arguments.checkpoint:
        how["rng"] = arguments.seed = validate.seed(None)  # so that the report can say it
    data = read_data(arguments)
    draws = _sample(data, arguments)
    if arguments.save_draws:
        writing.save(arguments.save_draws, draws.save, repr(draws), arguments)
    with warnings.catch_warnings():
        # The quick look at the chains; the thorough one follows.
        warnings.filterwarnings("ignore", r".*See partita\.diagnose", PartitaWarning)
        best = estimate(draws, **how, n_jobs=arguments.n_jobs)
    _warn_of_the_chains(best, draws, arguments.n_jobs)
    model = {"prior": "independent", **aims.model_of(arguments)}
    found = _parameters_of_components(best, draws, data, best.seed)

    def page() -> None:
        if arguments.report:
            words = {"density": model, "params": found}
            commands.write_report(best, draws, data, arguments, arguments.report, **words)

    writing.write_all(
        lambda: commands.save_estimate(best, arguments),
        page,
        lambda: commands.show_estimate(best, arguments, found),
    )


def _parameters_of_components(
    best: Estimate, draws: Draws, data: Any, seed: int | None
) -> ClusterParameters:
    """What the clusters of an estimate are like, by the means of their items' components."""
    from partita.mixture import component_parameters
    from partita.parameters import cluster_parameters

    params = component_parameters(draws, data, rng=seed)
    found = cluster_parameters(best, draws, params, method="items")
    names = [str(name) for name in getattr(data, "columns", range(found.sizes["column"]))]
    return found.assign_coords(column=names, other_column=names)


def _warn_of_the_chains(best: Estimate, draws: Draws, n_jobs: int) -> None:
    """Say on stderr what the report would: that chains disagree, or that draws are too few."""
    import numpy as np

    from partita.diagnostics import diagnose

    far = "vi" if getattr(best.loss, "needs", "") == "similarity" else best.loss
    with np.errstate(invalid="ignore"):  # traces may hold infinities, whose moments are nan
        found = diagnose(draws, best, loss=far, n_jobs=n_jobs)
    if not found.trusted:
        writing.say(f"partita: warning: {found.verdict}")
        for reason in (*found.disagreements, *found.shortages):
            writing.say(f"- {reason}", indent="  ")
