"""What does the solver of NMF change: our "fast" and R's updates on the same similarity matrices.

For each model the objectives at every rank, the partition each loss takes from either, its expected
loss, and its scores against the truth. With ``moves="gibbs", start="one"`` the draws are of chains
that may have missed clusters, which is how the paper's scores at a and b look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from partita import validate
from partita.estimation import estimate
from partita.evidence import Evidence
from partita.studies import configurations, methods
from partita.studies._common import Findings, Frame, markdown, paper_table
from partita.studies.configurations import Reading
from partita.studies.ledger import Key, Ledger
from partita.studies.replicates import Sampling

WAYS = {"fast": methods.OUR_WAY, "mu": methods.R_WAY}
#: Objectives that differ by less of the one at the least rank are equal, as are expected losses.
CLOSE = 1e-6
COLUMNS = (
    *(
        f"{way}/{chooser}:{what}"
        for way in WAYS
        for chooser in methods.CHOOSERS
        for what in ("loss", *methods.MEASURES, "K")
    ),
    *(f"maxpear:{what}" for what in (*methods.MEASURES, "K")),
    "found",
    "ranks",
    "fast lower",
    "mu lower",
    "excess",
)


@dataclass(frozen=True)
class Solvers:
    """Both solvers on the first data sets of the simulation.

    Parameters
    ----------
    replicates : int
        Data sets of each configuration.
    names : tuple of str
        The configurations; g-FFT by default, where they score differently in the simulation.
    models : tuple of str
        Of NMF.
    moves, start, reading
        As in the simulation.
    n_draws, n_burn : int
    ranks : tuple of int
    n_init : int
    seed : int
    """

    replicates: int = 10
    names: tuple[str, ...] = ("FFT",)
    models: tuple[str, ...] = ("nmf-ns", "nmf-offset")
    moves: str = "default"
    start: str = "kmeans"
    reading: Reading = configurations.PRINTED
    n_draws: int = 10_000
    n_burn: int = 5_000
    ranks: tuple[int, ...] = tuple(range(2, 13))
    n_init: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        validate.integer("replicates", self.replicates, least=2)
        configurations.check(self.names)
        for model in self.models:
            validate.choice("models", model, methods.MODELS)
        _ = self.sampling  # refuses what it does not know

    @property
    def slug(self) -> str:
        """The name of the folder: one for each kind of chain and each reading."""
        usual, keys = Solvers(), ("moves", "start", "reading")
        changed = (key for key in keys if getattr(self, key) != getattr(usual, key))
        return "-".join(("solvers", *(str(getattr(self, key)) for key in changed)))

    def quick(self) -> Solvers:
        """Return the same study with two data sets, and fewer draws, ranks and restarts."""
        return replace(self, replicates=2, n_draws=1_000, n_burn=500, ranks=(2, 3, 4, 5), n_init=2)

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Run what ``folder`` does not hold yet: a minute or more a data set and model."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        told = ["n_draws", "n_burn", "moves", "start", "n_init", "seed"]
        asked = " ".join(f"{key}={getattr(self, key)}" for key in told)
        asked = f"partita solvers {asked} ranks={'-'.join(map(str, self.ranks))}"
        asked += "" if self.reading == configurations.PRINTED else f" reading={self.reading}"
        ledger = Ledger.open(folder / "replicates.csv", asked, COLUMNS, resume=resume)
        wanted = [
            (f"{name}/{model}", number)
            for number in range(self.replicates)
            for name in self.names
            for model in self.models
        ]
        rows = ledger.fill(wanted, partial(_one, self), n_jobs, "factorisations")
        scores, objectives = _scores(rows, self.moves == "gibbs"), _objectives(rows)
        return Findings(
            "solvers",
            _page(self, scores, objectives),
            {"scores": scores, "objectives": objectives},
            command=self._command(),
        )

    @property
    def sampling(self) -> Sampling:
        """How its data and draws are made."""
        return Sampling(
            self.n_draws, self.n_burn, moves=self.moves, start=self.start, reading=self.reading,
            seed=self.seed,
        )  # fmt: skip

    def _command(self) -> str:
        return (
            f"partita reproduce solvers --replicates {self.replicates} --configurations "
            f"{' '.join(self.names)} --models {' '.join(self.models)} --moves {self.moves} "
            f"--start {self.start} --reading {self.reading} --seed {self.seed}"
        )


def _one(study: Solvers, key: Key) -> dict[str, float]:
    """Factorise one similarity matrix by both solvers under one model."""
    name, model = key[0].split("/")
    case = study.sampling.replicate(name, key[1])
    evidence = Evidence(case.draws)
    truth = case.configuration.truth
    values = {"found": float(case.clusters_found)}
    maxpear = estimate(evidence, method="maxpear", rng=case.seed).labels
    values |= {f"maxpear:{what}": value for what, value in methods.scores(truth, maxpear)}
    objectives = {}
    for way, factoring in WAYS.items():
        how = replace(factoring, ranks=study.ranks, n_init=study.n_init)
        ((_, found),) = methods.offered(evidence, how, seed=case.seed, models=(model,))
        objectives[way] = {one.info["rank"]: float(one.info["objective"]) for one in found}
        for chooser, loss in methods.CHOOSERS.items():
            best, expected = methods.best(found, evidence, loss)
            values[f"{way}/{chooser}:loss"] = expected
            for what, value in methods.scores(truth, best.labels):
                values[f"{way}/{chooser}:{what}"] = value
    return values | dict(_apart(objectives["fast"], objectives["mu"]))


def _apart(fast: dict[int, float], mu: dict[int, float]) -> Iterator[tuple[str, float]]:
    """Yield at how many ranks either objective is the lower, and the mean excess of R's.

    Measured by the objective at the least rank: a similarity of clear clusters leaves nothing at
    the right one, so that a ratio there would be of two roundings.
    """
    excess = np.array([mu[rank] - fast[rank] for rank in fast]) / fast[min(fast)]
    yield "ranks", float(len(excess))
    yield "fast lower", float((excess > CLOSE).sum())
    yield "mu lower", float((excess < -CLOSE).sum())
    yield "excess", float(excess.mean())


def _frame(rows: dict[Key, tuple[float, ...]]) -> Frame:
    import pandas as pd

    frame = pd.DataFrame(list(rows.values()), columns=list(COLUMNS))
    frame[["configuration", "method"]] = [key[0].split("/") for key in rows]
    return frame


def _scores(rows: dict[Key, tuple[float, ...]], parted: bool) -> Frame:
    """Return, by panel, model, chains and chooser, what either solver scores on the same draws.

    If ``parted``, there are rows for chains that missed a cluster, for the others and for all.
    """
    import pandas as pd

    frame = _frame(rows)
    paper = paper_table("simulation").set_index(["configuration", "method", "measure"])
    frame["chains"] = np.where(frame.found < 4, "missed some", "found four")
    found = []
    for (name, model), group in frame.groupby(["configuration", "method"], sort=False):
        parts = {"all": group} | (dict(list(group.groupby("chains"))) if parted else {})
        for chains, part in parts.items():
            for chooser in methods.CHOOSERS:
                row = {"configuration": name, "method": model, "chains": chains, "rank by": chooser}
                row |= {"sets": len(part), **_contrast(part, chooser)}
                found.append(row | dict(_printed(part, chooser, paper.loc[name], model)))
    index = ["configuration", "method", "chains", "rank by"]
    return pd.DataFrame(found).set_index(index)


def _printed(part: Frame, chooser: str, paper: Frame, model: str) -> Iterator[tuple[str, float]]:
    """Yield the paper's scores, its MaxPear's, and how far R's are from the former."""
    for what in methods.MEASURES:
        mean, error = paper.loc[(model, what)]
        values = part[f"mu/{chooser}:{what}"]
        apart = (values.mean() - mean) / np.hypot(values.sem(), error)
        yield f"paper's {what}", float(mean)
        yield f"paper's MaxPear {what}", float(paper.loc[("maxpear", what), "mean"])
        yield f"z {what} mu", float(-apart if what == "VI" else apart)


