"""Searches: ways of supplying candidate partitions for the argmin of equation 8.

One file a search; none imports another; what they share is in files whose names begin with ``_``.
``NAMES`` maps the public strings to values, ``METHODS`` the paper's names to a loss and a search;
to add a search, write one file and one line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, cast

from partita import validate
from partita.devices import resolve as resolve_device
from partita.errors import InvalidTypeError, InvalidValueError
from partita.losses import PEAR, Binder, Loss, VILowerBound, ZeroOne
from partita.search._common import Candidate, Search
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
    "Exact",
    "Greedy",
    "Linkage",
    "Medvedovic",
    "Portfolio",
    "Sampled",
    "Search",
    "Spectral",
    "limited",
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


def limited(search: Any, time_limit: float) -> Search:
    """Return a search that ends after ``time_limit`` seconds with the best so far."""
    if isinstance(search, str):
        (search,) = resolve(search)
    if isinstance(search, Portfolio):
        tiny = search.tiny and limited(search.tiny, time_limit)
        return replace(search, tiny=tiny, direct=limited(search.direct, time_limit))
    if not is_dataclass(search) or not hasattr(search, "time_limit"):
        able = "'auto', 'greedy', 'nmf-kl' and 'exact'"
        raise InvalidValueError(
            f"`time_limit` must go with a search that knows when to stop, such as {able}; got "
            f"{name_of(cast(Search, search))!r}."
        )
    changed: Any = replace(search, time_limit=time_limit)  # type: ignore[type-var]
    return cast("Search", changed)


def placed(searches: tuple[Any, ...], device: str | None) -> tuple[Search, ...]:
    """Return the searches, with those that can work on a device working on this one."""
    can = [is_dataclass(one) and hasattr(one, "device") for one in searches]
    if not any(can):
        raise InvalidValueError(
            "`device` must go with a search that can use one, an NMF such as 'nmf-kl'; got "
            f"{', '.join(repr(name_of(one)) for one in searches)}."
        )
    resolve_device(device)
    pairs = zip(searches, can, strict=True)
    return tuple(replace(one, device=device) if able else one for one, able in pairs)


def factorised(
    search: Any, *, ranks: Sequence[int] | None = None, n_init: int | None = None,
    polish: bool = False,
) -> tuple[Search, ...]:  # fmt: skip
    """Return the searches, those that are NMF with other ranks and restarts, or polished."""
    parts = resolve(search)
    given = {"ranks": ranks, "n_init": n_init, "polish": polish or None}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if changes and not any(isinstance(one, NMF) for one in parts):
        raise InvalidValueError(
            f"`{next(iter(changes))}` must go with a search that factorises, such as 'nmf-kl'; got "
            f"{', '.join(repr(name_of(one)) for one in parts)}."
        )
    return tuple(replace(one, **changes) if isinstance(one, NMF) else one for one in parts)


def bounded(
    search: Any, *, max_clusters: int | None = None, effort: float | None = None
) -> tuple[Search, ...]:
    """Return the searches with at most so many clusters, the greedy ones with so much effort.

    What ``auto`` does for most losses stands for it.
    """
    found: list[Any] = [p.direct if isinstance(p, Portfolio) else p for p in resolve(search)]
    names = ", ".join(repr(name_of(one)) for one in found)
    if max_clusters is not None:
        if not all(hasattr(one, "max_clusters") for one in found):
            raise InvalidValueError(
                "`max_clusters` must go with searches that can keep to it, such as 'greedy', "
                f"'average' and 'exact'; got {names}."
            )
        found = [replace(one, max_clusters=max_clusters) for one in found]
    if effort is not None:
        if not any(isinstance(one, Greedy) for one in found):
            raise InvalidValueError(
                f"`effort` must go with a greedy search, such as 'greedy' or 'salso'; got {names}."
            )
        found = [replace(one, effort=effort) if isinstance(one, Greedy) else one for one in found]
    return tuple(found)


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
        if _is_same(value, search) or (is_like and _is_same(limited(value, seconds), search)):
            return name
    return repr(search)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two searches are equal; one that starts from arrays is like no other."""
    try:
        return bool(one == other)
    except ValueError:  # an array compares item by item
        return False
