"""Do chains that miss clusters explain the paper's scores where clusters are far apart (a to d)?

There a sampler that moves between modes scores near the ceiling and the paper does not. A chain
that reassigns one item at a time can stay with two clusters in one for as long as it runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from partita import validate
from partita.estimation import estimate
from partita.evidence import Evidence
from partita.studies import configurations, methods
from partita.studies._common import Findings, Frame, markdown, paper_table
from partita.studies.configurations import Reading
from partita.studies.ledger import Key, Ledger
from partita.studies.replicates import Sampling

PANELS = ("TTT", "TTF", "TFT", "TFF")
#: Moves and start. "all" is what the simulation study uses.
CHAINS = {
    "all moves": ("default", "kmeans"),
    "Gibbs from k-means": ("gibbs", "kmeans"),
    "Gibbs from random labels": ("gibbs", "random"),
    "Gibbs from one cluster": ("gibbs", "one"),
}
COLUMNS = (
    "found",
    *(f"{method}:{m}" for method in methods.CONVENTIONAL for m in (*methods.MEASURES, "K")),
)


@dataclass(frozen=True)
class Mixing:
    """The conventional methods on the simulation's own data sets, the sampler made worse.

    Parameters
    ----------
    replicates : int
        Data sets of each configuration; the first ones of the simulation study.
    names : tuple of str
        The configurations, of a to d.
    reading : Reading
        How the table of settings is read; other data then.
    n_draws, n_burn : int
    seed : int
    """

    replicates: int = 20
    names: tuple[str, ...] = PANELS
    reading: Reading = configurations.PRINTED
    n_draws: int = 10_000
    n_burn: int = 5_000
    seed: int = 0

    def __post_init__(self) -> None:
        validate.integer("replicates", self.replicates, least=2)
        for name in self.names:
            validate.choice("configuration", name, PANELS)

    @property
    def slug(self) -> str:
        """The name of the folder: one for each reading."""
        return "mixing" if self.reading == configurations.PRINTED else f"mixing-{self.reading}"

    def quick(self) -> Mixing:
        """Return the same study with three data sets and shorter chains."""
        return replace(self, replicates=3, n_draws=2_000, n_burn=1_000)

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Run the chains that ``folder`` does not hold yet, on every data set."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        asked = f"partita mixing n_draws={self.n_draws} n_burn={self.n_burn} seed={self.seed}"
        asked += "" if self.reading == configurations.PRINTED else f" reading={self.reading}"
        ledger = Ledger.open(folder / "replicates.csv", asked, COLUMNS, resume=resume)
        wanted = [
            (f"{name}/{chain}", number)
            for number in range(self.replicates)
            for name in self.names
            for chain in CHAINS
        ]
        chains = _frame(ledger.fill(wanted, partial(_chain, self), n_jobs, "chains"))
        scores, needed = _table(chains), shares_needed(chains)
        return Findings(
            "mixing",
            _page(self, scores, needed),
            {"scores": scores, "needed": needed},
            command=self._command(),
        )

    def _command(self) -> str:
        words = [f"partita reproduce mixing --replicates {self.replicates}"]
        if self.names != PANELS:
            words.append(f"--configurations {' '.join(self.names)}")
        if self.reading != configurations.PRINTED:
            words.append(f"--reading {self.reading}")
        return " ".join([*words, f"--seed {self.seed}"])


def _chain(study: Mixing, key: Key) -> dict[str, float]:
    """Run one chain on one data set; return what the conventional methods make of it."""
    name, chain = key[0].split("/")
    moves, start = CHAINS[chain]
    how = Sampling(
        study.n_draws, study.n_burn, moves=moves, start=start, reading=study.reading,
        seed=study.seed,
    )  # fmt: skip
    case = how.replicate(name, key[1])
    evidence = Evidence(case.draws)
    values = {"found": float(case.clusters_found)}
    for method in methods.CONVENTIONAL:
        labels = estimate(evidence, method=method).labels
        for measure, value in methods.scores(case.configuration.truth, labels):
            values[f"{method}:{measure}"] = value
    return values


def _frame(rows: dict[Key, tuple[float, ...]]) -> Frame:
    """Return a row a chain, its scores means over the conventional methods."""
    import pandas as pd

    wide = pd.DataFrame(list(rows.values()), columns=list(COLUMNS))
    frame = pd.DataFrame([key[0].split("/") for key in rows], columns=["configuration", "chain"])
    frame["missed"] = wide.found < 4
    for measure in methods.MEASURES:
        frame[measure] = wide[[f"{name}:{measure}" for name in methods.CONVENTIONAL]].mean(axis=1)
    return frame


def _printed() -> Frame:
    """Return the paper's scores and errors, means over the conventional methods."""
    paper = paper_table("simulation")
    paper = paper[paper.method.isin(methods.CONVENTIONAL)]
    return paper.groupby(["configuration", "measure"])[["mean", "se"]].mean()


