"""Seconds by model, size and rank, and how they grow."""

from __future__ import annotations

import numpy as np
import pandas as pd

from studies import figures as draw
from studies.pages import Figures, Ledgers, Numbers, markdown
from studies.paper import Frame


def _seconds(ledgers: Ledgers) -> Frame:
    rows = ledgers["scaling"].rows
    frame = pd.DataFrame([(*key[0].split("/"), row["seconds"]) for key, row in rows.items()])
    return frame.set_axis(["model", "N", "K", "seconds"], axis=1).astype({"N": int, "K": int})


def numbers(ledgers: Ledgers) -> Numbers:
    """Return medians, and the exponents of N and K by least squares on logarithms."""
    frame, told = _seconds(ledgers), []
    for model, part in frame.groupby("model", sort=False):
        logs = np.log(part[["N", "K", "seconds"]].to_numpy(dtype=np.float64))
        design = np.column_stack([logs[:, :2], np.ones(len(logs))])
        n, k, _ = np.linalg.lstsq(design, logs[:, 2], rcond=None)[0]
        told.append(f"{model} N^{n:.1f} K^{k:.1f}")
    wide = _table(frame)
    return Numbers(table=markdown(wide, 2), growth="; ".join(told))


def _table(frame: Frame) -> Frame:
    return frame.groupby(["model", "K", "N"]).seconds.median().unstack("N")


def figures(ledgers: Ledgers) -> Figures:
    """Return seconds against N."""
    return {"seconds": lambda: draw.growth(_table(_seconds(ledgers)))}
