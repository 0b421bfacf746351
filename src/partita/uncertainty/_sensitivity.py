"""How the partition to report depends on the loss and its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import complete_draws
from partita.errors import InvalidValueError
from partita.estimation import estimate
from partita.evidence import Evidence
from partita.io import Shown
from partita.parallel import progress
from partita.partitions import canonical_rows, matched_labels
from partita.search import Linkage

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.losses import Loss
    from partita.typing import Seed

_CUTS = 60  # clusters of the finest cut of the dendrogram that is offered
_LEVEL = 1e-9  # differences of losses below this, relative to the largest, are none


@dataclass(frozen=True, eq=False)
class Sensitivity(Shown):
    """The best partition for every weight of some losses, and what changes from one to the next.

    Parameters
    ----------
    frame : DataFrame
        One row a partition, in order of the weight: ``loss``; ``low`` and ``high``, the weights a
        between which it is the best (missing for a loss without one); ``n_clusters``;
        ``loss_at_low`` and ``loss_at_high``, its expected loss there; ``n_moved``, how many items
        change place from the row above, clusters matched by overlap; ``vi_to_reference``.
    labels : ndarray of int64, shape (n_rows, n)
    reference : ndarray of int64, shape (n,)
        The best partition under the first loss at a = 1.
    item_names : tuple of str, optional
    """

    frame: pd.DataFrame
    labels: NDArray[np.int64]
    reference: NDArray[np.int64]
    item_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        k = self.frame["n_clusters"]
        names = ", ".join(dict.fromkeys(self.frame["loss"]))
        return (
            f"Sensitivity({validate.count_text(len(k), 'partition')} of {k.min()} to {k.max()} "
            f"clusters under {names})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return ``frame``."""
        return self.frame

    def at(self, a: float, loss: str | None = None) -> NDArray[np.int64]:
        """Return the labels that are best at a weight, of the first loss that has one if None."""
        rows = self._rows(loss)
        low, high = float(rows["low"].min()), float(rows["high"].max())
        validate.real("a", a, low=low, high=high)
        found: NDArray[np.int64] = self.labels[rows.index[rows["high"] >= a][0]]
        return found

    def weights(self, n_clusters: int, loss: str | None = None) -> tuple[float, float] | None:
        """Return the least and the largest weight that give so many clusters; None if none do."""
        rows = self._rows(loss)
        rows = rows[rows["n_clusters"] == n_clusters]
        return (float(rows["low"].min()), float(rows["high"].max())) if len(rows) else None

    def _rows(self, loss: str | None) -> pd.DataFrame:
        weighted = self.frame.dropna(subset=["low"])
        names = dict.fromkeys(weighted["loss"])
        if loss is None and names:
            loss = next(iter(names))
        validate.choice("loss", loss, tuple(names))
        return weighted[weighted["loss"] == loss]


def sensitivity(
    draws: Any,
    *,
    losses: Sequence[Any] = ("vi", "binder"),
    weights: Sequence[float] = (0.5, 1.0, 1.5),
    rng: Seed = None,
    n_jobs: int | None = -1,
) -> Sensitivity:
    """Return how the partition changes with the loss and its weight a.

    A weight above 1 makes it dearer to split a true pair than to join a false one, and so gives
    fewer clusters. The expected loss of a partition is a straight line in a. So of some
    candidates the best for every weight are found at once, with the weights at which one gives
    way to the next: they are the lower envelope of the lines. Candidates are the best partition
    at each of ``weights`` and the cuts of average linkage; all are offered to every loss.

    Parameters
    ----------
    draws : Draws or anything that can become one
    losses : sequence of str or Loss
        Names, or losses that need draws. Those without a weight have one row each.
    weights : sequence of float in [0, 2]
        Where a search is made; the path goes from the least of them to the largest.
    rng : int, SeedSequence or Generator, optional
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> draws = [[0, 0, 1, 1]] * 5 + [[0, 0, 0, 0]] * 3 + [[0, 1, 2, 3]] * 2
    >>> found = sensitivity(draws, losses=["binder"], rng=0)
    >>> found.frame[["low", "high", "n_clusters"]].round(3).values.tolist()
    [[0.5, 1.4, 2.0], [1.4, 1.5, 1.0]]
    >>> found.weights(1)
    (1.4, 1.5)
    """
    given = complete_draws(draws, "sensitivity")
    chosen = [_resolved(one) for one in _several(losses)]
    grid = np.unique([validate.real("weights", a, low=0, high=2) for a in weights])
    if grid.size < 2:
        raise InvalidValueError("`weights` must hold at least two different numbers from 0 to 2.")
    seed, n_jobs = validate.seed(rng), validate.n_jobs(n_jobs)
    evidence = Evidence(draws=given, n_jobs=n_jobs)
    pool = _candidates(chosen, grid, evidence, seed, n_jobs)
    rows = [row for loss in chosen for row in _path(loss, pool, grid, evidence, n_jobs)]
    labels = np.stack([pool[row["candidate"]] for row in rows])
    return Sensitivity(*_described(rows, labels), item_names=given.item_names)


