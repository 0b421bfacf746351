"""The numbers that the page draws, as JSON with arrays packed in base64."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from partita.draws import Draws
from partita.estimation import Estimate
from partita.plots import average_similarity, palette
from partita.plots._canvas import runs
from partita.plots._matrices import true_blocks
from partita.plots._scatter import check_items, density_curve, plane, prior_words
from partita.similarity import Similarity
from partita.uncertainty import posterior_n_clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partita.reporting._sections import Findings
    from partita.reporting._steps import Position, Steps

_CELLS = 400
_POINTS = 2_000  # of the data, at most
_TRACE = 600  # draws of a chain that are drawn
_LARGEST = 8  # memberships of an item that are kept at a position of the slider


def pack(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as its kind and base64, little-endian."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"kind": array.dtype.name, "data": base64.b64encode(plain.tobytes()).decode()}


def bytes_of(values: Any) -> NDArray[np.uint8]:
    """Return numbers in [0, 1] as bytes; the page divides by 255."""
    return np.asarray(np.round(np.clip(values, 0.0, 1.0) * 255), dtype=np.uint8)


def content(
    best: Estimate,
    draws: Draws | Similarity,
    steps: Steps,
    order: NDArray[np.int64],
    findings: Findings,
    data: Any,
    density: Any,
) -> dict[str, Any]:
    """Return everything that the page's script needs."""
    return {
        "n": draws.n_items,
        "loss": steps.loss_name,
        "names": list(draws.item_names or map(str, range(draws.n_items))),
        "colours": palette(_most_numbers(draws, steps)),
        "order": pack(order.astype(np.uint32)),
        "similarity": _similarity(best, draws, order, findings.truth),
        "steps": [_step(position) for position in steps.positions],
        "chosen": steps.chosen,
        "items": _items(findings),
        "posterior": _posterior(draws) if isinstance(draws, Draws) else None,
        "traces": _traces(draws) if isinstance(draws, Draws) else [],
        "data": None if data is None else _data(data, draws, density),
    }


def _most_numbers(draws: Draws | Similarity, steps: Steps) -> int:
    """How many colours the page may ask for."""
    of_steps = max(int(position.numbers.max()) for position in steps.positions)
    return 1 + max(of_steps, draws.n_chains if isinstance(draws, Draws) else 1)


def _similarity(
    best: Estimate, draws: Draws | Similarity, order: NDArray[np.int64], truth: Any
) -> dict[str, Any]:
    averaged = average_similarity(draws, order, max_cells=_CELLS)
    found: dict[str, Any] = {
        "cells": int(averaged.edges.size - 1),
        "values": pack(bytes_of(averaged.values)),
        "edges": averaged.edges.tolist(),
        "bounds": runs(best.labels[order]).tolist(),
        "truth": [] if truth is None else true_blocks(truth[order]),
        "note": averaged.note,
    }
    return found


def _step(position: Position) -> dict[str, Any]:
    k = position.memberships.shape[1]
    return {
        "rank": position.rank,
        "loss": position.expected_loss,
        "n_clusters": int(position.labels.max()) + 1,
        "labels": pack(position.labels.astype(np.uint16 if k <= 1 << 16 else np.uint32)),
        **_memberships(position),
        "numbers": position.numbers.tolist(),
    }


def _memberships(position: Position) -> dict[str, Any]:
    """The few largest memberships of each item, its own cluster's first, and their columns."""
    soft = position.memberships
    everyone = np.arange(len(soft))
    first = soft.copy()
    first[everyone, position.labels] = np.inf
    width = min(_LARGEST, soft.shape[1])
    columns = np.argsort(-first, axis=1, kind="stable")[:, :width]
    values = np.take_along_axis(soft, columns, axis=1)
    return {
        "width": width,
        "columns": pack(columns.astype(np.uint16 if soft.shape[1] <= 1 << 16 else np.uint32)),
        "memberships": pack(bytes_of(values)),
    }


def _items(findings: Findings) -> dict[str, Any]:
    """Columns of the table that do not move with the slider."""
    frame = findings.items
    names = [c for c in ("probability", "entropy", "own_similarity") if c in frame]
    found = {name: pack(np.asarray(frame[name], dtype=np.float32)) for name in names}
    runner_up = frame["runner_up"].fillna(-1).to_numpy(dtype=np.int32)
    found["runner_up"] = pack(runner_up)
    if findings.truth is not None:
        found["truth"] = pack(np.asarray(findings.truth, dtype=np.int32))
    return found


def _posterior(draws: Draws) -> dict[str, Any]:
    table = posterior_n_clusters(draws)
    return {
        "k": [int(k) for k in table.index],
        "probability": table["probability"].round(6).tolist(),
        "error": np.nan_to_num(table["mcse"].to_numpy()).round(6).tolist(),
    }


def _traces(draws: Draws) -> list[dict[str, Any]]:
    """K and the log posterior, evenly thinned, a list for each chain."""
    chains = np.zeros(draws.n_draws, dtype=np.int64) if draws.chains is None else draws.chains
    values: dict[str, NDArray[Any]] = {"K": draws.n_clusters}
    values |= {k: v for k, v in draws.traces.items() if k.lower().startswith("log")}
    found = []
    for name, trace in values.items():
        lines = []
        for chain in np.unique(chains):
            of_chain = trace[chains == chain]
            step = -(-of_chain.size // _TRACE)
            kept = of_chain[::step].astype(np.float64)
            lines.append({"chain": int(chain), "step": step, "y": kept.round(4).tolist()})
        found.append({"name": name, "lines": lines})
    return found


def _data(data: Any, draws: Draws | Similarity, density: Any) -> dict[str, Any]:
    """Points to draw: one column with its predictive density, or two."""
    values = check_items(data, draws.n_items)
    n = len(values)
    shown = np.arange(n) if n <= _POINTS else np.linspace(0, n - 1, _POINTS).astype(np.int64)
    names = [str(c) for c in getattr(data, "columns", [])]
    found: dict[str, Any] = {"shown": pack(shown.astype(np.uint32))}
    if values.shape[1] == 1:
        found["x"] = pack(values[shown, 0].astype(np.float32))
        found["names"] = names or ["value"]
        curve = density_curve(values, draws, density) if isinstance(draws, Draws) else None
        if curve is not None:
            found["density"] = {"x": curve[0].tolist(), "y": curve[1].tolist()}
            found["note"] = (
                f"The density is the posterior predictive one, {prior_words(density, draws)}."
            )
        return found
    points, axes = plane(values)
    found["x"], found["y"] = (pack(points[shown, i].astype(np.float32)) for i in (0, 1))
    found["names"] = names if len(names) == 2 else list(axes)
    return found
