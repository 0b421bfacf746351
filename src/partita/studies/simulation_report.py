"""The simulation's scores as the paper's table, beside the paper's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.studies import (
    _figures,
    claims,
    configurations,
    methods,
    simulation_contrasts,
    simulation_reasons,
)
from partita.studies._common import Findings, Frame, markdown, paper_table

if TYPE_CHECKING:
    from partita.studies.simulation import Simulation

SOUND = simulation_contrasts.SOUND
PANELS = dict(zip(configurations.NAMES, "abcdefgh", strict=True))


def scores_frame(columns: tuple[str, ...], rows: Mapping[tuple[str, int], Any]) -> Frame:
    """Return one row a score: configuration, replicate, method, measure, value."""
    import pandas as pd

    index = pd.MultiIndex.from_tuples(rows, names=["configuration", "replicate"])
    wide = pd.DataFrame(list(rows.values()), index=index, columns=list(columns))
    wide.columns = pd.MultiIndex.from_tuples(
        [tuple(column.split(":")) for column in columns], names=["method", "measure"]
    )
    return wide.melt(ignore_index=False, value_name="value").reset_index()


def beside_paper(scores: Frame) -> Frame:
    """Return mean and standard error of every cell, the paper's, and how far apart they are.

    ``z`` is the difference in combined standard errors, positive where ours is the better score.
    """
    measured = scores[scores.measure.isin(methods.MEASURES)]
    cells = measured.groupby(["configuration", "method", "measure"], sort=False)["value"]
    ours = cells.agg(mean="mean", se=lambda x: x.std(ddof=1) / np.sqrt(len(x))).reset_index()
    ours["printed_as"] = ours.method.str.split("/").str[0]
    paper = paper_table("simulation").rename(
        columns={"method": "printed_as", "mean": "paper", "se": "paper_se"}
    )
    table = ours.merge(paper, how="left", on=["configuration", "printed_as", "measure"])
    sign = np.where(table.measure == "VI", -1.0, 1.0)
    spread = np.sqrt(table.se**2 + table.paper_se**2 + simulation_contrasts.ROUNDING)
    table["z"] = sign * (table["mean"] - table.paper) / spread
    return table.drop(columns="printed_as").set_index(["configuration", "method", "measure"])


def fit_of_choosers(table: Frame) -> Frame:
    """Return how far NMF under each loss is from the paper: root mean square of z, by panel."""
    nmf = table[table.index.get_level_values("method").str.startswith("nmf-")].reset_index()
    nmf["chooser"] = nmf.method.str.split("/").str[1]
    far = nmf.assign(z2=nmf.z**2).groupby(["chooser", "configuration"], sort=False)["z2"].mean()
    wide = np.sqrt(far).unstack()
    wide["all"] = np.sqrt(far.unstack().mean(axis=1))
    sound = [name for name in SOUND if name in wide]
    wide["e and g"] = np.sqrt(far.unstack()[sound].mean(axis=1)) if sound else wide["all"]
    for chooser in wide.index:
        agree = simulation_contrasts.within_three(table.z, chooser, SOUND)
        wide.loc[chooser, "cells of e and g within 3"] = agree
    return wide


def chosen_clusters(scores: Frame, most: int = 8) -> Frame:
    """Return how often each method chose each K; what is above ``most`` counts as ``most``."""
    ks = scores[(scores.measure == "K") & ~scores.method.isin(["draws", "oracle"])].copy()
    ks["K"] = ks.value.clip(upper=most).astype(int)
    counts = ks.groupby(["configuration", "method", "K"], sort=False).size()
    return counts.unstack(fill_value=0).sort_index(axis=1)


def summarise(
    study: Simulation,
    rows: Mapping[tuple[str, int], Any],
    seconds: Mapping[tuple[str, int], Any],
    contrasts: dict[str, Frame],
    by_r: Mapping[tuple[str, int], Any],
) -> Findings:
    """Return tables, the figure of K, and the page; ``by_r`` has the scores by R's updates."""
    from partita.studies.simulation import COLUMNS

    scores = scores_frame(COLUMNS, rows)
    table = beside_paper(scores)
    fits = fit_of_choosers(table)
    clusters = chosen_clusters(scores)
    chooser = str(fits["e and g"].idxmin())
    far = simulation_reasons.disagreements(table, _shown(chooser), contrasts)
    words = [
        _opening(study),
        "![data](data.png)\n\nThe first data set of each, as in the paper's figure.",
        _verdict(table, chooser, contrasts),
        simulation_reasons.page(table, far, study.names, contrasts),
        "## Which loss chose the rank?\n\nThe paper does not say. Root mean square of the "
        "differences from its table, in combined standard errors, over the four NMF models, and "
        "how many cells of e and g are within three, the conventional methods counted in:\n\n"
        + markdown(fits, digits=1)
        + "\n\nIn a to d, f and h other things differ too (above), so e and g decide: NMF on this "
        f"page is under the closest there, `{chooser}`. All three are in `cells.csv`.",
        *(_panel(table, name, chooser) for name in study.names),
        "## Clusters chosen\n\n![chosen K](clusters.png)\n\nK above 8 is drawn as 8; four is the "
        "truth. Counts are in `clusters.csv`.",
        claims.page(_runs(table, clusters, by_r), chooser),
        simulation_contrasts.page(contrasts, _shown(chooser)),
        _time(seconds),
    ]
    return Findings(
        "simulation",
        "\n\n".join(word for word in words if word),
        {"cells": table, "clusters": clusters, "disagreements": far}
        | {f"beside-{name}": frame for name, frame in contrasts.items()},
        {
            "clusters": lambda: _clusters_figure(clusters, study.names, chooser),
            "data": lambda: _data_figure(study),
        },
        command=_command(study),
    )


