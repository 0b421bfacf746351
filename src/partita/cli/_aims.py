"""What to estimate, from the shell: the loss, the search, and what is set of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from partita import losses, search, validate
from partita.cli import _common, _factors
from partita.errors import InvalidValueError


def add_arguments(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add them all, and return the group they are in."""
    what = parser.add_argument_group("what to estimate")
    what.add_argument(
        "--loss",
        metavar="NAME",
        help=f"default vi, on a similarity vi-lower-bound; one of {_list(losses.NAMES)}",
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
    return what


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    """What ``estimate`` is to be called with; what is wrong of it is an error at once."""
    from partita.estimation import checked

    _check_method(arguments)
    wanted = _factors.chosen(arguments, arguments.search or "auto")
    if arguments.max_clusters is not None or arguments.runs is not None:
        wanted = list(
            search.bounded(wanted, max_clusters=arguments.max_clusters, n_runs=arguments.runs)
        )
    few, wanted_k = arguments.max_clusters, arguments.clusters
    if few is not None and wanted_k is not None and wanted_k > few:
        raise InvalidValueError(
            f"--clusters must be at most --max-clusters, {few}; got {wanted_k}. Leave one out."
        )
    aims = {
        "loss": _loss(arguments),
        "search": wanted,
        "method": arguments.method,
        "n_clusters": arguments.clusters,
        "time_limit": arguments.time_limit,
    }
    checked(**aims, is_similarity=_is_matrix(arguments))
    return aims


def _is_matrix(arguments: argparse.Namespace) -> bool:
    """Whether the estimate is made of a similarity."""
    return bool(getattr(arguments, "similarity", None))


def _loss(arguments: argparse.Namespace) -> Any:
    """The loss, with the weight that was given."""
    if arguments.a is None:
        return arguments.loss
    if arguments.clusters is not None:
        raise InvalidValueError("--a is what --clusters chooses; give one of the two.")
    named = arguments.loss or ("vi-lower-bound" if _is_matrix(arguments) else "vi")
    loss: Any = losses.resolve(named)
    if not hasattr(loss, "a"):
        able = "binder" if _is_matrix(arguments) else "vi or binder"
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
