"""The galaxy data (the paper's Section 5.2): all methods, and memberships at K = 3, 4, 5."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from partita import datasets
from partita.draws import Draws, read_draws
from partita.evidence import Evidence
from partita.mixture import sample_mixture
from partita.nmf import factorize
from partita.studies import _figures, methods
from partita.studies._common import Findings, Frame, markdown, paper_table

if TYPE_CHECKING:
    from partita.nmf import Factorization
    from partita.typing import FloatArray, IntArray

#: The draws that the paper used come with R's mcclust.ext and are not ours to ship.
PAPERS_DRAWS = Path("../shared/data/galaxy_draws.npz")
#: The loss that chose the rank of NMF in the figure; the table has all three.
SHOWN = "vi"


@dataclass(frozen=True)
class Galaxy:
    """The eight methods and ours on the velocities of 82 galaxies.

    Parameters
    ----------
    n_draws, n_burn : int
    ranks : tuple of int
    n_init : int
        Ranks and restarts of NMF.
    draws : Path
        A file with the draws of the paper; they are analysed as well if it is there.
    seed : int
    """

    n_draws: int = 10_000
    n_burn: int = 5_000
    ranks: tuple[int, ...] = tuple(range(2, 13))
    n_init: int = 10
    draws: Path = PAPERS_DRAWS
    seed: int = 0

    def quick(self) -> Galaxy:
        """Return the same study with fewer draws of our own and fewer restarts."""
        return replace(self, n_draws=2_000, n_burn=1_000, n_init=3)

    def run(self, folder: str | Path, *, n_jobs: int = 1, resume: bool = False) -> Findings:
        """Run the study; it takes seconds, so nothing is resumed."""
        velocities = datasets.load_galaxies().data
        sources = {
            "our draws": sample_mixture(
                velocities, n_draws=self.n_draws, n_burn=self.n_burn, rng=self.seed
            )
        }
        if self.draws.exists():
            sources["the paper's draws"] = read_draws(self.draws)
        # R's updates take a minute or more, so they are for the draws that the paper had, if any.
        slowly = list(sources)[-1]
        found = {name: self._answers(draws, name == slowly) for name, draws in sources.items()}
        tables = {name: _table(answers) for name, answers in found.items()}
        fits = {name: self._soft(draws, name == slowly) for name, draws in sources.items()}
        slugs = {name: name.split()[0].strip("'").replace("the", "paper") for name in sources}
        figures = {}
        for name, slug in slugs.items():
            figures[f"solutions_{slug}"] = lambda name=name: _figures.strips(
                velocities.ravel(), _drawn(found[name]), label="velocity in 1,000 km/s"
            )
            figures[f"memberships_{slug}"] = lambda name=name: _figures.memberships(
                {k: fit.memberships for k, fit in fits[name].items()}
            )
        return Findings(
            "galaxy",
            _page(tables, slugs, fits),
            {f"solutions_{slugs[name]}": table for name, table in tables.items()}
            | {f"memberships_{slugs[name]}": _memberships(fits[name]) for name in tables},
            figures,
            command=f"partita reproduce galaxy --seed {self.seed}",
        )

    def _answers(self, draws: Draws, r_too: bool) -> dict[str, IntArray]:
        """All methods, and NMF once more R's way: its updates, H as they leave it."""
        ours, theirs = (
            replace(way, ranks=self.ranks, n_init=self.n_init)
            for way in (methods.OUR_WAY, methods.R_WAY)
        )
        answers = methods.answers(draws, seed=self.seed, factoring=ours)
        if not r_too:
            return answers
        r_way = methods.factorised(Evidence(draws), theirs, seed=self.seed)
        return answers | {f"{name}/mu": labels for name, labels in r_way.items()}

    def _soft(self, draws: Draws, r_too: bool) -> dict[int, Factorization]:
        """NMF-kl at three ranks, R's way where R's way is taken for the partitions as well."""
        similarity = Evidence(draws).similarity
        solver, normalize = ("mu", "as-is") if r_too else ("fast", "balance")
        return {
            k: factorize(
                similarity, model="kl", rank=k, n_init=self.n_init, rng=self.seed,
                solver=solver, normalize=normalize,
            )
            for k in (3, 4, 5)
        }  # fmt: skip


def _drawn(answers: dict[str, IntArray]) -> dict[str, IntArray]:
    """Return what the figure shows: the paper's eight methods first, by R's updates if there."""
    r_way = {k: v for k, v in answers.items() if k.endswith(f"/{SHOWN}/mu")}
    ours = {k: v for k, v in answers.items() if k.endswith(f"/{SHOWN}")}
    others = {k: v for k, v in answers.items() if "/" not in k}
    paper = {k: v for k, v in others.items() if k in methods.CONVENTIONAL}
    rest = {k: v for k, v in others.items() if k not in paper}
    return {**r_way, **paper, **ours, **rest}


