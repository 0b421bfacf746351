"""Say what is in a file of draws, and what was assumed when reading it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from partita.cli import _common

if TYPE_CHECKING:
    from partita.draws import Draws


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``partita info``."""
    _common.add_draws_arguments(parser)
    _common.add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Describe and write."""
    about = _about(_common.read(arguments))
    form = _common.form(arguments)
    if form == "json":
        text = _common.to_json(about)
    elif form == "csv":
        text = _csv(about)
    else:
        text = _table(about)
    _common.write(text, arguments)


def _about(draws: Draws) -> dict[str, Any]:
    import numpy as np

    clusters = np.bincount(draws.n_clusters, draws.probabilities)
    counts = {int(k): float(clusters[k]) for k in np.flatnonzero(clusters)}
    return {
        "items": draws.n_items,
        "draws": draws.n_draws,
        "chains": draws.n_chains,
        "weighted": draws.weights is not None,
        "distinct partitions": draws.unique().n_draws,
        "clusters": counts,
        "item names": list(draws.item_names or ()),
        "traces": sorted(draws.traces),
        "assumed": list(draws.assumptions),
    }


def _csv(about: dict[str, Any]) -> str:
    import pandas as pd

    rows = [(k, v) for k, v in about.items() if not isinstance(v, dict | list)]
    rows += [(f"share of draws with {k} clusters", v) for k, v in about["clusters"].items()]
    rows += [("assumed", sentence) for sentence in about["assumed"]]
    return str(pd.DataFrame(rows, columns=["what", "value"]).to_csv(index=False))


def _table(about: dict[str, Any]) -> str:
    lines = [
        f"items                {about['items']:,}",
        f"draws                {about['draws']:,}" + (" (weighted)" if about["weighted"] else ""),
        f"chains               {about['chains']:,}",
        f"distinct partitions  {about['distinct partitions']:,}",
    ]
    if about["item names"]:
        names = about["item names"]
        lines.append(f"item names           {', '.join(names[:5])}{', ...' * (len(names) > 5)}")
    if about["traces"]:
        lines.append(f"traces               {', '.join(about['traces'])}")
    lines.append("clusters by draw")
    lines += [f"  {k:>4}  {share:7.2%}" for k, share in about["clusters"].items()]
    if about["assumed"]:
        lines.append("assumed")
        lines += [f"  {sentence}" for sentence in about["assumed"]]
    return "\n".join(lines)
