"""``partita plot``: which data each figure takes, and the file that it goes to."""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from partita import io, plots, validate
from partita.cli import aims, cluster, reading, writing
from partita.cli.data import data_of_items
from partita.errors import FileError, InvalidValueError

if TYPE_CHECKING:
    pass

# The same figure is the same file: no date in it.
_UNDATED: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def plot(arguments: argparse.Namespace) -> None:
    """Draw a figure of draws and their partition as png, svg or pdf."""
    import numpy as np

    validate.real("dpi", arguments.dpi, low=1, high=2_400)
    if arguments.rank is not None:
        validate.integer("rank", arguments.rank, least=1)
    if arguments.kind == "scatter" and arguments.data is None:
        raise InvalidValueError("`data` must name the file of the data that scatter draws.")
    plt = plots.pyplot()
    plt.switch_backend("Agg")
    with cluster.connected(arguments):
        drawn = _draw(arguments.kind, reading.draws_or_similarity(arguments), arguments)
    figure = np.ravel(np.asarray(drawn, dtype=object))[0].get_figure()
    file, form = BytesIO(), PurePath(arguments.output).suffix.lower()[1:]
    try:
        with plt.rc_context({"svg.hashsalt": "partita"}):  # no random names of its parts either
            figure.savefig(file, format=form, dpi=arguments.dpi, metadata=_UNDATED.get(form))
    except ValueError as error:  # so says matplotlib of too many pixels and of too little memory
        raise FileError(f"{arguments.output!r} cannot be drawn: {error}.") from None

    def write(path: str) -> None:
        with io.write_atomically(path) as out:
            out.write(file.getvalue())

    writing.save(arguments.output, write, "The figure", arguments)


def _draw(kind: str, draws: Any, arguments: argparse.Namespace) -> Any:
    """Call the plot of that name."""
    known = reading.truth(arguments, draws.item_names)
    running = {"rng": arguments.seed, "n_jobs": arguments.n_jobs}
    order = arguments.order
    if kind == "traces":
        return plots.traces(draws)
    if kind == "choice":
        from partita.ensembles import choose_n_clusters

        return plots.choice(choose_n_clusters(draws, unobserved=arguments.unobserved, **running))
    if kind == "comparison":
        from partita.comparison import compare

        return plots.comparison(compare(draws, **running), draws, truth=known, order=order)
    if kind in ("modes", "chips", "sensitivity"):
        return _of_draws(kind, draws, running)
    table = data_of_items(arguments, draws)
    is_of_ranks = kind in ("memberships-by-rank", "loss")
    # Ranks of an estimate in a file are those to show.
    but = "ranks" if kind == "memberships-by-rank" else ""
    best = aims.partition(arguments, draws, "nmf-kl" if is_of_ranks else "auto", but=but)
    if kind == "similarity":
        return plots.similarity(draws, best, truth=known, order=order or "estimate")
    if kind == "reconstruction":
        from partita.nmf import factorize
        from partita.similarity import posterior_similarity

        psm = posterior_similarity(draws, n_jobs=arguments.n_jobs)
        rank = arguments.rank or best.n_clusters
        fit = factorize(psm, model=arguments.model, rank=rank, **running)
        return plots.reconstruction(fit, draws, best, truth=known, order=order or "estimate")
    how = {"order": order or "estimate", "style": arguments.style}
    if kind == "memberships":
        return plots.memberships(best, draws, **how)
    if kind == "memberships-by-rank":
        return plots.memberships_by_rank(best, arguments.ranks, draws, **how)
    if kind == "scatter":
        return plots.scatter(table, best, draws, density=aims.model_of(arguments) or None)
    if kind == "ball":
        from partita.uncertainty import credible_ball

        ball = credible_ball(best, draws, prob=arguments.prob, n_jobs=arguments.n_jobs)
        return plots.credible_ball(ball, draws, data=table)
    if kind == "parameters":
        return plots.parameters(aims.parameters(arguments, best, draws))
    if kind == "map":
        from partita.uncertainty import credible_ball

        ball = credible_ball(best, draws, prob=arguments.prob, n_jobs=arguments.n_jobs)
        return plots.posterior_map(draws, best, ball=ball)
    if kind == "alluvial":
        if known is None:
            raise InvalidValueError("`truth` must name the partition that alluvial goes to.")
        return plots.alluvial({"estimate": best, "truth": known})
    if kind in ("n-clusters", "dendrogram"):
        return plots.NAMES[kind](draws, best)
    return plots.NAMES[kind](best)


def _of_draws(kind: str, draws: Any, running: dict[str, Any]) -> Any:
    """Figures that need no estimate."""
    from partita import uncertainty

    if kind == "chips":
        return plots.chips(uncertainty.chips(draws, rng=running["rng"]))
    if kind == "modes":
        return plots.modes(uncertainty.summarize_modes(draws, **running))
    return plots.sensitivity(uncertainty.sensitivity(draws, **running))
