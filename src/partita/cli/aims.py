"""The options that say what to estimate, as the keywords of :func:`partita.estimate`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita import validate
from partita.errors import InvalidValueError

if TYPE_CHECKING:
    from partita.estimation import Estimate
    from partita.parameters import ClusterParameters

# Options that --method, a loss and a search with settings of their own, has no use for.
_SETTINGS = ("a", "max_clusters", "effort", "time_limit", "ranks", "n_init", "polish", "device")


def keywords(arguments: argparse.Namespace, search: str = "auto") -> dict[str, Any]:
    """Return what ``estimate`` is to be called with; what is wrong of it is an error at once.

    ``search`` is what stands for a search where neither it nor a method was given.
    """
    from partita import search as searches
    from partita.estimation import checked

    given = _given(arguments, _SETTINGS)
    if arguments.method is not None and given:
        validate.lookup("method", arguments.method, searches.METHODS)
        raise InvalidValueError(
            f"`method` {arguments.method} has a loss and a search of its own, which know no "
            f"{' and no '.join(f'`{name}`' for name in given)}; leave out one or the other, or "
            "give `loss` and `search`."
        )
    wanted: Any = arguments.search or ("auto" if arguments.method else search)
    few, exact = arguments.max_clusters, arguments.n_clusters
    how = {
        "ranks": arguments.ranks or None,
        "n_init": arguments.n_init,
        "polish": arguments.polish or None,
        "max_clusters": few,
        "effort": arguments.effort,
    }
    if any(value is not None for value in how.values()):
        wanted = list(searches.adapted(wanted, **how))
    if few is not None and exact is not None and exact > few:
        raise InvalidValueError(
            f"`n_clusters` must be at most `max_clusters`, {few}; got {exact}. Leave one out."
        )
    found = {
        "loss": _loss(arguments),
        "search": wanted,
        "method": arguments.method,
        "n_clusters": exact,
        "time_limit": arguments.time_limit,
    }
    checked(**found, is_similarity=bool(arguments.similarity))
    names = ("min_size", "must_link", "cannot_link", "fixed")
    rules = {n: getattr(arguments, n) for n in names if getattr(arguments, n) is not None}
    if "fixed" in rules:
        from partita.cli import reading

        rules["fixed"] = reading.labels("fixed", arguments.fixed)
    return {**found, **rules, "rng": arguments.seed, "device": arguments.device}


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Those of the options that were given; 0 is a value, too."""
    values = {name: getattr(arguments, name) for name in names}
    return [name for name, value in values.items() if value is not None and value is not False]


def _loss(arguments: argparse.Namespace) -> Any:
    """The loss, with the weight that was given."""
    if arguments.a is None:
        return arguments.loss
    from partita import losses

    named = arguments.loss or ("vi-lower-bound" if arguments.similarity else "vi")
    loss: Any = losses.resolve(named)
    if not hasattr(loss, "a"):
        able = "binder" if arguments.similarity else "vi or binder"
        raise InvalidValueError(
            f"`a` must go with a loss that has a weight, {able}; got {named!r}."
        )
    if arguments.a == "auto" and arguments.n_clusters is None:
        raise InvalidValueError("`a` auto is what gives `n_clusters`; give that, too.")
    return replace(loss, a=None if arguments.a == "auto" else arguments.a)


def partition(
    arguments: argparse.Namespace, draws: Any, search: str = "auto", *, but: str = ""
) -> Estimate:
    """Return the estimate that a file holds, or make it. ``but`` is an option that says neither."""
    from partita.estimation import Estimate, estimate

    if arguments.estimate is None:
        return estimate(draws, **keywords(arguments, search), n_jobs=arguments.n_jobs)
    names = ("loss", "search", "method", "n_clusters", *_SETTINGS)
    given = _given(arguments, [name for name in names if name != but])
    if given:
        raise InvalidValueError(
            "`estimate` names a file with the partition, and "
            f"{', '.join(f'`{name}`' for name in given)} would say how to find one. Give either."
        )
    return Estimate.load(arguments.estimate)


def parameters(arguments: argparse.Namespace, best: Any, draws: Any) -> ClusterParameters:
    """Return the parameters of the clusters of an estimate."""
    from partita.parameters import cluster_parameters

    if arguments.params is None:
        raise InvalidValueError("`params` must name the file of what the sampler kept.")
    dim = arguments.dim
    return cluster_parameters(
        best,
        draws,
        arguments.params,
        by=arguments.by,
        method=arguments.matching,
        dim=int(dim) if dim is not None and dim.lstrip("-").isdecimal() else dim,
        first_code=arguments.first_code,
    )


def model_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The model of the data, as far as it was given."""
    given = {name: getattr(arguments, name) for name in ("prior", "df", "covariance", "partition")}
    return {name: value for name, value in given.items() if value is not None}
