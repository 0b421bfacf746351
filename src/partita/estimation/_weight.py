"""The weight of a loss that gives a wanted number of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita import validate
from partita.errors import InvalidTypeError, PartitaWarning
from partita.losses import name_of

if TYPE_CHECKING:
    from partita.estimation._estimate import Estimate
    from partita.losses import Loss

_STEPS = 24


def for_clusters(
    loss: Loss, n_clusters: int, n_items: int, run: Callable[[Loss], Estimate]
) -> Estimate:
    """Halve the interval of weights a in [0, 2] until the estimate has ``n_clusters`` clusters.

    A larger a makes splitting dearer, so the number of clusters falls, though not always by one:
    where no weight gives the number wanted, or Ctrl-C ends it, the estimate that came nearest is
    returned with a warning.
    """
    validate.integer("n_clusters", n_clusters, least=1, most=n_items)
    anything: Any = loss
    if "a" not in getattr(type(loss), "__dataclass_fields__", {}):
        raise InvalidTypeError(
            "`n_clusters` needs a loss with a weight `a`, such as 'vi' or 'binder'; got "
            f"{name_of(loss)!r}."
        )
    low, high, a = 0.0, 2.0, float(anything.a)
    best: Estimate | None = None
    for _ in range(_STEPS):
        weighted: Any = replace(anything, a=a)
        try:
            found = run(weighted)
        except KeyboardInterrupt:
            if best is None:
                raise
            break
        if best is None or abs(found.n_clusters - n_clusters) < abs(best.n_clusters - n_clusters):
            best = found
        if found.n_clusters == n_clusters:
            return found
        if found.info.get("interrupted"):
            break
        low, high = (a, high) if found.n_clusters > n_clusters else (low, a)
        a = (low + high) / 2
    assert best is not None
    warnings.warn(
        f"No weight of {name_of(loss)!r} was found that gives {n_clusters} clusters; this estimate "
        f"has {best.n_clusters}.",
        PartitaWarning,
        stacklevel=3,
    )
    return best
