"""How many clusters: what runs into each number of clusters agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.comparison import adjusted_rand_index
from partita.draws import Draws, as_draws
from partita.errors import InvalidValueError
from partita.estimation import estimate, expected_loss
from partita.parallel import progress
from partita.similarity import Similarity, landmark_items

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from partita.typing import Seed

_ITEMS = 1_000  # of more, so many are looked at: half a million pairs


def choose_n_clusters(
    draws: Any,
    *,
    ambiguous: tuple[float, float] = (0.1, 0.9),
    n_splits: int = 5,
    unobserved: float | None = None,
    rng: Seed = None,
    n_jobs: int | None = -1,
) -> pd.DataFrame:
    """Return, for each number of clusters that runs were asked for, how well they agree.

    Runs are grouped by their trace ``n_clusters``, as :func:`consensus` records it, or where there
    is none by the number of clusters that they have. A group's consensus matrix says how often two
    items are together in it. The number of clusters is good where few pairs are in doubt (``pac``
    low), where the area under the matrix' distribution function hardly grows any more (``delta``
    near 0), where halves of the runs lead to the same partition (``stability`` near 1), and where
    the partition of least expected loss is cheap on all runs (``expected_loss`` low). Of more than
    1,000 items 1,000 are looked at, evenly spaced.

    Parameters
    ----------
    draws : Draws or anything that can become one
    ambiguous : tuple of float
        Between which consensus a pair is in doubt.
    n_splits : int
        How often the runs are halved at random.
    unobserved : float, optional
        What a pair counts as that no run of a group has both items of. Left out of ``pac`` and
        ``area`` if None.
    rng : int, SeedSequence or Generator, optional
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    DataFrame
        Indexed by ``n_clusters``: ``n_runs``; ``pac``, the proportion of ambiguous clustering;
        ``area`` under the distribution function of the consensus, and ``delta``, its relative
        growth from the row before; ``stability``, the mean adjusted Rand index between partitions
        from halves of the runs; ``expected_loss``, in bits an item, on all runs. ``attrs["cdf"]``
        holds the distribution functions at ``attrs["consensus"]``. ``plots.choice`` draws it.

    References
    ----------
    Monti et al. (2003), Consensus clustering, Machine Learning 52. Șenbabaoğlu, Michailidis & Li
    (2014), Critical limitations of consensus clustering in class discovery, Scientific Reports 4.

    Examples
    --------
    >>> runs = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 2, 2], [0, 1, 1, 2]]
    >>> choose_n_clusters(runs, rng=0)[["n_runs", "pac"]].round(2).values.tolist()
    [[3.0, 0.0], [3.0, 0.5]]
    """
    import pandas as pd

    given = as_draws(draws)
    if not 0 <= ambiguous[0] < ambiguous[1] <= 1:
        raise InvalidValueError(
            f"`ambiguous` must be two numbers from 0 to 1, the lower first; got {ambiguous!r}."
        )
    validate.integer("n_splits", n_splits, least=1)
    seed, n_jobs = validate.seed(rng), validate.n_jobs(n_jobs)
    if given.n_items > _ITEMS:
        given = _some_items(given, landmark_items(given.n_items, _ITEMS, seed))
    asked = given.traces.get("n_clusters", given.n_clusters).astype(np.int64)
    numbers = np.unique(asked)
    everything = Similarity.from_draws(given, unobserved=0.0 if unobserved is None else unobserved)
    random = np.random.default_rng(seed)
    levels = np.linspace(0, 1, 101)
    rows, curves = [], []
    with progress(len(numbers), "numbers of clusters") as bar:
        for k in numbers.tolist():
            group = given.take(asked == k)
            values = _consensus_of(group, unobserved, n_jobs)
            best = _into(group, k, n_jobs)
            inside = (values > ambiguous[0]) & (values < ambiguous[1])
            rows.append(
                {
                    "n_runs": group.n_draws,
                    "pac": float(inside.mean()),
                    "area": float(1 - values.mean()),
                    "stability": _stability(group, k, n_splits, random, n_jobs),
                    "expected_loss": expected_loss(best, everything, n_jobs=n_jobs),
                }
            )
            curves.append(np.searchsorted(np.sort(values), levels, side="right") / values.size)
            bar.advance()
    table = pd.DataFrame(rows, index=pd.Index(numbers, name="n_clusters"))
    table.insert(3, "delta", table["area"].pct_change())
    table.attrs |= {"consensus": levels, "cdf": np.array(curves)}
    return table


def _some_items(draws: Draws, items: NDArray[np.intp]) -> Draws:
    """The draws of some items alone."""
    observed = None if draws.observed is None else draws.observed[:, items]
    labels = np.asarray(draws.labels)[:, items]
    if observed is not None:
        kept = observed.any(axis=1)
        draws, labels, observed = draws.take(kept), labels[kept], observed[kept]
    return Draws(labels, weights=draws.weights, traces=draws.traces, observed=observed)


def _consensus_of(group: Draws, unobserved: float | None, n_jobs: int) -> NDArray[Any]:
    """How often each pair of items is together, of those that some run has both of."""
    matrix = Similarity.from_draws(group, unobserved=0.0 if unobserved is None else unobserved)
    upper = np.triu_indices(group.n_items, 1)
    values: NDArray[Any] = matrix.to_dense(n_jobs=n_jobs)[upper]
    if unobserved is not None or group.observed is None:
        return values
    seen = matrix.observed_together(slice(None), slice(None))[upper] > 0
    return values[seen] if seen.any() else np.zeros(1)


def _into(group: Draws, k: int, n_jobs: int) -> NDArray[np.int64]:
    """The consensus partition of some runs into k clusters, by average linkage."""
    similarity = Similarity.from_draws(group, unobserved=_typical(group))
    k = min(k, group.n_items)
    found = estimate(similarity, search="average", loss="binder", n_clusters=k, n_jobs=n_jobs)
    return found.labels


def _typical(group: Draws) -> float:
    """The share of pairs that are together in a run: what is expected of a pair never seen."""
    observed = np.ones(group.labels.shape, bool) if group.observed is None else group.observed
    shares = [
        np.square(np.bincount(row[there]) / there.sum()).sum()
        for row, there in zip(group.labels, observed, strict=True)
    ]
    return float(np.mean(shares))


def _stability(
    group: Draws, k: int, n_splits: int, random: np.random.Generator, n_jobs: int
) -> float:
    """The mean agreement of the partitions that halves of the runs lead to."""
    if group.n_draws < 2:
        return float("nan")
    found = []
    for _ in range(n_splits):
        order = random.permutation(group.n_draws)
        halves = [group.take(half) for half in np.array_split(order, 2)]
        seen = [np.ones(group.n_items, bool) if h.observed is None else h.observed.any(axis=0)
                for h in halves]  # fmt: skip
        both = np.flatnonzero(seen[0] & seen[1])
        if both.size < 2:
            return float("nan")
        found.append(adjusted_rand_index(*(_into(_some_items(h, both), k, n_jobs) for h in halves)))
    return float(np.mean(found))
