"""From a data file to a partition: sample a mixture of Gaussians, then estimate.

The estimate is printed; --save-draws keeps the draws as well, for the other commands.
"""

from __future__ import annotations

import argparse

from partita import losses, search
from partita.cli import _common, _estimate, _sample


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita run``."""
    _sample.add_sampling_arguments(parser)
    what = parser.add_argument_group("what to estimate")
    what.add_argument("--loss", metavar="NAME", help=f"default vi; {', '.join(losses.NAMES)}")
    what.add_argument(
        "--search", action="append", metavar="NAME", help=f"default auto; {', '.join(search.NAMES)}"
    )
    what.add_argument("--save-draws", metavar="FILE.npz", help="keep the draws in a file")
    what.add_argument("--save", metavar="FILE.npz", help="keep the whole estimate in a file")
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Sample, estimate and write."""
    from partita.estimation import estimate

    draws = _sample.sample(arguments)
    if arguments.save_draws:
        draws.save(arguments.save_draws)
    best = estimate(
        draws,
        loss=arguments.loss,
        search=arguments.search or "auto",
        rng=arguments.seed,
        n_jobs=arguments.jobs,
    )
    if arguments.save:
        best.save(arguments.save)
    _common.write(_estimate.text(best, _common.form(arguments)), arguments)
