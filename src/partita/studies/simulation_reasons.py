"""Why a cell of the simulation differs from the paper's: each reason is one that was put to a test.

A cell is one method's score in one panel. Those more than three combined standard errors from the
paper get the first of these reasons that holds:

- ``nmf``: for an NMF model, the paper's own score is worse than its MaxPear on the same draws by
  more than three standard errors. Then the factorisation differs (see the run by ``mu``).
- ``ceiling``: in this panel some method of the paper scores better than a classifier that knows
  the printed parameters, by more than three standard errors. Then its data came from other
  parameters than it prints (see the ``readings`` study).
- ``chains``: ours is better, and clusters are far apart. Then the paper's draws differ: chains that
  miss clusters score like this (see the ``mixing`` study).
- ``changed``: within three in a run on the same data with one thing changed, the solver or the
  sampler, that is in the folder beside this one and has fifty data sets or more in common.
- ``open``: none of these.
"""

from __future__ import annotations

import numpy as np

from partita.studies._common import Frame, markdown
from partita.studies.claims import SEPARATE

REASONS = ("nmf", "ceiling", "chains", "changed", "open")
LIMIT = 3.0
#: Fewer data sets than these have standard errors so large that most cells agree.
ENOUGH = 50
SIGN = {"Rand": 1.0, "AR": 1.0, "VI": -1.0}


def disagreements(table: Frame, shown: list[str], contrasts: dict[str, Frame]) -> Frame:
    """Return the cells beyond three combined standard errors, each with its reason.

    Parameters
    ----------
    table : DataFrame
        Of :func:`partita.studies.simulation_report.beside_paper`.
    shown : list of str
        The methods to look at.
    contrasts : dict of str to DataFrame
        Of :func:`partita.studies.simulation_contrasts.beside`.

    Returns
    -------
    DataFrame
        Rows of ``table`` with ``reason`` and, where that is ``changed``, the run ``by`` which.
    """
    kept = table[table.index.get_level_values("method").isin(shown) & table.paper.notna()]
    far = kept[kept.z.abs() > LIMIT].copy()
    far["reason"] = [_reason(table, *index) for index in far.index]
    same_data = {name: frame for name, frame in contrasts.items() if not frame.reading.iloc[0]}
    far["by"] = [_agreeing(same_data, index) for index in far.index]
    far.loc[far.reason != "open", "by"] = ""
    far.loc[far.by != "", "reason"] = "changed"
    return far


def under_other_readings(found: Frame, contrasts: dict[str, Frame]) -> Frame:
    """Return how many of the ``ceiling`` cells agree where the settings are read otherwise.

    Parameters
    ----------
    found : DataFrame
        Of :func:`disagreements`.
    contrasts : dict of str to DataFrame
    """
    import pandas as pd

    cells, rows = found.index[found.reason == "ceiling"], []
    for name, table in contrasts.items():
        both = cells.intersection(table.index)
        if not table.reading.iloc[0] or both.empty:
            continue
        nmf = both.get_level_values("method").str.startswith("nmf-")
        z = table.z_changed[both]
        rows.append(
            {
                "run": name,
                "data sets": int(table.sets[both].min()),
                "cells": len(both),
                "within 3": int((z.abs() <= LIMIT).sum()),
                "of NMF": f"{int((z[nmf].abs() <= LIMIT).sum())} of {int(nmf.sum())}",
                "rms z": float(np.sqrt((z**2).mean())),
                "rms z as printed": float(np.sqrt((table.z_ours[both] ** 2).mean())),
            }
        )
    return pd.DataFrame(rows).set_index("run") if rows else pd.DataFrame()


def _agreeing(contrasts: dict[str, Frame], cell: tuple[str, str, str]) -> str:
    """Return the name of the nearest run beside this one that agrees with the paper in a cell."""
    rows = {name: table.loc[cell] for name, table in contrasts.items() if cell in table.index}
    apart = {name: abs(row.z_changed) for name, row in rows.items() if row.sets >= ENOUGH}
    nearest = min(apart, key=lambda name: apart[name], default="")
    return nearest if nearest and apart[nearest] <= LIMIT else ""


