"""Several partitions instead of one, when the posterior has several modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import Draws, complete_draws, representative
from partita.errors import InvalidValueError
from partita.io import Shown, to_dataset
from partita.parallel import progress
from partita.partitions import canonical_rows, meet
from partita.similarity import Similarity, posterior_similarity
from partita.uncertainty._density import Density
from partita.uncertainty._given import item_index
from partita.uncertainty._representatives import Fit

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from numpy.typing import NDArray

    from partita.typing import IntArray, Seed

_ELBOW = 0.1  # a mode must lower the distance by this share of that of one mode
_DRAWS = 2_000  # draws that modes are fitted to, at most; all count for their weights


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
    draws : Draws
        Those that were given.
    """

    labels: IntArray
    weights: NDArray[np.float64]
    expected_loss: NDArray[np.float64]
    distance: float
    nearest: NDArray[np.int64]
    curve: pd.DataFrame
    draws: Draws

    @property
    def n_modes(self) -> int:
        """The number of modes."""
        return int(self.weights.size)

    def __repr__(self) -> str:
        shares = ", ".join(f"{w:.3g}" for w in self.weights)
        return f"Modes({shares}; distance {self.distance:.6g})"

    def similarity(self, mode: int) -> Similarity:
        """Return the posterior similarity of the draws that are nearest to one mode."""
        mode = validate.integer("mode", mode, least=0, most=self.n_modes - 1)
        own = (self.nearest == mode) & (self.draws.probabilities > 0)
        return posterior_similarity(self.draws.take(own))

    def meet(self) -> NDArray[np.int64]:
        """Return the meet of the modes: items share a cluster if they do in every mode."""
        return reduce(meet, self.labels, np.zeros(self.labels.shape[1], dtype=np.int64))

    def between(self) -> pd.DataFrame:
        """Return the variation of information between each two modes, in bits."""
        import pandas as pd

        every = range(self.n_modes)
        values = [[float(self._shares(a, b).sum()) for b in every] for a in every]
        names = pd.RangeIndex(self.n_modes, name="mode")
        return pd.DataFrame(values, index=names, columns=names)

    def shares(self, first: int = 0, second: int = 1) -> pd.Series[float]:
        """Return each item's share in the variation of information between two modes.

        That of item i is (log2 a + log2 b - 2 log2 c) / n, with a and b the sizes of its clusters
        in the two; the shares add up to the distance.
        """
        import pandas as pd

        for name, mode in (("first", first), ("second", second)):
            validate.integer(name, mode, least=0, most=self.n_modes - 1)
        return pd.Series(self._shares(first, second), item_index(self.draws), name="vi_share")

    def _shares(self, first: int, second: int) -> NDArray[np.float64]:
        a, b = self.labels[first], self.labels[second]
        logs = [np.log2(np.bincount(c))[c] for c in (a, b, meet(a, b))]
        return np.asarray((logs[0] + logs[1] - 2 * logs[2]) / a.size)

    def to_xarray(self) -> xr.Dataset:
        """Return labels, weights and losses of the modes, and the nearest mode of every draw."""
        variables = {
            "labels": (["mode", "item"], self.labels),
            "weight": (["mode"], self.weights),
            "expected_loss": (["mode"], self.expected_loss),
            "nearest": (["draw"], self.nearest),
            "meet": (["item"], self.meet()),
        }
        return to_dataset(variables, {"distance": self.distance}, self.draws.item_names)

    def to_frame(self) -> pd.DataFrame:
        """Return one row a mode: its weight, number of draws and of clusters, expected loss."""
        import pandas as pd

        columns = {
            "weight": self.weights,
            "n_draws": np.bincount(self.nearest, minlength=self.n_modes),
            "n_clusters": self.labels.max(axis=1).astype(np.int64) + 1,
            "expected_loss": self.expected_loss,
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_modes, name="mode"))


