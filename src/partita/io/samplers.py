"""What samplers write as text: tables of variables, CmdStan's chains, PReMiuM's allocations."""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita.errors import FileError
from partita.io import objects
from partita.io.variables import Table, Variables

if TYPE_CHECKING:
    from partita.io.cells import Head

_SETTING = re.compile(r"^#\s*(save_warmup|num_warmup|thin)\s*=\s*(\w+)", re.MULTILINE)
_SUBJECTS = re.compile(rb"number of subjects\s*:\s*([0-9]{1,9})\b", re.IGNORECASE)
_LOG_BYTES = 1 << 20  # of PReMiuM's log that are looked at


def table_of_variables(head: Head, index: int | None, key: str | None) -> Table:
    """Return the labels in a table whose rows are draws and whose header names variables."""
    from partita.io.read import table_of

    path, names = head.path, [name.strip() for name in [""] * head.is_short + head.cells]
    frame = _frame(head.text[head.below :], path, head.delimiter)
    if frame is not None and (frame.shape[1] != len(names) or frame.iloc[:, -1].isna().any()):
        for _ in head.rows():
            pass  # which says the row that is short
    if frame is None or not len(frame):
        raise FileError(f"{path!r} holds no draws.")
    frame.columns = names
    said = [f"Line {head.line} is a header: it names variables, as samplers do."]
    if index is not None:
        frame = frame.iloc[:, [i for i in range(len(names)) if i != index]]
        said.append(f"Column {index + 1} is an index and left out.")
    for name in frame.columns[[dtype.kind not in "biuf" for dtype in frame.dtypes]]:
        if frame[name].isna().any():
            row = int(frame[name].isna().argmax())
            raise FileError(f"draw {row + 1} of {path!r} holds a label that is missing.")
    table = table_of(Variables(repr(path), objects.of_frame(frame)), key)
    return replace(table, assumptions=(*said, *table.assumptions))


def cmdstan_samples(text: str, path: str) -> tuple[Variables, int]:
    """Return the variables of a chain as CmdStan writes it, and the rows of warm-up left out."""
    lines = enumerate(text.split("\n"), start=1)
    rows = [(k, line) for k, line in lines if line and not line.startswith("#")]
    if not rows:
        raise FileError(f"{path!r} holds comments and no draws.")
    names = [name.strip() for name in rows[0][1].split(",")]
    for number, line in rows[1:]:
        if line.count(",") + 1 != len(names):
            raise FileError(
                f"line {number} of {path!r} has {line.count(',') + 1} cells where the header has "
                f"{len(names)}; was the run stopped?"
            )
    skipped = min(_n_warm_up(text), len(rows) - 1)
    frame = _frame("\n".join(line for _, line in rows[1 + skipped :]), path, ",")
    if frame is None:
        raise FileError(f"{path!r} holds no draws after the warm-up.")
    frame.columns = names
    return Variables(repr(path), objects.of_frame(frame)), skipped


def _n_warm_up(text: str) -> int:
    """The rows of warm-up that are in the file, by its comments."""
    settings: dict[str, str] = {}
    for name, value in _SETTING.findall(text):
        settings.setdefault(name, value.lower())
    numbers = [settings.get("num_warmup", "0"), settings.get("thin", "1")]
    if settings.get("save_warmup") not in ("1", "true") or not all(map(str.isdigit, numbers)):
        return 0
    n_draws, thin = map(int, numbers)
    return -(-n_draws // thin) if thin else 0


def _frame(text: str, path: str, delimiter: str | None) -> Any:
    """The table as pandas reads it, without a header; None if there is nothing in it."""
    import pandas as pd

    if not text.strip():
        return None
    try:
        return pd.read_csv(
            io.BytesIO(text.encode()), sep=r"\s+" if delimiter is None else delimiter, header=None,
            skipinitialspace=True, low_memory=False,
        )  # fmt: skip
    except (ValueError, OverflowError) as error:
        said = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise FileError(f"{path!r} is not a table: {said.rstrip('.')}.") from None


def is_premium(path: str) -> bool:
    """Whether a file has the name that PReMiuM gives to its allocations."""
    return os.path.basename(path).endswith(("_z.txt", "_z.txt.gz"))


def without_predictions(table: Table, path: str) -> Table:
    """Leave out the subjects that PReMiuM only predicted, if its log beside the file says so."""
    log = re.sub(r"_z\.txt(\.gz)?$", "_log.txt", path)
    if not os.path.isfile(log) or table.item_names is not None:
        return table
    with open(log, "rb") as file:
        found = _SUBJECTS.search(file.read(_LOG_BYTES))
    n_fitted = int(found[1]) if found else 0
    if not 0 < n_fitted < table.labels.shape[1]:
        return table
    said = f"Columns beyond {n_fitted} are predictions, as PReMiuM's log says, and left out."
    return replace(table, labels=table.labels[:, :n_fitted], assumptions=(*table.assumptions, said))
