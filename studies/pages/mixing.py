"""How often chains miss a cluster, and what share of them would give the paper's scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from studies import paper
from studies.ledger import Ledger
from studies.methods import CONVENTIONAL, MEASURES
from studies.pages import Ledgers, Numbers, markdown
from studies.paper import Frame

RUNS = {"printed": "mixing", "tight": "mixing-scale=0.65"}
SETS = 100  # the paper's, of each mixture


def numbers(ledgers: Ledgers) -> Numbers:
    """Return the tables of both readings of the settings."""
    found = Numbers()
    for key, slug in RUNS.items():
        if slug in ledgers:
            chains = _chains(ledgers[slug])
            means = chains.groupby(["panel", "chain"])[["missed", *MEASURES]].mean()
            found[f"scores {key}"] = markdown(means)
            shares = {
                name: share(panel, name) for name, panel in chains.groupby("panel", sort=False)
            }
            shares = {paper.LETTERS[name]: row for name, row in shares.items() if row}
            found |= {f"{key} {letter}": row for letter, row in shares.items()}
            frame = pd.DataFrame(list(shares.values()), index=list(shares)).sort_index()
            found[f"shares {key}"] = markdown(frame.rename_axis("panel"))
    return found


def _chains(ledger: Ledger) -> Frame:
    """Return a row a chain: whether it missed a cluster, and mean scores of the paper's rivals."""
    wide = paper.scores(ledger)
    frame = pd.DataFrame(
        {m: wide.xs(m, level=1, axis=1)[list(CONVENTIONAL)].mean(axis=1) for m in MEASURES}
    )
    frame["missed"] = [float(row["found"]) < paper.TRUTH for row in ledger.rows.values()]
    frame = frame.reset_index()
    frame[["panel", "chain"]] = frame.piece.str.split("/", n=1, expand=True)
    return frame


def share(chains: Frame, name: str) -> dict[str, Any]:
    """Return the share of chains that must have missed a cluster to give the paper's AR.

    It then predicts, with nothing left to choose, the paper's Rand index and VI, and the standard
    errors of all three: of a mean over the paper's 100 data sets, each from either kind of chain.
    """
    if chains.missed.nunique() < 2:
        return {}
    parts = chains.groupby("missed")[list(MEASURES)]
    (full, missed), (full_variance, missed_variance) = (
        parts.mean().to_numpy(),
        parts.var().to_numpy(),
    )
    printed = paper.table("simulation").query("configuration == @name and method in @CONVENTIONAL")
    mean, error = (printed.groupby("measure")[x].mean()[list(MEASURES)] for x in ("mean", "se"))
    share = (full[1] - mean["AR"]) / (full[1] - missed[1])
    means = (1 - share) * full + share * missed
    variances = (1 - share) * full_variance + share * missed_variance
    errors = np.sqrt((variances + share * (1 - share) * (full - missed) ** 2) / SETS)
    row: dict[str, Any] = {"share": float(share)}
    for at, measure in enumerate(MEASURES):
        row[measure] = f"{means[at]:.3f} for {mean[measure]:.3f}"
        row[f"error of {measure}"] = f"{errors[at]:.4f} for {error[measure]:.4f}"
    return row
