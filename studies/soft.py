"""Soft clustering (the paper's Section 5.1.2): two clusters of fifteen items and two of three."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import partita as pt
from studies import methods
from studies.ledger import Row
from studies.study import Study

SIZES = (15, 15, 3, 3)
#: The paper prints none. Of some 500 places and seeds tried, these answer as it describes.
MEANS = np.array([[-3.25, 0.0], [3.25, 0.0], [0.8, 3.5], [-0.8, -3.5]])
DEVIATION = 0.6
CHOSEN = 22
CHAIN = 1
RANKS = (2, 3, 4, 5, 6, 7, 8)
SHOWN = (2, 4)  # ranks whose memberships the paper draws
N_INIT = 50  # with ten, some rank misses its best minimum
TIED = 1e-6  # of the least objective; restarts nearer than this to the best fit equally well
DOUBTFUL = 0.75  # a largest membership below this counts as doubt


def simulate(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the 36 items in the plane and their components."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), SIZES)
    return rng.normal(MEANS[truth], DEVIATION), truth


@dataclass(frozen=True, eq=False)
class Fits:
    """What the study makes of one data set.

    Parameters
    ----------
    data : ndarray, shape (36, 2)
    similarity : Similarity
    conventional : dict of str to ndarray
        The partitions of MinBinder, MaxPear and MinVI.
    restarts : dict of int to list of Factorization
        NMF-ls at each rank from each start, the best first.
    """

    data: NDArray[np.float64]
    similarity: pt.Similarity
    conventional: dict[str, NDArray[np.int64]]
    restarts: dict[int, list[pt.Factorization]]

    def tied(self, rank: int) -> NDArray[np.float64]:
        """Return each item's largest membership in every restart that ties with the best."""
        best = self.restarts[rank][0].objective
        tied = [fit for fit in self.restarts[rank] if fit.objective <= best * (1 + TIED)]
        return np.stack([fit.memberships.max(axis=1) for fit in tied])

    def loss(self, rank: int) -> float:
        """Return the expected Binder loss of a rank on the paper's scale (eq. 11)."""
        labels = self.restarts[rank][0].labels
        mean = pt.expected_loss(labels, self.similarity, loss="binder")
        return float(mean) * len(labels) ** 2 / 2


@dataclass(frozen=True)
class Soft(Study):
    """NMF-ls where six items are in doubt; replicates are other chains, and other data sets.

    Parameters
    ----------
    n_draws, n_burn : int
    """

    replicates: int = 20
    n_draws: int = 10_000
    n_burn: int = 5_000
    name: ClassVar[str] = "soft"
    files: ClassVar[tuple[str, ...]] = ("soft.py", "methods.py")

    def pieces(self) -> list[str]:
        """Return the chosen data under many chains, and many data sets under one chain."""
        return ["chosen data", "other data"]

    def fit(self, data_seed: int, chain_seed: int) -> Fits:
        """Simulate, sample, estimate and factorise."""
        data, _ = simulate(data_seed)
        draws = pt.sample_mixture(data, n_draws=self.n_draws, n_burn=self.n_burn, rng=chain_seed)
        similarity = pt.posterior_similarity(draws)
        found = methods.conventional(similarity)
        del found["medv"]  # the paper shows three here
        restarts = {}
        for rank in RANKS:
            fits = [
                pt.factorize(similarity, model="ls", rank=rank, n_init=1, rng=start)
                for start in range(N_INIT)
            ]
            restarts[rank] = sorted(fits, key=lambda fit: fit.objective)
        return Fits(data, similarity, found, restarts)

    def work(self, piece: str, number: int) -> Row:
        """Return in numbers what the paper describes."""
        chosen = piece == "chosen data"
        seed = self.seed + number
        fits = self.fit(CHOSEN, CHAIN + seed) if chosen else self.fit(seed, CHAIN)
        said = np.repeat([0, 1, 1, 0], SIZES)
        row = {"as said": float(sum(np.array_equal(x, said) for x in fits.conventional.values()))}
        row |= {f"K of {name}": float(x.max() + 1) for name, x in fits.conventional.items()}
        sure = fits.restarts[2][0].memberships.max(axis=1)
        row |= {"31-33 at 2": sure[30:33].max(), "34-36 at 2": sure[33:].max()}
        row |= {"others at 2": sure[:30].min()}
        four = fits.restarts[4][0].labels
        for name, group in (("31-33", np.arange(30, 33)), ("34-36", np.arange(33, 36))):
            row[f"strangers of {name} at 4"] = float(np.isin(four, four[group]).sum() - 3)
        row |= {f"loss at {rank}": fits.loss(rank) for rank in RANKS}
        for rank in RANKS:
            largest = fits.tied(rank)
            row[f"tied at {rank}"] = float(len(largest))
            row[f"spread at {rank}"] = float(np.ptp(largest, axis=0).max())
        return row


def holds(row: Row) -> tuple[bool, bool]:
    """Return whether the paper's description holds: of the conventional methods, and of all."""
    value = {name: float(text) for name, text in row.items()}
    one = value["as said"] == 3
    doubt = max(value["31-33 at 2"], value["34-36 at 2"]) < DOUBTFUL < value["others at 2"]
    four = value["strangers of 31-33 at 4"] == value["strangers of 34-36 at 4"] == 0
    losses = [value[f"loss at {rank}"] for rank in RANKS]
    best = min(losses) == losses[0] and losses[2] <= 1.2 * losses[0]
    return one, bool(one and doubt and four and best)
