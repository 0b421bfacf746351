"""What the slider over K goes along: a partition and memberships for each K."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita import search as searches
from partita.draws import Draws, representative
from partita.estimation import Estimate, Step, expected_loss
from partita.estimation import estimate as find
from partita.evidence import as_evidence
from partita.losses import VI
from partita.nmf import OPEN
from partita.partitions import canonical
from partita.plots._canvas import some_of
from partita.plots._palette import column_numbers
from partita.similarity import Similarity
from partita.uncertainty import align_memberships

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 12  # positions of the slider
_CUT_ITEMS = 6_000  # items up to which a dendrogram is cut
_SCORED = 400  # draws that are scored where it is not
_ALIGNED = 1_000  # draws that memberships are taken from


@dataclass(frozen=True, eq=False)
class Position:
    """One position of the slider; ``numbers`` are those, hence colours, of the columns."""

    rank: int
    expected_loss: float
    labels: NDArray[np.int64]
    memberships: NDArray[np.float64]
    numbers: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Steps:
    """Positions in order of K, which of them is the estimate, and what they are in words.

    Every position has the same loss, ``loss_name``: the estimate's, unless a file knew that by
    name alone and there is no path that was scored by it. ``note`` says what memberships rest on.
    """

    positions: tuple[Position, ...]
    chosen: int
    source: str
    loss_name: str
    note: str = ""


def steps_of(best: Estimate, draws: Draws | Similarity, *, n_jobs: int) -> Steps:
    """Return the estimate's own path or, where it has none, one for comparison."""
    own = {step.rank: step for step in best.path if step.labels is not None}
    loss = own_loss(best)
    name = best.loss_name if own else losses.name_of(loss)
    if own:
        found, source = own, f"the path of {best.search_name}"
    elif draws.n_items <= _CUT_ITEMS:
        most = max(_MOST, best.n_clusters + 3)
        cut = searches.Linkage("average", max_clusters=most)
        cuts = find(as_evidence(draws, n_jobs=n_jobs), loss=loss, search=cut, n_jobs=n_jobs)
        found = {step.rank: step for step in cuts.path if step.labels is not None}
        source = "cuts of average linkage"
    elif isinstance(draws, Draws):
        found, source = _from_draws(draws, loss, n_jobs), "the best draw of each K"
    else:
        found, source = {}, "the estimate alone"
    rank = _place(best, found)
    if rank is None:
        rank = best.n_clusters
        if found:
            source += ", with the estimate in its place"
        value = best.expected_loss
        if name != best.loss_name:
            value = float(expected_loss(best.labels, draws, loss=loss, n_jobs=n_jobs))
        found[rank] = Step(rank, rank, value, labels=best.labels, memberships=best.memberships)
    kept = sorted(sorted(found, key=lambda k: (abs(k - rank), k))[:_MOST])
    some = representative(draws, _ALIGNED) if isinstance(draws, Draws) else draws
    positions = tuple(_position(found[k], best, some, n_jobs) for k in kept)
    if name != best.loss_name:
        source += f"; the estimate's own loss, {best.loss_name}, is known by name alone"
    note = _note(found, kept, some, draws) + _left_open(best)
    return Steps(positions, kept.index(rank), source, name, note)


def _note(found: dict[int, Step], kept: list[int], some: Any, draws: Draws | Similarity) -> str:
    """What the memberships rest on, where they are taken from some of the draws."""
    if not isinstance(draws, Draws):
        return " They are the mean similarities to the clusters, scaled to sum to 1."
    count = some_of(some.n_draws, draws.n_draws)
    if not count or all(found[k].memberships is not None for k in kept):
        return ""
    return f" They are taken from {count}."


def _left_open(best: Estimate) -> str:
    """How many items have memberships that the factorisation does not determine."""
    if best.membership_spread is None:
        return ""
    many = int((best.membership_spread > OPEN).sum())
    if not many:
        return ""
    return (
        f" Those of {validate.count_text(many, 'item')} are left open by the factorisation: "
        f"restarts of equal objective differ by more than {OPEN:g} in them."
    )


def own_loss(best: Estimate) -> Any:
    """The loss that the estimate minimised, or VI where a file only kept its name."""
    if isinstance(best.loss, str):
        return losses.NAMES.get(best.loss, VI())
    return best.loss


def _place(best: Estimate, found: dict[int, Step]) -> int | None:
    """The rank of the step that is the estimate."""
    for rank in sorted(found, key=lambda k: found[k].expected_loss):
        if np.array_equal(canonical(found[rank].labels), best.labels):
            if best.memberships is not None:
                found[rank] = replace(found[rank], memberships=best.memberships)
            return rank
    return None


def _from_draws(draws: Draws, loss: Any, n_jobs: int) -> dict[int, Step]:
    some = representative(draws, _SCORED)
    values = np.asarray(expected_loss(some.labels, some, loss=loss, n_jobs=n_jobs))
    found = {}
    for k in np.unique(some.n_clusters).tolist():
        of_k = np.flatnonzero(some.n_clusters == k)
        least = int(of_k[values[of_k].argmin()])
        labels = some.labels[least].astype(np.int64)
        value = float(expected_loss(labels, draws, loss=loss, n_jobs=n_jobs))
        found[k] = Step(k, k, value, labels=labels)
    return found


def _position(step: Step, best: Estimate, draws: Draws | Similarity, n_jobs: int) -> Position:
    labels = canonical(step.labels)
    if step.memberships is None and not isinstance(draws, Draws):
        sums = draws.matmul(np.eye(int(labels.max()) + 1)[labels], n_jobs=n_jobs)
        soft = sums / np.bincount(labels)
        soft /= soft.sum(axis=1, keepdims=True)
    elif step.memberships is None:
        soft = align_memberships(labels, draws, n_jobs=n_jobs).memberships
    else:
        soft = np.asarray(step.memberships, dtype=np.float64)
    numbers = column_numbers(best.labels, labels, soft.shape[1])
    return Position(step.rank, step.expected_loss, labels, soft, numbers)
