"""Computing time of the four NMF models against N and K (the paper's Section 5.4)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from partita.distributed import progress
from partita.nmf import factorize
from partita.similarity import Similarity
from partita.studies import _figures
from partita.studies._common import Findings, Frame, markdown

if TYPE_CHECKING:
    from partita.typing import FloatArray

MODELS = ("ls", "kl", "ns", "offset")


def random_similarity(n: int, rng: np.random.Generator) -> FloatArray:
    """Return a symmetric matrix of independent uniform numbers with ones on the diagonal.

    It has no structure, which is the slow case.
    """
    upper = np.triu(rng.random((n, n)), 1)
    return upper + upper.T + np.eye(n)


@dataclass(frozen=True)
class Scaling:
    """Ten restarts on one core on matrices without structure.

    Parameters
    ----------
    sizes, ranks : tuple of int
        The paper's N and K.
    n_init : int
        Restarts.
    repeats : int
        Of which the median is shown.
    seed : int
    """

    sizes: tuple[int, ...] = (200, 400, 600, 800)
    ranks: tuple[int, ...] = (3, 6, 9, 12)
    n_init: int = 10
    repeats: int = 3
    seed: int = 0

    def quick(self) -> Scaling:
        """Return the same study with the smaller half of the sizes, once each."""
        return replace(self, sizes=self.sizes[:2], repeats=1)

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Measure on one core, whatever ``n_jobs``; nothing is resumed."""
        table = self._measure()
        wide = table.groupby(["model", "K", "N"], sort=False).seconds.median().unstack("N")
        return Findings(
            "scaling",
            _page(table, wide),
            {"seconds": table.set_index(["model", "N", "K"])},
            {"seconds": lambda: _figures.growth(wide, MODELS)},
            command=f"partita reproduce scaling --seed {self.seed}",
        )

    def _measure(self) -> Frame:
        import pandas as pd

        rng = np.random.default_rng(self.seed)
        cells = [
            (n, model, k, repeat)
            for n in self.sizes
            for model in MODELS
            for k in self.ranks
            for repeat in range(self.repeats)
        ]
        matrices = {n: Similarity(random_similarity(n, rng)) for n in self.sizes}
        for model in MODELS:
            factorize(matrices[self.sizes[0]], model=model, rank=2, n_init=1, rng=0)  # compiles
        rows = []
        with progress(len(cells), "factorisations") as bar:
            for n, model, k, repeat in cells:
                began = time.process_time()
                factorize(matrices[n], model=model, rank=k, n_init=self.n_init, rng=repeat)
                spent = time.process_time() - began
                rows.append({"model": model, "N": n, "K": k, "seconds": spent})
                bar.advance(note=f"{model} N {n} K {k}")
        return pd.DataFrame(rows)


def _page(table: Frame, wide: Frame) -> str:
    logs = np.log(table[["seconds", "N", "K"]])
    design = np.column_stack([logs.N, logs.K, np.ones(len(logs))])
    lines = []
    for model in MODELS:
        rows = (table.model == model).to_numpy()
        slope = np.linalg.lstsq(design[rows], logs.seconds[rows], rcond=None)[0]
        lines.append(f"- {model}: seconds grow as N^{slope[0]:.2f} K^{slope[1]:.2f}")
    return "\n\n".join(
        (
            "# Computing time\n\nCPU seconds of ten restarts on one core, on symmetric matrices of "
            "uniform numbers, which have no structure to find. The paper shows R's seconds in a "
            "figure, without numbers, and calls the growth O(KN²).",
            markdown(wide, digits=2),
            "\n".join(lines),
            "![seconds](seconds.png)",
        )
    )
