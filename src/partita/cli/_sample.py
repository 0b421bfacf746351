"""Sample the partition of the rows of a data file under a mixture of Gaussians.

With --checkpoint a run that was stopped or killed goes on, called again with the same words, to
the draws it would have given. Ctrl-C keeps the draws that are done.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from partita import io
from partita.cli import _common
from partita.cli._data import read_table
from partita.errors import InvalidValueError
from partita.mixture import partition_priors, priors, starts

if TYPE_CHECKING:
    from partita.draws import Draws


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita sample``."""
    add_sampling_arguments(parser)
    parser.add_argument(
        "-o", "--output", default="draws.npz", help="an .npz file for the draws; default draws.npz"
    )


def add_sampling_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``partita sample`` and ``partita run`` share."""
    parser.add_argument("data", help="a csv or tsv file (gzip too), an item a row")
    reading = parser.add_argument_group("reading the data")
    reading.add_argument("--columns", help="columns to use, separated by commas; default: all")
    reading.add_argument("--names", metavar="COLUMN", help="the column that names the items")
    model = parser.add_argument_group("the model")
    model.add_argument("--prior", default="independent", choices=tuple(priors.NAMES))
    model.add_argument("--df", type=float, help="degrees of freedom kappa0; default: columns")
    model.add_argument("--covariance", default="full", choices=priors.SHAPES)
    model.add_argument("--partition", default="dirichlet", choices=tuple(partition_priors.NAMES))
    model.add_argument(
        "--concentration",
        metavar="A or SHAPE,RATE",
        help="a fixed concentration, or its gamma prior; default 2,1",
    )
    running = parser.add_argument_group("running")
    running.add_argument(
        "--draws", type=int, default=2_500, help="to keep of each chain; default %(default)s"
    )
    running.add_argument(
        "--burn", type=int, default=2_500, help="scans before the first; default %(default)s"
    )
    running.add_argument("--thin", type=int, default=1, help="scans for each draw")
    running.add_argument(
        "--chains",
        type=int,
        default=4,
        help="default %(default)s: chains that begin apart and agree are what R-hat asks for",
    )
    running.add_argument("--start", choices=tuple(starts.NAMES), help="default: each chain another")
    running.add_argument("--seed", type=int, help="a whole number; one seed, one answer")
    running.add_argument("--jobs", type=int, default=-1, help="processes; -1, the default: all")
    running.add_argument("--checkpoint", metavar="FOLDER", help="save the run there as it goes")


def run(arguments: argparse.Namespace) -> None:
    """Sample and write."""
    io.check_place(arguments.output)
    draws = sample(arguments)
    _common.write_or_keep(arguments.output, draws.save)
    _common.say_where(repr(draws), arguments.output)


def sample(arguments: argparse.Namespace) -> Draws:
    """Sample as the arguments say."""
    from partita.mixture import sample_mixture

    return sample_mixture(
        read_table(arguments, say=True),
        n_draws=arguments.draws,
        n_burn=arguments.burn,
        thin=arguments.thin,
        n_chains=arguments.chains,
        prior=arguments.prior,
        df=arguments.df,
        covariance=arguments.covariance,
        partition=arguments.partition,
        concentration=_concentration(arguments.concentration),
        start=arguments.start,
        rng=arguments.seed,
        n_jobs=arguments.jobs,
        checkpoint=arguments.checkpoint,
    )


def _concentration(text: str | None) -> float | tuple[float, float] | None:
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) == 2:
        return numbers[0], numbers[1]
    raise InvalidValueError(
        f"`--concentration` must be a number or SHAPE,RATE of a gamma prior; got {text!r}."
    )
