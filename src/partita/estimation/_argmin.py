"""Score what the searches offer and keep the least."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita import search as searches
from partita.errors import InvalidValueError, PartitaWarning
from partita.estimation._estimate import Estimate, Step
from partita.estimation._offers import Offers
from partita.estimation._scale import way_taken
from partita.estimation._weight import check_wanted, for_clusters, is_to_be_chosen
from partita.evidence import Evidence, as_evidence, can_serve
from partita.losses import VI, Loss, VILowerBound
from partita.nmf import OPEN
from partita.partitions import canonical, canonical_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.search import Candidate, Search
    from partita.typing import Seed

_PATH_LABELS = 20_000_000  # labels kept along a path, at most
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
) -> Estimate:
    """Return the partition of least expected loss among those that a search supplies (eq. 8).

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

    Returns
    -------
    Estimate
        Of the best partition found so far, with a warning and ``info["interrupted"]``, if Ctrl-C
        ends the search.

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
    with _nothing_yet():
        evidence = as_evidence(data, n_jobs=n_jobs)
        if data is not evidence:
            warn_of_disagreement(evidence)
    meant, search = checked(
        loss, search, method, n_clusters, time_limit, is_similarity=evidence.is_similarity
    )
    chosen = _servable(meant, evidence)
    seed = validate.seed(rng)
    parts = _usable(searches.resolve(search), evidence, is_auto=search == "auto")
    if time_limit is not None:
        parts = tuple(searches.limited(one, time_limit) for one in parts)
    if device is not None:
        parts = searches.placed(parts, device)

    if n_clusters is not None:
        validate.integer("n_clusters", n_clusters, most=evidence.n_items)
    said: dict[str, None] = {}

    with _nothing_yet(parts):
        if n_clusters is not None and is_to_be_chosen(chosen):
            deadline = np.inf if time_limit is None else began + time_limit
            found, about = for_clusters(
                chosen, n_clusters,
                lambda weighted: _minimise(parts, weighted, evidence, seed, n_jobs, said, deadline),
                deadline,
            )  # fmt: skip
            said = said if about is None else {about: None}
        else:
            found = _minimise(parts, chosen, evidence, seed, n_jobs, said, np.inf, n_clusters)
    said |= dict.fromkeys(_open_memberships(found))
    for one in said:
        warnings.warn(one, PartitaWarning, stacklevel=2)
    return found


def _open_memberships(found: Estimate) -> Iterator[str]:
    """Say where restarts of equal objective differ in an item's memberships."""
    if found.membership_spread is not None:
        many = int((found.membership_spread > OPEN).sum())
        if many:
            yield (
                f"The memberships of {validate.count_text(many, 'item')} are not determined: "
                f"restarts of equal objective differ in them by more than {OPEN:g} (see "
                "`membership_spread`). Fewer factors, or align_memberships(estimate, draws), give "
                "memberships that are."
            )


@contextmanager
def _nothing_yet(parts: tuple[Search, ...] = ()) -> Iterator[None]:
    """Say of Ctrl-C why there is no answer, and what gives these searches one sooner."""
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


