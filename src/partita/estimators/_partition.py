"""The partition of least expected loss, as a clusterer."""

from __future__ import annotations

from typing import Any

from partita.estimators._clusterer import ClustererOfDraws


class PartitionEstimator(ClustererOfDraws):
    """The partition that best summarises posterior draws of a clustering.

    Parameters
    ----------
    loss : str or Loss, optional
        As for :func:`partita.estimate`.
    search : str, Search or list of them
    n_clusters : int, optional
        Weigh the loss, ``vi`` or ``binder``, so that there are this many clusters.
    time_limit : float, optional
        Seconds for each search or, with ``n_clusters``, for all, after which the best so far is
        taken.
    metric : {"draws", "precomputed"}
        What X is: labels, items in rows and draws in columns, or a similarity matrix.
    n_jobs : int
        Threads; -1, the default, is every core.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
    n_clusters_ : int
    expected_loss_ : float
    estimate_ : Estimate
        Everything else, such as memberships where the search gives them.
    n_features_in_ : int

    Examples
    --------
    >>> from partita.estimators import PartitionEstimator
    >>> draws = [[0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]]  # four items, three draws
    >>> PartitionEstimator(loss="binder", random_state=0).fit_predict(draws)
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        *,
        loss: Any = None,
        search: Any = "auto",
        n_clusters: int | None = None,
        time_limit: float | None = None,
        metric: str = "draws",
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.search = search
        self.n_clusters = n_clusters
        self.time_limit = time_limit
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _aim(self) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "search": self.search,
            "n_clusters": self.n_clusters,
            "time_limit": self.time_limit,
        }
