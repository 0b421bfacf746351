"""Score what the searches offer and keep the least."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita import search as searches
from partita.draws import missing_text
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.estimation._estimate import Estimate, Step
from partita.estimation._way_taken import way_taken
from partita.estimation._weight import check_wanted, for_clusters, is_to_be_chosen
from partita.evidence import Evidence, as_evidence, can_serve
from partita.losses import VI, Loss, VILowerBound
from partita.nmf import OPEN
from partita.partitions import canonical, canonical_rows
from partita.search import Constraints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search import Candidate, Search
    from partita.typing import Seed

_PATH_LABELS = 20_000_000  # labels and memberships kept along a path, at most (160 MB)
_BATCH = 30_000_000  # labels of candidates evaluated together, at most (240 MB)
_LEAST = 1e-9  # seconds, of a search that begins when no time is left
_INTERRUPTED = "The search was interrupted; this is the best partition that it had found."
_LATE = "`time_limit` was too short for all of the searches. Allow more seconds."
_NOTHING_YET = (
    "no partition had been found yet, and nothing was written: the draws were still being read, or "
    "the first runs had not ended."
)


def estimate(
    data: Any,
    *,
    loss: Any = None,
    search: Any = "auto",
    method: str | None = None,
    rng: Seed = None,
    n_jobs: int | None = -1,
    n_clusters: int | None = None,
    time_limit: float | None = None,
    device: str | None = None,
    min_size: int | None = None,
    must_link: Any = None,
    cannot_link: Any = None,
    fixed: Any = None,
) -> Estimate:
    """Return the partition of least expected loss among those that a search supplies (equation 8).

    Parameters
    ----------
    data : Draws, Similarity or anything that can become draws
        Arrays, nested lists, DataFrames, a path. Wrap a matrix: ``Similarity(P)``.
    loss : str or Loss, optional
        A name of :data:`partita.losses.NAMES` or an object. If None, ``vi`` on draws and
        ``vi-lower-bound`` on a similarity.
    search : str, Search or list of them
        A name of :data:`partita.search.NAMES`, an object, or several whose candidates are pooled.
    method : str, optional
        A loss and a search together, as the paper names them: ``minbinder``, ``maxpear``,
        ``minvi`` (average linkage with ``binder``, ``pear``, ``vi-lower-bound``), ``medv``
        (complete linkage cut at 0.99) and ``map`` (the most frequent draw).
    rng : int, SeedSequence or Generator, optional
        One seed gives one answer on any number of threads.
    n_jobs : int
        Threads; -1, the default, is every core.
    n_clusters : int, optional
        Exactly this many clusters. A search without such a candidate says so. With the loss
        ``VI(a=None)`` or ``Binder(a=None)`` the weight is chosen instead, so that the estimate has
        this many clusters; the weight found is that of the estimate's ``loss``.
    time_limit : float, optional
        Seconds for each search, after which the best so far is returned; the same as the
        ``time_limit`` of a search. Where a weight is chosen, seconds for the whole call: each
        weight's searches get what is left of them.
    device : str, optional
        Where the NMF searches factorise: "cuda", "cuda:1", or with the library named,
        "torch:cuda", "cupy:cuda", "torch:cpu".
    min_size : int, optional
        No cluster of fewer items.
    must_link, cannot_link : list of pairs of items, optional
        Positions or names of two items that must, or must not, be together.
    fixed : array-like of shape (n,), optional
        Labels of items that are known, -1 where an item is free: two that are known are together
        exactly where their labels agree.

    Returns
    -------
    Estimate
        Of the best partition found so far, with a warning and ``info["interrupted"]``, if Ctrl-C
        ends the search. Under constraints ``info["constraint_cost"]`` is how much more it costs
        than what the same search finds without them, and without ``n_clusters``.

    Warns
    -----
    PartitaWarning
        If the draws come in two or more chains that contradict each other; see
        :func:`partita.diagnose`. If the ``time_limit`` of a search left some of its work undone,
        or was too short to find a weight for ``n_clusters``; ``info["cut_short"]`` is then True.
        If a weight was to be chosen and none gives ``n_clusters``; the estimate that came nearest
        is returned.

    Examples
    --------
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    >>> best = estimate(draws, loss="binder", search="draws")
    >>> best.labels
    array([0, 0, 1, 1])
    >>> round(best.expected_loss, 6)
    0.125
    """
    began = time.monotonic()
    n_jobs = validate.n_jobs(n_jobs)
    with _explained():
        evidence = as_evidence(data, n_jobs=n_jobs)
        if data is not evidence:
            warn_of_disagreement(evidence)
    meant, search = checked(
        loss, search, method, n_clusters, time_limit, is_similarity=evidence.is_similarity
    )
    chosen = _servable(meant, evidence)
    seed = validate.seed(rng)
    parts = _usable(searches.resolve(search), evidence, is_auto=search == "auto")
    parts = searches.adapted(parts, time_limit=time_limit, device=device)
    if n_clusters is not None:
        validate.integer("n_clusters", n_clusters, most=evidence.n_items)
    asked = _Asked(parts, evidence, seed, n_jobs, n_clusters)
    given = {
        "min_size": min_size,
        "must_link": must_link,
        "cannot_link": cannot_link,
        "fixed": fixed,
    }
    rules = _rules(given, evidence, chosen, n_clusters)
    with _explained(parts):
        if n_clusters is not None and is_to_be_chosen(chosen):
            deadline = np.inf if time_limit is None else began + time_limit
            free = replace(asked, n_clusters=None, deadline=deadline)
            found, said = for_clusters(
                chosen, n_clusters, lambda weighted: _minimise(weighted, free), deadline
            )
        elif rules is None:
            found, said = _minimise(chosen, asked)
        else:
            found, said = _kept_to(rules, chosen, asked)
    for one in dict.fromkeys([*said, *_open_memberships(found)]):
        warnings.warn(one, PartitaWarning, stacklevel=2)
    return found


def _rules(
    given: dict[str, Any], evidence: Evidence, loss: Loss, n_clusters: int | None
) -> Constraints | None:
    """The constraints, if there are any."""
    if all(value is None for value in given.values()):
        return None
    if n_clusters is not None and is_to_be_chosen(loss):
        raise InvalidValueError("Constraints must go with a loss of a known weight; got `a=None`.")
    return Constraints.of(evidence.n_items, evidence.item_names, n_clusters=n_clusters, **given)


def _kept_to(rules: Constraints, loss: Loss, asked: _Asked) -> tuple[Estimate, list[str]]:
    """The best partition under constraints, and what they cost."""
    free, said = _minimise(loss, replace(asked, n_clusters=None))
    found = free
    more: list[str] = []
    if rules.is_small or not rules.holds(free.labels):
        found, more = _minimise(loss, replace(asked, rules=rules, starts=(free.labels,)))
    cost = max(0.0, found.expected_loss - free.expected_loss)
    return replace(found, info={**found.info, "constraint_cost": cost}), [*said, *more]


def _open_memberships(found: Estimate) -> Iterator[str]:
    """Say where restarts of equal objective differ in an item's memberships."""
    if found.membership_spread is not None:
        many = int((found.membership_spread > OPEN).sum())
        if many:
            yield (
                f"The memberships of {validate.count_text(many, 'item')} at rank "
                f"{found.info['rank']} are not determined: fits that are equally good differ in "
                f"them by more than {OPEN:g} (see `membership_spread`). From draws, "
                "align_memberships(estimate, draws) gives memberships that are."
            )


