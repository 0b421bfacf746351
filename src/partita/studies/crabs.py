"""The crabs data (the paper's Section 5.3) under both readings of its prior, and four scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import datasets
from partita.evidence import Evidence
from partita.mixture import sample_mixture
from partita.studies import _figures, methods
from partita.studies._common import Findings, Frame, markdown, paper_table

if TYPE_CHECKING:
    from partita.draws import Draws
    from partita.typing import FloatArray, IntArray

#: The loss that chose the rank of NMF in summary and figures; the tables have all three.
SHOWN = "vi"
PRIORS = {
    "paper": "as the paper prints it (Σ₀ = diag(range), R₀ = ½S⁻¹, κ₀ = 5)",
    "independent": "as PReMiuM computes it",
}


def _eight(chooser: str) -> tuple[str, ...]:
    """The paper's methods, the rank of NMF chosen by one loss."""
    return (*(f"{model}/{chooser}" for model in methods.MODELS), *methods.CONVENTIONAL)


def _principal(data: FloatArray) -> FloatArray:
    centred = data - data.mean(axis=0)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2].T)


SCALES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "millimetres": lambda data: data,
    "logarithms": np.log,
    "standardised": lambda data: (data - data.mean(axis=0)) / data.std(axis=0, ddof=1),
    "principal components": _principal,
}


@dataclass(frozen=True)
class Crabs:
    """Five measurements of 200 crabs; the truth is species by sex.

    Parameters
    ----------
    n_draws, n_burn : int
    scales : tuple of str
        What is done to the measurements first.
    seed : int
    """

    n_draws: int = 15_000
    n_burn: int = 5_000
    scales: tuple[str, ...] = tuple(SCALES)
    seed: int = 0

    def quick(self) -> Crabs:
        """Return the same study on the measurements as they are, with fewer draws."""
        return replace(self, n_draws=4_000, n_burn=2_000, scales=("millimetres",))

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Run every prior on every scale; minutes, so nothing is resumed."""
        from joblib import Parallel, delayed

        crabs = datasets.load_crabs()
        cases = [(prior, scale) for prior in PRIORS for scale in self.scales]
        jobs = Parallel(n_jobs=n_jobs)
        done = jobs(delayed(_case)(self, crabs.data, *case) for case in cases)
        results = dict(zip(cases, done, strict=True))
        table = _table(results, crabs.truth)
        summary = _summary(results, table)
        return Findings(
            "crabs",
            _page(self, summary, table),
            {"scores": table, "summary": summary},
            _drawings(results, crabs.truth),
            command=f"partita reproduce crabs --seed {self.seed}",
        )


def _case(
    study: Crabs, data: FloatArray, prior: str, scale: str
) -> tuple[Draws, dict[str, IntArray]]:
    draws = sample_mixture(
        SCALES[scale](data),
        n_draws=study.n_draws,
        n_burn=study.n_burn,
        prior=prior,
        rng=study.seed,
    )
    return draws, methods.answers(draws, seed=study.seed)


def _table(results: dict[Any, Any], truth: Any) -> Frame:
    import pandas as pd

    rows = [
        {"prior": prior, "scale": scale, "method": name, **dict(methods.scores(truth, labels))}
        for (prior, scale), (_, answers) in results.items()
        for name, labels in answers.items()
    ]
    return (
        pd.DataFrame(rows)
        .set_index(["prior", "scale", "method"])
        .sort_index(level=["prior", "scale"], sort_remaining=False)
    )


def _page(study: Crabs, summary: Frame, table: Frame) -> str:
    words = [
        "# Crabs\n\nThe paper finds K = 4 with every method but MinBinder, AR 0.765 to 0.799. It "
        f"prints one prior and its program computes another; {study.n_draws:,} draws under each. "
        "`distance by vi` is the mean difference of the eight methods' AR from the paper's, NMF's "
        "rank chosen by VI, and so on; `of eight at K = 4` and the figures have it chosen by "
        f"`{SHOWN}`; `best` is of all methods under all losses. The paper calls NMF-offset the "
        "winner: its lines have the AR to compare.",
        markdown(summary),
    ]
    for prior, said in PRIORS.items():
        words.append(f"## Prior {said}, millimetres\n\n" + markdown(_beside(table, prior)))
        words.append(f"![partitions](partitions_{prior}.png)")
    return "\n\n".join(words)


def _summary(results: dict[Any, Any], table: Frame) -> Frame:
    import pandas as pd

    paper = paper_table("crabs").set_index("method").AR
    rows = []
    for (prior, scale), (draws, _) in results.items():
        mine = table.loc[(prior, scale)]
        best = mine.AR.idxmax()
        rows.append(
            {
                "prior": prior,
                "scale": scale,
                "P(K = 4)": float((draws.n_clusters == 4).mean()),
                "of eight at K = 4": int((mine.loc[list(_eight(SHOWN))].K == 4).sum()),
                **{f"distance by {c}": _distance(mine.AR, paper, c) for c in methods.CHOOSERS},
                "best": best,
                "its AR": float(mine.AR[best]),
                "its VI": float(mine.VI[best]),
            }
        )
    return pd.DataFrame(rows).set_index(["prior", "scale"])


def _distance(ours: Frame, paper: Frame, chooser: str) -> float:
    """Return how far the paper's eight methods are from its AR on average."""
    found = [abs(ours[name] - paper[name.split("/")[0]]) for name in _eight(chooser)]
    return float(np.mean(found))


def _beside(table: Frame, prior: str) -> Frame:
    mine = table.loc[(prior, "millimetres")].copy()
    mine["K"] = mine.K.astype(int)
    paper = paper_table("crabs").set_index("method")
    printed = [name.split("/")[0] for name in mine.index]
    for measure in methods.MEASURES:
        known = [paper[measure].get(name, np.nan) for name in printed]
        mine.insert(mine.columns.get_loc(measure) + 1, f"paper's {measure}", known)
    return mine


def _drawings(results: dict[Any, Any], truth: Any) -> dict[str, Callable[[], Any]]:
    def draw(prior: str) -> Any:
        draws, answers = results[prior, "millimetres"]
        panels = {"posterior similarity": Evidence(draws).dense}
        for name in _eight(SHOWN):
            panels[name.split("/")[0]] = np.equal.outer(answers[name], answers[name]).astype(float)
        return _figures.matrices(panels, n_columns=3, truth=truth)

    return {f"partitions_{prior}": partial(draw, prior) for prior in PRIORS}
