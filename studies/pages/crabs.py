"""Every prior and scale against the paper's eight scores, and one of them in full."""

from __future__ import annotations

from typing import Any

import pandas as pd

import partita as pt
from studies import crabs, paper
from studies import figures as draw
from studies.methods import CONVENTIONAL, MEASURES, MODELS, OURS, together
from studies.pages import Figures, Ledgers, Numbers, markdown

FULL = "paper/millimetres"


def numbers(ledgers: Ledgers) -> Numbers:
    """Return the table of all, and the scores under the prior that the paper prints."""
    ledger, printed = ledgers["crabs"], paper.table("crabs").set_index("method")
    scores = paper.under(paper.scores(ledger), paper.RULE[1])
    names, lines = list(printed.index), {}
    four = pd.Series({key: float(row["P(K = 4)"]) for key, row in ledger.rows.items()})
    for piece in scores.index.unique("piece"):
        part = scores.loc[piece].mean().unstack()
        ks = scores.loc[piece].xs("K", level=1, axis=1)[names]
        apart = (part.AR[names] - printed.AR).abs().mean()
        lines[piece] = {"chains": len(ks), "P(K = 4)": four[piece].mean()}
        lines[piece] |= {"of eight at K = 4": f"{(ks == paper.TRUTH).sum(axis=1).mean():.1f}"}
        lines[piece] |= {"least AR": part.AR[names].min(), "largest AR": part.AR[names].max()}
        lines[piece] |= {"mean distance of AR": apart}
    found = Numbers(table=markdown(pd.DataFrame(lines).T.rename_axis("prior and scale")))
    found |= lines[FULL]
    full = scores.loc[FULL].mean().unstack().loc[[*names, *OURS], [*MEASURES, "K"]]
    shown = full.assign(K=[f"{k:g}" for k in full.K])
    found["full"] = markdown(shown.join(printed.add_prefix("paper's ")).rename_axis("method"))
    found["best"] = ", ".join(
        full.AR[names].index[full.AR[names] >= full.AR[names].max() - paper.LEVEL]
    )
    found["not four"] = ", ".join(
        f"{name} ({full.K[name]:g})" for name in names if full.K[name] != 4
    )
    found |= {"offset": full.AR["nmf-offset"]}
    return found


def figures(_: Ledgers) -> Figures:
    """Return the similarity and every method's partition, items in the order of the truth."""
    draws, answers = crabs.Crabs().answers(FULL, 0)
    panels: dict[str, Any] = {"posterior similarity": pt.posterior_similarity(draws).to_dense()}
    for name in (*(f"{model}/{paper.RULE[1]}" for model in MODELS), *CONVENTIONAL):
        panels[name.split("/")[0]] = together(answers[name])
    truth = pt.datasets.load_crabs().truth
    return {"partitions": lambda: draw.matrices(panels, 3, truth)}
