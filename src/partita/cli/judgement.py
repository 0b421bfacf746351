"""``partita uncertainty``: its tables, and a summary of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from partita import losses
from partita import uncertainty as verbs
from partita.cli import aims, cluster, reading, writing
from partita.cli.writing import Result, columns_of, records_of
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    pass

_SUMMARY = ("ball", "clusters", "n-clusters", "error", "items")
_OF_DRAWS = ("chips", "chips-clusters", "modes", "n-clusters", "sensitivity")  # need no estimate


_WITHOUT = (
    "Left out, since it needs draws with every label: the ball, the Monte Carlo error, the "
    "posterior of the number of clusters, the probability and the entropy of each item's place."
)


def uncertainty(arguments: argparse.Namespace) -> None:
    """Say how sure the partition is: its credible ball, its items, its clusters, its loss.

    Without --table, a summary (JSON: all of ball, clusters, n-clusters, error and items; CSV:
    items).
    """
    if arguments.ball_loss is not None:
        losses.resolve_distance(arguments.ball_loss, name="ball_loss")
    name = arguments.table or ("items" if arguments.format == "csv" else None)
    if arguments.labels is not None and arguments.table is not None:
        raise InvalidValueError("`labels` asks for a p-value and `table` for a table; give one.")
    with cluster.connected(arguments):
        draws = reading.draws_or_similarity(arguments)
        best: Any = None if name in _OF_DRAWS else aims.partition(arguments, draws)
        if arguments.labels is not None:
            found = _judged(best, draws, arguments)
        elif name is not None:
            found = Result(_table(name, best, draws, arguments))
        elif arguments.format == "json":
            about = {name: getattr(best, name) for name in ("n_clusters", "expected_loss")}
            about |= {"loss": best.loss_name, "seed": best.seed}
            names = _SUMMARY if _is_whole(draws) else ("items", "clusters")
            tables = {one: records_of(_table(one, best, draws, arguments)) for one in names}
            found = Result([], {**about, **tables})
        else:
            found = Result([], head=[_summary(best, draws, arguments)])
    writing.show(found, arguments)


def _is_whole(draws: Any) -> bool:
    """Whether there are draws with every label, not a similarity alone."""
    return getattr(draws, "labels", None) is not None and draws.observed is None


def _judged(best: Any, draws: Any, arguments: argparse.Namespace) -> Result:
    """The p-value of the partition in a file."""
    given = reading.labels("labels", arguments.labels, draws.item_names)
    p_value = _ball(best, draws, arguments).p_value(given)
    distance = float(losses.VI()(best.labels, given))
    head = [f"p-value {p_value:.3g}, variation of information to the estimate {distance:.4g} bits"]
    about = {"p_value": p_value, "vi_to_the_estimate": distance}
    is_table = arguments.format == "table"
    return Result([] if is_table else [(k, [v]) for k, v in about.items()], about, head=head)


def _summary(best: Any, draws: Any, arguments: argparse.Namespace) -> str:
    jobs = {"n_jobs": arguments.n_jobs}
    if not _is_whole(draws):
        items = verbs.item_uncertainty(best, draws, **jobs)
        tables = {
            f"{best!r}\n\nclusters": verbs.cluster_uncertainty(best, draws, **jobs),
            "the items least like the others of their cluster": items.sort_values(
                "own_similarity"
            ).head(10),
        }
        tables_said = (f"{head}\n{writing.table(columns_of(t))}" for head, t in tables.items())
        return "\n\n".join((*tables_said, _WITHOUT))
    ball, error = _ball(best, draws, arguments), verbs.loss_error(best, draws, **jobs)
    items = verbs.item_uncertainty(best, draws, **jobs)
    items = items.sort_values("entropy", ascending=False).head(10)
    tables = {
        f"{best!r}\nMonte Carlo error: {error!r}\n\n{ball!r}": ball.to_frame(),
        "clusters": verbs.cluster_uncertainty(best, draws, **jobs),
        "posterior of the number of clusters": verbs.posterior_n_clusters(draws),
        "the items least sure of their place": items.drop(
            columns=["runner_up_similarity", "expected_vi"]
        ),
    }
    return "\n\n".join(f"{head}\n{writing.table(columns_of(t))}" for head, t in tables.items())


def _ball(best: Any, draws: Any, arguments: argparse.Namespace) -> verbs.CredibleBall:
    prob = 0.95 if arguments.prob is None else arguments.prob
    return verbs.credible_ball(
        best, draws, loss=arguments.ball_loss, prob=prob, n_jobs=arguments.n_jobs
    )


def _table(name: str, best: Any, draws: Any, arguments: argparse.Namespace) -> writing.Columns:
    """One of the tables."""
    jobs = {"n_jobs": arguments.n_jobs}
    running = {"rng": arguments.seed, **jobs}
    if name == "ball":
        return _with_items(*_edges(_ball(best, draws, arguments)), draws)
    if name == "modes":
        loss = arguments.ball_loss or "vi"
        how = {"n_modes": arguments.n_modes, "method": arguments.modes_by, "loss": loss}
        modes = verbs.summarize_modes(draws, **how, **running)
        return _with_items(modes.to_frame(), modes.labels, draws)
    if name == "n-clusters":
        return columns_of(verbs.posterior_n_clusters(draws))
    if name in ("chips", "chips-clusters"):
        prob = 0.9 if arguments.prob is None else arguments.prob
        found = verbs.chips(draws, prob=prob, rng=arguments.seed)
        return columns_of(found.to_frame() if name == "chips" else found.clusters())
    if name == "sensitivity":
        return columns_of(verbs.sensitivity(draws, **running).frame.set_index("loss"))
    if name == "memberships":
        return columns_of(verbs.align_memberships(best, draws, **jobs).to_frame())
    if name == "error":
        return columns_of(verbs.loss_error(best, draws, **jobs).to_frame())
    if name == "stability":
        return columns_of(verbs.stability(best, draws, **running))
    of_estimate = {"items": verbs.item_uncertainty, "clusters": verbs.cluster_uncertainty}
    return columns_of(of_estimate[name](best, draws, **jobs))


def _edges(ball: verbs.CredibleBall) -> tuple[Any, Any]:
    """The bounds of a ball, a row for each tied partition, and those partitions."""
    import numpy as np

    bounds = (ball.horizontal, ball.upper_vertical, ball.lower_vertical)
    frame = ball.to_frame().drop(columns="ties")
    frame = frame.loc[np.repeat(frame.index, [len(bound.labels) for bound in bounds])]
    return frame, np.concatenate([bound.labels for bound in bounds])


def _with_items(frame: Any, labels: Any, draws: Any) -> writing.Columns:
    """A frame of partitions with a column for each item."""
    names = range(draws.n_items) if draws.item_names is None else draws.item_names
    columns = zip(map(str, names), labels.T.tolist(), strict=True)
    return [*columns_of(frame), *columns]
