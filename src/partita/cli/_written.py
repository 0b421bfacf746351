"""An estimate as `partita estimate -o FILE.json` writes it, read again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from partita import io, losses, search
from partita.errors import FileError
from partita.partitions import canonical

if TYPE_CHECKING:
    from partita.estimation import Estimate


def read_estimate(path: str) -> Estimate:
    """Return the estimate that a file holds: of --save, or of -o where that is JSON.

    JSON has no path and no history; a loss or a search with settings is a name only.
    """
    from partita.estimation import Estimate

    if not path.lower().endswith(".json"):
        return Estimate.load(path)
    try:
        with io.open_text(path) as stream:
            about = json.loads(stream.read())
        return _estimate(about)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        raise FileError(
            f"{path!r} does not hold an estimate that `partita estimate -o` wrote as JSON."
        ) from None


def _estimate(about: dict[str, Any]) -> Estimate:
    from partita.estimation import Estimate

    rows = about["items"]
    names, labels = ([row[key] for row in rows] for key in ("item", "cluster"))
    is_named = isinstance(names[0], str)
    if labels != canonical(labels).tolist() or not (is_named or names == list(range(len(names)))):
        raise ValueError("Labels, and items without names, are numbered in order.")
    columns = [key for key in rows[0] if key.startswith("membership_")]
    soft = np.array([[row[key] for key in columns] for row in rows], dtype=np.float64)
    if columns and max(labels) >= len(columns):
        raise ValueError("Memberships lack a cluster.")
    loss = str(about["loss"])
    return Estimate(
        labels=np.array(labels, dtype=np.int64),
        expected_loss=float(about["expected_loss"]),
        loss=losses.NAMES.get(loss, loss),
        search=_search(str(about["search"])),
        memberships=soft if columns else None,
        seed=int(about["seed"]),
        item_names=tuple(map(str, names)) if is_named else None,
        info={"evidence": about["evidence"]} if isinstance(about.get("evidence"), str) else {},
    )


def _search(name: str) -> Any:
    found = search.NAMES.get(name, name)
    return name if isinstance(found, tuple) else found
