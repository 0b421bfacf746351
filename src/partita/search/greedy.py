"""Direct minimisation of the expected loss: a population of partitions, each the end of a descent.

What it does is told on one page, docs/searches.md, and done in the core (``src/core/search*``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from partita import _core, losses, validate
from partita.errors import InvalidTypeError
from partita.evidence import can_serve
from partita.parallel import Stop
from partita.partitions import canonical
from partita.search import _implicit, _representatives
from partita.search._common import Candidate, at_most
from partita.search._problem import Problem, Watch, check, problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.evidence import Evidence
    from partita.losses import Loss, RatioLoss
    from partita.typing import IntArray


LATE = (
    "`time_limit` was too short for all that the search would have tried; this is the best "
    "partition that it had found. Allow more seconds."
)

# Runs of the named algorithms: how many from starts of its own, and the moves of each.
_RUN: Mapping[str, Any] = {
    "merges": False, "n_members": 1, "recombined": 0.0, "joined": 0.0, "patience": 0,
}  # fmt: skip
RECIPES: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "population": (0, {}),
    "salso": (16, {**_RUN, "patience": 16}),
    "rastelli-friel": (8, _RUN),
    "wade-ghahramani": (0, {**_RUN, "merges": True, "patience": 16}),
    "lau-green": (0, _RUN),
    "polish": (0, {"n_members": 1, "recombined": 0.0}),
}
DESCENT: Mapping[str, Any] = {"patience": 0}


@dataclass(frozen=True, repr=False, eq=False)
class Greedy:
    """Minimise the expected loss itself: move items and whole clusters, and combine what is found.

    A descent starts from a partition and moves items, each to the cluster where the loss is least,
    then whole clusters, until nothing moves. The ends of descents are a population. Two of them
    are recombined: what both put together stays together, and these blocks are put together anew;
    or near clusters of one are emptied and their items allocated again. That goes on until
    nothing better comes for long enough. One seed gives one answer on any number of threads.

    Parameters
    ----------
    effort : float
        How much work is done before the search ends: 2 tries twice as long in vain, 0.1 is for a
        first look. The default is enough for most posteriors.
    max_clusters : int, optional
        At most this many clusters; n if None.
    n_clusters : int, optional
        Exactly this many clusters.
    starts : tuple of labels, estimates, or searches, optional
        Partitions to begin from, beside those that it makes itself: arrays of labels, estimates,
        names of searches such as ``"average"`` and ``"nmf-ls"``, or search objects, of which the
        best candidates are taken. No answer is worse than labels that are given.
    time_limit : float, optional
        Seconds after which the best so far is returned, with a warning if there was more to try.
    recipe : str
        ``"population"``, or the name of an algorithm of the literature, which is made of some of
        the same moves: ``"salso"``, ``"rastelli-friel"``, ``"wade-ghahramani"``, ``"lau-green"``.

    Notes
    -----
    Memory is 8·M·n bytes for the draws, 4·n² for how similar items are and, for each thread, about
    12·R·K of counts, with R the clusters of all draws and K those of a partition. For losses on the
    similarity it is 12·n² and, for each thread, 16·n·K.
    More than 5·10⁷ labels, or 10⁹ items x draws x clusters, are searched on representatives of the
    items; what is found there is extended to all items, which are then moved in rounds that never
    raise the loss.

    References
    ----------
    Dahl, Johnson & Müller (2022), Search algorithms and loss functions for Bayesian clustering,
    J. Comput. Graph. Stat. 31. Rastelli & Friel (2018), Optimal Bayesian estimators for latent
    variable cluster models, Statistics and Computing 28.

    Examples
    --------
    >>> import partita as pt
    >>> draws = pt.datasets.simulate_draws(40, 100, n_clusters=3, rng=1)
    >>> best = pt.estimate(draws, loss="vi", search=Greedy(effort=2), rng=0)
    >>> best.n_clusters
    3
    >>> best.expected_loss <= pt.estimate(draws, loss="vi", search="draws").expected_loss
    True
    """

    effort: float = 1.0
    max_clusters: int | None = None
    n_clusters: int | None = None
    starts: tuple[Any, ...] = ()
    time_limit: float | None = None
    recipe: str = field(default="population", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "effort", validate.real("effort", self.effort, low=0, open_low=True)
        )
        for name in ("max_clusters", "n_clusters"):
            if getattr(self, name) is not None:
                validate.integer(name, getattr(self, name), least=1)
        if self.n_clusters is not None and self.max_clusters is not None:
            validate.integer("n_clusters", self.n_clusters, most=self.max_clusters)
        if self.time_limit is not None:
            validate.real("time_limit", self.time_limit, low=0, open_low=True)
        validate.choice("recipe", self.recipe, RECIPES)
        object.__setattr__(self, "starts", tuple(map(_start, _several(self.starts))))

    def __repr__(self) -> str:
        """The constructor call, omitting arguments that have their default value."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        said = [
            f"{one.name}={_said(given[one.name])}"
            for one in fields(self)
            if (one.name == "starts" and self.starts)
            or (one.name != "starts" and given[one.name] != one.default)
        ]
        return f"Greedy({', '.join(said)})"

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Greedy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        """What tells one from another: all settings, labels by what they are."""
        return tuple(_comparable(getattr(self, one.name)) for one in fields(self))

    def candidates(
        self, evidence: Evidence, loss: Loss, *, rng: np.random.Generator, n_jobs: int
    ) -> Generator[Candidate, None, str | None]:
        """Yield the best partition found; labels that were given come first, as they are.

        Ctrl-C is raised after the best so far, where there is one. What is returned at the end
        says whether the time was too short.
        """
        scored, n = check(loss), evidence.n_items
        if self.n_clusters is not None:
            validate.integer("n_clusters", self.n_clusters, most=n)
        watch = Watch(Stop(self.time_limit))
        given = [validate.labels("starts", s, n_items=n) for s in self.starts if _is_labels(s)]
        held = evidence.searched(scored.needs)
        if _implicit.is_implicit(evidence):
            yield from _implicit.search(self, given, scored, evidence, rng, n_jobs, watch)
        elif held is None or _representatives.goes_in_rounds(scored, held):
            yield from _representatives.search(self, given, scored, evidence, rng, n_jobs, watch)
        else:
            for labels in given:
                yield Candidate(self.fitted(labels))
            yield from self.found(held, scored, given, rng, n_jobs, watch)
        if watch.interrupt is not None:
            raise watch.interrupt
        return LATE if watch.is_late else None

    def found(
        self, evidence: Evidence, loss: RatioLoss, given: list[IntArray], rng: np.random.Generator,
        n_jobs: int, watch: Watch,
    ) -> Generator[Candidate, None, None]:  # fmt: skip
        """Yield the best partition of evidence that is in memory, if there was time for any."""
        n = evidence.n_items
        limits = self.n_clusters or 1, self.n_clusters or self.max_clusters or n
        shared = problem(loss, evidence, limits)
        begin = [*given, *self._from_searches(loss, evidence, rng, watch.clock)]
        with watch.over() as stop:
            ends = self._ends(shared, begin, n, rng, stop, n_jobs)
            if shared.is_merged and ends:  # at last every item alone may move
                single = problem(loss, evidence, limits, merge=False)
                ends = single.descend([ends[0][0]], DESCENT, rng, stop) or ends
        if watch.is_late and not any(one.max() + 1 >= limits[0] for one, _ in ends[:1]):
            # whatever the time was too short for, there is an answer
            yield Candidate(np.minimum(np.arange(n), limits[0] - 1))
        for labels, _ in ends[:1]:
            value = float(losses.expected(loss, labels[None], evidence, n_jobs=n_jobs)[0])
            history = watch.history_to(value)
            yield Candidate(labels, expected_loss=value, info={"history": history})

    def _ends(
        self, shared: Problem, begin: list[IntArray], n: int, rng: np.random.Generator,
        stop: _core.Stop, n_jobs: int,
    ) -> list[tuple[NDArray[np.int64], float]]:  # fmt: skip
        """Where the search ends, or the runs of a named algorithm."""
        n_runs, settings = RECIPES[self.recipe]
        how = {**settings, "effort": self.effort}
        if self.recipe == "population":
            return shared.search(begin, how, rng, stop, n_jobs=n_jobs)
        ends = shared.descend(begin, how, rng, stop, n_jobs=n_jobs) if begin else []
        if n_runs or not begin:
            most = self.n_clusters or self.max_clusters or int(np.ceil(2 * np.sqrt(n)))
            own = [rng.integers(0, rng.integers(1, most + 1), n) for _ in range(max(1, n_runs))]
            anew = self.recipe == "salso"
            ends += shared.descend(own, how, rng, stop, anew=anew, n_jobs=n_jobs)
        return sorted(ends, key=_value)

    def fitted(self, labels: IntArray) -> IntArray:
        """The labels, their smallest clusters joined if they are more than allowed."""
        limit = self.n_clusters or self.max_clusters or labels.size
        return at_most(limit, canonical(labels))

    def _from_searches(
        self, loss: RatioLoss, evidence: Evidence, rng: np.random.Generator, clock: Stop
    ) -> list[IntArray]:
        """The best candidates of the searches that are starts, as far as there is time."""
        from partita.search import resolve  # the names of all searches, this one among them

        found: list[IntArray] = []
        parts = (part for s in self.starts if not _is_labels(s) for part in resolve(s))
        for one in parts:
            if not can_serve(getattr(one, "needs", "either"), evidence):
                continue
            left, limited = clock.left(), cast(Any, one)
            if left is not None and getattr(one, "time_limit", 0) is None:
                limited = replace(limited, time_limit=max(left, 1e-3))
            offered = list(limited.candidates(evidence, loss, rng=rng, n_jobs=1))
            if not offered:
                continue
            partitions = np.stack([each.labels for each in offered])
            values = losses.expected(loss, partitions, evidence)
            best = np.argsort(values, kind="stable")[:_BEST]
            found += [canonical(partitions[i]) for i in best]
        return found


