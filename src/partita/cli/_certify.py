"""Bound the expected Binder loss of every partition from below: how good can another be?

Without --labels, the partition that `partita estimate --loss binder` finds is judged.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita.cli import _common, _labels

if TYPE_CHECKING:
    from partita.certificates import Certificate


_NOT_PROVED = "the search for a partition to judge had not ended; give one by --labels."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita certify``."""
    _common.add_draws_arguments(parser)
    _common.add_similarity_argument(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="the partition to judge: a row or a column of labels, or an estimate that partita "
        "wrote; if not given, it is estimated first",
    )
    parser.add_argument(
        "--loss", metavar="NAME", default="binder", help="binder, the only one that has a bound"
    )
    parser.add_argument(
        "--a", type=float, default=1.0, help="the cost of splitting a true pair; default 1"
    )
    _common.add_time_limit_argument(parser, "for the bound; the best so far is given")
    _common.add_running_arguments(parser)
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Certify and write."""
    form = _common.form(arguments)
    from partita.certificates import binder_of, certify
    from partita.estimation import estimate

    loss = replace(binder_of(arguments.loss), a=arguments.a)
    data = _common.read_either(arguments)
    if arguments.labels is None:
        found = estimate(data, loss=loss, rng=arguments.seed, n_jobs=arguments.jobs)
        if found.info.get("interrupted"):
            raise KeyboardInterrupt(_NOT_PROVED)
        labels: Any = found.labels
    else:
        labels = _labels.read("--labels", arguments.labels, data.item_names)
    proof = certify(labels, data, loss=loss, time_limit=arguments.time_limit)
    _common.write(text(proof, form), arguments)


def text(proof: Certificate, form: str) -> str:
    """Return a certificate as words, CSV or JSON."""
    values = {
        "expected_loss": proof.expected_loss,
        "lower_bound": proof.lower_bound,
        "relative_gap": proof.relative_gap,
        "is_optimal": proof.is_optimal,
        "method": proof.method,
    } | ({"cut_short": True} if proof.cut_short else {})
    if form == "json":
        return _common.to_json(values)
    if form == "csv":
        return f"{','.join(values)}\n{','.join(map(str, values.values()))}"
    verdict = (
        "no partition is better"
        if proof.is_optimal
        else f"another is better by at most {100 * proof.relative_gap:.3g}%"
    )
    if proof.cut_short:
        verdict += " (cut short)"
    return (
        f"expected binder {proof.expected_loss:.6f}, lower bound {proof.lower_bound:.6f} "
        f"({proof.method}): {verdict}"
    )
