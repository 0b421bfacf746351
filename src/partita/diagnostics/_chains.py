"""Draws as chains: what belongs to each, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.diagnostics._rhat import ess_bulk, ess_mean, rhat
from partita.draws import Draws

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Chains:
    """Which draws each chain has, in order.

    Parameters
    ----------
    draws : Draws
        All of positive weight.
    numbers : ndarray of int64, shape (n_chains,)
        What the chains are called.
    members : tuple of ndarray
        The positions of the draws of each chain.
    """

    draws: Draws
    numbers: NDArray[np.int64]
    members: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, draws: Draws) -> Chains:
        """Take the chains that the draws name; one if they name none."""
        if draws.weights is not None and not (draws.weights > 0).all():
            draws = draws.take(draws.weights > 0)
        chains = np.zeros(draws.n_draws, dtype=np.int64) if draws.chains is None else draws.chains
        numbers = np.unique(chains).astype(np.int64)
        return cls(draws, numbers, tuple(np.flatnonzero(chains == c) for c in numbers))

    @property
    def n_chains(self) -> int:
        """The number of chains."""
        return len(self.members)

    @property
    def shortest(self) -> int:
        """The number of draws of the shortest chain."""
        return min(of_chain.size for of_chain in self.members)

    @property
    def is_weighted(self) -> bool:
        """Whether some draws weigh more than others."""
        weights = self.draws.weights
        return weights is not None and float(np.ptp(weights)) > 1e-12 * float(weights.max())

    def stack(self, values: Any) -> NDArray[np.float64]:
        """Arrange (..., n_draws) values as (..., n_chains, length), the end of longer chains."""
        values = np.asarray(values, dtype=np.float64)
        return np.stack([values[..., m[-self.shortest :]] for m in self.members], axis=-2)

    def parts(self) -> list[tuple[str, Draws]]:
        """The chains by name or, if there is but one, its halves."""
        if self.n_chains > 1:
            return [
                (f"chain {c}", self.draws.take(m))
                for c, m in zip(self.numbers.tolist(), self.members, strict=True)
            ]
        half = self.draws.n_draws // 2
        if half == 0:
            return [("the draw", self.draws)]
        return [
            ("the first half", self.draws.take(slice(None, half))),
            ("the second half", self.draws.take(slice(half, None))),
        ]

    def shares(self, parts: list[tuple[str, Draws]]) -> NDArray[np.float64]:
        """The share of all weight that each part has."""
        weight = [d.n_draws if d.weights is None else d.weights.sum() for _, d in parts]
        return np.asarray(weight / np.sum(weight), dtype=np.float64)

    def rhat(self, values: Any) -> NDArray[np.float64]:
        """R-hat of (..., n_draws) values; nan if the draws are weighted, hence in no order."""
        if self.is_weighted:
            return np.full(np.shape(values)[:-1], np.nan)
        return rhat(self.stack(values))

    def ess_bulk(self, values: Any) -> NDArray[np.float64]:
        """Bulk effective sample size of (..., n_draws) values; Kish's if the draws are weighted."""
        return self._kish(values) if self.is_weighted else ess_bulk(self.stack(values))

    def ess_mean(self, values: Any) -> NDArray[np.float64]:
        """Effective sample size of the mean; Kish's (Σw)²/Σw² if the draws are weighted."""
        return self._kish(values) if self.is_weighted else ess_mean(self.stack(values))

    def _kish(self, values: Any) -> NDArray[np.float64]:
        size = float(1 / np.square(self.draws.probabilities).sum())
        return np.full(np.shape(values)[:-1], size)

    def moments(self, values: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of (..., n_draws) values under the draws' weights."""
        values = np.asarray(values, dtype=np.float64)
        first = values[..., 0]  # about it, a constant has variance exactly zero
        mean = first + (values - first[..., None]) @ self.draws.probabilities
        p = self.draws.probabilities
        spread = np.square(values - mean[..., None]) @ p
        freedom = 1 - float(np.square(p).sum())  # (n - 1)/n if the weights are equal
        sd = np.sqrt(spread / freedom) if values.shape[-1] > 1 else np.full_like(mean, np.nan)
        return mean, sd


def monte_carlo_error(values: Any, draws: Draws) -> tuple[float, float, float]:
    """Return the mean of one value a draw, its Monte Carlo standard error and effective size.

    The error is the standard deviation over the root of the effective sample size of the mean;
    nan where fewer than four draws a chain leave nothing to judge it by.
    """
    keep = draws.probabilities > 0
    chains = Chains.of(draws)
    kept = np.asarray(values, dtype=np.float64)[keep]
    mean, sd = chains.moments(kept)
    ess = float(chains.ess_mean(kept))
    return float(mean), float(sd / np.sqrt(ess)), ess
