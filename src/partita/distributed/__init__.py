"""Blocks of work, mapped in order: over threads, or wherever the labels are.

``_threads``: any parts on threads, with progress and Ctrl-C. ``_items``: blocks of items of a label
matrix that may be in memory, in a store or on a cluster. ``_dask``: a label matrix that is an array
of Dask. ``_clock``: when work ends before it is done. ``_interrupts``: Ctrl-C where it must wait.
Results come back in the order of the blocks, and where a block begins depends on the shape of the
labels alone, so neither the number of threads nor the place of the labels ever changes an answer.

Imports NumPy and the standard library; knows nothing of draws beyond "a matrix of labels".
"""

from partita.distributed._alone import one_blas_thread
from partita.distributed._clock import (
    Clock,
    OutOfTimeError,
    current,
    each_under,
    is_up,
    notice,
    noticing,
    stoppable,
    under,
)
from partita.distributed._dask import DaskLabels, OnWorkers, is_dask_array
from partita.distributed._interrupts import held_back
from partita.distributed._items import (
    LabelSource,
    Pieces,
    item_blocks,
    map_items,
    map_pieces,
    ordered_sum,
    sum_items,
)
from partita.distributed._threads import Progress, blocks, map_blocks, progress

__all__ = [
    "Clock",
    "DaskLabels",
    "LabelSource",
    "OnWorkers",
    "OutOfTimeError",
    "Pieces",
    "Progress",
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
    "notice",
    "noticing",
    "one_blas_thread",
    "ordered_sum",
    "progress",
    "stoppable",
    "sum_items",
    "under",
]
