"""What the estimators share: from scikit-learn's words and arrays to partita's, and a fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from partita import validate
from partita.draws import Draws
from partita.errors import InvalidTypeError, InvalidValueError, PartitaWarning
from partita.estimation import estimate
from partita.partitions import canonical_rows
from partita.similarity import Similarity

METRICS = ("draws", "precomputed")


def seed_of(random_state: Any) -> int:
    """Return a seed from anything that scikit-learn takes as ``random_state``."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def read_items(estimator: Any, X: Any, *, reset: bool = True, at_least: int = 1) -> Any:
    """Return X as numbers, a row an item, with scikit-learn's checks."""
    arrays = {Draws: "draws.labels.T", Similarity: "similarity.to_dense(), metric='precomputed'"}
    if type(X) in arrays:
        raise InvalidTypeError(
            f"`X` must be an array with a row for each item; got {type(X).__name__}. Pass "
            f"{arrays[type(X)]}, or use partita.estimate, which takes it as it is."
        )
    return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_min_samples=at_least)


def read_evidence(estimator: Any, X: Any, draw_weight: Any = None) -> Draws | Similarity:
    """Return what an estimator is fitted on: draws in columns, or a similarity matrix.

    The entries of a draw are names of clusters, so any numbers will do; equal ones are one cluster.
    """
    metric = validate.choice("metric", estimator.metric, METRICS)
    array = read_items(estimator, X)
    if metric == "precomputed":
        if draw_weight is not None:
            raise InvalidValueError(
                "`draw_weight` weighs draws, and a similarity has none; leave it out, or give the "
                "draws with metric='draws'."
            )
        if array.shape[0] != array.shape[1]:
            raise InvalidValueError(
                f"`X` must be a square similarity matrix; got shape {array.shape}. Draws go with "
                "metric='draws'."
            )
        return Similarity(array.astype(np.float64))
    return as_draws(array, draw_weight)


def as_draws(array: Any, draw_weight: Any = None) -> Draws:
    """Return draws from labels with items in rows, whatever numbers name the clusters."""
    if array.dtype.kind == "f" and np.any(array != np.floor(array)):
        warnings.warn(
            "`X` holds numbers that are not whole; each distinct one is taken for the name of a "
            "cluster. X is draws of labels, items in rows: measurements go to DPMixture.",
            PartitaWarning,
            stacklevel=4,
        )
    numbered = np.empty(array.T.shape, dtype=np.int64)
    for row, column in zip(numbered, array.T, strict=True):
        row[:] = np.unique(column, return_inverse=True)[1]
    return Draws(canonical_rows(numbered), weights=draw_weight)


class ClustererOfDraws(ClusterMixin, BaseEstimator):
    """A clusterer of items by their draws or similarities; a subclass says what it aims at."""

    metric: str
    n_jobs: int | None
    random_state: Any

    def fit(self, X: Any, y: Any = None, draw_weight: Any = None) -> Any:
        """Find the partition. ``y`` is ignored.

        Parameters
        ----------
        X : array-like of shape (n_items, n_draws) or, if precomputed, (n_items, n_items)
        y : ignored
        draw_weight : array-like of shape (n_draws,), optional
            Weights of the draws; in a pipeline they come by ``set_fit_request(draw_weight=True)``.
        """
        evidence = read_evidence(self, X, draw_weight)
        rng = seed_of(self.random_state)
        self.estimate_ = estimate(evidence, **self._aim(), rng=rng, n_jobs=self.n_jobs)
        self.labels_ = self.estimate_.labels
        self.n_clusters_ = self.estimate_.n_clusters
        self.expected_loss_ = self.estimate_.expected_loss
        self._keep(evidence, X, draw_weight)
        return self

    def _aim(self) -> dict[str, Any]:
        """What ``estimate`` is called with: a loss and a search."""
        raise NotImplementedError

    def _keep(self, evidence: Draws | Similarity, X: Any, draw_weight: Any) -> None:
        """Keep what else a subclass needs of the fit."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