def _several(value: Any) -> Sequence[Any]:
    return [value] if isinstance(value, str) or hasattr(value, "needs") else list(value)


def _resolved(loss: Any) -> Loss:
    return losses.resolve_distance(loss, name="losses")


def _has_weight(loss: Any) -> bool:
    return is_dataclass(loss) and any(one.name == "a" for one in fields(loss))


def _weighted(loss: Any, a: float) -> Any:
    return replace(loss, a=float(a))


def _candidates(
    chosen: list[Loss], grid: NDArray[np.float64], evidence: Evidence, seed: int, n_jobs: int
) -> NDArray[np.int64]:
    """The best partition of each search, and the cuts of a dendrogram."""
    asked = [
        _weighted(loss, a) if _has_weight(loss) else loss
        for loss in chosen
        for a in (grid if _has_weight(loss) else grid[:1])
    ]
    found = []
    with progress(len(asked), "sensitivity") as bar:
        for loss in asked:
            found.append(estimate(evidence, loss=loss, rng=seed, n_jobs=n_jobs).labels)
            bar.advance(note=losses.name_of(loss))
    tree = Linkage("average", max_clusters=min(_CUTS, evidence.n_items))
    cuts = estimate(evidence, loss="binder", search=tree, n_jobs=n_jobs).path
    rows = [*found, *(step.labels for step in cuts if step.labels is not None)]
    return np.unique(canonical_rows(np.stack(rows).astype(np.int64)), axis=0).astype(np.int64)


def _path(
    loss: Loss, pool: NDArray[np.int64], grid: NDArray[np.float64], evidence: Evidence, n_jobs: int
) -> list[dict[str, Any]]:
    """Rows of one loss: the candidates on the lower envelope, and where each begins and ends."""
    if not _has_weight(loss):
        values = losses.expected(loss, pool, evidence, n_jobs=n_jobs)
        best, name = int(values.argmin()), losses.name_of(loss)
        row = {"loss": name, "low": np.nan, "high": np.nan, "candidate": best}
        return [{**row, "loss_at_low": values[best], "loss_at_high": values[best]}]
    ends = [losses.expected(_weighted(loss, a), pool, evidence, n_jobs=n_jobs) for a in (0.0, 2.0)]
    slope, level = (ends[1] - ends[0]) / 2, ends[0]
    tie = _LEVEL * max(float(np.abs(ends).max()), 1e-300)
    rows, now = [], float(grid[0])
    while True:
        value = level + now * slope
        level_with = np.flatnonzero(value <= value.min() + tie)
        best = int(level_with[slope[level_with].argmin()])  # the one that is best right after
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (level - level[best]) / (slope[best] - slope)
        later = crossing[(slope < slope[best] - tie) & (crossing > now)]
        high = min(float(later.min(initial=np.inf)), float(grid[-1]))
        rows.append(
            {
                "loss": losses.name_of(_weighted(loss, 1.0)),
                "low": now,
                "high": high,
                "loss_at_low": level[best] + now * slope[best],
                "loss_at_high": level[best] + high * slope[best],
                "candidate": best,
            }
        )
        if high >= grid[-1]:
            return rows
        now = high


def _described(
    rows: list[dict[str, Any]], labels: NDArray[np.int64]
) -> tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
    """The frame, the labels, and the reference: the first loss at a = 1, or nearest to it."""
    import pandas as pd

    frame = pd.DataFrame(rows).drop(columns="candidate")
    of_first = frame[frame["loss"] == frame["loss"].iloc[0]]
    apart = np.maximum(of_first["low"] - 1, 1 - of_first["high"]).fillna(0)
    reference = labels[int(apart.argmin())]
    frame.insert(3, "n_clusters", labels.max(axis=1) + 1)
    moved: list[Any] = [pd.NA] * len(labels)
    for x in range(1, len(labels)):
        if frame["loss"].iloc[x] == frame["loss"].iloc[x - 1]:
            moved[x] = int((matched_labels(labels[x - 1], labels[x]) != labels[x - 1]).sum())
    frame["n_moved"] = pd.array(moved, dtype="Int64")
    frame["vi_to_reference"] = [losses.VI()(reference, row) for row in labels]
    return frame, labels, reference
