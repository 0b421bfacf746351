"""The crabs data (the paper's Section 5.3) under both readings of its prior, and four scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import partita as pt
from studies import methods
from studies.ledger import Row
from studies.study import Study

PRIORS = ("paper", "independent")


def _principal(data: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = data - data.mean(axis=0)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2].T)


SCALES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "millimetres": lambda data: data,
    "logarithms": np.log,
    "standardised": lambda data: (data - data.mean(axis=0)) / data.std(axis=0, ddof=1),
    "principal components": _principal,
}


@dataclass(frozen=True)
class Crabs(Study):
    """Five measurements of 200 crabs; the truth is species by sex. A replicate is a chain.

    Parameters
    ----------
    solver : {"fast", "mu"}
        Of NMF.
    n_draws, n_burn : int
    """

    replicates: int = 3
    solver: str = "fast"
    n_draws: int = 10_000
    n_burn: int = 5_000
    name: ClassVar[str] = "crabs"
    short: ClassVar[Mapping[str, Any]] = {"n_draws": 1_000, "n_burn": 1_000}
    files: ClassVar[tuple[str, ...]] = ("crabs.py", "methods.py")
    apart: ClassVar[tuple[str, ...]] = ("solver",)

    def pieces(self) -> list[str]:
        """Return every prior on every scale."""
        return [f"{prior}/{scale}" for prior in PRIORS for scale in SCALES]

    def answers(self, piece: str, number: int) -> tuple[pt.Draws, dict[str, NDArray[np.int64]]]:
        """Return the draws and the partition of every method."""
        prior, scale = piece.split("/")
        seed = self.seed + number
        draws = pt.sample_mixture(
            SCALES[scale](pt.datasets.load_crabs().data), n_draws=self.n_draws, n_burn=self.n_burn,
            prior=prior, rng=seed,
        )  # fmt: skip
        similarity = pt.posterior_similarity(draws)
        found = methods.factorised(similarity, self.solver, seed)
        return draws, found | methods.conventional(similarity) | methods.ours(draws, seed)

    def work(self, piece: str, number: int) -> Row:
        """Score every method on one prior and one scale."""
        draws, found = self.answers(piece, number)
        row = {"P(K = 4)": float((draws.n_clusters == 4).mean())}
        truth = np.asarray(pt.datasets.load_crabs().truth)
        return row | methods.scored(truth, found)
