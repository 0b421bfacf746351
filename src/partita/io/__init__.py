"""Files and samplers' objects to arrays and back, read with care, written whole.

``files`` knows a format by its first bytes. ``text`` reads tables of text, ``containers`` and
``zarr_store`` all other formats, each through its library, as ``variables``; what samplers hold in
memory, ``objects``, becomes variables too. ``read`` finds labels, weights or a matrix among them,
``stored`` reads labels in blocks, ``isolated`` reads any file in a process with limits, ``write``
writes, and ``results`` is how results show themselves. A format's library is imported when such a
file is met.

Imports ``errors``, ``validate``, ``typing``, NumPy and, when a file asks for it, an optional
library; knows nothing of draws beyond "a table of labels".

What is wrong with a file as a file (missing, truncated, ragged, larger than memory) is a
:class:`~partita.errors.FileError` or :class:`~partita.errors.OutOfMemoryError`; a label that was
read and cannot be used is an :class:`~partita.errors.InvalidValueError`, as it is for an array.
"""

from partita.io.arrays import Layout, read_npy, read_npz
from partita.io.files import bytes_at, matching, open_text
from partita.io.objects import clusterings_of, names_variables, variables_of
from partita.io.read import Weights, read_matrix, read_table, read_weights, table_of
from partita.io.results import Shown, item_index, to_dataset
from partita.io.stored import MOST_KEPT, open_stored
from partita.io.variables import WEIGHTS, Table
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
    "Layout",
    "Shown",
    "Table",
    "Weights",
    "bytes_at",
    "check_place",
    "check_store",
    "clusterings_of",
    "item_index",
    "matching",
    "names_variables",
    "open_stored",
    "open_text",
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
