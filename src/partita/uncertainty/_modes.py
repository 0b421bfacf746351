"""Several partitions instead of one, when the posterior has several modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import Draws, complete_draws
from partita.errors import InvalidValueError
from partita.io import Shown, to_dataset
from partita.parallel import progress
from partita.partitions import canonical_rows
from partita.uncertainty._representatives import Fit, Summary

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from partita.typing import IntArray, Seed

_ELBOW = 0.1  # a mode must lower the distance by this share of that of one mode


@dataclass(frozen=True, eq=False)
class Modes(Shown):
    """Weighted representative partitions.

    Parameters
    ----------
    labels : ndarray, shape (n_modes, n)
        The heaviest first.
    weights : ndarray, shape (n_modes,)
        The share of the posterior that is nearest to each.
    expected_loss : ndarray, shape (n_modes,)
        The mean loss of the draws nearest to each.
    distance : float
        The mean loss of a draw to its nearest mode: the Wasserstein distance of the posterior
        from these weighted partitions.
    nearest : ndarray of int64, shape (n_draws,)
        The mode that is nearest to each draw.
    curve : DataFrame
        The distance for every number of modes that was tried.
    """

    labels: IntArray
    weights: NDArray[np.float64]
    expected_loss: NDArray[np.float64]
    distance: float
    nearest: NDArray[np.int64]
    curve: pd.DataFrame

    @property
    def n_modes(self) -> int:
        """The number of modes."""
        return int(self.weights.size)

    def __repr__(self) -> str:
        shares = ", ".join(f"{w:.3g}" for w in self.weights)
        return f"Modes({shares}; distance {self.distance:.6g})"

    def to_xarray(self) -> xr.Dataset:
        """Return labels, weights and losses of the modes, and the nearest mode of every draw."""
        variables = {
            "labels": (["mode", "item"], self.labels),
            "weight": (["mode"], self.weights),
            "expected_loss": (["mode"], self.expected_loss),
            "nearest": (["draw"], self.nearest),
        }
        return to_dataset(variables, {"distance": self.distance})

    def to_frame(self) -> pd.DataFrame:
        """Return one row a mode: its weight, its number of clusters, its expected loss."""
        import pandas as pd

        columns = {
            "weight": self.weights,
            "n_clusters": self.labels.max(axis=1).astype(np.int64) + 1,
            "expected_loss": self.expected_loss,
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_modes, name="mode"))


def summarize_modes(
    draws: Any,
    *,
    n_modes: int | str = "auto",
    loss: Any = "vi",
    max_modes: int = 6,
    n_init: int = 2,
    batch_size: int = 1_000,
    rng: Seed = None,
    n_jobs: int | None = -1,
) -> Modes:
    r"""Summarise the posterior by a few weighted partitions.

    They minimise the Wasserstein distance to the posterior under the loss,
    :math:`\sum_m w_m \min_l L(c_m, p_l)`: every draw goes to its nearest representative, every
    representative becomes the partition of least expected loss of its draws, in turn. Starts are
    draws, chosen as in k-means++, and the best few of a pool of likely partitions; of many draws
    each turn looks at a batch, and what a batch suggests is kept only if it lowers the distance
    of all.

    Parameters
    ----------
    draws : Draws or anything that can become one
    n_modes : int or "auto"
        ``"auto"`` takes the elbow: the last number of modes that lowers the distance by a tenth
        of the distance of one mode; ``curve`` has the distances to judge by.
    loss : str or Loss
        Any that compares two partitions draw by draw.
    max_modes : int
        How many ``"auto"`` tries.
    n_init : int
        Starts from draws, for each number of modes.
    batch_size : int
        Draws looked at in each turn.
    rng : int, SeedSequence or Generator, optional
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    Modes

    References
    ----------
    Balocchi & Wade (2025), Understanding uncertainty in Bayesian cluster analysis,
    arXiv:2506.16295.
    Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding.

    Examples
    --------
    >>> modes = summarize_modes([[0, 0, 1, 1]] * 7 + [[0, 1, 0, 1]] * 3, rng=0)
    >>> modes.labels
    array([[0, 0, 1, 1],
           [0, 1, 0, 1]], dtype=uint8)
    >>> modes.weights
    array([0.7, 0.3])
    """
    given = complete_draws(draws, "summarize_modes")
    for name, value in (("max_modes", max_modes), ("n_init", n_init), ("batch_size", batch_size)):
        validate.integer(name, value, least=1)
    distinct = given.unique()
    tried = _numbers(n_modes, max_modes, distinct.n_draws)
    fit = Fit(
        draws=distinct,
        loss=losses.resolve_distance(loss),
        random=np.random.default_rng(validate.seed(rng)),
        batch_size=int(batch_size),
        n_jobs=validate.n_jobs(n_jobs),
    )
    found: dict[int, Summary] = {}
    with progress(len(tried) + 1, "modes") as bar:
        pool = fit.pool(tried[-1])
        for number in tried:
            best = fit.best(number, pool, found.get(number - 1), n_init)
            found[number] = best
            bar.advance(note=f"{number} modes, distance {best.distance:.4g}")
            if n_modes == "auto" and best.distance <= 1e-12:
                break
        chosen = _elbow(found) if n_modes == "auto" else tried[-1]
        found[chosen] = fit.improve(found[chosen], thorough=True)
        bar.advance()
    return _finish(found[chosen], found, given, fit)


def _numbers(n_modes: Any, max_modes: int, n_distinct: int) -> list[int]:
    if n_modes == "auto":
        return list(range(1, min(max_modes, n_distinct) + 1))
    if isinstance(n_modes, str):
        raise InvalidValueError(f"`n_modes` must be a whole number or 'auto'; got {n_modes!r}.")
    return [validate.integer("n_modes", n_modes, least=1, most=n_distinct)]


def _elbow(found: dict[int, Summary]) -> int:
    """The last number of modes whose step down is a tenth of the distance of one mode."""
    steps = [(k, found[k - 1].distance - found[k].distance) for k in found if k > 1]
    worth = [k for k, step in steps if step >= _ELBOW * found[1].distance and step > 1e-12]
    return max(worth, default=1)


def _finish(chosen: Summary, found: dict[int, Summary], given: Draws, fit: Fit) -> Modes:
    import pandas as pd

    labels = canonical_rows(chosen.labels.astype(np.int64))
    every = losses.distances(fit.loss, labels, given, n_jobs=fit.n_jobs)
    nearest, p = every.argmin(axis=0), given.probabilities
    weights = np.bincount(nearest, p, len(labels)).astype(np.float64)
    order = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
    means = np.bincount(nearest, p * every.min(axis=0), len(labels))
    place = np.zeros(len(labels), dtype=np.int64)
    place[order] = np.arange(len(order))
    curve = pd.DataFrame(
        {"distance": [one.distance for one in found.values()]},
        index=pd.Index(list(found), name="n_modes"),
    )
    return Modes(
        labels=labels[order],
        weights=weights[order] / weights.sum(),
        expected_loss=means[order] / weights[order],
        distance=chosen.distance,
        nearest=place[nearest],
        curve=curve,
    )
