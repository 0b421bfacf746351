"""Say whether the draws can be trusted: whether the chains agree and are long enough.

CSV is the table of R-hat and effective sample sizes; --trace is the trace of K instead.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from partita.cli import _cluster, _common, _written

if TYPE_CHECKING:
    from partita.diagnostics import Diagnosis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita diagnose``."""
    _common.add_draws_arguments(parser)
    what = parser.add_argument_group("what to look at")
    what.add_argument("--loss", metavar="NAME", default="vi", help="to the estimate; default vi")
    what.add_argument(
        "--estimate",
        metavar="FILE",
        help="what `partita estimate --save FILE.npz` kept, or what `-o FILE.json` wrote",
    )
    what.add_argument("--pairs", type=int, default=10, help="pairs of items to follow, at most")
    what.add_argument("--trace", action="store_true", help="the trace of K, a row a draw")
    what.add_argument("--jobs", type=int, default=-1, help="threads; -1, the default: all cores")
    _cluster.add_scheduler_argument(parser, "its workers read the draws, if they are in a store")
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Diagnose and write."""
    from partita.diagnostics import diagnose

    with _cluster.connected(arguments, shares=False):
        found = diagnose(
            _common.read(arguments),
            None if arguments.estimate is None else _written.read_estimate(arguments.estimate),
            loss=arguments.loss,
            n_pairs=arguments.pairs,
            n_jobs=arguments.jobs,
        )
    form = _common.form(arguments)
    if arguments.trace:
        text = _common.frame_text(found.trace_frame().set_index("chain"), form)
    elif form == "json":
        text = _json(found)
    elif form == "csv":
        text = str(found.frame.to_csv())
    else:
        text = str(found)
    _common.write(text, arguments)


def _json(found: Diagnosis) -> str:
    return _common.to_json(
        {
            "trusted": found.trusted,
            "verdict": found.verdict,
            "disagreements": list(found.disagreements),
            "shortages": list(found.shortages),
            "notes": list(found.notes),
            "gap": asdict(found.gap),
            "quantities": _common.records(found.frame),
        }
    )
