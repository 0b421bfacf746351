"""Files and samplers' objects to arrays and back, read with care, written whole.

``files`` knows a format by its first bytes; ``text``, ``arrays`` (NumPy's formats), ``containers``
and ``zarr_store`` read it through its library; ``variables`` finds the labels among many variables,
for files and for samplers' ``objects`` alike; ``stored`` reads labels in blocks; ``isolated`` reads
any file in a process with limits; ``write`` writes; ``results`` is how results show
themselves. A format's library is imported when such a file is met.

Imports ``errors``, ``validate``, ``typing``, NumPy and, when a file asks for it, an optional
library; knows nothing of draws beyond "a table of labels".

What is wrong with a file as a file (missing, truncated, ragged, larger than memory) is a
:class:`~partita.errors.FileError` or :class:`~partita.errors.OutOfMemoryError`; a label that was
read and cannot be used is an :class:`~partita.errors.InvalidValueError`, as it is for an array.
"""

from partita.io.arrays import Layout, read_npy, read_npz
from partita.io.files import open_text
from partita.io.objects import item_index, names_variables, variables_of
from partita.io.results import Shown, to_dataset
from partita.io.stored import MOST_KEPT, Blocks, open_npy, open_parquet, open_zarr
from partita.io.table import read_beside, read_table, table_of
from partita.io.variables import WEIGHTS, Table
from partita.io.weights import Weights, read_matrix, read_weights
from partita.io.write import (
    check_place,
    remove_unfinished,
    said_of,
    write_atomically,
    write_npy,
    write_npz,
    write_somewhere,
    write_text,
)
from partita.io.zarr_store import check_store, write_store

__all__ = [
    "MOST_KEPT",
    "WEIGHTS",
    "Blocks",
    "Layout",
    "Shown",
    "Table",
    "Weights",
    "check_place",
    "check_store",
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
    "said_of",
    "table_of",
    "to_dataset",
    "variables_of",
    "write_atomically",
    "write_npy",
    "write_npz",
    "write_somewhere",
    "write_store",
    "write_text",
]
