"""The paper's description on the chosen data, over chains, and over other data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from studies import figures as draw
from studies import soft
from studies.methods import together
from studies.pages import Figures, Ledgers, Numbers, markdown


def numbers(ledgers: Ledgers) -> Numbers:
    """Return how often the description holds, and the numbers of the chosen data."""
    rows = ledgers["soft"].rows
    first = {name: float(value) for name, value in rows["chosen data", 0].items()}
    found = Numbers(first)
    for piece in ("chosen data", "other data"):
        held = np.array([soft.holds(row) for (name, _), row in rows.items() if name == piece])
        one, every = held.sum(axis=0)
        found[piece.split()[0]] = {"sets": len(held), "one": one, "all": every}
    columns = {"loss": "expected Binder loss", "tied": "restarts that tie", "spread": "spread"}
    table = {k: {told: first[f"{x} at {k}"] for x, told in columns.items()} for k in soft.RANKS}
    frame = pd.DataFrame(table).T.rename_axis("K").astype({columns["tied"]: int})
    found["table"] = markdown(frame, 2)
    found["best"] = min(soft.RANKS, key=lambda k: first[f"loss at {k}"])
    found |= {f"more {k}": 100 * (first[f"loss at {k}"] / first["loss at 2"] - 1) for k in (3, 4)}
    return found


def figures(_: Ledgers) -> Figures:
    """Return the paper's three figures, of the chosen data."""
    fits = soft.Soft().fit(soft.CHOSEN, soft.CHAIN)
    truth = soft.simulate(soft.CHOSEN)[1]
    four, labels = fits.restarts[4][0], fits.conventional["minvi"]
    matrices = {
        "(a) true clusters": together(truth),
        "(b) posterior similarity": fits.similarity.to_dense(),
        "(c) partition of MinVI": together(labels),
        "(d) WH of NMF-ls, K = 4": np.asarray(four.W @ four.H),
    }
    planes = {"true clusters": (fits.data, truth), "partition of MinVI": (fits.data, labels)}
    shares = {k: fits.restarts[k][0].memberships for k in soft.SHOWN}
    return {
        "data": lambda: draw.planes(planes),
        "heat": lambda: draw.matrices(matrices, 4),
        "memberships": lambda: draw.memberships(shares, {k: fits.loss(k) for k in soft.RANKS}),
    }
