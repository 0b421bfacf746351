"""Computing time of the four NMF models against N and K (the paper's Section 5.4)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import partita as pt
from studies import methods
from studies.ledger import Row
from studies.study import Study


def random_similarity(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a symmetric matrix of uniform numbers, ones on its diagonal: the slow case."""
    upper = np.triu(rng.random((n, n)), 1)
    return np.asarray(upper + upper.T + np.eye(n))


@dataclass(frozen=True)
class Scaling(Study):
    """Ten restarts on one core on matrices without structure; a replicate is a matrix.

    Parameters
    ----------
    solver : {"fast", "mu"}
    sizes, ranks : tuple of int
        The paper's N and K.
    """

    replicates: int = 3
    solver: str = "fast"
    sizes: tuple[int, ...] = (200, 400, 600, 800)
    ranks: tuple[int, ...] = (3, 6, 9, 12)
    name: ClassVar[str] = "scaling"
    short: ClassVar[Mapping[str, Any]] = {"replicates": 1, "sizes": (200, 400)}
    files: ClassVar[tuple[str, ...]] = ("scaling.py",)
    apart: ClassVar[tuple[str, ...]] = ("solver",)

    def pieces(self) -> list[str]:
        """Return every model, size and rank."""
        cells = [(model, n, k) for model in methods.MODELS for n in self.sizes for k in self.ranks]
        return [f"{model.removeprefix('nmf-')}/{n}/{k}" for model, n, k in cells]

    def work(self, piece: str, number: int) -> Row:
        """Time one factorisation."""
        model, n, rank = piece.split("/")
        matrix = random_similarity(int(n), np.random.default_rng([self.seed, int(n), number]))
        similarity = pt.Similarity(matrix)
        began = time.process_time()
        pt.factorize(
            similarity, model=model, rank=int(rank), n_init=methods.N_INIT, rng=number,
            solver=self.solver,
        )  # fmt: skip
        return {"seconds": time.process_time() - began}
