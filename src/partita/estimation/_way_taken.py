"""How an estimate read the draws and the similarity, in words for ``Estimate.info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita import evidence as limits
from partita.draws import MOST_HELD
from partita.parallel import item_blocks

if TYPE_CHECKING:
    from partita.evidence import Evidence

_HELD, _GIVEN = "draws in memory", "a similarity was given"
_LACKING = "draws with missing labels, through their similarity"


def way_taken(evidence: Evidence, matrix: str | None = None) -> str:
    """Say where the draws were, how they were read, and whether π̂ was a matrix, and why.

    ``matrix`` says where the winning search made a matrix: "memory" or a device.
    """
    if evidence.lacking is not None:
        return _LACKING
    if not evidence.has_draws:
        return _GIVEN
    if matrix is not None:
        at = "" if matrix == "memory" else f" on {matrix}"
        return f"{_draws(evidence)}; similarity a matrix{at}, as the search needs"
    return f"{_draws(evidence)}; {_similarity(evidence)}"


def is_plain(said: str) -> bool:
    """Whether everything was in memory, so that a terminal need not show how it was read."""
    return said in (_GIVEN, _LACKING) or (
        said.startswith(f"{_HELD};") and "never formed" not in said
    )


def _draws(evidence: Evidence) -> str:
    labels: Any = evidence.draws.labels
    store = "" if evidence.source is None else f"a store ({evidence.source})"
    if not evidence.streams:
        few = f", {labels.size:,} labels being no more than {MOST_HELD:,}"
        return f"draws read whole from {store}{few}" if store else _HELD
    size = item_blocks(labels.shape)[0].stop
    why = "" if labels.size <= MOST_HELD else f" ({labels.size:,} labels, more than {MOST_HELD:,})"
    return f"draws in {store or 'memory'}, in blocks of {size:,} items{why}"


def _similarity(evidence: Evidence) -> str:
    n, most = evidence.n_items, limits.LARGE
    if evidence.has_dense:
        return f"similarity a matrix of {n:,} items"
    if evidence.has_few_items and not evidence.is_large:
        return f"similarity a matrix where one is needed ({n:,} items, no more than {most:,})"
    return f"similarity never formed ({n:,} items, more than {most:,})"
