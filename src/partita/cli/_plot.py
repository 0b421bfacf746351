"""Draw a figure of draws and their partition as png, svg or pdf."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from partita import plots
from partita.cli import _cluster, _common, _partition
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from partita.draws import Draws

SUFFIXES = (".png", ".svg", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita plot``."""
    parser.add_argument("kind", choices=tuple(plots.NAMES), help="which figure")
    _common.add_draws_arguments(parser)
    _partition.add_partition_arguments(parser, with_ranks=False)
    _partition.add_data_arguments(parser)
    how = parser.add_argument_group("the figure")
    how.add_argument("--order", choices=("estimate", "truth", "given"), help="of the items")
    how.add_argument("--style", default="stack", choices=("stack", "lines"), help="of memberships")
    how.add_argument("--ranks", dest="shown", help="of memberships-by-rank, separated by commas")
    how.add_argument("--rank", type=int, help="of reconstruction; default: the estimate's K")
    how.add_argument("--model", default="kl", help="of reconstruction; default kl")
    how.add_argument("--prob", type=float, default=0.95, help="of ball; default 0.95")
    how.add_argument("--dpi", type=float, default=150, help="of a png; default 150")
    _common.add_running_arguments(parser)
    _cluster.add_scheduler_argument(parser, "its workers read the draws, if they are in a store")
    parser.add_argument("-o", "--output", required=True, help="a .png, .svg or .pdf file")


def run(arguments: argparse.Namespace) -> None:
    """Draw and write."""
    import numpy as np

    from partita import io, validate
    from partita.plots._common import pyplot

    suffix = PurePath(arguments.output).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidValueError(
            f"--output must end in .png, .svg or .pdf; got {arguments.output!r}."
        )
    validate.real("--dpi", arguments.dpi, low=1, high=2_400)
    if arguments.rank is not None:
        validate.integer("--rank", arguments.rank, least=1)
    _cluster.check_device(arguments)
    io.check_place(arguments.output)
    plt = pyplot()
    plt.switch_backend("Agg")
    with _cluster.connected(arguments, shares=False):
        drawn = _DRAW[arguments.kind](_common.read(arguments), arguments)
    figure = np.atleast_1d(np.asarray(drawn, dtype=object))[0].get_figure()
    file = BytesIO()
    # The same figure is the same file: no date in it, and no random names of its parts.
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    with plt.rc_context({"svg.hashsalt": "partita"}):
        figure.savefig(file, format=suffix[1:], dpi=arguments.dpi, metadata=undated)
    with io.write_atomically(arguments.output) as out:
        out.write(file.getvalue())
    _common.say_where("The figure", arguments.output)


def _order(arguments: argparse.Namespace, default: str | None) -> Any:
    return arguments.order or default


def _similarity(draws: Draws, arguments: argparse.Namespace) -> Any:
    best = _partition.partition(arguments, draws)
    known = _partition.truth(arguments, draws)
    return plots.similarity(draws, best, truth=known, order=_order(arguments, "estimate"))


def _reconstruction(draws: Draws, arguments: argparse.Namespace) -> Any:
    from partita.nmf import factorize
    from partita.similarity import posterior_similarity

    best = _partition.partition(arguments, draws)
    fit = factorize(
        posterior_similarity(draws, n_jobs=arguments.jobs),
        model=arguments.model,
        rank=arguments.rank or best.n_clusters,
        rng=arguments.seed,
        n_jobs=arguments.jobs,
    )
    known = _partition.truth(arguments, draws)
    return plots.reconstruction(fit, draws, best, truth=known, order=_order(arguments, "estimate"))


def _memberships(draws: Draws, arguments: argparse.Namespace) -> Any:
    best = _partition.partition(arguments, draws)
    order = _order(arguments, "given")
    return plots.memberships(best, draws, order=order, style=arguments.style)


def _memberships_by_rank(draws: Draws, arguments: argparse.Namespace) -> Any:
    ranks = None
    if arguments.shown:
        words = arguments.shown.split(",")
        if not all(word.strip().isdigit() for word in words):
            raise InvalidValueError(
                f"--ranks must be whole numbers separated by commas; got {arguments.shown!r}."
            )
        ranks = [int(word) for word in words]
    best = _partition.partition(arguments, draws, search="nmf-kl")
    order = _order(arguments, "given")
    return plots.memberships_by_rank(best, ranks, draws, order=order, style=arguments.style)


def _loss(draws: Draws, arguments: argparse.Namespace) -> Any:
    return plots.loss_by_rank(_partition.partition(arguments, draws, search="nmf-kl"))


def _n_clusters(draws: Draws, arguments: argparse.Namespace) -> Any:
    return plots.n_clusters(draws, _partition.partition(arguments, draws))


def _scatter(draws: Draws, arguments: argparse.Namespace) -> Any:
    if arguments.data is None:
        raise InvalidValueError("--data must name the file of the data that scatter draws.")
    table = _partition.data(arguments, draws)
    best = _partition.partition(arguments, draws)
    return plots.scatter(table, best, draws, density=_partition.density(arguments))


def _ball(draws: Draws, arguments: argparse.Namespace) -> Any:
    from partita.uncertainty import credible_ball

    table = _partition.data(arguments, draws)
    best = _partition.partition(arguments, draws)
    ball = credible_ball(best, draws, prob=arguments.prob, n_jobs=arguments.jobs)
    return plots.credible_ball(ball, draws, data=table)


def _comparison(draws: Draws, arguments: argparse.Namespace) -> Any:
    from partita.comparison import compare

    known = _partition.truth(arguments, draws)
    table = compare(draws, rng=arguments.seed, n_jobs=arguments.jobs)
    return plots.comparison(table, draws, truth=known, order=_order(arguments, None))


def _traces(draws: Draws, arguments: argparse.Namespace) -> Any:
    return plots.traces(draws)


def _history(draws: Draws, arguments: argparse.Namespace) -> Any:
    return plots.search_history(_partition.partition(arguments, draws))


_DRAW: dict[str, Callable[[Draws, argparse.Namespace], Any]] = {
    "similarity": _similarity,
    "reconstruction": _reconstruction,
    "memberships": _memberships,
    "memberships-by-rank": _memberships_by_rank,
    "loss": _loss,
    "n-clusters": _n_clusters,
    "scatter": _scatter,
    "ball": _ball,
    "comparison": _comparison,
    "traces": _traces,
    "history": _history,
}
