"""Losses: what it costs to report one partition when another is true.

One file a loss; none imports another; what they share is in ``_ratio``. Each is a frozen
dataclass, callable on two partitions, averaged over draws or evaluated on a similarity. ``NAMES``
maps the public strings to values; to add a loss, write one file and one line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partita import validate
from partita.errors import InvalidTypeError, InvalidValueError
from partita.losses._ratio import Basis, Combination, Loss, RatioLoss, distances, expected
from partita.losses.binder import Binder
from partita.losses.id import ID
from partita.losses.nid import NID
from partita.losses.nvi import NVI
from partita.losses.omari import OMARI
from partita.losses.pear import PEAR
from partita.losses.vi import VI
from partita.losses.vi_lower_bound import VILowerBound
from partita.losses.zero_one import ZeroOne

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ID",
    "NAMES",
    "NID",
    "NVI",
    "OMARI",
    "PEAR",
    "VI",
    "Basis",
    "Binder",
    "Combination",
    "Loss",
    "RatioLoss",
    "VILowerBound",
    "ZeroOne",
    "distance_of",
    "distances",
    "expected",
    "name_of",
    "resolve",
    "resolve_distance",
]

NAMES: Mapping[str, Loss] = {
    "binder": Binder(),
    "vi": VI(),
    "nvi": NVI(),
    "id": ID(),
    "nid": NID(),
    "omari": OMARI(),
    "vi-lower-bound": VILowerBound(),
    "pear": PEAR(),
    "zero-one": ZeroOne(),
}


def resolve(loss: Any, *, name: str = "loss") -> Loss:
    """Return the loss that a name or an object stands for; ``name`` is the argument it came by."""
    if isinstance(loss, str):
        return validate.lookup(name, loss, NAMES)
    if isinstance(loss, type) or not callable(loss) or not hasattr(loss, "needs"):
        raise InvalidTypeError(
            f"`{name}` must be a name or a loss object, callable on two partitions with an "
            f"attribute `needs`; got {loss!r}."
        )
    validate.choice(f"{name}.needs", loss.needs, ("draws", "similarity", "either"))
    found: Loss = loss
    return found


_ON_DRAWS = {"pear": "omari", "vi-lower-bound": "vi"}


def resolve_distance(loss: Any, *, name: str = "loss") -> Loss:
    """Return a loss that can be taken draw by draw, or say which one to use instead."""
    chosen = resolve(loss, name=name)
    if chosen.needs == "similarity":
        found = name_of(chosen)
        raise InvalidValueError(
            f"`{name}` must compare the answer with one draw at a time; got {found!r}, which is "
            f"defined on the similarity. Use {_ON_DRAWS.get(found, 'vi')!r}."
        )
    return chosen


def distance_of(estimate: Any) -> Loss:
    """Return the loss of an estimate as a distance from a draw; VI where it is none.

    VI stands in for a loss that is defined on the similarity, for ``zero-one``, under which every
    other partition is equally far, and for labels that come without a loss.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> distance_of(SimpleNamespace(loss=NVI())), distance_of([0, 0, 1])
    (NVI(), VI(a=1.0))
    """
    own: Loss | str | None = getattr(estimate, "loss", None)
    if own is None or isinstance(own, str | ZeroOne) or own.needs == "similarity":
        return VI()
    return own


def name_of(loss: Loss) -> str:
    """Return the public name of a loss, or its repr if it has none."""
    return next((name for name, value in NAMES.items() if value == loss), repr(loss))