def _runs(
    table: Frame, clusters: Frame, by_r: Mapping[tuple[str, int], Any]
) -> dict[str, tuple[Frame, Frame]]:
    """Return cells and clusters by who made the NMF, as :func:`claims.page` takes them."""
    from partita.studies.simulation import COLUMNS

    runs = {"Our solver": (table, clusters)}
    if by_r:
        scores = scores_frame(COLUMNS, by_r)
        runs["R's updates"] = (beside_paper(scores), chosen_clusters(scores))
    return runs


def _command(study: Simulation) -> str:
    from partita.studies.simulation import KEYS

    words = ["partita reproduce simulation", f"--replicates {study.replicates}"]
    if study.names != configurations.NAMES:
        words.append(f"--configurations {' '.join(study.names)}")
    words += [f"--{key} {getattr(study, key)}" for key in KEYS]
    words.append(f"--seed {study.seed}")
    words += [] if study.device is None else [f"--device {study.device}"]
    return " ".join(words)


def _opening(study: Simulation) -> str:
    how = {"independent": "as PReMiuM computes it", "paper": "as the paper prints it"}
    return (
        "# The simulation study\n\n"
        f"{study.replicates} data sets of each configuration; {study.n_burn:,} scans burnt, "
        f"{study.n_draws:,} draws kept; prior {how[study.prior]}; NMF by the `{study.solver}` "
        f"solver; {study.moves} moves. Mean (standard error) against the truth, the paper's "
        "number, and the difference in combined standard errors (with what rounding to three "
        "decimals adds), positive where ours is better. "
        "VI is in bits. `oracle` knows the true parameters: its score is a ceiling."
    )


def _time(seconds: Mapping[tuple[str, int], Any]) -> str:
    if not seconds:
        return ""
    cpu = np.array([spent[0] for spent in seconds.values()])
    return (
        f"## Time\n\n{cpu.sum() / 3600:.2f} hours of processor time for {len(cpu)} replicates: "
        f"{cpu.mean():.1f} s each ({cpu.min():.1f} to {cpu.max():.1f}), so that two cores with "
        f"nothing else to do take {cpu.sum() / 120:.0f} minutes. Each one's is in `seconds.csv`."
    )


def _shown(chooser: str) -> list[str]:
    nmf = [f"{model}/{chooser}" for model in methods.MODELS]
    return [*nmf, *methods.CONVENTIONAL, *methods.OURS, "oracle"]


def _panel(table: Frame, name: str, chooser: str) -> str:
    import pandas as pd

    cells: dict[str, list[str]] = {}
    for measure in methods.MEASURES:
        rows = [table.loc[(name, method, measure)] for method in _shown(chooser)]
        cells[measure] = [f"{row['mean']:.3f} ({row['se']:.3f})" for row in rows]
        cells[f"paper's {measure}"] = [
            "" if np.isnan(row["paper"]) else f"{row['paper']:.3f} ({row['z']:+.1f})"
            for row in rows
        ]
    index = pd.Index([method.split("/")[0] for method in _shown(chooser)], name="method")
    return f"## {PANELS[name]}-{name}\n\n" + markdown(pd.DataFrame(cells, index=index))


def _verdict(table: Frame, chooser: str, contrasts: dict[str, Frame]) -> str:
    """How many of the paper's 192 cells agree, by group of panels; e and g by R's updates too."""
    kept = table.loc[table.index.get_level_values("method").isin(_shown(chooser))]
    kept = kept[kept.paper.notna()]
    at = kept.index.get_level_values("configuration")
    lines = ["## In short\n"]
    for label, names in (
        ("e-FTT and g-FFT", ("FTT", "FFT")),
        ("a to d", ("TTT", "TTF", "TFT", "TFF")),
        ("f-FTF and h-FFF", ("FTF", "FFF")),
    ):
        z = kept.z[at.isin(names)]
        if len(z):
            lines.append(
                f"- {label}: {(z.abs() <= 3).sum()} of {len(z)} cells within three combined "
                f"standard errors; {(z > 3).sum()} better by more, {(z < -3).sum()} worse by more."
            )
    r_way = contrasts.get("simulation-mu")
    at_r = set() if r_way is None else set(r_way.index.get_level_values("configuration"))
    if r_way is not None and set(SOUND) <= at_r:
        sets = int(r_way.loc[list(SOUND)].sets.min())
        agree = simulation_contrasts.within_three(r_way.z_changed, chooser, SOUND)
        lines.append(
            f"- e-FTT and g-FFT with NMF as the paper ran it, by R's updates (`simulation-mu`, "
            f"{sets} data sets of each): {agree} cells within three."
        )
    return "\n".join(lines)


def _data_figure(study: Simulation) -> Any:
    """Draw the first data set of each configuration, as the paper's figure of realisations."""
    panels = {}
    for name in study.names:
        chosen, data = study.sampling.data(name, 0)
        panels[f"{PANELS[name]}-{name}"] = (data, chosen.truth)
    return _figures.realisations(panels)


def _clusters_figure(clusters: Frame, names: tuple[str, ...], chooser: str) -> Any:
    shown = [name for name in _shown(chooser) if name != "oracle"]
    panels = {
        f"{PANELS[name]}-{name}": clusters.loc[name]
        .reindex(shown)
        .rename(index=lambda method: method.split("/")[0], columns={8: "8+"})
        for name in names
    }
    return _figures.shares(panels, title="K", truth=4)
