"""The paper's numbers and sentences, and ours beside them.

One rule, stated before any number was looked at, says what the headline is: NMF by R's updates,
since the paper names that package, its rank chosen by the expected Binder loss (eq. 11), the one
that the paper draws against the rank. Every other loss and solver is a check of how much hangs on
that.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from studies.ledger import Ledger
from studies.methods import CONVENTIONAL, MEASURES, MODELS
from studies.mixtures import NAMES

#: A DataFrame. The stubs of pandas know too little of frames with several index levels.
Frame: TypeAlias = Any

RULE = ("mu", "binder")
SEPARATE, OVERLAPPING = NAMES[:4], NAMES[4:]
#: Where neither the data nor the draws behind the paper's table are in doubt: e and g.
SOUND = ("FTT", "FFT")
LETTERS = dict(zip(NAMES, "abcdefgh", strict=True))
LIMIT = 3.0  # combined standard errors
ROUNDING = 0.0005**2 / 3  # variance that three decimals add to a difference
TRUTH = 4  # clusters
LEVEL = 5e-4  # half of the last decimal printed


def letter(name: str) -> str:
    """Return a panel as the paper writes it: "a-TTT"."""
    return f"{LETTERS[name]}-{name}"


def table(name: str) -> Frame:
    """Return one of the paper's tables: "simulation", "crabs" or "galaxy"."""
    with files("studies").joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, keep_default_na=False)


def scores(ledger: Ledger) -> Frame:
    """Return a ledger's scores, a row a piece and replicate, columns method and measure."""
    index = pd.MultiIndex.from_tuples(ledger.rows, names=["piece", "replicate"])
    wide: Frame = pd.DataFrame(list(ledger.rows.values()), index=index)
    wide = wide[[column for column in wide if ":" in column and column != "draws:K"]]
    wide.columns = pd.MultiIndex.from_tuples([tuple(c.split(":")) for c in wide])
    return wide.astype(float)


def under(scores: Frame, chooser: str) -> Frame:
    """Return the scores with NMF under one loss, by the paper's names of methods."""
    kept = [m for m in scores.columns.levels[0] if "/" not in m or m.endswith(f"/{chooser}")]
    kept = [m for m in kept if m in {c[0] for c in scores.columns}]
    return scores[kept].rename(columns=lambda name: name.removesuffix(f"/{chooser}"), level=0)


def cells(scores: Frame) -> Frame:
    """Return the paper's cells beside ours, by panel, method and measure.

    ``z`` is the difference in combined standard errors, positive where ours is the better score.
    """
    parts = []
    for name, panel in scores.groupby(level="piece", sort=False):
        moments = pd.DataFrame({"mean": panel.mean(), "se": panel.sem(), "sets": panel.count()})
        parts.append(moments.rename_axis(["method", "measure"]).assign(configuration=name))
    ours = pd.concat(parts).reset_index()
    paper = table("simulation").rename(columns={"mean": "paper", "se": "paper_se"})
    both = ours.merge(paper, how="left", on=["configuration", "method", "measure"])
    sign = np.where(both.measure == "VI", -1.0, 1.0)
    spread = np.sqrt(both.se**2 + both.paper_se**2 + ROUNDING)
    both["z"] = sign * (both["mean"] - both.paper) / spread
    return both.set_index(["configuration", "method", "measure"])


def reported(ledgers: Mapping[str, Ledger], solver: str, chooser: str) -> Frame:
    """Return all scores under one rule: NMF by one solver, the other methods by the full run."""
    full = under(scores(ledgers["simulation"]), chooser)
    if solver == "fast":
        return full
    nmf = under(scores(ledgers[f"simulation-{solver}"]), chooser)[list(MODELS)]
    rest = full.drop(columns=list(MODELS), level=0)
    return pd.concat([nmf, rest], axis=1)


def count(cells: Frame, panels: tuple[str, ...] = NAMES) -> dict[str, int]:
    """Return how many of the paper's cells are within the limit, better and worse by more."""
    z = cells.z[cells.index.get_level_values("configuration").isin(panels)].dropna()
    parts = {"within": z.abs() <= LIMIT, "better": z > LIMIT, "worse": z < -LIMIT}
    return {"cells": len(z), **{name: int(part.sum()) for name, part in parts.items()}}


