"""Which moves make up a scan.

A scan passes over the items once (Gibbs, Neal 2000), then proposes moves of whole clusters:
sequentially allocated splits and merges (Dahl 2005), and two clusters allocated anew. Passing over
the items alone stays in the mode where a chain began; the other moves let it leave.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita import validate
from partita.errors import InvalidValueError
from partita.kernels import mixture_types as types

ITEMS = {"explicit": types.EXPLICIT, "collapsed": types.COLLAPSED, "none": types.NO_ITEMS}


@dataclass(frozen=True)
class Moves:
    """What one scan does.

    Parameters
    ----------
    items : {"explicit", "collapsed", "none"}
        How items are passed over: given each cluster's drawn mean and precision (Neal's algorithm
        2), with both integrated out (his algorithm 3, slower), or not at all.
    split_merge : int
        Proposals to split or merge, a scan.
    reallocate : int
        Proposals to allocate the items of two clusters anew, a scan, at most: so many in burn-in,
        then as many as it showed to be worth their time.
    """

    items: str = "explicit"
    split_merge: int = 2
    reallocate: int = 4

    def __post_init__(self) -> None:
        validate.choice("items", self.items, tuple(ITEMS))
        validate.integer("split_merge", self.split_merge, least=0)
        validate.integer("reallocate", self.reallocate, least=0)
        if self.items == "none" and self.split_merge == 0:
            raise InvalidValueError(
                "`moves` must be able to reach every partition: pass over items or split and merge."
            )
