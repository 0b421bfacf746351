"""Write one HTML file about a partition: figures, items, methods, diagnostics, how to repeat it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from partita.cli import _cluster, _common, _partition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita report``."""
    _common.add_draws_arguments(parser)
    _partition.add_partition_arguments(parser)
    _partition.add_data_arguments(parser)
    parser.add_argument("--title", default="Clustering report")
    parser.add_argument(
        "--no-compare", action="store_true", help="leave out the other methods, which is quicker"
    )
    _common.add_running_arguments(parser)
    _cluster.add_scheduler_argument(parser, "its workers read the draws, if they are in a store")
    parser.add_argument(
        "-o", "--output", default="report.html", help="the file to write; default report.html"
    )


def run(arguments: argparse.Namespace) -> None:
    """Read, estimate and report."""
    from partita import io

    _cluster.check_device(arguments)
    io.check_place(arguments.output)
    with _cluster.connected(arguments, shares=False):
        path = _written(arguments)
    print(f"The report is {path}", file=sys.stderr)


def _written(arguments: argparse.Namespace) -> Any:
    from partita.reporting import report

    draws = _common.read(arguments)
    table = _partition.data(arguments, draws)
    draws = _partition.named(draws, table, arguments)
    known = _partition.truth(arguments, draws)
    best = _partition.partition(arguments, draws)
    return report(
        best,
        draws,
        arguments.output,
        table,
        known,
        comparison=False if arguments.no_compare else None,
        title=arguments.title,
        command=_partition.command(
            arguments.words,
            burn=arguments.burn,
            thin=arguments.thin,
            seed=best.seed,
            prior=None if table is None else arguments.prior or "independent",
        ),
        density=_partition.density(arguments),
        n_jobs=arguments.jobs,
    )
