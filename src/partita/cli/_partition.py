"""What commands about a partition share: saying which, and finding it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita.cli import _factors, _written
from partita.mixture import partition_priors, priors

if TYPE_CHECKING:
    import argparse

    from partita.draws import Draws
    from partita.estimation import Estimate


def add_partition_arguments(parser: argparse.ArgumentParser, *, with_ranks: bool = True) -> None:
    """Add the partition in question: a file, or how to estimate it."""
    what = parser.add_argument_group("the partition")
    what.add_argument(
        "--estimate",
        metavar="FILE",
        help="what `partita estimate --save FILE.npz` kept, or what `-o FILE.json` wrote; if not "
        "given, it is estimated first",
    )
    what.add_argument("--loss", metavar="NAME", help="to estimate with; default vi")
    what.add_argument(
        "--search", action="append", metavar="NAME", help="to estimate with; default auto"
    )
    what.add_argument("--method", metavar="NAME", help="a loss and a search together")
    _factors.add_nmf_arguments(parser, with_ranks=with_ranks)


def partition(arguments: argparse.Namespace, draws: Draws, search: str = "auto") -> Estimate:
    """Return the estimate that the arguments name, or make it; ``search`` if they say nothing."""
    from partita.errors import InvalidValueError
    from partita.estimation import estimate

    if arguments.estimate is None:
        return estimate(
            draws,
            loss=arguments.loss,
            search=_factors.chosen(arguments, _search(arguments, search)),
            method=arguments.method,
            rng=arguments.seed,
            n_jobs=arguments.jobs,
            device=arguments.device,
        )
    how = arguments.loss or arguments.search or arguments.method or arguments.device
    if how or _factors.were_given(arguments):
        raise InvalidValueError(
            "`--estimate` gives the partition; `--loss`, `--search`, `--method`, `--ranks`, "
            "`--restarts`, `--polish` and `--device` say how to find one. Give either."
        )
    return _written.read_estimate(arguments.estimate)


def _search(arguments: argparse.Namespace, default: str) -> Any:
    return arguments.search or ("auto" if arguments.method else default)


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data behind the draws, and a truth."""
    about = parser.add_argument_group("what is known besides")
    about.add_argument("--data", help="a csv or tsv file of the data, an item a row, with a header")
    about.add_argument("--columns", help="columns to use, separated by commas; default: all")
    about.add_argument("--names", metavar="COLUMN", help="the column that names the items")
    model = parser.add_argument_group("what the draws were sampled under (predictive density)")
    model.add_argument(
        "--prior", choices=tuple(priors.NAMES), help="default: what the draws say, else independent"
    )
    model.add_argument("--df", type=float, help="degrees of freedom kappa0; default: columns")
    model.add_argument("--covariance", choices=priors.SHAPES, help="default: full")
    model.add_argument(
        "--partition", choices=tuple(partition_priors.NAMES), help="default: dirichlet"
    )
    about.add_argument("--truth", metavar="FILE", help="the known partition, as for compare")


def data(arguments: argparse.Namespace, draws: Draws) -> Any:
    """Return the table of data, a row for each item and in their order, or None."""
    from partita.errors import InvalidValueError

    if arguments.data is None:
        if arguments.names or arguments.columns:
            raise InvalidValueError(
                "`--names` and `--columns` are of `--data`, which is not given."
            )
        return None
    from partita.cli._data import read_table
    from partita.cli._match import order_of

    table = read_table(arguments, say=True)
    if len(table) != draws.n_items:
        raise InvalidValueError(
            f"{arguments.data!r} must have a row for each of the {draws.n_items:,} items of the "
            f"draws; it has {len(table):,}."
        )
    has_names = arguments.names and draws.item_names is not None
    order = order_of(list(table.index) if has_names else None, draws.item_names, "--data")
    return table if order is None else table.iloc[order]


def named(draws: Draws, table: Any, arguments: argparse.Namespace) -> Draws:
    """Return the draws, their items named by ``--names`` if they have no names of their own."""
    if not arguments.names or draws.item_names is not None:
        return draws
    return replace(draws, item_names=tuple(map(str, table.index)))


def command(words: list[str], **always: Any) -> str:
    """Return the words of a call for a shell, with the options that matter even if left out.

    Examples
    --------
    >>> command(["report", "my draws.csv", "--burn", "5"], burn=5, thin=1, prior=None)
    "partita report 'my draws.csv' --burn 5 --thin 1"
    """
    said = {word.partition("=")[0] for word in words}
    added = [
        part
        for name, value in always.items()
        if value is not None and f"--{name}" not in said
        for part in (f"--{name}", str(value))
    ]
    return "partita " + shlex.join([*words, *added])


def density(arguments: argparse.Namespace) -> Any:
    """Return what the predictive density has to know, or None."""
    given = {name: getattr(arguments, name) for name in ("prior", "df", "covariance", "partition")}
    return {name: value for name, value in given.items() if value is not None} or None


def truth(arguments: argparse.Namespace, draws: Draws) -> Any:
    """Return the known partition, or None."""
    if arguments.truth is None:
        return None
    from partita.cli import _labels

    return _labels.read("--truth", arguments.truth, draws.item_names)