def runs(labels: IntArray) -> str:
    """Return a partition of ordered items in words: "1-7 / 8-79 / 80-82".

    Examples
    --------
    >>> runs(np.array([0, 0, 1, 1, 0]))
    '1-2 and 5 / 3-4'
    """
    told = []
    for cluster in np.unique(labels):
        items = np.flatnonzero(labels == cluster) + 1
        pieces = np.split(items, np.flatnonzero(np.diff(items) > 1) + 1)
        words = [f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in pieces]
        told.append(", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1])
    return " / ".join(told)


def _table(answers: dict[str, IntArray]) -> Frame:
    import pandas as pd

    paper = paper_table("galaxy").set_index("method")
    rows = []
    for name, labels in answers.items():
        printed = name.split("/")[0]
        known = printed in paper.index
        rows.append(
            {
                "method": name,
                "K": len(np.unique(labels)),
                "paper's K": str(paper.K[printed]) if known else "",
                "clusters": runs(labels),
                "the paper's": paper.said[printed] if known else "",
            }
        )
    return pd.DataFrame(rows).set_index("method")


def _memberships(fits: dict[int, Factorization]) -> Frame:
    """Return a row an item and a column a cluster of each rank, from the slowest galaxies on."""
    import pandas as pd

    columns = {
        f"K{k} cluster {c + 1}": fit.memberships[:, c] for k, fit in fits.items() for c in range(k)
    }
    items = pd.RangeIndex(1, len(fits[3].memberships) + 1, name="galaxy")
    return pd.DataFrame(columns, index=items)


def _doubts(fits: dict[int, Factorization]) -> str:
    """Return how sure NMF-kl is of the items that the paper names, and what it says of them."""
    import pandas as pd

    three, four, five = (fits[k].memberships for k in (3, 4, 5))
    most = {k: fit.memberships.max(axis=1) for k, fit in fits.items()}
    items = (8, 9, 77, 78, 79)
    table = pd.DataFrame(
        {f"K = {k}": [f"{x[item - 1]:.2f}" for item in items] for k, x in most.items()},
        index=pd.Index(items, name="galaxy"),
    )
    second = np.sort(four[9:77], axis=1)[:, -2].mean()
    right = {int(four[item - 1].argmax()) for item in (77, 78, 79)}
    return (
        f"Largest memberships:\n\n{markdown(table)}\n\n"
        "The paper says that at K = 3 these are uncertain and that 77 has almost 20% of the right "
        f"cluster: here {100 * np.sort(three[76])[-2]:.0f}%. That at K = 4 two clusters overlap: "
        f"the second membership of 10 to 77 is {second:.2f} on average; and that 78 and 79 go with "
        f"the right one: they are {'' if len(right) == 1 else 'not '}in the cluster of 77. That "
        "at K = 5 8 and 9 are surer and 78 and 79 less so: from K = 4 they go "
        f"{_change(four, five, (8, 9))} and {_change(four, five, (78, 79))}."
    )


def _change(before: FloatArray, after: FloatArray, items: tuple[int, ...]) -> str:
    at = np.array(items) - 1
    return f"from {before[at].max(axis=1).mean():.2f} to {after[at].max(axis=1).mean():.2f}"


def _page(
    tables: dict[str, Frame], slugs: dict[str, str], fits: dict[str, dict[int, Factorization]]
) -> str:
    words = [
        "# Galaxies\n\nVelocities of 82 galaxies in 1,000 km/s, in order, so that a cluster is "
        "mostly a run of neighbours. The paper used draws made under another prior; its answers "
        "are to be compared with those on its own draws. `nmf-kl/vi` is NMF-kl, its rank chosen by "
        "VI, by our solver; `nmf-kl/vi/mu` by R's updates, H as they leave it. The figures of the "
        f"solutions have NMF under `{SHOWN}`, by R's updates first where they were run."
    ]
    for name, table in tables.items():
        r_way = fits[name][3].solver == "mu"
        words.append(
            f"## On {name}\n\n{markdown(table)}\n\n"
            f"![solutions](solutions_{slugs[name]}.png)\n\n"
            f"![memberships](memberships_{slugs[name]}.png)\n\nMemberships are by NMF-kl, "
            + ("R's updates, H as they leave it. " if r_way else "our solver. ")
            + _doubts(fits[name])
        )
    return "\n\n".join(words)
