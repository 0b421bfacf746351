"""The weight of a loss that gives a wanted number of clusters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita import validate
from partita.errors import InvalidValueError
from partita.losses import name_of

if TYPE_CHECKING:
    from partita.estimation._estimate import Estimate
    from partita.losses import Loss

_STEPS = 16  # halvings: the last interval of weights is 0.00003 wide


def is_to_be_chosen(loss: Loss) -> bool:
    """Whether the weight of the loss is to be chosen to give a number of clusters."""
    return getattr(loss, "a", 1.0) is None


def check_wanted(loss: Loss, n_clusters: int | None) -> None:
    """Refuse a wrong number of clusters, and a weight to be chosen without that number."""
    if n_clusters is not None:
        validate.integer("n_clusters", n_clusters, least=1)
    elif is_to_be_chosen(loss):
        raise InvalidValueError(
            f"`loss` {name_of(loss)} needs `n_clusters`: its weight is chosen to give that many."
        )


def for_clusters(
    loss: Loss,
    n_clusters: int,
    run: Callable[[Loss], tuple[Estimate, list[str]]],
    deadline: float,
) -> tuple[Estimate, list[str]]:
    """Halve the interval of weights a in [0, 2] until the estimate has ``n_clusters`` clusters.

    A larger a makes splitting dearer, so there are fewer clusters. If no weight gives the number
    that is wanted, or Ctrl-C or the deadline ends the search, the estimate that came nearest is
    returned with a warning.
    """
    anything: Any = loss
    low, high, a = 0.0, 2.0, 1.0
    best: Estimate | None = None
    interrupted = late = False
    for _ in range(_STEPS):
        if best is not None and time.monotonic() >= deadline:
            late = True
            break
        weighted: Any = replace(anything, a=a)
        try:
            found, told = run(weighted)
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
            break
        late |= bool(found.info.get("cut_short"))
        if best is None or abs(found.n_clusters - n_clusters) < abs(best.n_clusters - n_clusters):
            best = found
        if found.n_clusters == n_clusters:
            return _ended(found, late=late), told
        if found.info.get("interrupted"):
            interrupted = True
            break
        low, high = (a, high) if found.n_clusters > n_clusters else (low, a)
        a = (low + high) / 2
    assert best is not None
    named = type(loss).__name__
    wanted = f"a weight of {named} that gives {n_clusters} clusters"
    came = f"; this estimate came nearest, with {best.n_clusters}."
    if interrupted:
        said = f"The search was interrupted before {wanted} was found{came}"
    elif late:
        said = f"`time_limit` was too short to find {wanted}{came} Allow more seconds."
    else:
        said = (
            f"No weight of {named} was found that gives {n_clusters} clusters; this estimate has "
            f"{best.n_clusters}. Leave the weight at a number for exactly {n_clusters}."
        )
    return _ended(best, interrupted=interrupted, late=late), [said]


def _ended(found: Estimate, *, interrupted: bool = False, late: bool = False) -> Estimate:
    """The estimate, with how the search for a weight ended."""
    how = {"interrupted": interrupted, "cut_short": late}
    return replace(found, info={**found.info, **{k: v for k, v in how.items() if v}})
