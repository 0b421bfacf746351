"""The partition that many runs of a clusterer agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator, ClusterMixin

from partita.ensembles import consensus
from partita.estimation import estimate
from partita.estimators._clusterer import read_items, seed_of
from partita.similarity import Similarity


class ConsensusClusterer(ClusterMixin, BaseEstimator):
    """Run a clusterer many times on parts of the data; take the partition that agrees best.

    Parameters
    ----------
    estimator : scikit-learn clusterer or callable, optional
        ``KMeans(n_init=1)`` if None.
    n_runs, subsample, vary, noise
        As for :func:`partita.consensus`.
    loss, search, n_clusters
        As for :func:`partita.estimate`.
    unobserved : float
        The similarity of items that no run saw both of.
    n_jobs : int
        Threads; -1, the default, is every core.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
    n_clusters_ : int
    draws_ : Draws
        The runs.
    estimate_ : Estimate
    n_features_in_ : int

    Examples
    --------
    >>> from partita.estimators import ConsensusClusterer
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> ConsensusClusterer(vary={"n_clusters": [2]}, n_runs=20, random_state=0).fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_runs: int = 100,
        subsample: float = 0.8,
        vary: Mapping[str, Sequence[Any]] | None = None,
        noise: str = "absent",
        loss: Any = None,
        search: Any = "auto",
        n_clusters: int | None = None,
        unobserved: float = 0.0,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_runs = n_runs
        self.subsample = subsample
        self.vary = vary
        self.noise = noise
        self.loss = loss
        self.search = search
        self.n_clusters = n_clusters
        self.unobserved = unobserved
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ConsensusClusterer:
        """Make the runs and find the partition. ``y`` is ignored."""
        from sklearn.cluster import KMeans

        data = read_items(self, X, at_least=2)
        seed = seed_of(self.random_state)
        own = KMeans(n_init=1) if self.estimator is None else self.estimator
        self.draws_ = consensus(
            own,
            data,
            n_runs=self.n_runs,
            subsample=self.subsample,
            vary=self.vary,
            noise=self.noise,
            rng=seed,
            n_jobs=self.n_jobs,
        )
        runs: Any = self.draws_
        if runs.observed is not None:
            runs = Similarity.from_draws(runs, unobserved=self.unobserved)
        self.estimate_ = estimate(
            runs,
            loss=self.loss,
            search=self.search,
            n_clusters=self.n_clusters,
            rng=seed,
            n_jobs=self.n_jobs,
        )
        self.labels_ = self.estimate_.labels
        self.n_clusters_ = self.estimate_.n_clusters
        return self
