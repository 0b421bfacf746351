"""The paper's method as a clusterer and a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from partita.draws import Draws
from partita.estimators._clusterer import ClustererOfDraws, as_draws, read_items
from partita.evidence import as_evidence
from partita.search import NMF
from partita.similarity import Similarity


class NMFClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClustererOfDraws):
    """Hard and soft clusters from a non-negative factorisation of the posterior similarity.

    Parameters
    ----------
    model : {"ls", "kl", "ns", "offset", "symmetric"}
    ranks : sequence of int, optional
        Ranks to try, from which the loss chooses; 2 to 12 if None.
    loss : str or Loss, optional
        As for :func:`partita.estimate`.
    n_init : int
        Restarts at each rank.
    solver : {"fast", "mu"}
    metric : {"draws", "precomputed"}
        What X is: labels, items in rows and draws in columns, or a similarity matrix.
    n_jobs : int
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of shape (n_items,)
    memberships_ : ndarray of shape (n_items, rank)
        Rows sum to 1; a measure of belonging, not a posterior probability.
    n_clusters_ : int
    estimate_ : Estimate
    n_features_in_ : int

    Examples
    --------
    >>> from partita.estimators import NMFClusterer
    >>> draws = [[0, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> NMFClusterer(ranks=[2], random_state=0).fit(draws).labels_
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        model: str = "kl",
        *,
        ranks: Any = None,
        loss: Any = None,
        n_init: int = 10,
        solver: str = "fast",
        metric: str = "draws",
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.ranks = ranks
        self.loss = loss
        self.n_init = n_init
        self.solver = solver
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _aim(self) -> dict[str, Any]:
        ranks = range(2, 13) if self.ranks is None else self.ranks
        how = NMF(self.model, ranks=ranks, n_init=self.n_init, solver=self.solver)
        return {"loss": self.loss, "search": how}

    def _keep(self, evidence: Draws | Similarity, X: Any, draw_weight: Any) -> None:
        """Keep the memberships, and the profile of every cluster, which new items are held to."""
        self.memberships_ = np.asarray(self.estimate_.memberships)
        profiles = as_evidence(evidence).similarity @ self.memberships_
        weight = self.memberships_.sum(axis=0)
        self._profiles = np.divide(profiles, weight, where=weight > 0, out=np.zeros_like(profiles))
        self._weight = draw_weight
        self._items = None if isinstance(evidence, Similarity) else read_items(self, X)
        self._n_features_out = self.memberships_.shape[1]

    def transform(self, X: Any) -> Any:
        """Return memberships of items by how similar they are to the clusters of the fit.

        A cluster's profile is the mean of its items' rows of π̂, weighted by membership. An item's
        row of π̂ is regressed on the profiles with non-negative weights, and these are divided by
        their sum. For the items of the fit this is close to ``memberships_`` and not equal.

        Parameters
        ----------
        X : array-like of shape (n_new, n_draws) or, if precomputed, (n_new, n_items)
            Labels of items in the draws of the fit, or their similarity to its items.

        Returns
        -------
        ndarray of shape (n_new, rank)
            Rows sum to 1.
        """
        from scipy.optimize import nnls

        check_is_fitted(self)
        rows = self._similarities(read_items(self, X, reset=False))
        weights = np.stack([nnls(self._profiles, row)[0] for row in rows])
        total = weights.sum(axis=1, keepdims=True)
        alike = np.full_like(weights, 1 / weights.shape[1])
        return np.divide(weights, total, out=alike, where=total > 0)

    def _similarities(self, array: Any) -> Any:
        if self._items is None:
            return array.astype(np.float64)
        n_fitted, n_new = len(self._items), len(array)
        together = Similarity.from_draws(
            as_draws(np.concatenate([self._items, array]), self._weight)
        )
        return together.block(np.arange(n_fitted, n_fitted + n_new), np.arange(n_fitted))
