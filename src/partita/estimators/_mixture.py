"""From data to clusters: the Dirichlet-process mixture as a clusterer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from partita.estimation import estimate
from partita.estimators._clusterer import read_items, seed_of
from partita.mixture import join_probabilities, predictive_density, sample_mixture


class DPMixture(DensityMixin, ClusterMixin, BaseEstimator):
    """Sample a mixture of Gaussians with an unknown number of clusters, then estimate them.

    Parameters
    ----------
    prior, df, covariance, partition, concentration
        The model, as for :func:`partita.sample_mixture`.
    n_draws, n_burn, n_chains : int
        The sampler, two chains by default. Chains that disagree give a warning.
    loss : str or Loss, optional
    search : str, Search or list of them
        The estimate, as for :func:`partita.estimate`.
    max_predictive_draws : int
        Draws that a prediction averages over, evenly spaced.
    n_jobs : int
        Threads; -1, the default, is every core.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    n_clusters_ : int
    draws_ : Draws
    estimate_ : Estimate
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from partita.estimators import DPMixture
    >>> X = np.concatenate([np.linspace(0, 1, 20), np.linspace(8, 9, 20)])[:, None]
    >>> model = DPMixture(n_draws=200, n_burn=200, random_state=0).fit(X)
    >>> model.n_clusters_, model.predict([[0.5], [8.2]])
    (2, array([0, 1]))
    """

    def __init__(
        self,
        *,
        prior: Any = "independent",
        df: float | None = None,
        covariance: str = "full",
        partition: Any = "dirichlet",
        concentration: Any = None,
        n_draws: int = 2_000,
        n_burn: int = 1_000,
        n_chains: int = 2,
        loss: Any = None,
        search: Any = "auto",
        max_predictive_draws: int = 500,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.df = df
        self.covariance = covariance
        self.partition = partition
        self.concentration = concentration
        self.n_draws = n_draws
        self.n_burn = n_burn
        self.n_chains = n_chains
        self.loss = loss
        self.search = search
        self.max_predictive_draws = max_predictive_draws
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> DPMixture:
        """Sample the partition of the rows of X and estimate it. ``y`` is ignored."""
        data = read_items(self, X, at_least=2).astype(np.float64)
        self._seed = seed_of(self.random_state)
        self.draws_ = sample_mixture(
            data,
            n_draws=self.n_draws,
            n_burn=self.n_burn,
            n_chains=self.n_chains,
            concentration=self.concentration,
            rng=self._seed,
            n_jobs=self.n_jobs,
            **self._model(),
        )
        self.estimate_ = estimate(
            self.draws_, loss=self.loss, search=self.search, rng=self._seed, n_jobs=self.n_jobs
        )
        self.labels_ = self.estimate_.labels
        self.n_clusters_ = self.estimate_.n_clusters
        self._data = data
        return self

    def _model(self) -> dict[str, Any]:
        return {
            "prior": self.prior,
            "df": self.df,
            "covariance": self.covariance,
            "partition": self.partition,
        }

    def predict_proba(self, X: Any) -> Any:
        """Return P(a new item joins cluster k), shape (n_samples, n_clusters).

        Given that it joins a cluster that is there, under the posterior predictive: see
        :func:`partita.mixture.join_probabilities`, which also has the probability that it joins
        none of them, near 1 far from the data.
        """
        check_is_fitted(self)
        new = read_items(self, X, reset=False).astype(np.float64)
        return join_probabilities(
            self.draws_,
            self._data,
            new,
            self.labels_,
            max_draws=self.max_predictive_draws,
            own_cluster=False,
            rng=self._seed,
            **self._model(),
        )

    def predict(self, X: Any) -> Any:
        """Return the cluster that each new item is likeliest to join."""
        return np.argmax(self.predict_proba(X), axis=1)

    def score_samples(self, X: Any) -> Any:
        """Return the log posterior predictive density of each new item."""
        check_is_fitted(self)
        new = read_items(self, X, reset=False).astype(np.float64)
        density = predictive_density(
            self.draws_,
            self._data,
            new,
            max_draws=self.max_predictive_draws,
            rng=self._seed,
            **self._model(),
        )
        return np.log(np.maximum(density, np.finfo(np.float64).tiny))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log posterior predictive density of new items. ``y`` is ignored."""
        return float(np.mean(self.score_samples(X)))
