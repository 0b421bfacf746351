"""A density of the posterior over partitions: p-values of given partitions, and its peaks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import losses, validate
from partita.draws import Draws, representative
from partita.losses import VI
from partita.partitions import canonical_rows
from partita.uncertainty._given import halves, positive_draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.losses import Loss
    from partita.typing import IntArray

GAMMA = 0.5  # decay of the kernel in bits of VI, as in the paper's software
_MOST = 500  # draws of each half, since every pair of them is compared


@dataclass(frozen=True, eq=False)
class Density:
    """A kernel density over half of the draws, and its values at the other half.

    The score of a partition is the mean of exp(-gamma d) over the distances d to the draws of the
    first half of every chain. Draws of the second half are what it is compared with, so that
    they are to the density what a new draw is.

    References
    ----------
    Bariletto, Ho & Rinaldo (2025), Conformalized Bayesian inference, with applications to random
    partition models, arXiv:2511.05746.
    """

    kernel: Draws
    others: Draws
    loss: Loss
    gamma: float
    n_jobs: int

    @classmethod
    def of(
        cls, draws: Any, *, loss: Loss | None = None, gamma: float = GAMMA, n_jobs: int = -1
    ) -> Density:
        """Halve the draws; of many, some that stand for each half are taken."""
        given = positive_draws(draws, "p_value")
        first = halves(given)
        second = first if first.all() else ~first  # of a single draw there are no halves
        kernel, others = (representative(given.take(part), _MOST) for part in (first, second))
        gamma = validate.real("gamma", gamma, low=0, open_low=True)
        return cls(kernel, others, VI() if loss is None else loss, gamma, n_jobs)

    def score(self, partitions: IntArray) -> NDArray[np.float64]:
        """Return the density at each of some partitions, (p, n)."""
        far = losses.distances(self.loss, partitions, self.kernel, n_jobs=self.n_jobs)
        return np.asarray(np.exp(-self.gamma * far) @ self.kernel.probabilities)

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """The density at the draws of the second half."""
        return self.score(np.asarray(self.others.labels))

    def p_value(self, partitions: IntArray) -> NDArray[np.float64]:
        """Return the conformal p-value of each partition.

        (1 + the number of draws of the second half that score no higher) / (m + 1); for weighted
        draws m is their effective number.
        """
        p = self.others.probabilities
        m = 1.0 / float((p**2).sum())
        own = self.score(partitions)
        no_higher = (self.scores[None, :] <= own[:, None] * (1 + 1e-9)) @ p
        return np.asarray(np.minimum((1 + m * no_higher) / (m + 1), 1.0))

    def peaks(self, most: int) -> NDArray[np.int64]:
        """Return the draws of the second half that are peaks, the clearest first.

        A peak has a high density and is far from every draw of a higher one; they are ranked by
        the product (Rodriguez & Laio 2014).
        """
        labels = canonical_rows(np.asarray(self.others.labels)).astype(np.int64)
        far = losses.distances(self.loss, labels, self.others, n_jobs=self.n_jobs)
        far = (far + far.T) / 2  # a loss need not be symmetric
        rank = np.empty(len(labels), dtype=np.int64)
        rank[np.argsort(-self.scores, kind="stable")] = np.arange(len(labels))
        higher = rank[None, :] < rank[:, None]
        apart = np.where(higher, far, np.inf).min(axis=1)
        apart[rank == 0] = far.max()
        worth = self.scores * apart
        order = np.argsort(-worth, kind="stable")
        chosen = [int(i) for i in order if worth[i] > 1e-12 or rank[i] == 0][:most]
        return labels[chosen]
