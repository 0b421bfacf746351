"""Blocks of work, mapped in order: over threads, or wherever the labels are.

``stop``: when work ends before it is done, and Ctrl-C. ``threads``: any parts on threads, with
progress. ``items``: blocks of items of a label matrix that may be in memory, in a store or on a
cluster. ``dask``: a label matrix that is an array of Dask. Results come back in the order of the
blocks, and where a block begins depends on the shape of the labels alone, so neither the number of
threads nor the place of the labels ever changes an answer.

Imports the core, NumPy and the standard library; of draws it knows "a matrix of labels".
"""

from partita.parallel.dask import DaskLabels, OnWorkers, is_dask_array
from partita.parallel.items import (
    LabelSource,
    Pieces,
    item_blocks,
    map_items,
    map_pieces,
    ordered_sum,
    sum_items,
)
from partita.parallel.stop import (
    OutOfTimeError,
    Stop,
    current,
    each_under,
    held_back,
    is_up,
    native_stop,
    notice,
    noticing,
    stoppable,
    under,
)
from partita.parallel.threads import Progress, blocks, map_blocks, one_blas_thread, progress

__all__ = [
    "DaskLabels",
    "LabelSource",
    "OnWorkers",
    "OutOfTimeError",
    "Pieces",
    "Progress",
    "Stop",
    "blocks",
    "current",
    "each_under",
    "held_back",
    "is_dask_array",
    "is_up",
    "item_blocks",
    "map_blocks",
    "map_items",
    "map_pieces",
    "native_stop",
    "notice",
    "noticing",
    "one_blas_thread",
    "ordered_sum",
    "progress",
    "stoppable",
    "sum_items",
    "under",
]