_BEST = 3  # candidates of another search to begin from


def _value(end: tuple[NDArray[np.int64], float]) -> float:
    return end[1]


def _several(value: Any) -> Iterable[Any]:
    """The starts that were given as a tuple; one partition alone is not one."""
    if isinstance(value, str) or hasattr(value, "candidates"):
        return (value,)
    is_flat = isinstance(value, np.ndarray | list | tuple) and len(value)
    if np.ndim(getattr(value, "labels", 0)) == 1 or (
        is_flat and all(isinstance(one, int | float | np.number) for one in value)
    ):
        raise InvalidTypeError(
            "`starts` must be a tuple; got one partition alone. Put its labels into a tuple: "
            "starts=(labels,)."
        )
    if isinstance(value, Iterable):
        return value
    raise InvalidTypeError(f"`starts` must be a tuple; got {value!r}.")


def _start(value: Any) -> Any:
    """One start, checked: labels as an array, a name or a search as it is."""
    if isinstance(value, str):
        from partita.search import NAMES

        validate.choice("starts", value, NAMES)
        return value
    if hasattr(value, "candidates") and not isinstance(value, type):
        return value
    labels = getattr(value, "labels", value)
    if isinstance(labels, np.ndarray | list | tuple):
        return np.asarray(validate.labels("starts", labels))
    raise InvalidTypeError(
        f"`starts` must hold labels, estimates, names of searches or search objects; got {value!r}."
    )


def _is_labels(start: Any) -> bool:
    return isinstance(start, np.ndarray)


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(map(_comparable, value)) if isinstance(value, tuple) else value


def _said(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{len(value):,} labels>"
    if isinstance(value, tuple):
        return f"({', '.join(map(_said, value))}{',' if len(value) == 1 else ''})"
    return repr(value)