@contextmanager
def _explained(parts: tuple[Search, ...] = ()) -> Iterator[None]:
    """Explain why Ctrl-C left no answer and how to get one sooner."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if interrupt.args:
            raise
        said = [_NOTHING_YET]
        if parts and all(hasattr(one, "time_limit") for one in parts):
            said.append("`time_limit` ends a search with the best so far.")
        factorises = any(isinstance(one, searches.NMF) for one in parts)
        fewer = (
            "Fewer `ranks` and restarts of NMF, or thinned draws," if factorises else "Fewer draws"
        )
        said.append(f"{fewer} give a first answer sooner.")
        raise KeyboardInterrupt(" ".join(said)) from None


@dataclass(frozen=True, eq=False)
class _Asked:
    """What is minimised over, apart from the loss; ``deadline`` is for all searches together."""

    searches: tuple[Search, ...]
    evidence: Evidence
    seed: int
    n_jobs: int
    n_clusters: int | None = None
    deadline: float = np.inf
    rules: Constraints | None = None
    starts: tuple[NDArray[np.int64], ...] = ()

    def admits(self, labels: Any) -> bool:
        """Whether a partition is one of those asked for."""
        if self.rules is not None:
            return self.rules.holds(labels)
        return self.n_clusters is None or len(np.unique(labels)) == self.n_clusters


@dataclass(eq=False)
class _Found:
    """What one search has offered so far: the best, the best of each rank, and how it ended."""

    search: Search
    asked: _Asked
    best: Candidate | None = None
    least: float = np.inf
    steps: dict[int, Step] = field(default_factory=dict)
    history: list[tuple[float, float, float]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    n_kept: int = 0
    undone: str | None = None
    interrupt: KeyboardInterrupt | None = None

    def take(self, offered: list[Candidate], taken: NDArray[np.float64], loss: Loss) -> None:
        """Keep a candidate if it is the best, or the best of its rank.

        ``taken`` are the losses of those for which the search has none.
        """
        bad = taken[~np.isfinite(taken)]
        if bad.size:
            raise InvalidValueError(
                f"`loss` must be finite; {losses.name_of(loss)} gave {bad[0]} for a candidate."
            )
        unknown = iter(taken.tolist())
        for one in offered:
            value = next(unknown) if one.expected_loss is None else one.expected_loss
            if self.asked.admits(one.labels):
                self.history.append((time.monotonic() - self.began, value, 1.0))
                if self.best is None or _better(value, self.least):
                    self.best, self.least = one, value
            self._keep_step(one, value)

    def _keep_step(self, candidate: Candidate, value: float) -> None:
        rank = candidate.info.get("rank")
        before = self.steps.get(rank) if rank is not None else None
        if rank is None or (before is not None and not _better(value, before.expected_loss)):
            return
        soft = candidate.memberships
        self.n_kept += candidate.labels.size + (0 if soft is None else soft.size)
        self.steps[rank] = _step(candidate, value, keep_labels=self.n_kept <= _PATH_LABELS)


def _minimise(loss: Loss, asked: _Asked) -> tuple[Estimate, list[str]]:
    """Return the best of what the searches offer, and what to warn of.

    Ctrl-C ends them with the best so far. Before a deadline each search has the time that is left,
    and none but the first begins when there is none.
    """
    children = np.random.SeedSequence(asked.seed).spawn(len(asked.searches))
    ends: list[_Found] = []
    said: list[str] = []
    for part, child in zip(asked.searches, children, strict=True):
        left = asked.deadline - time.monotonic()
        if any(end.best for end in ends) and left <= 0:
            said.append(_LATE)
            break
        limit = None if left == np.inf else max(left, _LEAST)
        (own,) = searches.adapted(part, time_limit=limit)
        own = own if asked.n_clusters is None else searches.exactly(own, asked.n_clusters)
        if asked.rules is not None:
            own = searches.constrained(own, asked.rules, asked.starts)
        ends.append(_Found(part, asked))
        _score(own, loss, asked, np.random.default_rng(child), ends[-1])
        if ends[-1].interrupt is not None:
            break
    best = ends[0]
    for end in ends[1:]:
        if best.best is None or (end.best is not None and _better(end.least, best.least)):
            best = end
    interrupt = ends[-1].interrupt
    if best.best is None:
        raise interrupt or InvalidValueError(_none_of(asked))
    said += [end.undone for end in ends if end.undone]
    ended = {"interrupted": interrupt is not None, "cut_short": bool(said)}
    found = _finish(best, best.best, loss, asked)
    found = replace(found, info={**found.info, **{k: v for k, v in ended.items() if v}})
    return found, [_INTERRUPTED, *said] if interrupt is not None else said


def _score(
    search: Search, loss: Loss, asked: _Asked, rng: np.random.Generator, found: _Found
) -> None:
    """Add to ``found`` what a search offers until it ends or Ctrl-C comes.

    Candidates whose loss the search does not know wait and are evaluated together.
    """
    evidence = asked.evidence
    waiting: list[Candidate] = []
    together = max(1, _BATCH // evidence.n_items)
    try:
        offered: Any = iter(search.candidates(evidence, loss, rng=rng, n_jobs=asked.n_jobs))
        is_full = is_over = False
        while not is_over:
            try:
                waiting.append(_checked_candidate(next(offered), search, evidence.n_items))
                is_full = waiting[-1].expected_loss is not None or len(waiting) == together
            except StopIteration as end:
                is_over, found.undone = True, end.value if isinstance(end.value, str) else None
            except KeyboardInterrupt as interrupt:  # what waits is evaluated before it is raised
                is_over, found.interrupt = True, interrupt
            if is_full or is_over:
                unknown = [one.labels for one in waiting if one.expected_loss is None]
                taken = np.empty(0)
                if unknown:
                    taken = losses.expected(loss, np.stack(unknown), evidence, n_jobs=asked.n_jobs)
                found.take(waiting, taken, loss)
                waiting, is_full = [], False
    except KeyboardInterrupt as interrupt:
        found.interrupt = interrupt


def _checked_candidate(candidate: Any, search: Search, n_items: int) -> Candidate:
    labels: Any = getattr(candidate, "labels", ())
    if np.shape(labels) != (n_items,):
        raise InvalidTypeError(
            f"A search must yield a Candidate with one label for each of the {n_items} items; "
            f"{searches.name_of(search)} yielded {candidate!r}."
        )
    found: Candidate = candidate
    return found


def _none_of(asked: _Asked) -> str:
    """Say that there was no candidate, and what has one."""
    parts, n_clusters = asked.searches, asked.n_clusters
    if asked.rules is not None:
        return (
            "no partition found that satisfies `min_size`, `must_link`, `cannot_link`, `fixed` and "
            "`n_clusters`. Ask for less, or use 'greedy', which mends what it finds."
        )
    if n_clusters is None:
        return "`search` must supply at least one candidate; it supplied none."
    names = ", ".join(repr(searches.name_of(one)) for one in parts)
    return (
        f"`search` must have a candidate with exactly `n_clusters` clusters; {names} had none with "
        f"{n_clusters}. Use 'greedy', which makes as many as are asked for."
    )


def warn_of_disagreement(evidence: Evidence, *, stacklevel: int = 3) -> None:
    """Warn once, before an answer, if the draws come in chains that contradict each other."""
    if not evidence.has_draws or evidence.draws.n_chains < 2:
        return
    from partita.diagnostics import disagreement  # chains alone need it

    if found := disagreement(evidence.draws):
        text = f"{found[0].upper()}{found[1:]} See partita.diagnose(draws)."
        warnings.warn(text, PartitaWarning, stacklevel=stacklevel)


def expected_loss(
    labels: Any, data: Any, *, loss: Any = None, n_jobs: int | None = -1
) -> float | NDArray[np.float64]:
    """Return the posterior expected loss of one partition, or of many.

    Parameters
    ----------
    labels : array-like of shape (n,) or (p, n), or Estimate
        One partition, or one a row.
    data : Draws, Similarity or anything that can become draws
    loss : str or Loss, optional
        ``vi`` on draws and ``vi-lower-bound`` on a similarity if None.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    float, or ndarray of shape (p,)

    Examples
    --------
    >>> expected_loss([0, 0, 1], [[0, 0, 1], [0, 1, 1]], loss="binder") == 2 / 9
    True
    >>> expected_loss([[0, 0, 1], [0, 0, 0]], [[0, 0, 1]], loss="omari")
    array([0., 1.])
    """
    n_jobs = validate.n_jobs(n_jobs)
    evidence = as_evidence(data, n_jobs=n_jobs)
    chosen = _servable(checked(loss, is_similarity=evidence.is_similarity)[0], evidence)
    partitions = validate.whole_numbers("labels", getattr(labels, "labels", labels))
    many = partitions.ndim == 2
    if partitions.ndim not in (1, 2) or partitions.shape[-1] != evidence.n_items:
        raise InvalidValueError(
            f"`labels` must have one label for each of the {evidence.n_items} items, in one row "
            f"or several; got shape {partitions.shape}."
        )
    if partitions.size == 0:
        return np.empty(0)
    values = losses.expected(chosen, np.atleast_2d(partitions), evidence, n_jobs=n_jobs)
    return values if many else float(values[0])


def checked(
    loss: Any = None,
    search: Any = "auto",
    method: str | None = None,
    n_clusters: int | None = None,
    time_limit: float | None = None,
    *,
    is_similarity: bool = False,
) -> tuple[Loss, Any]:
    """Return the loss and the search that are meant, or say what is wrong whatever the draws are.

    See :func:`estimate`.
    """
    if method is not None:
        if loss is not None or search != "auto":
            raise InvalidValueError(
                "`method` names a loss and a search together; give either it or them, not both."
            )
        loss, search = validate.lookup("method", method, searches.METHODS)
    if loss is None:
        loss = VILowerBound() if is_similarity else VI()
    loss = losses.resolve(loss)
    searches.resolve(search)
    if time_limit is not None:
        validate.real("time_limit", time_limit, low=0, open_low=True)
    check_wanted(loss, n_clusters)
    return loss, search


def _servable(loss: Loss, evidence: Evidence) -> Loss:
    """The loss, if the evidence is enough for it."""
    if not can_serve(loss.needs, evidence):
        if evidence.lacking is not None:
            what = f"`loss` {losses.name_of(loss)!r}"
            raise InvalidValueError(missing_text(what, evidence.lacking))
        raise InvalidValueError(
            f"`loss` {losses.name_of(loss)!r} needs the posterior draws and only a similarity "
            "was given; pass the draws, or use 'binder', 'vi-lower-bound' or 'pear'."
        )
    return loss


def _usable(parts: tuple[Search, ...], evidence: Evidence, *, is_auto: bool) -> tuple[Search, ...]:
    """Leave out of ``auto`` what needs draws that are not there; otherwise let it say so."""
    if not is_auto:
        return parts
    return tuple(p for p in parts if can_serve(getattr(p, "needs", "either"), evidence))


def _better(new: float, old: float) -> bool:
    """Whether a loss is lower by more than rounding, so that the first of equals is kept."""
    return new < old - 1e-12 * max(1.0, abs(old))


def _step(candidate: Candidate, value: float, *, keep_labels: bool) -> Step:
    labels = canonical_rows(np.asarray(candidate.labels)[None, :])[0]
    info = candidate.info
    return Step(
        rank=int(info["rank"]),
        n_clusters=int(labels.max()) + 1,
        expected_loss=value,
        objective=info.get("objective"),
        labels=labels if keep_labels else None,
        memberships=candidate.memberships if keep_labels else None,
        restart_labels=info.get("restart_labels"),
        restart_objectives=info.get("restart_objectives"),
    )


def _finish(end: _Found, best: Candidate, loss: Loss, asked: _Asked) -> Estimate:
    """Evaluate the winner once more, from scratch, so that what is reported is what it costs."""
    evidence, labels = asked.evidence, canonical(best.labels)
    value = losses.expected(loss, labels[None, :], evidence, n_jobs=asked.n_jobs)[0]
    about = best.info
    hidden = {"restart_labels", "restart_objectives", "history", "matrix", "membership_spread"}
    return Estimate(
        labels=labels,
        expected_loss=float(value),
        loss=loss,
        search=end.search,
        memberships=best.memberships,
        path=tuple(end.steps[rank] for rank in sorted(end.steps)),
        seed=asked.seed,
        item_names=evidence.item_names,
        info={"evidence": way_taken(evidence, about.get("matrix"))}
        | {k: v for k, v in about.items() if k not in hidden},
        history=np.array([*about.get("history", ()), *end.history], dtype=np.float64),
        membership_spread=about.get("membership_spread"),
    )
