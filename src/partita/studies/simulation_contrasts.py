"""The same data sets with one thing changed: another prior, another solver, a lesser sampler.

Runs of other settings are looked for beside the run that is reported; what they have in common
with it is compared data set by data set, so that chance in the data drops out. Under another
reading of the table of settings the data are others, from the same random numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from partita.studies import methods
from partita.studies._common import Frame, markdown, paper_table
from partita.studies.ledger import Ledger

#: The panels in which neither the data nor the draws behind the paper's table are in doubt.
SOUND = ("FTT", "FFT")
#: What a combined standard error grows by since the paper rounds to three decimals.
ROUNDING = 0.0005**2 / 3


def beside(folder: Path, ledger: Ledger) -> dict[str, Frame]:
    """Return the comparison with every other run of the simulation in the folder's own folder."""
    found = {}
    for path in sorted(folder.parent.glob("simulation*/replicates.csv")):
        if path.parent.resolve() == folder.resolve():
            continue
        other = Ledger.peek(path)
        common = sorted(ledger.rows.keys() & other.rows.keys())
        if common and tuple(other.columns) == tuple(ledger.columns):
            _, _, reading = other.asked.partition("reading=")
            found[path.parent.name] = compare(ledger, other, common).assign(reading=reading)
    return found


def by_r(folder: Path, ledger: Ledger) -> dict[tuple[str, int], Any]:
    """Return the scores of a run by R's updates that stands beside ours, if there is one."""
    path = folder.parent / "simulation-mu" / "replicates.csv"
    if not path.exists() or path.parent.resolve() == folder.resolve():
        return {}
    other = Ledger.peek(path)
    return dict(other.rows) if tuple(other.columns) == tuple(ledger.columns) else {}


def compare(ledger: Ledger, other: Ledger, keys: list[tuple[str, int]]) -> Frame:
    """Return means of both on the same data, their paired difference and distances to the paper.

    Returns
    -------
    DataFrame
        Index configuration, method, measure; columns ``sets``, ``ours``, ``changed``,
        ``difference``, ``se``, ``paper``, ``z_ours`` and ``z_changed`` (in combined standard
        errors, positive where better than the paper). :func:`beside` adds the ``reading``.
    """
    import pandas as pd

    rows = []
    for name in dict.fromkeys(key[0] for key in keys):
        mine = [key for key in keys if key[0] == name]
        a, b = (np.array([book.rows[key] for key in mine]) for book in (ledger, other))
        for at, column in enumerate(ledger.columns):
            method, measure = column.split(":")
            if measure in methods.MEASURES:
                rows.append((name, method, measure, *_moments(a[:, at], b[:, at])))
    moments = ["sets", "ours", "changed", "difference", "se", "se_ours", "se_changed"]
    table = pd.DataFrame(rows, columns=["configuration", "method", "measure", *moments])
    return _against_paper(table).set_index(["configuration", "method", "measure"])


def _moments(a: np.ndarray, b: np.ndarray) -> tuple[float, ...]:
    n = len(a)

    def error(x: np.ndarray) -> float:
        return float(x.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    apart = b - a
    means = (float(x.mean()) for x in (a, b, apart))
    return (n, *means, *(error(x) for x in (apart, a, b)))


def _against_paper(table: Frame) -> Frame:
    paper = paper_table("simulation").rename(
        columns={"method": "printed_as", "mean": "paper", "se": "paper_se"}
    )
    table["printed_as"] = table.method.str.split("/").str[0]
    table = table.merge(paper, how="left", on=["configuration", "printed_as", "measure"])
    sign = np.where(table.measure == "VI", -1.0, 1.0)
    for which in ("ours", "changed"):
        spread = np.sqrt(table[f"se_{which}"] ** 2 + table.paper_se**2 + ROUNDING)
        table[f"z_{which}"] = sign * (table[which] - table.paper) / spread
    return table.drop(columns=["printed_as", "paper_se", "se_ours", "se_changed"])


def within_three(z: Frame, chooser: str, panels: tuple[str, ...]) -> str:
    """Return how many of the paper's cells in some panels are within three, as "46 of 48".

    Parameters
    ----------
    z : Series
        Differences in combined standard errors by configuration, method and measure.
    chooser : str
        The loss that chose the rank of NMF.
    panels : tuple of str
    """
    names = [*(f"{model}/{chooser}" for model in methods.MODELS), *methods.CONVENTIONAL]
    z = z[z.index.get_level_values("method").isin(names)]
    z = z[z.index.get_level_values("configuration").isin(panels)].dropna()
    return f"{int((z.abs() <= 3).sum())} of {len(z)}"


def page(contrasts: dict[str, Frame], shown: list[str]) -> str:
    """Return a section: for each other run, adjusted Rand and agreement with the paper by panel."""
    if not contrasts:
        return ""
    words = [
        "## The same data, one thing changed\n\nEach of these runs has data sets in common with "
        "this one. `AR` is the mean over the paper's eight methods, `difference` the change in it "
        "data set by data set, with the mean of the methods' standard errors; `within 3` counts "
        "the cells of the panel "
        "within three combined standard errors of the paper, of 24."
    ]
    for name, table in contrasts.items():
        words.append(f"### {name}\n\n" + markdown(_by_panel(table, shown)))
        if set(SOUND) <= set(table.index.get_level_values("configuration")):
            told = {c: within_three(table.z_changed, c, SOUND) for c in methods.CHOOSERS}
            counts = ", ".join(f"{count} if {c} chose the rank" for c, count in told.items())
            words.append(f"Cells of e and g within three, changed: {counts}.")
        if table.reading.iloc[0]:
            words.append("Other data: the table of settings is read otherwise.")
            continue
        moved = _moved(table, shown)
        if len(moved):
            words.append("Where AR changes by more than two standard errors:\n\n" + markdown(moved))
    return "\n\n".join(words)


def _by_panel(table: Frame, shown: list[str]) -> Frame:
    import pandas as pd

    kept = table[table.index.get_level_values("method").isin(shown) & table.paper.notna()]
    rows = []
    for name, panel in kept.groupby(level="configuration", sort=False):
        ar = panel.xs("AR", level="measure")
        rows.append(
            {
                "configuration": name,
                "data sets": int(ar.sets.iloc[0]),
                "paper's AR": ar.paper.mean(),
                "AR here": ar.ours.mean(),
                "AR changed": ar.changed.mean(),
                "difference": f"{ar.difference.mean():+.3f} ({ar.se.mean():.3f})",
                "within 3, here": int((panel.z_ours.abs() <= 3).sum()),
                "within 3, changed": int((panel.z_changed.abs() <= 3).sum()),
            }
        )
    return pd.DataFrame(rows).set_index("configuration")


def _moved(table: Frame, shown: list[str]) -> Frame:
    """Methods whose adjusted Rand index the change moves, by panel."""
    ar = table[table.paper.notna()].xs("AR", level="measure")
    ar = ar[ar.index.get_level_values("method").isin(shown)]
    moved = ar[ar.difference.abs() > np.maximum(2.0 * ar.se, 0.005)].reset_index()
    columns = {"ours": "AR here", "changed": "AR changed", "se": "its error", "paper": "paper's AR"}
    kept = ["configuration", "method", "ours", "changed", "difference", "se", "paper"]
    return moved[kept].rename(columns=columns).set_index("configuration")
