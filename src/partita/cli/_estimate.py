"""Print the partition of least expected loss: a cluster for every item."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita import losses, search, validate
from partita.cli import _cluster, _common, _factors
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from partita.estimation import Estimate

_PROVED = ("is_optimal", "lower_bound", "gap")  # what an exact search knows
_SIZES = 40  # clusters whose sizes are listed above the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita estimate``."""
    _common.add_draws_arguments(parser)
    _common.add_similarity_argument(parser)
    what = parser.add_argument_group("what to estimate")
    what.add_argument(
        "--loss",
        metavar="NAME",
        help=f"default vi, with --similarity vi-lower-bound; one of {_list(losses.NAMES)}",
    )
    what.add_argument(
        "--a",
        type=float,
        help="the cost of splitting a true pair, from 0 to 2, in vi and binder; default 1; more "
        "gives fewer clusters",
    )
    what.add_argument(
        "--search",
        action="append",
        metavar="NAME",
        help="may be given several times, candidates are pooled; default auto; one of "
        f"{_list(search.NAMES)}",
    )
    what.add_argument(
        "--method",
        metavar="NAME",
        help=f"a loss and a search together; one of {_list(search.METHODS)}",
    )
    what.add_argument(
        "--clusters", type=int, metavar="K", help="weigh the loss (vi, binder) to give K clusters"
    )
    what.add_argument(
        "--max-clusters",
        type=int,
        metavar="K",
        help="at most K clusters (greedy, which auto then is, and its kin; average, complete, "
        "exact)",
    )
    what.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="independent runs of greedy, which auto then is, and its kin; default as many as pay",
    )
    _factors.add_nmf_arguments(parser)
    _common.add_time_limit_argument(
        parser, "for each search, with --clusters for all; the best so far is given"
    )
    what.add_argument("--save", metavar="FILE.npz", help="keep the whole estimate in a file too")
    _common.add_running_arguments(parser)
    _cluster.add_scheduler_argument(
        parser,
        "its workers do the work, and read the draws if they are in a store",
    )
    _common.add_output_arguments(parser)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def run(arguments: argparse.Namespace) -> None:
    """Estimate and write."""
    form = _common.form(arguments)
    from partita.estimation import estimate

    _cluster.check_device(arguments)
    _check_method(arguments)
    chosen = _factors.chosen(arguments, arguments.search or "auto")
    if arguments.max_clusters is not None or arguments.runs is not None:
        chosen = list(
            search.bounded(chosen, max_clusters=arguments.max_clusters, n_runs=arguments.runs)
        )
    factorises = any(isinstance(one, search.NMF) for one in search.resolve(chosen))
    shares = factorises and arguments.method is None
    with _cluster.connected(arguments, shares=shares) as n_threads:
        best = estimate(
            _common.read_either(arguments),
            loss=_loss(arguments),
            search=chosen,
            method=arguments.method,
            n_clusters=arguments.clusters,
            time_limit=arguments.time_limit,
            rng=arguments.seed,
            n_jobs=n_threads or arguments.jobs,
            device=arguments.device,
        )
    _common.write_all(
        lambda: save(best, arguments.save) if arguments.save else None,
        lambda: _common.write(text(best, form, arguments), arguments, summary(best)),
    )


def _loss(arguments: argparse.Namespace) -> Any:
    """The loss, with the weight that was given."""
    if arguments.a is None:
        return arguments.loss
    if arguments.clusters is not None:
        raise InvalidValueError("--a is what --clusters chooses; give one of the two.")
    named = arguments.loss or ("vi-lower-bound" if arguments.similarity else "vi")
    loss: Any = losses.resolve(named)
    if not hasattr(loss, "a"):
        able = "binder" if arguments.similarity else "vi or binder"
        raise InvalidValueError(
            f"--a must go with a loss that has a weight, {able}; got {named!r}."
        )
    return replace(loss, a=arguments.a)


def _check_method(arguments: argparse.Namespace) -> None:
    """Refuse what is said of a loss or search where a method has its own, which take none of it."""
    given = {
        "--a": arguments.a is not None,
        "--max-clusters": arguments.max_clusters is not None,
        "--runs": arguments.runs is not None,
        "--time-limit": arguments.time_limit is not None,
        "--ranks": arguments.ranks is not None,
        "--restarts": arguments.restarts is not None,
        "--polish": arguments.polish,
        "--device": arguments.device is not None,
    }
    words = [name for name, is_given in given.items() if is_given]
    if arguments.method is not None and words:
        validate.lookup("method", arguments.method, search.METHODS)
        raise InvalidValueError(
            f"--method {arguments.method} has a loss and a search of its own, which know no "
            f"{' and no '.join(words)}; leave out one or the other, or give --loss and --search."
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