def participation(scores: Frame, panel: str) -> float:
    """Return how many independent cells the paper's cells of one panel are worth.

    The participation ratio of the correlations R of its p cells over data sets, p² / Σ R². Methods
    that see the same draws answer alike, so it is far below p.
    """
    names = [(method, measure) for method in (*MODELS, *CONVENTIONAL) for measure in MEASURES]
    values = scores.xs(panel, level="piece")[names].dropna()
    values = values.loc[:, values.std() > 0]
    correlations = np.corrcoef(values.to_numpy().T)
    return float(len(correlations) ** 2 / np.square(correlations).sum())


def claims(means: Frame) -> dict[str, Any]:
    """Return the numbers behind the paper's sentences on its table of scores.

    Parameters
    ----------
    means : DataFrame
        Index panel and method, a column a measure, VI with its sign turned.
    """
    nmf, rest, every = list(MODELS), list(CONVENTIONAL), [*MODELS, *CONVENTIONAL]
    panels = {name: means.loc[name] for name in NAMES}
    same = 0
    for one, other in (("TTT", "TTF"), ("FFT", "FFF")):
        for measure in MEASURES:
            columns = (panels[name].loc[every, measure] for name in (one, other))
            first, second = (set(x.index[x >= x.max() - LEVEL]) for x in columns)
            same += bool(first & second)
    mixed = [panels[name].loc[:, measure] for name in OVERLAPPING for measure in MEASURES]
    ar = means.AR.unstack("configuration")
    vi = {name: panels[name].VI[every] for name in ("TTT", "TTF")}
    at_e = ar.loc[rest, ["FTT", "FTF"]].max() - ar.loc[["nmf-ns", "nmf-offset"], ["FTT", "FTF"]]
    ahead_of_kl = ar.loc[[*nmf, "minvi"], ["TFT", "TFF"]] - ar.loc["nmf-kl", ["TFT", "TFF"]]
    return {
        "wins": sum(bool(x[nmf].max() > x[rest].max()) for x in mixed),
        "behind": at_e.max().max(),
        "least": ar.loc[every, "TTT"].min(),
        "places": " and ".join(f"{(x > x['nmf-offset']).sum() + 1}" for x in vi.values()),
        "same": same,
        "kl": ahead_of_kl.max().max(),
    }


def claims_of_paper() -> dict[str, Any]:
    """Return those numbers of the paper's own table."""
    index = ["configuration", "method"]
    means = table("simulation").pivot_table(index=index, columns="measure", values="mean")
    return claims(means.assign(VI=-means.VI))


def claims_of(scores: Frame) -> dict[str, Any]:
    """Return those numbers of a run."""
    means = scores.groupby(level="piece").mean().stack(0, future_stack=True)
    means.index.names = ["configuration", "method"]
    return claims(means.assign(VI=-means.VI))


def clusters_chosen(scores: Frame) -> dict[str, dict[str, str]]:
    """Return by method in how many percent of data sets K was too small, four and too large.

    ``few``, ``four`` and ``many`` are of e, f, g and h, ``four apart`` of a to d, ``mean`` of four
    over all; ``ahead`` counts panels where an NMF finds four more often than all others.
    """
    ks = scores.xs("K", level=1, axis=1)
    told: dict[str, dict[str, str]] = {}
    for which, passes in {"few": ks < TRUTH, "many": ks > TRUTH, "four": ks == TRUTH}.items():
        shares = passes.where(ks.notna()).astype(float).groupby(level="piece").mean()
        told[which] = {m: _percent(shares[m][list(OVERLAPPING)]) for m in shares}
    told["four apart"] = {m: _percent(shares[m][list(SEPARATE)]) for m in shares}
    told["mean"] = {m: _percent([shares[m].mean()]) for m in shares}
    nmf, rest = (shares[list(group)].max(axis=1) for group in (MODELS, CONVENTIONAL))
    told["ahead"] = {"more": f"{(nmf > rest).sum()}", "level": f"{(nmf == rest).sum()}"}
    return told


def _percent(shares: Any) -> str:
    return ", ".join(f"{100 * share:.0f}%" for share in shares)