def summarize_modes(
    draws: Any,
    *,
    n_modes: int | str = "auto",
    method: str = "wasserstein",
    loss: Any = "vi",
    max_modes: int = 6,
    n_init: int = 2,
    rng: Seed = None,
    n_jobs: int | None = -1,
) -> Modes:
    r"""Summarise the posterior by a few weighted partitions.

    With ``"wasserstein"`` they minimise the Wasserstein distance to the posterior under the loss,
    :math:`\sum_m w_m \min_l L(c_m, p_l)`: every draw goes to its nearest representative, every
    representative becomes the partition of least expected loss of its draws, in turn. Starts are
    draws, chosen as in k-means++, and the best few of a pool of likely partitions. With
    ``"peaks"`` they are draws: those of a high density that are far from all draws of a higher
    one. Modes are fitted to at most 2,000 draws that stand for all (of peaks 1,000); weights and
    distances are those of all draws.

    Parameters
    ----------
    draws : Draws or anything that can become one
    n_modes : int or "auto"
        ``"auto"`` takes the elbow: the last number of modes that lowers the distance by a tenth
        of the distance of one mode; ``curve`` has the distances to judge by.
    method : {"wasserstein", "peaks"}
    loss : str or Loss
        Any that compares two partitions draw by draw.
    max_modes : int
        How many ``"auto"`` tries.
    n_init : int
        Starts from draws, for each number of modes.
    rng : int, SeedSequence or Generator, optional
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    Modes

    References
    ----------
    Balocchi & Wade (2025), Understanding uncertainty in Bayesian cluster analysis,
    arXiv:2506.16295. Arthur & Vassilvitskii (2007), k-means++: the advantages of careful seeding.
    Rodriguez & Laio (2014), Clustering by fast search and find of density peaks, Science 344;
    on partitions: Bariletto, Ho & Rinaldo (2025), arXiv:2511.05746.

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
    validate.choice("method", method, ("wasserstein", "peaks"))
    for name, value in (("max_modes", max_modes), ("n_init", n_init)):
        validate.integer(name, value, least=1)
    some = representative(given, _DRAWS).unique()
    tried = _numbers(n_modes, max_modes, some.n_draws)
    fit = Fit(
        draws=some,
        loss=losses.resolve_distance(loss),
        random=np.random.default_rng(validate.seed(rng)),
        n_jobs=validate.n_jobs(n_jobs),
    )
    if method == "peaks":
        found = _peaks(given, tried, fit)
    else:
        found = _representatives(tried, fit, n_init, is_auto=n_modes == "auto")
    return _chosen(found, given, fit, is_auto=n_modes == "auto")


def _numbers(n_modes: Any, max_modes: int, n_distinct: int) -> list[int]:
    if n_modes == "auto":
        return list(range(1, min(max_modes, n_distinct) + 1))
    if isinstance(n_modes, str):
        raise InvalidValueError(f"`n_modes` must be a whole number or 'auto'; got {n_modes!r}.")
    return [validate.integer("n_modes", n_modes, least=1, most=n_distinct)]


def _representatives(tried: list[int], fit: Fit, n_init: int, *, is_auto: bool) -> list[IntArray]:
    """The modes for every number of them that is tried."""
    found, best = [], None
    with progress(len(tried) + 1, "modes") as bar:
        pool = fit.pool(tried[-1])
        bar.advance()
        for number in tried:
            best = fit.best(number, pool, best, n_init)
            found.append(best.labels)
            bar.advance(note=f"{number} modes, distance {best.distance:.4g}")
            if is_auto and best.distance <= 1e-12:
                break
    return found


def _peaks(given: Draws, tried: list[int], fit: Fit) -> list[IntArray]:
    density = Density.of(given, loss=fit.loss, n_jobs=fit.n_jobs)
    peaks = density.peaks(tried[-1])
    return [peaks[:number] for number in tried if number <= len(peaks)] or [peaks]


def _chosen(found: list[IntArray], given: Draws, fit: Fit, *, is_auto: bool) -> Modes:
    """The number of modes at the elbow, and what all draws say of these modes."""
    import pandas as pd

    rows = canonical_rows(np.concatenate(found).astype(np.int64))
    ends = np.cumsum([len(one) for one in found])
    far = losses.distances(fit.loss, rows, given, n_jobs=fit.n_jobs)
    p = given.probabilities
    parts = [slice(end - len(one), end) for end, one in zip(ends, found, strict=True)]
    curve = [float(far[part].min(axis=0) @ p) for part in parts]
    steps = [before - now for before, now in pairwise(curve)]
    worth = [k for k, step in enumerate(steps, 1) if step >= _ELBOW * curve[0] and step > 1e-12]
    chosen = max(worth, default=0) if is_auto else len(found) - 1
    labels, every = rows[parts[chosen]], far[parts[chosen]]
    nearest = every.argmin(axis=0)
    weights = np.bincount(nearest, p, len(labels)).astype(np.float64)
    order = [int(k) for k in np.argsort(-weights, kind="stable") if weights[k] > 0]
    means = np.bincount(nearest, p * every.min(axis=0), len(labels))
    place = np.zeros(len(labels), dtype=np.int64)
    place[order] = np.arange(len(order))
    tried = pd.Index([len(one) for one in found], name="n_modes")
    return Modes(
        labels=labels[order],
        weights=weights[order] / weights.sum(),
        expected_loss=means[order] / weights[order],
        distance=curve[chosen],
        nearest=place[nearest],
        curve=pd.DataFrame({"distance": curve}, index=tried),
        draws=given,
    )
