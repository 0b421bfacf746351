"""The section "What the clusters are like": intervals as SVG, and their table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.plots import palette
from partita.reporting._tables import table

if TYPE_CHECKING:
    import pandas as pd

_PROB = 0.95
_MOST_PANELS = 12  # entries of parameters that are drawn; the table has more
_MOST_CLUSTERS = 60  # that are drawn
_WIDTH, _MARGIN, _ROW, _TOP = 260, 60, 16, 22  # pixels


def described(best: Any, draws: Any, params: Any) -> pd.DataFrame:
    """The summary of what was given: ClusterParameters, or what ``cluster_parameters`` takes."""
    if not hasattr(params, "summary"):
        from partita.parameters import cluster_parameters

        params = cluster_parameters(best, draws, params)
    frame: pd.DataFrame = params.summary(_PROB)
    return frame


def section(frame: pd.DataFrame | None) -> str:
    """Return the section, or nothing where there are no parameters."""
    if frame is None:
        return ""
    entries = list(dict.fromkeys(frame.index.get_level_values("parameter")))
    figures = "".join(_forest(entry, frame.loc[entry]) for entry in entries[:_MOST_PANELS])
    flat = frame.reset_index("cluster")
    return (
        '<section id="parameters" aria-labelledby="h-parameters">\n'
        '<h2 id="h-parameters">What the clusters are like</h2>\n'
        f'<figure><div class="pair">{figures}</div><figcaption>The mean of each parameter and the '
        f"shortest interval that holds {_PROB:.0%} of the draws, a line for each cluster of the "
        "estimate. Rows of the table say in which share of the draws the cluster was found "
        "(matched).</figcaption></figure>\n"
        f"{table(flat, 'Parameters of the clusters of the estimate', 'parameter')}\n</section>"
    )


def link(frame: pd.DataFrame | None) -> str:
    """Return the section's place in the navigation."""
    return "" if frame is None else '<a href="#parameters">Parameters</a>'


def _forest(entry: str, part: pd.DataFrame) -> str:
    """One panel: a line for each cluster, its mean a dot."""
    part = part.iloc[:_MOST_CLUSTERS]
    low, high = part["hdi_low"].min(), part["hdi_high"].max()
    if not np.isfinite([low, high]).all():
        return ""
    span = (high - low) or 1.0

    def across(value: float) -> str:
        return f"{_MARGIN + (value - low) / span * (_WIDTH - _MARGIN - 10):.1f}"

    height = _TOP + _ROW * len(part) + 20
    rows = []
    for k, (cluster, row) in enumerate(part.iterrows()):
        y, colour = _TOP + _ROW * (k + 0.5), palette(len(part))[k]
        name = escape(str(cluster)[:8])
        rows.append(f'<text x="{_MARGIN - 8}" y="{y + 4}" text-anchor="end">{name}</text>')
        if np.isfinite(row["mean"]):
            ends = f'x1="{across(row["hdi_low"])}" x2="{across(row["hdi_high"])}"'
            rows.append(f'<line {ends} y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2.5"/>')
            rows.append(f'<circle cx="{across(row["mean"])}" cy="{y}" r="4" fill="{colour}"/>')
    marks = [(across(low), f"{low:.3g}", "start"), (across(high), f"{high:.3g}", "end")]
    for x, text, anchor in marks:
        rows.append(f'<text x="{x}" y="{height - 5}" text-anchor="{anchor}">{text}</text>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(entry)}" font-size="11" fill="currentColor">'
        f'<text x="{_MARGIN}" y="12" font-weight="bold">{escape(entry)}</text>'
        f"{''.join(rows)}</svg>"
    )
