"""From a data file to a partition: sample a mixture of Gaussians, then estimate.

The estimate is printed; --save-draws keeps the draws as well, for the other commands, and --report
writes a page about it all.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import TYPE_CHECKING

from partita import io, validate
from partita.cli import _aims, _common, _estimate, _partition, _sample, options_of
from partita.cli._data import read_table
from partita.cli._words import for_the_shell
from partita.errors import PartitaWarning

if TYPE_CHECKING:
    from partita.draws import Draws
    from partita.estimation import Estimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita run``."""
    _sample.add_sampling_arguments(parser)
    what = _aims.add_arguments(parser)
    what.add_argument("--save-draws", metavar="FILE.npz", help="keep the draws in a file")
    what.add_argument("--save", metavar="FILE.npz", help="keep the whole estimate in a file")
    what.add_argument("--report", metavar="FILE.html", help="write a report about it too")
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Sample, estimate and write."""
    from partita.estimation import estimate

    form = _common.form(arguments)
    for place in (arguments.report, arguments.save_draws):
        if place:
            io.check_place(place)
    aims = _aims.chosen(arguments)
    if arguments.seed is None and not arguments.checkpoint:
        arguments.seed = validate.seed(None)  # so that the report can say it
    draws = _sample.sample(arguments)
    if arguments.save_draws:
        _common.write_or_keep(arguments.save_draws, draws.save)
        _common.say_where(repr(draws), arguments.save_draws)
    with warnings.catch_warnings():
        # The quick look at the chains; the thorough one follows.
        warnings.filterwarnings("ignore", r".*See partita\.diagnose", PartitaWarning)
        best = estimate(
            draws,
            **aims,
            rng=arguments.seed,
            n_jobs=arguments.jobs,
            device=arguments.device,
        )
    _say_what_speaks_against(best, draws, arguments)
    _common.write_all(
        lambda: _estimate.save(best, arguments.save) if arguments.save else None,
        lambda: _report(best, draws, arguments) if arguments.report else None,
        lambda: _common.write(
            _estimate.text(best, form, arguments), arguments, _estimate.summary(best)
        ),
    )


def _say_what_speaks_against(best: Estimate, draws: Draws, arguments: argparse.Namespace) -> None:
    """Say on stderr what the report would: that chains disagree, or that draws are too few."""
    import numpy as np

    from partita.diagnostics import diagnose

    far = "vi" if getattr(best.loss, "needs", "") == "similarity" else best.loss
    with np.errstate(invalid="ignore"):  # traces may hold infinities, whose moments are nan
        found = diagnose(draws, best, loss=far, n_jobs=arguments.jobs)
    if not found.trusted:
        options = options_of(arguments.words[0])
        print(f"partita: warning: {found.verdict}", file=sys.stderr)
        for reason in (*found.disagreements, *found.shortages):
            print(f"  - {for_the_shell(reason, options)}", file=sys.stderr)


def _report(best: Estimate, draws: Draws, arguments: argparse.Namespace) -> None:
    from partita.reporting import report

    model = {name: getattr(arguments, name) for name in ("prior", "df", "covariance", "partition")}
    path = report(
        best,
        draws,
        arguments.report,
        read_table(arguments),
        command=_partition.command(
            arguments.words,
            burn=arguments.burn,
            thin=arguments.thin,
            seed=arguments.seed,
            prior=arguments.prior,
        ),
        density=model,
        n_jobs=arguments.jobs,
    )
    print(f"The report is {path}", file=sys.stderr)