def _minimise(
    parts: tuple[Search, ...], loss: Loss, evidence: Evidence, seed: int, n_jobs: int,
    said: dict[str, None], deadline: float, n_clusters: int | None = None,
) -> Estimate:  # fmt: skip
    """Keep the best of what the searches offer; what is there, if Ctrl-C ends them early.

    Only what has ``n_clusters`` clusters counts, if a number is given.

    Before a deadline each has the time that is left, and none but the first begins
    when there is none. To ``said`` is added what to warn of: Ctrl-C, and time that was too short.
    """
    children = np.random.SeedSequence(seed).spawn(len(parts))
    winners: list[_Winner] = []
    interrupted = False
    late: dict[str, None] = {}
    for part, child in zip(parts, children, strict=True):
        left = deadline - time.monotonic()
        if winners and left <= 0:
            late[_LATE] = None
            break
        own = part if left == np.inf else searches.limited(part, max(left, _LEAST))
        own = own if n_clusters is None else searches.exactly(own, n_clusters)
        try:
            winner = _best(own, loss, evidence, np.random.default_rng(child), n_jobs, n_clusters)
        except KeyboardInterrupt:
            if not winners:
                raise
            interrupted = True
            break
        if winner is not None:
            winners.append(replace(winner, search=part))
            if winner.was_cut_short:
                interrupted = True
                break
    if not winners:
        raise InvalidValueError(_none_of(parts, n_clusters))
    best = winners[0]
    for winner in winners[1:]:
        if _better(winner.loss, best.loss):
            best = winner
    if interrupted:
        said[_INTERRUPTED] = None
    found = _finish(best, loss, evidence, seed, n_jobs)
    late |= {winner.undone: None for winner in winners if winner.undone}
    said |= late
    ended = {"interrupted": interrupted, "cut_short": bool(late)}
    return replace(found, info={**found.info, **{k: v for k, v in ended.items() if v}})


def _none_of(parts: tuple[Search, ...], n_clusters: int | None) -> str:
    """Say that there was no candidate, and what has one."""
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


@dataclass(frozen=True, eq=False)
class _Winner:
    candidate: Candidate
    search: Search
    loss: float
    path: tuple[Step, ...]
    history: NDArray[np.float64]
    was_cut_short: bool = False
    undone: str | None = None


def _better(new: float, old: float) -> bool:
    """Whether a loss is lower by more than rounding, so that the first of equals is kept."""
    return new < old - 1e-12 * max(1.0, abs(old))


def _best(
    search: Search, loss: Loss, evidence: Evidence, rng: np.random.Generator, n_jobs: int,
    n_clusters: int | None = None,
) -> _Winner | None:  # fmt: skip
    best: Candidate | None = None
    least = np.inf
    steps: dict[int, Step] = {}
    kept = 0
    offers = Offers(search, loss, evidence, rng, n_jobs)
    cut_short = False
    began, came = time.monotonic(), []
    try:
        for candidate, value in offers.scored():
            is_wanted = n_clusters is None or len(np.unique(candidate.labels)) == n_clusters
            if is_wanted:
                came.append((time.monotonic() - began, value, 1.0))
            if is_wanted and (best is None or _better(value, least)):
                best, least = candidate, value
            rank = candidate.info.get("rank")
            if rank is not None and (
                rank not in steps or _better(value, steps[rank].expected_loss)
            ):
                soft = candidate.memberships
                kept += candidate.labels.size + (0 if soft is None else soft.size)
                steps[rank] = _step(candidate, value, keep_labels=kept <= _PATH_LABELS)
    except KeyboardInterrupt:
        if best is None:
            raise
        cut_short = True
    if best is None:
        return None
    path = tuple(steps[rank] for rank in sorted(steps))
    history = np.array([*best.info.get("history", ()), *came], dtype=np.float64)
    return _Winner(best, search, float(least), path, history, cut_short, offers.undone)


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


def _finish(best: _Winner, loss: Loss, evidence: Evidence, seed: int, n_jobs: int) -> Estimate:
    """Evaluate the winner once more, from scratch, so that what is reported is what it costs."""
    labels = canonical(best.candidate.labels)
    value = losses.expected(loss, labels[None, :], evidence, n_jobs=n_jobs)[0]
    about = best.candidate.info
    hidden = {"restart_labels", "restart_objectives", "history", "matrix", "membership_spread"}
    return Estimate(
        labels=labels,
        expected_loss=float(value),
        loss=loss,
        search=best.search,
        memberships=best.candidate.memberships,
        path=best.path,
        seed=seed,
        item_names=evidence.item_names,
        info={"evidence": way_taken(evidence, about.get("matrix"))}
        | {k: v for k, v in about.items() if k not in hidden},
        history=best.history,
        membership_spread=about.get("membership_spread"),
    )
