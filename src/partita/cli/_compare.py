"""Run every method and print one row for each: K, every expected loss, seconds."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any

from partita import io
from partita.cli import _common
from partita.errors import InvalidValueError, PartitaWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        "--method", action="append", metavar="NAME", help="only these; may be given several times"
    )
    _common.add_running_arguments(parser)
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Compare and write."""
    from partita.comparison import compare

    form = _common.form(arguments)
    table = compare(
        _common.read_either(arguments),
        truth=None if arguments.truth is None else read_truth(arguments.truth),
        methods=arguments.method,
        rng=arguments.seed,
        n_jobs=arguments.jobs,
    )
    if form == "csv":
        text = str(table.frame.to_csv())
    elif form == "json":
        text = _common.to_json(_common.records(table.frame))
    else:
        text = str(table)
    _common.write(text, arguments)


def read_truth(path: str) -> NDArray[Any]:
    """Return one partition: a row, a column, a column beside names, or a saved estimate."""
    if path.endswith(".npz") and "about" in (saved := io.read_npz(path)):
        return saved["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartitaWarning)
        try:
            labels = io.read_table(path).labels
        except InvalidValueError:
            labels = io.read_table(path, index=0).labels
        else:
            if labels.shape[1] == 2 and labels.shape[0] > 1:
                labels = io.read_table(path, index=0).labels
    if 1 not in labels.shape:
        raise InvalidValueError(
            "--truth must be one row or one column of labels, or names and labels in two "
            f"columns; {path!r} has {labels.shape[0]} rows and {labels.shape[1]} columns."
        )
    return labels.ravel()
