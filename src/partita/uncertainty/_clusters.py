"""A table of the clusters, and the posterior of their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partita import validate
from partita.diagnostics import monte_carlo_error
from partita.draws import Draws, as_draws, contingency
from partita.uncertainty._given import draws_or_similarity, item_index, labels_of
from partita.uncertainty._items import mean_similarity

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def cluster_uncertainty(estimate: Any, draws: Any, *, n_jobs: int | None = -1) -> pd.DataFrame:
    """Return a table with a row for each cluster of a partition.

    Parameters
    ----------
    estimate : Estimate or array-like of shape (n,)
    draws : Draws, Similarity or anything that can become draws
        Of a similarity alone, or of draws with missing labels, there is no ``probability``, as
        ``table.attrs["left_out"]`` says.
    n_jobs : int
        Threads; -1, the default, is every core.

    Returns
    -------
    DataFrame
        Indexed by cluster, with the columns

        - ``size``;
        - ``cohesion``: the mean similarity of its pairs (nan for one item);
        - ``nearest``: the cluster to which its items have the highest mean similarity;
        - ``separation``: one minus that similarity;
        - ``probability``: the share of draws that have exactly this cluster;
        - ``exemplar``: the item with the highest mean similarity to the others.

    Examples
    --------
    >>> table = cluster_uncertainty([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> table["probability"].round(3).tolist()
    [0.667, 0.667]
    >>> table["separation"].round(3).tolist()
    [0.833, 0.833]
    """
    import pandas as pd

    given, operator = draws_or_similarity(draws)
    labels = labels_of(estimate, operator)
    sizes = np.bincount(labels)
    n_jobs = validate.n_jobs(n_jobs)
    similarity = mean_similarity(labels, operator, n_jobs=n_jobs)
    own = similarity[np.arange(labels.size), labels]
    alone = np.isnan(own)
    cohesion = np.bincount(labels, np.where(alone, 0.0, own)) / sizes
    names = item_index(operator)
    exemplars = [
        int(of_k[np.where(alone[of_k], 1.0, own[of_k]).argmax()])
        for of_k in (np.flatnonzero(labels == k) for k in range(sizes.size))
    ]
    columns = {
        "size": sizes,
        "cohesion": np.where(sizes > 1, cohesion, np.nan),
        **_nearest(similarity, labels, sizes),
        **({} if given is None else {"probability": _intact(labels, sizes, given, n_jobs)}),
        "exemplar": [names[i] for i in exemplars],
    }
    table = pd.DataFrame(columns, index=pd.RangeIndex(sizes.size, name="cluster"))
    table.attrs["left_out"] = ("probability",) if given is None else ()
    return table


def _nearest(
    similarity: NDArray[np.float64], labels: NDArray[np.int64], sizes: NDArray[np.int64]
) -> dict[str, Any]:
    import pandas as pd

    k = sizes.size
    if k == 1:
        return {"nearest": pd.array([pd.NA], dtype="Int64"), "separation": np.array([np.nan])}
    between = np.zeros((k, k))
    np.add.at(between, labels, np.nan_to_num(similarity))
    between /= sizes[:, None]
    np.fill_diagonal(between, -1.0)
    nearest = between.argmax(axis=1)
    return {
        "nearest": pd.array(nearest, dtype="Int64"),
        "separation": 1 - between[np.arange(k), nearest],
    }


def _intact(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], draws: Draws, n_jobs: int
) -> NDArray[np.float64]:
    """The probability of each cluster to be a cluster of a draw as it is."""
    (counts,) = contingency(draws, [labels], n_jobs=n_jobs, label="clusters")
    row, column, count = counts.coordinates()
    is_whole = (count == sizes[column]) & (count == counts.row_sizes()[row])
    weights = np.repeat(draws.probabilities, draws.n_clusters)[row[is_whole]]
    return np.minimum(np.bincount(column[is_whole], weights, sizes.size), 1.0)


def posterior_n_clusters(draws: Any) -> pd.DataFrame:
    """Return the posterior of the number of clusters, with its Monte Carlo error.

    Parameters
    ----------
    draws : Draws or anything that can become one

    Returns
    -------
    DataFrame
        Indexed by ``n_clusters``: ``probability`` and ``mcse`` (nan for fewer than four draws a
        chain).

    Examples
    --------
    >>> posterior_n_clusters([[0, 0, 1], [0, 1, 2], [0, 1, 1], [0, 0, 0]])["probability"].to_dict()
    {1: 0.25, 2: 0.5, 3: 0.25}
    """
    import pandas as pd

    given = as_draws(draws)
    k = given.n_clusters
    found = np.unique(k[given.probabilities > 0])
    rows = [monte_carlo_error(k == value, given)[:2] for value in found]
    index = pd.Index(found, name="n_clusters")
    return pd.DataFrame(rows, index=index, columns=["probability", "mcse"])
