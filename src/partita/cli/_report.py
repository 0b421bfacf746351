"""Write one HTML file about a partition: figures, items, methods, diagnostics, how to repeat it."""

from __future__ import annotations

import argparse
import shlex
import sys

from partita.cli import _common, _partition


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
    parser.add_argument(
        "-o", "--output", default="report.html", help="the file to write; default report.html"
    )


def run(arguments: argparse.Namespace) -> None:
    """Read, estimate and report."""
    from partita.reporting import report

    draws = _common.read(arguments)
    path = report(
        _partition.partition(arguments, draws),
        draws,
        arguments.output,
        _partition.data(arguments),
        _partition.truth(arguments),
        comparison=False if arguments.no_compare else None,
        title=arguments.title,
        command="partita " + shlex.join(arguments.words),
        density=_partition.density(arguments),
        n_jobs=arguments.jobs,
    )
    print(f"The report is {path}", file=sys.stderr)
