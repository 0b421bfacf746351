"""The weight of a loss that gives a wanted number of clusters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita import validate
from partita.errors import InvalidTypeError
from partita.losses import name_of

if TYPE_CHECKING:
    from partita.estimation._estimate import Estimate
    from partita.evidence import Evidence
    from partita.losses import Loss

_STEPS = 16


def check_wanted(loss: Loss, n_clusters: int, *, is_similarity: bool) -> None:
    """Refuse a number of clusters that is none, and a loss that has no weight to reach it by."""
    validate.integer("n_clusters", n_clusters, least=1)
    if "a" not in getattr(type(loss), "__dataclass_fields__", {}):
        able = "'binder'" if is_similarity else "'vi' or 'binder'"
        raise InvalidTypeError(
            f"`n_clusters` needs a loss with a weight, such as {able}; got {name_of(loss)!r}."
        )


def for_clusters(
    loss: Loss,
    n_clusters: int,
    evidence: Evidence,
    run: Callable[[Loss], Estimate],
    deadline: float,
) -> tuple[Estimate, str | None]:
    """Halve the interval of weights a in [0, 2] until the estimate has ``n_clusters`` clusters.

    A larger a makes splitting dearer, so the number of clusters falls, though not always by one:
    where no weight gives the number wanted, or Ctrl-C or the time ends it, the estimate that came
    nearest is returned, with what there is to say of it.
    """
    validate.integer("n_clusters", n_clusters, least=1, most=evidence.n_items)
    anything: Any = loss
    low, high, a = 0.0, 2.0, float(anything.a)
    best: Estimate | None = None
    interrupted = late = False
    for _ in range(_STEPS):
        if best is not None and time.monotonic() >= deadline:
            late = True
            break
        weighted: Any = replace(anything, a=a)
        try:
            found = run(weighted)
        except KeyboardInterrupt:
            if best is None:
                raise
            interrupted = True
            break
        late |= bool(found.info.get("cut_short"))
        if best is None or abs(found.n_clusters - n_clusters) < abs(best.n_clusters - n_clusters):
            best = found
        if found.n_clusters == n_clusters:
            return _ended(found, late=late), None
        if found.info.get("interrupted"):
            interrupted = True
            break
        low, high = (a, high) if found.n_clusters > n_clusters else (low, a)
        a = (low + high) / 2
    assert best is not None
    wanted = f"a weight of {name_of(loss)!r} that gives {n_clusters} clusters"
    came = f"; this estimate came nearest, with {best.n_clusters}."
    if interrupted:
        said = f"The search was interrupted before {wanted} was found{came}"
    elif late:
        said = f"`time_limit` was too short to find {wanted}{came} Allow more seconds."
    else:
        said = (
            f"No weight of {name_of(loss)!r} was found that gives {n_clusters} clusters; this "
            f"estimate has {best.n_clusters}."
        )
    return _ended(best, interrupted=interrupted, late=late), said


def _ended(found: Estimate, *, interrupted: bool = False, late: bool = False) -> Estimate:
    """The estimate, with how the search for a weight ended."""
    how = {"interrupted": interrupted, "cut_short": late}
    return replace(found, info={**found.info, **{k: v for k, v in how.items() if v}})
