"""Do chains that miss clusters explain the paper's scores where clusters are far apart (a to d)?

There a sampler that moves between modes scores near the ceiling and the paper does not. A chain
that reassigns one item at a time can stay with two clusters in one for as long as it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from partita.estimation import estimate
from partita.evidence import Evidence
from partita.mixture import Moves, sample_mixture
from partita.studies import configurations, methods
from partita.studies._clock import Clock
from partita.studies._common import Findings, Frame, markdown, paper_table

PANELS = ("TTT", "TTF", "TFT", "TFF")
#: Moves and start. "all" is what the simulation study uses.
CHAINS = {
    "all moves": (Moves(), "kmeans"),
    "Gibbs from k-means": (Moves("explicit", 0, 0), "kmeans"),
    "Gibbs from random labels": (Moves("explicit", 0, 0), "random"),
    "Gibbs from one cluster": (Moves("explicit", 0, 0), "one"),
}
LARGE = 0.05  # of the items, what counts as a cluster found


@dataclass(frozen=True)
class Mixing:
    """The conventional methods on the simulation's own data sets, the sampler made worse.

    Parameters
    ----------
    replicates : int
        Data sets of each configuration; the first ones of the simulation study.
    n_draws, n_burn : int
    seed : int
    """

    replicates: int = 20
    n_draws: int = 10_000
    n_burn: int = 5_000
    seed: int = 0

    def quick(self) -> Mixing:
        """Return the same study with three data sets and shorter chains."""
        return replace(self, replicates=3, n_draws=2_000, n_burn=1_000)

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Run every chain on every data set; minutes, so nothing is resumed."""
        from joblib import Parallel, delayed

        cases = [(p, c, i) for i in range(self.replicates) for p in PANELS for c in CHAINS]
        jobs = Parallel(n_jobs=n_jobs, return_as="generator")
        rows: list[dict[str, Any]] = []
        with Clock(0, len(cases), "chains") as clock:
            for found in jobs(delayed(_chain)(self, *case) for case in cases):
                rows += found
                clock.advance(found[0]["configuration"])
        scores = _table(rows)
        return Findings(
            "mixing",
            _page(self, scores),
            {"scores": scores},
            command=f"partita reproduce mixing --replicates {self.replicates} --seed {self.seed}",
        )


def _chain(study: Mixing, name: str, chain: str, number: int) -> list[dict[str, Any]]:
    chosen = configurations.configuration(name)
    seeds = np.random.SeedSequence([study.seed, configurations.NAMES.index(name), number])
    for_data, for_draws, _ = map(int, seeds.generate_state(3))
    moves, start = CHAINS[chain]
    draws = sample_mixture(
        chosen.sample(np.random.default_rng(for_data)),
        n_draws=study.n_draws,
        n_burn=study.n_burn,
        moves=moves,
        start=start,
        rng=for_draws,
    )
    evidence = Evidence(draws)
    last = np.bincount(draws.labels[-1])
    found = int((last >= LARGE * draws.n_items).sum())
    return [
        {"configuration": name, "chain": chain, "method": method, "found": found, **scores}
        for method in methods.CONVENTIONAL
        for scores in [dict(methods.scores(chosen.truth, estimate(evidence, method=method).labels))]
    ]


def _table(rows: list[dict[str, Any]]) -> Frame:
    """Mean scores over the conventional methods, how many chains missed a cluster, the paper's."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    frame["missed"] = frame.found < 4
    columns = ["missed", *methods.MEASURES]
    table = frame.groupby(["configuration", "chain"], sort=False)[columns].mean()
    paper = paper_table("simulation")
    paper = paper[paper.method.isin(methods.CONVENTIONAL)]
    for measure in methods.MEASURES:
        printed = paper[paper.measure == measure].groupby("configuration")["mean"].mean()
        table[f"paper's {measure}"] = table.index.get_level_values(0).map(printed)
    return table


def _page(study: Mixing, table: Frame) -> str:
    lines = []
    for name in PANELS:
        panel = table.loc[name]
        worst, best, printed = panel.AR.min(), panel.AR.max(), panel["paper's AR"].iloc[0]
        inside = "lies between" if worst <= printed <= best else "does not lie between"
        lines.append(
            f"- {name}: the paper's AR of {printed:.3f} {inside} that of the worst chain "
            f"({worst:.3f}) and of the best ({best:.3f})."
        )
    return "\n\n".join(
        (
            "# Chains that miss clusters\n\nFour kinds of chain on the first "
            f"{study.replicates} data sets of a to d, {study.n_burn:,} scans burnt and "
            f"{study.n_draws:,} kept; means over the four conventional methods. `missed` is the "
            "share of chains whose last draw has fewer than four clusters of a twentieth of the "
            "items or more.",
            markdown(table),
            "\n".join(lines),
        )
    )
