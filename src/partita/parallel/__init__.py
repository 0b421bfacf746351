"""Blocks of work, mapped in order: over threads, or wherever the labels are.

``stop``: when work ends early, and Ctrl-C. ``threads``: parts on threads, with progress.
``items``: blocks of items of a label matrix that may be in memory, in a store or on a cluster.
``dask``: a label matrix that is an array of Dask. Results come back in the order of the blocks,
and the shape of the labels alone says where a block begins, so neither the number of threads nor
the place of the labels changes an answer.

Imports the core, NumPy and the standard library.
"""

from partita.parallel.dask import DaskLabels, OnWorkers, is_dask_array
from partita.parallel.items import LabelSource, item_blocks, map_items, plus, sum_items
from partita.parallel.stop import (
    Stop,
    current,
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
    "Progress",
    "Stop",
    "blocks",
    "current",
    "held_back",
    "is_dask_array",
    "is_up",
    "item_blocks",
    "map_blocks",
    "map_items",
    "native_stop",
    "notice",
    "noticing",
    "one_blas_thread",
    "plus",
    "progress",
    "stoppable",
    "sum_items",
    "under",
]
