"""The headline under the one rule, how much hangs on the rule, and the paper's sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from studies import figures as draw
from studies import mixtures, paper
from studies.methods import CHOOSERS, CONVENTIONAL, MEASURES, MODELS, OURS
from studies.pages import Figures, Ledgers, Numbers, markdown
from studies.paper import Frame

TIGHT = "simulation-scale=0.65"


def numbers(ledgers: Ledgers) -> Numbers:
    """Return what the page says; without R's updates the rule is followed with our solver."""
    solver, chooser = paper.RULE
    solver = solver if f"simulation-{solver}" in ledgers else "fast"
    scores = paper.reported(ledgers, solver, chooser)
    cells = paper.cells(scores)
    names = [name for name in mixtures.NAMES if name in cells.index.unique("configuration")]
    groups = {"all": mixtures.NAMES, "sound": paper.SOUND, "apart": paper.SEPARATE}
    groups["fh"] = ("FTF", "FFF")
    full = paper.under(paper.scores(ledgers["simulation"]), chooser)
    worth = {name: paper.participation(full, name) for name in names}
    found = Numbers({key: paper.count(cells, panels) for key, panels in groups.items()})
    found |= {"solver": solver, "chooser": chooser}
    found["replicates"] = len({number for _, number in ledgers["simulation"].rows})
    found["worth"] = f"{min(worth.values()):.1f} to {max(worth.values()):.1f}"
    rows = []
    for name in names:
        ar = cells.loc[name].xs("AR", level="measure")
        row = {"panel": paper.letter(name), "NMF's data sets": int(ar.sets["nmf-kl"])}
        row |= {"ceiling of AR": f"{ar['mean']['oracle']:.3f} ({ar.se['oracle']:.3f})"}
        row |= {"paper's best AR": f"{ar.paper.max():.3f} ({ar.paper_se[ar.paper.idxmax()]:.3f})"}
        row |= {"our best AR": ar["mean"][ar.paper.notna()].max(), **paper.count(cells, (name,))}
        rows.append({**row, "cells are worth": f"{worth[name]:.1f}"})
    found["panels"] = markdown(pd.DataFrame(rows).set_index("panel"))
    found["sensitivity"] = markdown(_sensitivity(ledgers))
    found["contrasts"] = markdown(_contrasts(ledgers))
    found["tables"] = "\n\n".join(_panel(cells.loc[name], name) for name in names)
    if TIGHT in ledgers:
        tight = paper.under(paper.scores(ledgers[TIGHT]), chooser)
        found["tight"] = paper.count(paper.cells(tight))
    if len(names) == len(mixtures.NAMES):
        found |= {"own": paper.claims_of_paper(), "ours": paper.claims_of(scores)}
        found |= {"K": paper.clusters_chosen(scores)}
    return found


def _sensitivity(ledgers: Ledgers) -> Frame:
    """Cells within the limit under every loss and solver."""
    rows = []
    for solver in ("mu", "fast") if "simulation-mu" in ledgers else ("fast",):
        for chooser in CHOOSERS:
            cells = paper.cells(paper.reported(ledgers, solver, chooser))
            sound, every = paper.count(cells, paper.SOUND), paper.count(cells)
            row: dict[str, Any] = {"solver": solver, "rank by": chooser}
            row |= {f"{key}, e and g": value for key, value in sound.items()}
            rows.append(row | {"cells, all": every["cells"], "within, all": every["within"]})
    return pd.DataFrame(rows).set_index("solver")


def _contrasts(ledgers: Ledgers) -> Frame:
    """Runs with one thing changed beside the plain one, on the data sets that both have."""
    names = [*MODELS, *CONVENTIONAL]
    plain, *others = (
        (slug, paper.under(paper.scores(ledgers[slug]), paper.RULE[1])[names])
        for slug in sorted(ledgers)
        if slug.startswith("simulation")
    )
    rows = []
    for slug, changed in others:
        for name in (n for n in mixtures.NAMES if n in changed.index.unique("piece")):
            both = changed.loc[[name]].index.intersection(plain[1].index)
            frames = {"plain": plain[1].loc[both], "changed": changed.loc[both]}
            row = {"run": slug, "panel": paper.letter(name), "data sets": len(both)}
            ar = {k: x.xs("AR", level=1, axis=1).mean(axis=1) for k, x in frames.items()}
            row |= {f"AR, {key}": x.mean() for key, x in ar.items()}
            apart = ar["changed"] - ar["plain"]
            row |= {"difference": apart.mean(), "its error": apart.sem()}
            row |= {
                f"within, {k}": paper.count(paper.cells(x))["within"] for k, x in frames.items()
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["run"]).set_index("run")


def _panel(cells: Frame, name: str) -> str:
    """The paper's table of one panel: our mean (error), then the paper's (z)."""
    order = pd.Index([*MODELS, *CONVENTIONAL, *OURS, "oracle"], name="method")
    columns: dict[str, list[str]] = {}
    for measure in MEASURES:
        part = cells.xs(measure, level="measure").loc[order]
        ours = [f"{row['mean']:.3f} ({row.se:.3f})" for _, row in part.iterrows()]
        theirs = [f"{x:.3f} ({z:+.1f})" for x, z in zip(part.paper, part.z, strict=True)]
        theirs = ["" if np.isnan(x) else told for x, told in zip(part.paper, theirs, strict=True)]
        columns |= {measure: ours, f"paper's {measure}": theirs}
    return f"### {paper.letter(name)}\n\n{markdown(pd.DataFrame(columns, index=order))}"


def figures(ledgers: Ledgers) -> Figures:
    """Return the paper's figures: the first data set of each mixture, and the K of each method."""
    scores = paper.under(paper.scores(ledgers["simulation"]), paper.RULE[1])
    ks = scores.xs("K", level=1, axis=1)[[*MODELS, *CONVENTIONAL, *OURS]]
    data = {paper.letter(name): mixtures.data(name, 0, 0) for name in mixtures.NAMES}
    panels = {paper.letter(name): ks.xs(name, level="piece") for name in ks.index.unique("piece")}
    return {
        "data": lambda: draw.planes({k: (x, chosen.truth) for k, (chosen, x, *_) in data.items()}),
        "clusters": lambda: draw.clusters(dict(sorted(panels.items()))),
    }
