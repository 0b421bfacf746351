"""Files to arrays and back: text tables, ``.npy`` and ``.npz``, read with care, written whole.

Imports ``errors``, ``validate``, ``typing``, NumPy and the standard library; knows nothing of
draws beyond "a table of labels".

What is wrong with a file as a file (missing, truncated, ragged, larger than memory) is a
:class:`~partita.errors.FileError` or :class:`~partita.errors.OutOfMemoryError`; a label that was
read and cannot be used is an :class:`~partita.errors.InvalidValueError`, as it is for an array.
"""

from partita.io._blocks import Blocks
from partita.io._npy_blocks import open_npy
from partita.io._numpy import read_npy, read_npz
from partita.io._parquet_blocks import open_parquet
from partita.io._table import Table, read_table
from partita.io._write import check_place, write_atomically, write_npy, write_npz, write_text
from partita.io._zarr_blocks import open_zarr

__all__ = [
    "Blocks",
    "Table",
    "check_place",
    "open_npy",
    "open_parquet",
    "open_zarr",
    "read_npy",
    "read_npz",
    "read_table",
    "write_atomically",
    "write_npy",
    "write_npz",
    "write_text",
]
