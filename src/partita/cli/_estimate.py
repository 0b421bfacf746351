"""Print the partition of least expected loss: a cluster for every item."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from partita import search, validate
from partita.cli import _aims, _cluster, _common

if TYPE_CHECKING:
    from partita.estimation import Estimate

_PROVED = ("is_optimal", "lower_bound", "gap")  # what an exact search knows
_SIZES = 40  # clusters whose sizes are listed above the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita estimate``."""
    _common.add_draws_arguments(parser)
    _common.add_similarity_argument(parser)
    what = _aims.add_arguments(parser)
    what.add_argument("--save", metavar="FILE.npz", help="keep the whole estimate in a file too")
    _common.add_running_arguments(parser)
    _cluster.add_scheduler_argument(
        parser,
        "its workers do the work, and read the draws if they are in a store",
    )
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Estimate and write."""
    form = _common.form(arguments)
    from partita.estimation import estimate

    _cluster.check_device(arguments)
    aims = _aims.chosen(arguments)
    factorises = any(isinstance(one, search.NMF) for one in search.resolve(aims["search"]))
    shares = factorises and arguments.method is None
    with _cluster.connected(arguments, shares=shares) as n_threads:
        best = estimate(
            _common.read_either(arguments),
            **aims,
            rng=arguments.seed,
            n_jobs=n_threads or arguments.jobs,
            device=arguments.device,
        )
    _common.write_all(
        lambda: save(best, arguments.save) if arguments.save else None,
        lambda: _common.write(text(best, form, arguments), arguments, summary(best)),
    )


def save(best: Estimate, path: str) -> None:
    """Keep the whole estimate in a file, and say so."""
    _common.write_or_keep(path, best.save)
    _common.say_where("The whole estimate", path)


def summary(best: Estimate) -> str:
    """What was found, in a few words."""
    clusters = validate.count_text(best.n_clusters, "cluster")
    return f"{clusters}, expected {best.loss_name} {best.expected_loss:.6f},"


def _proved(best: Estimate) -> str:
    """What an exact search proved."""
    if best.info["is_optimal"]:
        return "proved: no partition is better"
    if "gap" not in best.info:
        return "not proved to be the best"
    return (
        f"not proved to be the best: another is better by at most {best.info['gap']:.3g} "
        f"(lower bound {best.info['lower_bound']:.6f})"
    )


def text(best: Estimate, form: str, arguments: argparse.Namespace | None = None) -> str:
    """Return an estimate as a table, CSV or JSON."""
    from partita.estimation import is_plain

    frame = best.to_frame()
    if form == "csv":
        return str(frame.to_csv())
    if form == "json":
        return _common.to_json(
            {
                "n_clusters": best.n_clusters,
                "expected_loss": best.expected_loss,
                "loss": best.loss_name,
                "search": best.search_name,
                "seed": best.seed,
                "evidence": best.info.get("evidence"),
                "cut_short": bool(best.info.get("cut_short")),
                "interrupted": bool(best.info.get("interrupted")),
                **{name: best.info[name] for name in _PROVED if name in best.info},
                "sizes": best.sizes.tolist(),
                "items": _common.records(frame),
            }
        )
    sizes = ", ".join(map(str, best.sizes[:_SIZES]))
    if best.n_clusters > _SIZES:
        sizes += f" and {best.n_clusters - _SIZES:,} more"
    head = (
        f"{validate.count_text(best.n_clusters, 'cluster')}, sizes {sizes}\n"
        f"expected {best.loss_name} {best.expected_loss:.6f}, found by {best.search_name}, "
        f"seed {best.seed}\n"
    )
    if "is_optimal" in best.info:
        head += f"{_proved(best)}\n"
    said = best.info.get("evidence")
    if said and not is_plain(said):
        head += f"{said}\n"
    frame, more = _common.for_terminal(frame, arguments)
    return f"{head}\n{frame.to_string()}{more}"
