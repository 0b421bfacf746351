"""Run every method and print one row for each: K, every expected loss, seconds."""

from __future__ import annotations

import argparse

from partita.cli import _cluster, _common, _labels


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita compare``."""
    _common.add_draws_arguments(parser)
    _common.add_similarity_argument(parser)
    parser.add_argument(
        "--truth",
        metavar="FILE",
        help="the known partition to score against: a row or a column of labels, or an estimate "
        "that partita wrote",
    )
    parser.add_argument(
        "--method",
        action="append",
        metavar="NAME",
        help="only these rows of the table, such as minvi, nmf-kl or auto-vi; may be given "
        "several times",
    )
    _common.add_running_arguments(parser)
    _common.add_device_argument(parser, "where the NMF methods factorise")
    _cluster.add_scheduler_argument(
        parser, "its workers do the work, and read the draws if they are in a store"
    )
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compare and write."""
    from partita.comparison import compare

    form = _common.form(arguments)
    _cluster.check_device(arguments)
    truth = arguments.truth
    with _cluster.connected(arguments) as n_threads:
        data = _common.read_either(arguments)
        table = compare(
            data,
            truth=None if truth is None else _labels.read("--truth", truth, data.item_names),
            methods=arguments.method,
            rng=arguments.seed,
            n_jobs=n_threads or arguments.jobs,
            device=arguments.device,
        )
    if form == "csv":
        text = str(table.frame.to_csv())
    elif form == "json":
        text = _common.to_json(_common.records(table.frame))
    else:
        text = str(table)
    _common.write(text, arguments)
