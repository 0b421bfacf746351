"""The galaxy data (the paper's Section 5.2): every method over many seeds of NMF's restarts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

import partita as pt
from studies import methods
from studies.ledger import Row
from studies.study import Study

#: The draws that the paper used come with R's mcclust.ext and are not ours to ship.
PAPERS_DRAWS = Path("../shared/data/galaxy_draws.npz")
#: The galaxies whose memberships the paper speaks of, and its ranks.
ITEMS, RANKS = (8, 9, 77, 78, 79), (3, 4, 5)


@dataclass(frozen=True)
class Galaxy(Study):
    """The paper's eight methods on the velocities of 82 galaxies; a replicate is a seed of NMF.

    Parameters
    ----------
    draws : Path
        A file with the draws of the paper; without it, draws of our own.
    """

    replicates: int = 50
    draws: Path = PAPERS_DRAWS
    name: ClassVar[str] = "galaxy"
    files: ClassVar[tuple[str, ...]] = ("galaxy.py", "methods.py")

    def pieces(self) -> list[str]:
        """Return the solvers of NMF: R's updates and ours."""
        return ["mu", "fast"]

    @property
    def asked(self) -> str:
        """The settings, and whose draws there are in place of where they are."""
        whose = "paper" if self.draws.exists() else "ours"
        return f"partita galaxy draws={whose} seed={self.seed}"

    def similarity(self) -> pt.Similarity:
        """Return the posterior similarity, the same for every replicate."""
        if self.draws.exists():
            return pt.posterior_similarity(pt.read_draws(self.draws))
        velocities = pt.datasets.load_galaxies().data
        return pt.posterior_similarity(pt.sample_mixture(velocities, rng=self.seed))

    def work(self, piece: str, number: int) -> Row:
        """Return every method's partition, and how sure NMF-kl is of the items in doubt."""
        similarity, seed = self.similarity(), self.seed + number
        found = methods.conventional(similarity)
        found |= methods.factorised(similarity, piece, seed)
        told = {name: methods.runs(labels) for name, labels in found.items()}
        return {**told, **doubts(similarity, piece, seed)}


DOUBTS = (
    *(f"K{rank}: largest of {item}" for rank in RANKS for item in ITEMS),
    "K3: right cluster of 77",
    "K4: second of 10 to 77",
    "K4: 78 and 79 with 77",
)


def memberships(
    similarity: pt.Similarity, solver: str, rank: int, seed: int
) -> NDArray[np.float64]:
    """Return the memberships of NMF-kl; by R's updates they are read off H as those leave it."""
    return pt.factorize(
        similarity, model="kl", rank=rank, n_init=methods.N_INIT, rng=seed, solver=solver,
        normalize="as-is" if solver == "mu" else "balance",
    ).memberships  # fmt: skip


def doubts(similarity: pt.Similarity, solver: str, seed: int) -> dict[str, float]:
    """Return the numbers behind what the paper says of NMF-kl's memberships."""
    three, four, _ = found = [memberships(similarity, solver, rank, seed) for rank in RANKS]
    values = [shares[item - 1].max() for shares in found for item in ITEMS]
    right = int(three[81].argmax())  # the cluster of the fastest galaxy
    second = np.sort(four[9:77], axis=1)[:, -2].mean()
    with_77 = four[76:79].argmax(axis=1)
    values += [three[76, right], second, float((with_77 == with_77[0]).all())]
    return dict(zip(DOUBTS, map(float, values), strict=True))