def _table(chains: Frame) -> Frame:
    """Mean scores over the conventional methods, how many chains missed a cluster, the paper's."""
    columns = ["missed", *methods.MEASURES]
    table = chains.groupby(["configuration", "chain"], sort=False)[columns].mean()
    paper = _printed()["mean"].unstack()
    for measure in methods.MEASURES:
        table[f"paper's {measure}"] = table.index.get_level_values(0).map(paper[measure])
    return table


def shares_needed(chains: Frame) -> Frame:
    """Return what share of chains must have missed clusters to give the paper's AR.

    All chains of a panel are parted into those that missed a cluster and those that did not. The
    share at which the mean of the two has the paper's AR then foretells Rand and VI, which the
    paper prints too; ``z`` is how far apart those are in its standard errors.

    Parameters
    ----------
    chains : DataFrame
        ``configuration``, ``missed``, ``Rand``, ``AR`` and ``VI``, a row a chain.
    """
    import pandas as pd

    paper, rows = _printed(), []
    for name, panel in chains.groupby("configuration", sort=False):
        if panel.missed.nunique() < 2:
            continue
        means = panel.groupby("missed")[list(methods.MEASURES)].mean()
        full, missed = means.loc[False], means.loc[True]
        share = (full.AR - paper.loc[(name, "AR"), "mean"]) / (full.AR - missed.AR)
        row = {"configuration": name, "AR, four found": full.AR, "AR, some missed": missed.AR}
        row |= {"paper's AR": paper.loc[(name, "AR"), "mean"], "share": share}
        for measure in ("Rand", "VI"):
            told = (1 - share) * full[measure] + share * missed[measure]
            mean, error = paper.loc[(name, measure)]
            row |= {f"{measure} then": told, f"paper's {measure}": mean}
            row |= {f"z {measure}": (told - mean) / error}
        rows.append(row)
    return pd.DataFrame(rows, columns=_NEEDED).set_index("configuration")


_NEEDED = [
    "configuration",
    "AR, four found",
    "AR, some missed",
    "paper's AR",
    "share",
    *("Rand then", "paper's Rand", "z Rand"),
    *("VI then", "paper's VI", "z VI"),
]


def _page(study: Mixing, table: Frame, needed: Frame) -> str:
    lines = []
    for name in study.names:
        panel = table.loc[name]
        worst, best, printed = panel.AR.min(), panel.AR.max(), panel["paper's AR"].iloc[0]
        inside = "lies between" if worst <= printed <= best else "does not lie between"
        lines.append(
            f"- {name}: the paper's AR of {printed:.3f} {inside} that of the worst chain "
            f"({worst:.3f}) and of the best ({best:.3f})."
        )
    title = f" (`{study.slug}`)" * (study.slug != "mixing")
    read = "" if study.reading == configurations.PRINTED else (
        f" The table of settings is read as `{study.reading}`."
    )  # fmt: skip
    return "\n\n".join(
        (
            f"# Chains that miss clusters{title}\n\nFour kinds of chain on the first "
            f"{study.replicates} data sets of each configuration, {study.n_burn:,} scans burnt and "
            f"{study.n_draws:,} kept; means over the four conventional methods.{read} `missed` is "
            "the share of chains whose last draw has fewer than four clusters of a twentieth of "
            "the items or more.",
            markdown(table),
            "\n".join(lines),
            "## How many would have to miss one\n\nOf the chains above, those that found four "
            "clusters and those that did not, and the `share` of the latter at which the mean of "
            "both has the paper's AR. It foretells a Rand index and a VI; `z` is how far these are "
            "from the paper's, in its standard errors.\n\n" + markdown(needed),
        )
    )