def _contrast(part: Frame, chooser: str) -> dict[str, float]:
    fast, mu = (part.filter(like=f"{way}/{chooser}:") for way in WAYS)
    apart = part[f"mu/{chooser}:AR"] - part[f"fast/{chooser}:AR"]
    means = {
        f"{what} {way}": float(frame[f"{way}/{chooser}:{what}"].mean())
        for what in ("loss", *methods.MEASURES)
        for way, frame in (("fast", fast), ("mu", mu))
    }
    lower = part[f"fast/{chooser}:loss"] < part[f"mu/{chooser}:loss"] - CLOSE
    higher = part[f"fast/{chooser}:loss"] > part[f"mu/{chooser}:loss"] + CLOSE
    return {
        "fast's loss lower": int(lower.sum()),
        "mu's loss lower": int(higher.sum()),
        **means,
        "AR MaxPear": float(part["maxpear:AR"].mean()),
        "VI MaxPear": float(part["maxpear:VI"].mean()),
        "AR mu - fast": float(apart.mean()),
        "its error": float(apart.std(ddof=1) / np.sqrt(len(apart))),
    }


def _objectives(rows: dict[Key, tuple[float, ...]]) -> Frame:
    frame = _frame(rows).groupby(["configuration", "method"], sort=False)
    table = frame[["ranks", "fast lower", "mu lower"]].sum().astype(int)
    table.insert(0, "sets", frame.size())
    table["excess of mu"] = frame["excess"].mean()
    return table


def _page(study: Solvers, scores: Frame, objectives: Frame) -> str:
    columns = "sets|fast's loss lower|mu's loss lower|AR fast|AR mu|AR mu - fast|its error"
    columns += "|AR MaxPear|paper's AR|paper's MaxPear AR|VI fast|VI mu|VI MaxPear|paper's VI"
    columns += "|z Rand mu|z AR mu|z VI mu"
    chains = f" (`{study.slug}`)" * (study.slug != "solvers")
    missed = (
        " `missed some`: the last draw of the chain has fewer than four clusters of a twentieth "
        "of the items or more."
    ) * (study.moves == "gibbs")
    shown = scores.xs("pear", level="rank by")[columns.split("|")]
    return "\n\n".join(
        (
            f"# Our solver and R's updates on the same draws{chains}\n\nThe first "
            f"{study.replicates} data sets of each configuration of the simulation, {study.moves} "
            f"moves from `{study.start}`; ranks {study.ranks[0]} to {study.ranks[-1]}, best of "
            f"{study.n_init} restarts from the same random starts. `mu` is R's way: its updates, "
            "its stopping rule, H as they leave it. `fast` is ours: it goes on until the objective "
            "no longer falls, and offers three scalings of H.",
            "## Objectives\n\nRanks, over all data sets, at which either ends lower by more than "
            f"{CLOSE:g} of the objective at the least rank, and by what share of that one R's is "
            "the higher, on average.\n\n" + markdown(objectives, digits=5),
            "## Partitions, the rank chosen by PEAR\n\n`loss lower`: data sets in which the "
            f"partition taken from that solver has the lower expected loss.{missed} `z`: the "
            "distance of R's from the paper's in combined standard errors, positive where better. "
            "All three losses are in `scores.csv`.\n\n" + markdown(shown),
        )
    )
