"""One data set of the simulation and the draws made on it, the same in every study that asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from partita import validate
from partita.mixture import Moves, sample_mixture
from partita.studies import configurations
from partita.studies.configurations import Configuration, Reading

if TYPE_CHECKING:
    from partita.draws import Draws
    from partita.typing import FloatArray

PRIORS = ("independent", "paper")
#: "gibbs" reassigns one item at a time and nothing else.
MOVES = {"default": Moves(), "gibbs": Moves("explicit", 0, 0)}
STARTS = ("kmeans", "one", "singletons", "random")
#: Of the items, what counts as a cluster found.
LARGE = 0.05


@dataclass(frozen=True)
class Sampling:
    """How the data are simulated and the draws made.

    Parameters
    ----------
    n_draws, n_burn : int
    prior : {"independent", "paper"}
    moves : {"default", "gibbs"}
    start : {"kmeans", "one", "singletons", "random"}
    reading : Reading
        How the paper's table of settings is read.
    seed : int
        A replicate has the same data whatever the prior, the moves and the start.
    """

    n_draws: int
    n_burn: int
    prior: str = "independent"
    moves: str = "default"
    start: str = "kmeans"
    reading: Reading = configurations.PRINTED
    seed: int = 0

    def __post_init__(self) -> None:
        validate.choice("prior", self.prior, PRIORS)
        validate.choice("moves", self.moves, tuple(MOVES))
        validate.choice("start", self.start, STARTS)

    def data(self, name: str, number: int) -> tuple[Configuration, FloatArray]:
        """Return a configuration and the data of one of its replicates."""
        chosen = configurations.configuration(name, self.reading)
        return chosen, chosen.sample(np.random.default_rng(self._seeds(name, number)[0]))

    def replicate(self, name: str, number: int) -> Replicate:
        """Simulate one data set and sample its partitions."""
        chosen, data = self.data(name, number)
        _, for_draws, for_methods = self._seeds(name, number)
        draws = sample_mixture(
            data,
            n_draws=self.n_draws,
            n_burn=self.n_burn,
            prior=self.prior,
            moves=MOVES[self.moves],
            start=self.start,
            rng=for_draws,
        )
        return Replicate(chosen, data, draws, for_methods)

    def _seeds(self, name: str, number: int) -> tuple[int, int, int]:
        seeds = np.random.SeedSequence([self.seed, configurations.NAMES.index(name), number])
        for_data, for_draws, for_methods = map(int, seeds.generate_state(3))
        return for_data, for_draws, for_methods


@dataclass(frozen=True, eq=False)
class Replicate:
    """A data set, its draws, and the seed for what is done with them."""

    configuration: Configuration
    data: FloatArray
    draws: Draws
    seed: int

    @property
    def clusters_found(self) -> int:
        """Clusters of a twentieth of the items or more in the last draw."""
        sizes = np.bincount(self.draws.labels[-1])
        return int((sizes >= LARGE * self.draws.n_items).sum())
