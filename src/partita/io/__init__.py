"""Files and samplers' objects to arrays and back, read with care, written whole.

Text, ``.npy`` and ``.npz`` are read here; NetCDF, Parquet and R's files by a child process with
limits (``_sandbox``); Zarr by a reader of its own that undoes no codec it cannot bound. Which
variable of a container holds the labels is found out in one place (``_choose``, ``_container``).

Imports ``errors``, ``validate``, ``typing``, NumPy and, when a file asks for it, an optional
library; knows nothing of draws beyond "a table of labels".

What is wrong with a file as a file (missing, truncated, ragged, larger than memory) is a
:class:`~partita.errors.FileError` or :class:`~partita.errors.OutOfMemoryError`; a label that was
read and cannot be used is an :class:`~partita.errors.InvalidValueError`, as it is for an array.
"""

from partita.io._blocks import Blocks
from partita.io._container import WEIGHTS, Found
from partita.io._growing import GrowingNpy, is_in_progress, rows_in_progress
from partita.io._kept import MOST_BYTES as MOST_KEPT
from partita.io._layout import Layout
from partita.io._names import item_index
from partita.io._npy_blocks import open_npy
from partita.io._npz import read_npz
from partita.io._numpy import read_npy
from partita.io._objects import container_of, names_variables
from partita.io._parquet_blocks import open_parquet
from partita.io._stream import open_text
from partita.io._table import Table, read_beside, read_table, table_of
from partita.io._weights import Weights, read_matrix, read_weights
from partita.io._write import (
    check_place,
    remove_unfinished,
    said_of,
    write_atomically,
    write_npy,
    write_npz,
    write_text,
)
from partita.io._zarr_blocks import open_zarr
from partita.io._zarr_write import check_store, write_store

__all__ = [
    "MOST_KEPT",
    "WEIGHTS",
    "Blocks",
    "Found",
    "GrowingNpy",
    "Layout",
    "Table",
    "Weights",
    "check_place",
    "check_store",
    "container_of",
    "is_in_progress",
    "item_index",
    "names_variables",
    "open_npy",
    "open_parquet",
    "open_text",
    "open_zarr",
    "read_beside",
    "read_matrix",
    "read_npy",
    "read_npz",
    "read_table",
    "read_weights",
    "remove_unfinished",
    "rows_in_progress",
    "said_of",
    "table_of",
    "write_atomically",
    "write_npy",
    "write_npz",
    "write_store",
    "write_text",
]
