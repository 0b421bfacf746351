"""Direct minimisation of the expected loss, an item at a time."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.search._common import Candidate
from partita.search._greedy_clock import Clock
from partita.search._greedy_kinds import STARTS
from partita.search._greedy_run import MOVES
from partita.search._greedy_search import PATIENCE, search_greedily
from partita.search._greedy_starts import KINDS

if TYPE_CHECKING:
    from partita.evidence import Evidence
    from partita.losses import Loss


_OF_RUNS = ("n_runs", "starts", "moves", "patience", "max_draws")
_LATE = (
    "`time_limit` was too short for all that the search would have tried; this is the best "
    "partition that it had found. Allow more seconds."
)


@dataclass(frozen=True, repr=False, eq=False)
class Greedy:
    """Minimise the expected loss directly: move items, and merge, rebuild and split clusters.

    A run starts from a partition and sweeps: items in random order, each put into the cluster
    where the loss is least, a new one included, until none moves. Then pairs of clusters are
    merged where that helps, and clusters are emptied and their items allocated anew, split, or
    taken over from a draw, again and again, until ``patience`` times K (6 to 24) attempts in a row
    were in vain; at last several items are moved together. Every total is kept up to date, never
    recomputed, and checked once at the end.

    Memory is 4·M·n bytes for the draws, 2·n² for how similar items are (up to 10,000, and 32 for
    each draw; 6·n² while they are made) and, for each run in parallel, 2·M·K_draw·K bytes of
    counts (4 beyond 65,535 items) and 4·n·K of sums of similarities, twice that while K grows
    (K_draw clusters in a draw, K the most that a run has room for on its way, which may be many
    more than it ends with: 10,000 draws of 400 items in two modes and 19 clusters each took 96 MiB
    for NID, 187 for VI). For losses on the similarity it is 8·n² and 8·n·K. Short runs that are
    made in one call have room for K up to n.
    More than 5e7 labels are searched on landmarks, beyond 5,000 items: what is found there is
    extended to all items, which are then moved on together, in rounds that never raise the loss.
    Where clusters are so many that counts would be more than 3e8, or a sweep more than 1e9 steps,
    the rounds begin at the draw nearest to the others, with 8 bytes for each cell of the tables
    that is not empty, at most 8·M·n; what was said of runs is then not used, which is a warning.

    Parameters
    ----------
    n_runs : int, optional
        Independent runs, going round ``starts``. If None, as many as pay for this number of items
        and draws, the best of them carried further.
    max_clusters : int, optional
        At most this many clusters; n if None.
    starts : tuple of str, labels, estimates or searches
        ``"sequential"`` (allocation in random order), ``"random"``, ``"draws"`` (the best of
        some, then the best of what is far from it), ``"average"`` and ``"complete"`` (the best
        cuts of a dendrogram), ``"losses"`` (the minimisers of losses that are cheap to minimise),
        ``"nmf"`` (the best partitions of factorisations of ranks 2 to 12), ``"one"`` cluster,
        ``"singletons"``; an array of labels, or an estimate for its own; or another search, whose
        best candidates are taken.
        No answer is worse than labels that are given. If n_runs is None those of the first kinds
        come first, and the others only where these do not agree or are quick.
    time_limit : float, optional
        Seconds after which the best so far is returned, with a warning if there was more to try.
        Starts that need a matrix of similarities are left out where making it would take them all.
        The first use in an environment compiles loops, in a process loads them, which counts.
    moves : tuple of str
        Some of ``"sweep"``, ``"merge"``, ``"rebuild"``, ``"split"``, ``"graft"`` (take a cluster
        over from a draw, or what is similar to an item, and let the rest settle) and ``"chain"``
        (at last move several items into a cluster where only several together pay; under losses on
        the similarity merge two clusters for a trial instead).
    patience : float
        Attempts in vain, in multiples of K, before rebuilding, splitting and grafting stop. Where
        n_runs is None and the starts disagree, twice as many for OMARI and PEAR; half as many
        for NVI, ID and NID of up to 250,000 items times draws, unless the first runs end in many
        places. Where they agree, half as many up to 8 clusters and, but for those three at such
        sizes, twice as many beyond 24, and twice that for OMARI and PEAR.
    max_draws : int, optional
        Search on this many draws, and polish what is found on all. If None, 150 at first (all of up
        to 50,000 items times draws) and then 250 to 1,500 where n_runs is None, else all.

    References
    ----------
    Dahl, Johnson & Müller (2022), Search algorithms and loss functions for Bayesian clustering,
    J. Comput. Graph. Stat. 31. Rastelli & Friel (2018), Optimal Bayesian estimators for latent
    variable cluster models, Statistics and Computing 28.

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(40, 100, n_clusters=3, rng=1)
    >>> best = pt.estimate(draws, loss="vi", search=Greedy(n_runs=4), rng=0)
    >>> best.n_clusters
    3
    >>> best.expected_loss <= pt.estimate(draws, loss="vi", search="draws").expected_loss
    True
    """

    n_runs: int | None = None
    max_clusters: int | None = None
    starts: tuple[Any, ...] = STARTS
    time_limit: float | None = None
    moves: tuple[str, ...] = MOVES
    patience: float = PATIENCE
    max_draws: int | None = None

    def __post_init__(self) -> None:
        for name in ("n_runs", "max_clusters", "max_draws"):
            if getattr(self, name) is not None:
                validate.integer(name, getattr(self, name), least=1)
        if self.time_limit is not None:
            validate.real("time_limit", self.time_limit, low=0, open_low=True)
        validate.real("patience", self.patience, low=0)
        for name in ("starts", "moves"):
            object.__setattr__(self, name, _several(name, getattr(self, name)))
        for name, what in (("starts", "start"), ("moves", "move")):
            if not getattr(self, name):
                raise InvalidValueError(f"`{name}` must name at least one {what}; got none.")
        for move in self.moves:
            validate.choice("moves", move, MOVES)
        for start in self.starts:
            _check_start(start)

    def __repr__(self) -> str:
        said = [
            f"{f.name}={_said(getattr(self, f.name))}" for f in fields(self) if _is_set(self, f)
        ]
        return f"Greedy({', '.join(said)})"

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Greedy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        """What tells one from another: all settings, labels by what they are."""
        return tuple(_comparable(getattr(self, f.name)) for f in fields(self))

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Generator[Candidate, None, str | None]:
        """Yield the partition that each run ended with, or the best of them.

        Ctrl-C is raised after the best so far, where there is one. What is returned at the end
        says whether the time was too short.
        """
        clock = Clock(self.time_limit)
        for one in search_greedily(self, evidence, loss, rng, n_jobs, clock):
            if one.info.get("many_clusters"):
                self._warn_of_unused()
            yield one
        return _LATE if clock.has_ended_work else None

    def _warn_of_unused(self) -> None:
        """Say what was asked for and changes nothing where clusters are many."""
        plain = Greedy()
        unused = [name for name in _OF_RUNS if not _is_same(self, plain, name)]
        if unused:
            warnings.warn(
                f"{', '.join(f'`{name}`' for name in unused)}: not used, since these draws have so "
                "many clusters that the search is made in rounds from the draw nearest to the "
                "others. `max_clusters`, `time_limit` and labels given as a start are used.",
                PartitaWarning,
                stacklevel=3,
            )


def _is_set(search: Greedy, field: Field[Any]) -> bool:
    """Whether a setting is another than it would be by itself."""
    value = getattr(search, field.name)
    if isinstance(value, tuple) and any(not isinstance(one, str) for one in value):
        return True
    return bool(value != field.default)


def _comparable(value: Any) -> Any:
    """A setting as something that can be compared: labels as a tuple of them."""
    if isinstance(value, np.ndarray | list):
        return tuple(np.asarray(value).tolist())
    return tuple(map(_comparable, value)) if isinstance(value, tuple) else value


def _said(value: Any) -> str:
    """A setting in a few words: labels by their number."""
    if isinstance(value, np.ndarray | list):
        return f"<{len(value):,} labels>"
    if isinstance(value, tuple):
        return f"({', '.join(map(_said, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _is_same(one: Greedy, other: Greedy, name: str) -> bool:
    """Whether a setting is; labels given as a start are used, so they do not count."""
    values = [getattr(each, name) for each in (one, other)]
    if name == "starts":
        values[0] = tuple(x for x in values[0] if not isinstance(x, np.ndarray | list))
        return not values[0] or values[0] == values[1]
    return bool(values[0] == values[1])


def _several(name: str, value: Any) -> tuple[Any, ...]:
    """The starts or moves that were given as a tuple; one partition alone is not one."""
    if isinstance(value, str):
        return (value,)
    if np.ndim(getattr(value, "labels", 0)) == 1 or (
        isinstance(value, np.ndarray | list | tuple)
        and len(value)
        and all(isinstance(one, int | float | np.number) for one in value)
    ):
        raise InvalidTypeError(
            f"`{name}` must be a tuple; got one partition alone. Put its labels into a tuple: "
            f"{name}=(labels,)."
        )
    if not isinstance(value, Iterable):
        raise InvalidTypeError(f"`{name}` must be a tuple; got {value!r}.")
    return tuple(map(_labels_of, value))


def _labels_of(start: Any) -> Any:
    """The labels of an estimate, or of what else has a partition; another start as it is."""
    if isinstance(start, tuple):
        return np.asarray(start)
    has_them = hasattr(start, "labels") and not hasattr(start, "candidates")
    return np.asarray(start.labels) if has_them else start


def _check_start(start: Any) -> None:
    if isinstance(start, str):
        try:
            validate.choice("starts", start, KINDS)
        except InvalidValueError as error:
            raise InvalidValueError(
                f"{error} Another search is passed as an object, such as search.Spectral()."
            ) from None
    elif hasattr(start, "candidates") and not isinstance(start, type):
        return
    elif isinstance(start, np.ndarray | list):
        validate.labels("starts", start)
    else:
        raise InvalidTypeError(
            "`starts` must hold names, labels, estimates or search objects with a method "
            f"`candidates`; got {start!r}."
        )