def _reason(table: Frame, panel: str, method: str, measure: str) -> str:
    mine, maxpear = table.loc[(panel, method, measure)], table.loc[(panel, "maxpear", measure)]
    behind = (maxpear.paper - mine.paper) / np.hypot(mine.paper_se, maxpear.paper_se)
    if method.startswith("nmf-") and SIGN[measure] * behind > LIMIT:
        return "nmf"
    if above_ceiling(table, panel):
        return "ceiling"
    return "chains" if panel in SEPARATE and mine.z > 0 else "open"


def above_ceiling(table: Frame, panel: str) -> bool:
    """Whether the paper reports a score that the printed parameters do not allow.

    Where clusters overlap, VI is left out: there fewer clusters than the truth have a smaller one.
    """
    for measure in ("Rand", "AR", "VI") if panel in SEPARATE else ("Rand", "AR"):
        oracle = table.loc[(panel, "oracle", measure)]
        paper = table.loc[panel].xs(measure, level="measure")
        gain = SIGN[measure] * (paper.paper - oracle["mean"]) / np.hypot(paper.paper_se, oracle.se)
        if gain.max() > LIMIT:
            return True
    return False


def page(table: Frame, found: Frame, names: tuple[str, ...], contrasts: dict[str, Frame]) -> str:
    """Return the section on ceilings and reasons."""
    import pandas as pd

    rows = []
    for name in names:
        oracle = table.loc[(name, "oracle", "AR")]
        paper = table.loc[name].xs("AR", level="measure").paper
        mine = found.reason[found.index.get_level_values("configuration") == name]
        counts = {reason: int((mine == reason).sum()) for reason in REASONS}
        rows.append(
            {
                "configuration": name,
                "ceiling of AR": f"{oracle['mean']:.3f} ({oracle.se:.3f})",
                "paper's best AR": paper.max(),
                "ours": table.loc[name].xs("AR", level="measure")["mean"].drop("oracle").max(),
                "cells beyond 3": len(mine),
                **counts,
            }
        )
    text = (
        "## Cells that disagree, and why\n\nThe ceiling is the score of a classifier that knows "
        "the parameters the paper prints. Cells more than three combined standard errors from the "
        "paper, by reason: `nmf`, the paper's own score for that NMF model is that far behind its "
        "own MaxPear on the same draws, so that the factorisation differs; `ceiling`, some method "
        "of the paper is that far above the ceiling in this panel, so that its data came from "
        "other parameters; `chains`, ours is better where clusters are far apart, so that the "
        "paper's draws differ; `changed`, within three in a run on the same data with one thing "
        "changed (below); `open`, none of these."
    )
    words = [text, markdown(pd.DataFrame(rows).set_index("configuration"))]
    others = under_other_readings(found, contrasts)
    if len(others):
        words.append(
            "Cells of the reason `ceiling` where the table of settings is read otherwise, on data "
            "of that reading:\n\n" + markdown(others, digits=1)
        )
    told = _one_by_one(found[found.reason.isin(["nmf", "changed", "open"])], contrasts)
    return "\n\n".join([*words, "The others:\n\n" + "\n".join(told)] if told else words)


def _one_by_one(cells: Frame, contrasts: dict[str, Frame]) -> list[str]:
    """Return a line for each cell with what the run on the same data makes of it."""
    told = []
    for index, row in cells.iterrows():
        run = "simulation-mu" if row.reason == "nmf" else row.by
        line = f"- {' '.join(index)}: {row['mean']:.3f}, paper {row.paper:.3f} ({row.z:+.1f}); "
        if run in contrasts and index in contrasts[run].index:
            there = contrasts[run].loc[index]
            line += f"{there.changed:.3f} ({there.z_changed:+.1f}) in `{run}`, {there.sets} sets"
        else:
            line += f"{row.reason}, no run beside this one has it"
        told.append(line)
    return told
