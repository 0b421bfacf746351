"""The simulation study (the paper's Section 5.1.1): eight kinds of mixture, a hundred of each.

``Mixing`` and ``Readings`` are the same with the conventional methods alone. Where clusters are far
apart, the paper scores below a sampler that moves between modes, so ``Mixing`` has lesser chains.
Where they overlap, and at d, it scores above a classifier that knows the parameters it prints, so
``Readings`` has other ways to read its table of settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import partita as pt
from studies import methods, mixtures
from studies.ledger import Row
from studies.study import Study

#: Moves and start of the chains of ``Mixing``; "all moves" is what the simulation uses.
CHAINS = {
    "Gibbs from k-means": {"moves": "gibbs", "start": "kmeans"},
    "Gibbs from one cluster": {"moves": "gibbs", "start": "one"},
    "Gibbs from random labels": {"moves": "gibbs", "start": "random"},
    "all moves": {"moves": "default", "start": "kmeans"},
}
#: Of 256 readings (scale, correlation, order, separation, precisions) these were chosen by their
#: ceilings (``results/readings/ceilings.csv``): a scale, and the three best precisions.
READINGS = (
    "printed",
    "scale=0.65",
    "correlation=0+order=3120+precision",
    "correlation=-1+order=3012+precision",
    "order=3021+precision",
)


@dataclass(frozen=True)
class Mixtures(Study):
    """Data and draws of the eight mixtures; a replicate is a data set.

    Parameters
    ----------
    names : tuple of str
        The mixtures.
    n_draws, n_burn : int
    """

    names: tuple[str, ...] = mixtures.NAMES
    n_draws: int = 10_000
    n_burn: int = 5_000
    files: ClassVar[tuple[str, ...]] = ("simulation.py", "methods.py", "mixtures.py")

    def sample(self, name: str, number: int, reading: str, **sampler: Any) -> tuple[Any, ...]:
        """Return truth, what one who knows the parameters says, draws, and a seed for methods."""
        chosen, points, seed, for_methods = mixtures.data(name, number, self.seed, reading)
        sampler["moves"] = mixtures.MOVES[sampler.get("moves", "default")]
        draws = pt.sample_mixture(
            points, n_draws=self.n_draws, n_burn=self.n_burn, rng=seed, **sampler
        )
        return chosen.truth, chosen.classify(points), draws, for_methods


@dataclass(frozen=True)
class Simulation(Mixtures):
    """Every method, scored against the truth.

    Parameters
    ----------
    prior : {"independent", "paper"}
        As PReMiuM computes it, or as the paper prints it.
    solver : {"fast", "mu"}
        Of NMF. "mu" goes with H as the updates leave it, R's way.
    moves : {"default", "gibbs"}
        Of the sampler; "gibbs" reassigns one item at a time and nothing else.
    start : {"kmeans", "one", "singletons", "random"}
        Where its one chain begins.
    reading : str
        Of the paper's table of settings; see :func:`studies.mixtures.mixture`.
    ranks : tuple of int
    n_init : int
        Ranks and restarts of NMF.
    device : str, optional
        Where NMF factorises, "cuda" say, in float64.
    """

    replicates: int = 100
    prior: str = "independent"
    solver: str = "fast"
    moves: str = "default"
    start: str = "kmeans"
    reading: str = "printed"
    ranks: tuple[int, ...] = methods.RANKS
    n_init: int = methods.N_INIT
    device: str | None = None
    name: ClassVar[str] = "simulation"
    apart: ClassVar[tuple[str, ...]] = ("prior", "solver", "moves", "start", "reading")
    short: ClassVar[Mapping[str, Any]] = {"n_draws": 2_000, "n_burn": 1_000}

    def pieces(self) -> list[str]:
        """Return the mixtures, read as asked, which refuses what is none."""
        return [name for name in self.names if mixtures.mixture(name, self.reading)]

    def work(self, piece: str, number: int) -> Row:
        """Simulate, sample, estimate and score one data set."""
        how = {"prior": self.prior, "moves": self.moves, "start": self.start}
        truth, oracle, draws, seed = self.sample(piece, number, self.reading, **how)
        similarity = pt.posterior_similarity(draws)
        found: dict[str, NDArray[np.int64]] = methods.factorised(
            similarity, self.solver, seed, self.ranks, self.n_init, self.device
        )
        found |= methods.conventional(similarity) | methods.ours(draws, seed) | {"oracle": oracle}
        return {**methods.scored(truth, found), "draws:K": float(draws.n_clusters.mean())}


@dataclass(frozen=True)
class Variants(Mixtures):
    """The conventional methods on data sets and chains of several kinds.

    Parameters
    ----------
    reading : str
        Of the table of settings, where the kinds do not differ in it.
    """

    reading: str = "printed"
    kinds: ClassVar[Mapping[str, Mapping[str, Any]]]

    def pieces(self) -> list[str]:
        """Return every kind of every mixture."""
        known = [name for name in self.names if mixtures.mixture(name, self.reading)]
        return [f"{name}/{kind}" for name in known for kind in self.kinds]

    def work(self, piece: str, number: int) -> Row:
        """Run one chain on one data set: the clusters it ends with, and everyone's scores."""
        name, kind = piece.split("/")
        how = {"reading": self.reading, **self.kinds[kind]}
        truth, oracle, draws, _ = self.sample(name, number, **how)
        found = methods.conventional(pt.posterior_similarity(draws)) | {"oracle": oracle}
        large = np.bincount(draws.labels[-1]) >= 0.05 * draws.n_items
        return {"found": float(large.sum()), **methods.scored(truth, found)}


@dataclass(frozen=True)
class Mixing(Variants):
    """Four kinds of chain on the simulation's first data sets."""

    replicates: int = 40
    names: tuple[str, ...] = mixtures.NAMES[:4]
    name: ClassVar[str] = "mixing"
    apart: ClassVar[tuple[str, ...]] = ("reading",)
    short: ClassVar[Mapping[str, Any]] = {"n_draws": 2_000, "n_burn": 1_000}
    kinds: ClassVar[Mapping[str, Mapping[str, Any]]] = CHAINS


@dataclass(frozen=True)
class Readings(Variants):
    """Equal numbers of data sets of several readings of the table of settings."""

    replicates: int = 100
    names: tuple[str, ...] = mixtures.NAMES[1::2]
    n_draws: int = 4_000
    n_burn: int = 2_000
    name: ClassVar[str] = "readings"
    kinds: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        text: {"reading": text} for text in READINGS
    }
