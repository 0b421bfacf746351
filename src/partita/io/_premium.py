"""PReMiuM's ``_z.txt``: a line for each sweep, the subjects to be predicted after the others."""

from __future__ import annotations

import os
import re

_SUFFIXES = ("_z.txt", "_z.txt.gz")
_MOST = 1 << 20
_SUBJECTS = re.compile(rb"number of subjects\s*:\s*([0-9]{1,9})\b", re.IGNORECASE)


def is_premium(path: str) -> bool:
    """Whether a file has the name that PReMiuM gives to its allocations."""
    return os.path.basename(path).endswith(_SUFFIXES)


def n_subjects(path: str) -> int | None:
    """The number of subjects that were fitted, by the log beside the file; None if not said."""
    log = re.sub(r"_z\.txt(\.gz)?$", "_log.txt", path)
    if log == path or not os.path.isfile(log):
        return None
    with open(log, "rb") as file:
        found = _SUBJECTS.search(file.read(_MOST))
    return int(found[1]) if found else None
