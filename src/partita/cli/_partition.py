"""What commands about a partition share: saying which, and finding it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from partita.draws import Draws
    from partita.estimation import Estimate


def add_partition_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the partition in question: a file, or how to estimate it."""
    what = parser.add_argument_group("the partition")
    what.add_argument(
        "--estimate",
        metavar="FILE.npz",
        help="what `partita estimate --save` kept; if not given, it is estimated first",
    )
    what.add_argument("--loss", metavar="NAME", help="to estimate with; default vi")
    what.add_argument(
        "--search", action="append", metavar="NAME", help="to estimate with; default auto"
    )
    what.add_argument("--method", metavar="NAME", help="a loss and a search together")


def partition(arguments: argparse.Namespace, draws: Draws, search: str = "auto") -> Estimate:
    """Return the estimate that the arguments name, or make it; ``search`` if they say nothing."""
    from partita.errors import InvalidValueError
    from partita.estimation import Estimate, estimate

    if arguments.estimate is None:
        return estimate(
            draws,
            loss=arguments.loss,
            search=arguments.search or ("auto" if arguments.method else search),
            method=arguments.method,
            rng=arguments.seed,
            n_jobs=arguments.jobs,
        )
    if arguments.loss or arguments.search or arguments.method:
        raise InvalidValueError(
            "`--estimate` gives the partition; `--loss`, `--search` and `--method` say how to find "
            "one. Give either."
        )
    return Estimate.load(arguments.estimate)


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data behind the draws, and a truth."""
    about = parser.add_argument_group("what is known besides")
    about.add_argument("--data", help="a csv or tsv file of the data, an item a row, with a header")
    about.add_argument("--columns", help="columns to use, separated by commas; default: all")
    about.add_argument("--names", metavar="COLUMN", help="the column that names the items")
    about.add_argument(
        "--prior", help="that the draws were sampled under, for the predictive density"
    )
    about.add_argument("--truth", metavar="FILE", help="the known partition, as for compare")


def data(arguments: argparse.Namespace) -> Any:
    """Return the table of data, or None."""
    if arguments.data is None:
        return None
    from partita.cli._sample import read_table

    return read_table(arguments)


def density(arguments: argparse.Namespace) -> Any:
    """Return what the predictive density has to know, or None."""
    return None if arguments.prior is None else {"prior": arguments.prior}


def truth(arguments: argparse.Namespace) -> Any:
    """Return the known partition, or None."""
    if arguments.truth is None:
        return None
    from partita.cli import _labels

    return _labels.read("--truth", arguments.truth)
