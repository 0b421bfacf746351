"""Say how sure the partition is: its credible ball, its items, its clusters, its loss.

Without --table, a summary (JSON: all of ball, clusters, n-clusters, error and items; CSV: items).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from partita import losses
from partita.cli import _cluster, _common
from partita.cli._partition import add_partition_arguments, partition

if TYPE_CHECKING:
    import pandas as pd

    from partita.draws import Draws
    from partita.estimation import Estimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita uncertainty``."""
    _common.add_draws_arguments(parser)
    add_partition_arguments(parser)
    how = parser.add_argument_group("what to say about it")
    how.add_argument("--table", choices=sorted(_TABLES), help="one table instead of a summary")
    how.add_argument(
        "--ball-loss",
        metavar="NAME",
        help="of the ball (default: what the partition was chosen by, or else vi) and of the modes "
        "(default vi)",
    )
    how.add_argument(
        "--prob", type=float, help="of the ball (default 0.95) and of the chips (default 0.9)"
    )
    how.add_argument("--modes", metavar="N", default="auto", help="how many modes; default auto")
    _common.add_running_arguments(parser)
    _cluster.add_scheduler_argument(parser, "its workers read the draws, if they are in a store")
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Judge and write."""
    _cluster.check_device(arguments)
    with _cluster.connected(arguments, shares=False):
        text = _judged(arguments)
    _common.write(text, arguments)


def _judged(arguments: argparse.Namespace) -> str:
    form = _common.form(arguments)
    if arguments.ball_loss is not None:
        losses.resolve_distance(arguments.ball_loss, name="ball_loss")
    draws = _common.read(arguments)
    if arguments.table is None and form != "csv":
        summary = _json if form == "json" else _text
        return summary(partition(arguments, draws), draws, arguments)
    make, needs_estimate = _TABLES[arguments.table or "items"]
    best = partition(arguments, draws) if needs_estimate else None
    return _common.frame_text(make(best, draws, arguments), form, arguments)


def _prob(arguments: argparse.Namespace, default: float) -> float:
    return default if arguments.prob is None else float(arguments.prob)


def _ball(best: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    from partita.uncertainty import credible_ball

    ball = credible_ball(
        best, draws, loss=arguments.ball_loss, prob=_prob(arguments, 0.95), n_jobs=arguments.jobs
    )
    frame = ball.to_frame()
    bounds = (ball.horizontal, ball.upper_vertical, ball.lower_vertical)
    frame = frame.loc[np.repeat(frame.index, [len(bound.labels) for bound in bounds])]
    labels = np.concatenate([bound.labels for bound in bounds])
    return pd.concat([frame.drop(columns="ties"), _columns(labels, draws, frame.index)], axis=1)


def _columns(labels: Any, draws: Draws, index: Any) -> pd.DataFrame:
    """Partitions as rows, a column for each item."""
    import pandas as pd

    from partita import io

    names = io.item_index(draws.item_names, draws.n_items).rename(None)
    return pd.DataFrame(labels, index=index, columns=names)


def _items(best: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import item_uncertainty

    return item_uncertainty(best, draws, n_jobs=arguments.jobs)


def _clusters(best: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import cluster_uncertainty

    return cluster_uncertainty(best, draws, n_jobs=arguments.jobs)


def _n_clusters(_: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import posterior_n_clusters

    return posterior_n_clusters(draws)


def _memberships(best: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import align_memberships

    return align_memberships(best, draws, n_jobs=arguments.jobs).to_frame()


def _error(best: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import loss_error

    return loss_error(best, draws, n_jobs=arguments.jobs).to_frame()


def _stability(best: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import stability

    return stability(best, draws, rng=arguments.seed, n_jobs=arguments.jobs)


def _modes(_: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    import pandas as pd

    from partita.uncertainty import summarize_modes

    number = arguments.modes
    modes = summarize_modes(
        draws,
        n_modes=int(number) if number.lstrip("-").isdigit() else number,
        loss=arguments.ball_loss or "vi",
        rng=arguments.seed,
        n_jobs=arguments.jobs,
    )
    frame = modes.to_frame()
    return pd.concat([frame, _columns(modes.labels, draws, frame.index)], axis=1)


def _chips(_: Any, draws: Draws, arguments: argparse.Namespace) -> pd.DataFrame:
    from partita.uncertainty import chips

    prob = _prob(arguments, 0.9)
    found = chips(draws, prob=prob, rng=arguments.seed, n_jobs=arguments.jobs)
    return found.to_frame()


_Make = Callable[[Any, "Draws", argparse.Namespace], "pd.DataFrame"]
_TABLES: dict[str, tuple[_Make, bool]] = {
    "ball": (_ball, True),
    "chips": (_chips, False),
    "clusters": (_clusters, True),
    "error": (_error, True),
    "items": (_items, True),
    "memberships": (_memberships, True),
    "modes": (_modes, False),
    "n-clusters": (_n_clusters, False),
    "stability": (_stability, True),
}
_SUMMARY = ("ball", "clusters", "n-clusters", "error", "items")


def _json(best: Estimate, draws: Draws, arguments: argparse.Namespace) -> str:
    tables = {name: _TABLES[name][0](best, draws, arguments) for name in _SUMMARY}
    return _common.to_json(
        {
            "n_clusters": best.n_clusters,
            "expected_loss": best.expected_loss,
            "loss": best.loss_name,
            "seed": best.seed,
            **{name: _common.records(frame) for name, frame in tables.items()},
        }
    )


def _text(best: Estimate, draws: Draws, arguments: argparse.Namespace) -> str:
    from partita.uncertainty import credible_ball, loss_error, posterior_n_clusters

    prob = _prob(arguments, 0.95)
    ball = credible_ball(best, draws, loss=arguments.ball_loss, prob=prob, n_jobs=arguments.jobs)
    error = loss_error(best, draws, n_jobs=arguments.jobs)
    items = _items(best, draws, arguments).sort_values("entropy", ascending=False)
    shown = items.drop(columns=["runner_up_similarity", "expected_vi"]).head(10)
    parts = [
        f"{best!r}\nMonte Carlo error: {error!r}",
        f"{ball!r}\n{_common.table(ball.to_frame())}",
        f"clusters\n{_common.table(_clusters(best, draws, arguments))}",
        f"posterior of the number of clusters\n{_common.table(posterior_n_clusters(draws))}",
        f"the items least sure of their place\n{_common.table(shown)}",
    ]
    return "\n\n".join(parts)
