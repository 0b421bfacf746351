"""Run every method and print one row for each: K, every expected loss, seconds."""

from __future__ import annotations

import argparse

from partita.cli import _common


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita compare``."""
    _common.add_draws_arguments(parser)
    parser.add_argument(
        "--truth",
        metavar="FILE",
        help="a file with the known partition, one row of labels or one column, to score against",
    )
    parser.add_argument(
        "--method", action="append", metavar="NAME", help="only these; may be given several times"
    )
    _common.add_running_arguments(parser)
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compare and write."""
    from partita.comparison import compare

    draws = _common.read(arguments)
    table = compare(
        draws,
        truth=None if arguments.truth is None else _truth(arguments.truth),
        methods=arguments.method,
        rng=arguments.seed,
        n_jobs=arguments.jobs,
    )
    form = _common.form(arguments)
    if form == "csv":
        text = str(table.frame.to_csv())
    elif form == "json":
        text = _common.to_json(_common.records(table.frame))
    else:
        text = str(table)
    _common.write(text, arguments)


def _truth(path: str) -> object:
    """Return one partition from a file with one row or one column of labels."""
    from partita import io
    from partita.errors import InvalidValueError

    labels = io.read_table(path, orient="draws").labels
    if 1 not in labels.shape:
        raise InvalidValueError(
            f"`--truth` must be one row or one column of labels; {path} has shape {labels.shape}."
        )
    return labels.ravel()
