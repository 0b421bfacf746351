"""How often each partition of the galaxies comes over the seeds, the paper's among them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import partita as pt
from studies import figures as draw
from studies import galaxy, paper
from studies.methods import CHOOSERS, CONVENTIONAL, MODELS
from studies.pages import Figures, Ledgers, Numbers, markdown
from studies.paper import Frame

SHOWN = 3  # partitions of each method


def _runs(ledgers: Ledgers, solver: str) -> Frame:
    rows = ledgers["galaxy"].rows
    return pd.DataFrame([row for (piece, _), row in rows.items() if piece == solver])


def numbers(ledgers: Ledgers) -> Numbers:
    """Return counts over seeds, and the ranges of memberships by R's updates."""
    printed = paper.table("galaxy").set_index("method").partition_items
    found, lines = Numbers(), []
    for solver in ("mu", "fast"):
        runs = _runs(ledgers, solver)
        found[solver] = {"seeds": len(runs)}
        for method in (*MODELS, *(CONVENTIONAL if solver == "mu" else ())):
            names = {c: f"{method}/{c}" for c in CHOOSERS} if method in MODELS else {"": method}
            hits = {c: int((runs[name] == printed[method]).sum()) for c, name in names.items()}
            came = runs[names.get(paper.RULE[1], method)].value_counts()
            told = [f"{text} ({n})" for text, n in came.head(SHOWN).items()]
            told += [f"{len(came) - SHOWN} others"] if len(came) > SHOWN else []
            line = {"method": method, "NMF by": solver if method in MODELS else ""}
            line |= {
                "the paper's partition": printed[method],
                "came": hits.pop(paper.RULE[1], hits.get("")),
            }
            line |= {"what came": "; ".join(told)}
            line |= {f"by {c}": hits.get(c, "") for c in CHOOSERS if c != paper.RULE[1]}
            found[solver][method] = line["came"]
            lines.append(line)
    found["table"] = markdown(pd.DataFrame(lines).set_index("method"))
    runs = _runs(ledgers, "mu")[list(galaxy.DOUBTS)].astype(float)
    ranges = {
        name: f"{x.min():.2f} to {x.max():.2f}, median {x.median():.2f}" for name, x in runs.items()
    }
    found |= {name.replace(":", ""): told for name, told in ranges.items()} | {
        "with 77": int(runs[galaxy.DOUBTS[-1]].sum())
    }
    items = pd.Index(galaxy.ITEMS, name="galaxy")
    table = {f"K = {k}": [ranges[f"K{k}: largest of {i}"] for i in items] for k in galaxy.RANKS}
    found["doubts"] = markdown(pd.DataFrame(table, index=items))
    return found


def labels(told: str, n_items: int) -> NDArray[np.int64]:
    """Return the partition that :func:`studies.methods.runs` told.

    Examples
    --------
    >>> labels("1-2 & 5 / 3-4", 5)
    array([0, 0, 1, 1, 0])
    """
    found = np.zeros(n_items, dtype=np.int64)
    for cluster, text in enumerate(told.split(" / ")):
        for run in text.split(" & "):
            first, _, last = run.partition("-")
            found[int(first) - 1 : int(last or first)] = cluster
    return found


def figures(ledgers: Ledgers) -> Figures:
    """Return the paper's two figures: the partitions that come most often, and memberships."""
    velocities = pt.datasets.load_galaxies().data.ravel()
    runs, partitions = _runs(ledgers, "mu"), {}
    for name in (*(f"{model}/{paper.RULE[1]}" for model in MODELS), *CONVENTIONAL):
        partitions[name.split("/")[0]] = labels(runs[name].mode()[0], len(velocities))
    similarity = galaxy.Galaxy().similarity()
    shares = {k: galaxy.memberships(similarity, "mu", k, 0) for k in galaxy.RANKS}
    return {
        "solutions": lambda: draw.lines(velocities, partitions, "velocity, 1,000 km/s"),
        "memberships": lambda: draw.memberships(shares, {}),
    }
