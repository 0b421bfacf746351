"""Searches: ways of supplying candidate partitions for the argmin of equation 8.

One file a search; none imports another; what they share is in files whose names begin with ``_``.
``NAMES`` maps the public strings to values, ``METHODS`` the paper's names to a loss and a search;
to add a search, write one file and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, cast

from partita import validate
from partita.devices import resolve as resolve_device
from partita.errors import InvalidTypeError, InvalidValueError
from partita.losses import PEAR, Binder, Loss, VILowerBound, ZeroOne
from partita.search._common import Candidate, Search
from partita.search._constrained import Constrained, Constraints
from partita.search._polish import polish
from partita.search.community import Community
from partita.search.exact import Exact
from partita.search.greedy import Greedy
from partita.search.linkage import Linkage
from partita.search.medvedovic import Medvedovic
from partita.search.nmf import NMF
from partita.search.portfolio import Portfolio
from partita.search.sampled import Sampled
from partita.search.spectral import Spectral

__all__ = [
    "METHODS",
    "NAMES",
    "NMF",
    "Candidate",
    "Community",
    "Constraints",
    "Exact",
    "Greedy",
    "Linkage",
    "Medvedovic",
    "Portfolio",
    "Sampled",
    "Search",
    "Spectral",
    "adapted",
    "name_of",
    "polish",
    "resolve",
]

NAMES: Mapping[str, Search | tuple[Search, ...]] = {
    "draws": Sampled(),
    "average": Linkage("average"),
    "complete": Linkage("complete"),
    "medvedovic": Medvedovic(),
    "nmf-ls": NMF("ls"),
    "nmf-kl": NMF("kl"),
    "nmf-ns": NMF("ns"),
    "nmf-offset": NMF("offset"),
    "nmf-symmetric": NMF("symmetric"),
    "greedy": Greedy(),
    "salso": Greedy(recipe="salso"),
    "rastelli-friel": Greedy(recipe="rastelli-friel"),
    "wade-ghahramani": Greedy(recipe="wade-ghahramani", starts=(Linkage("average"), Sampled(40))),
    "lau-green": Greedy(recipe="lau-green", starts=(Linkage("average"),)),
    "spectral": Spectral(),
    "community": Community(),
    "exact": Exact(),
    "auto": Portfolio(
        tiny=Exact(),
        direct=Greedy(),
        otherwise=(Linkage("average"), Sampled(max_candidates=1000)),
    ),
}

METHODS: Mapping[str, tuple[Loss | None, Search]] = {
    "minbinder": (Binder(), Linkage("average")),
    "maxpear": (PEAR(), Linkage("average")),
    "minvi": (VILowerBound(), Linkage("average")),
    "medv": (None, Medvedovic()),
    "map": (ZeroOne(), Sampled()),
}


def resolve(search: Any) -> tuple[Search, ...]:
    """Return the searches that a name, an object, or a list of them stands for."""
    if isinstance(search, str):
        found = validate.lookup("search", search, NAMES)
        return found if isinstance(found, tuple) else (found,)
    if isinstance(search, list | tuple):
        if not search:
            raise InvalidValueError("`search` must name at least one search; got an empty list.")
        return tuple(one for part in search for one in resolve(part))
    if isinstance(search, type) or not hasattr(search, "candidates"):
        raise InvalidTypeError(
            "`search` must be a name, a search object with a method `candidates`, or a list of "
            f"them; got {search!r}."
        )
    return (search,)


# What may be asked of searches: whether all of several must know it or one will do, and which do.
_ASKED: Mapping[str, tuple[Callable[[list[bool]], bool], str]] = {
    "time_limit": (
        all,
        "a search that knows when to stop, such as 'auto', 'greedy', 'nmf-kl' and 'exact'",
    ),
    "max_clusters": (
        all,
        "searches that can keep to it, such as 'greedy', 'average' and 'exact'",
    ),
    "effort": (any, "a greedy search, such as 'greedy' or 'salso'"),
    "device": (any, "a search that can use one, an NMF such as 'nmf-kl'"),
    "ranks": (any, "a search that factorises, such as 'nmf-kl'"),
    "n_init": (any, "a search that factorises, such as 'nmf-kl'"),
    "polish": (any, "a search that factorises, such as 'nmf-kl'"),
}


def adapted(search: Any, **asked: Any) -> tuple[Search, ...]:
    """Return the searches with other settings, those that have them; None leaves one as it is.

    Parameters
    ----------
    search : str, Search, or a list of them
    **asked
        Any of ``time_limit``, ``max_clusters``, ``effort``, ``device``, ``ranks``, ``n_init`` and
        ``polish``. Of ``auto``, what it does for most losses stands for it where it is told how
        many clusters or how much effort.
    """
    found: list[Any] = list(resolve(search))
    for name, value in asked.items():
        if value is None:
            continue
        if name in ("max_clusters", "effort"):
            found = [one.direct if isinstance(one, Portfolio) else one for one in found]
        enough, which = _ASKED[name]
        can = [is_dataclass(one) and hasattr(one, name) for one in found]
        if not enough(can):
            raise InvalidValueError(
                f"`{name}` must go with {which}; got {', '.join(repr(name_of(s)) for s in found)}."
            )
        if name == "device":
            resolve_device(value)
        found = [
            _changed(one, name, value) if is_able else one
            for one, is_able in zip(found, can, strict=True)
        ]
    return tuple(found)


def _changed(search: Any, name: str, value: Any) -> Any:
    """The search with another setting; of ``auto``, its parts for a few items and most losses."""
    if isinstance(search, Portfolio):
        tiny = search.tiny and _changed(search.tiny, name, value)
        return replace(search, tiny=tiny, direct=_changed(search.direct, name, value))
    return replace(search, **{name: value})


def constrained(search: Any, constraints: Constraints, starts: tuple[Any, ...]) -> Search:
    """Return a search under constraints, if it is one that can be; others as they are."""
    if isinstance(search, Portfolio | Greedy | Exact):
        is_exact = isinstance(search, Exact)
        limit = getattr(search, "time_limit", None)
        return Constrained(constraints, starts, is_exact, limit)
    return cast("Search", search)


def exactly(search: Any, n_clusters: int) -> Search:
    """Return a search for this many clusters, if it is one that can be told; others as they are."""
    if isinstance(search, Portfolio):
        return replace(search, tiny=None, direct=exactly(search.direct, n_clusters))
    if isinstance(search, Greedy):
        return replace(search, n_clusters=n_clusters)
    return cast("Search", search)


def name_of(search: Any) -> str:
    """Return the public name of a search, whatever its time limit or device, or else its repr."""
    if is_dataclass(search) and getattr(search, "device", None) is not None:
        search = replace(search, device=None)  # type: ignore[type-var]
    seconds: Any = getattr(search, "time_limit", None)
    for name, value in NAMES.items():
        is_like = seconds is not None and isinstance(value, type(search))
        if _is_same(value, search) or (
            is_like and _is_same(_changed(value, "time_limit", seconds), search)
        ):
            return name
    return repr(search)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two searches are equal; one that starts from arrays is like no other."""
    try:
        return bool(one == other)
    except ValueError:  # an array compares item by item
        return False
