"""What commands share: reading draws, and writing a result as a table, CSV or JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partita.cli import _cluster

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    import pandas as pd

    from partita.draws import Draws
    from partita.similarity import Similarity

FORMATS = ("table", "csv", "json")
_ROWS, _COLUMNS = 100, 20  # of a table at a terminal, where there are more than twice as many


def add_draws_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file of draws and how to read it."""
    parser.add_argument(
        "draws",
        help="draws in a file or folder: csv, tsv (gzip too), npy, npz, NetCDF, Zarr, Parquet, "
        "rds, RData, CmdStan's csv, PReMiuM's _z.txt; a pattern in quotes is one chain a file",
    )
    reading = parser.add_argument_group("reading the draws")
    reading.add_argument(
        "--orient", default="draws", choices=("draws", "items"), help="what a row of the file is"
    )
    header = reading.add_mutually_exclusive_group()
    header.add_argument(
        "--header",
        dest="header",
        action="store_true",
        default=None,
        help="the first row holds names (found out if not said)",
    )
    header.add_argument(
        "--no-header", dest="header", action="store_false", help="the first row is a draw"
    )
    index = reading.add_mutually_exclusive_group()
    index.add_argument("--index", help="the column of row names, by position or name")
    index.add_argument(
        "--no-index", dest="no_index", action="store_true", help="there is no such column"
    )
    reading.add_argument(
        "--key",
        help="which array or variable holds the labels, such as z, posterior_predictive/z or "
        "fit$clust; default: the only one that can",
    )
    reading.add_argument(
        "--log-weights",
        action="store_true",
        help="the variable holds the log weights (draws, items, clusters) of a marginalised "
        "mixture instead: labels are sampled from them by --seed, and a similarity is exact",
    )
    reading.add_argument(
        "--chains",
        type=int,
        metavar="N",
        help="the file holds this many chains of equal length, one after the other; default: the "
        "chains that the file names, else one",
    )
    reading.add_argument(
        "--stored",
        action="store_true",
        default=None,
        help="leave the labels in their npy, Zarr or Parquet file and read them in blocks; "
        "default: where they would fill half of the free memory",
    )
    reading.add_argument("--burn", type=int, default=0, help="drop this many draws of each chain")
    reading.add_argument("--thin", type=int, default=1, help="keep one draw in this many")


def read(arguments: argparse.Namespace) -> Draws:
    """Read the draws as the arguments say."""
    draws = _cluster.on_workers(arguments) or _read(arguments)
    if arguments.chains is not None:
        draws = _in_chains(draws, arguments.chains)
    return draws.burn(arguments.burn).thin(arguments.thin)


def _read(arguments: argparse.Namespace) -> Draws:
    from partita.draws import Draws, read_draws

    if arguments.log_weights:
        seed = getattr(arguments, "seed", None)
        return Draws.from_log_weights(arguments.draws, key=arguments.key, rng=seed)
    index: int | str | bool | None = arguments.index
    if arguments.no_index:
        index = False
    elif isinstance(index, str) and index.lstrip("-").isdigit():
        index = int(index)
    return read_draws(
        arguments.draws,
        orient=arguments.orient,
        header=arguments.header,
        index=index,
        key=arguments.key,
        stored=arguments.stored,
    )


def _in_chains(draws: Draws, n_chains: int) -> Draws:
    """Tell the draws apart into chains of equal length, one after the other."""
    import numpy as np

    from partita.errors import InvalidValueError

    if n_chains < 1 or draws.n_draws % n_chains:
        raise InvalidValueError(
            f"--chains must divide the number of draws, {draws.n_draws}; got {n_chains}."
        )
    return replace(draws, chains=np.repeat(np.arange(n_chains), draws.n_draws // n_chains))


def add_similarity_argument(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says the file is a similarity matrix and not draws."""
    parser.add_argument(
        "--similarity",
        action="store_true",
        help="the file holds a similarity matrix (npy, npz, rds, RData, NetCDF, Zarr, Parquet, or "
        "csv as `partita similarity` writes it) instead of draws; with --log-weights, that of "
        "the mixture",
    )


def read_either(arguments: argparse.Namespace) -> Draws | Similarity:
    """Read draws, or a similarity matrix if that is what the file holds."""
    if not arguments.similarity:
        return read(arguments)
    from partita.cli._matrix import read_similarity
    from partita.similarity import Similarity

    if arguments.log_weights:
        return Similarity.from_log_weights(arguments.draws, key=arguments.key)
    return read_similarity(arguments.draws, key=arguments.key)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add where the result goes, and in which form."""
    writing = parser.add_argument_group("writing the result")
    writing.add_argument(
        "--format", choices=FORMATS, help="default: what --output ends in, or else a table"
    )
    writing.add_argument(
        "-o", "--output", help="a file to write instead of the terminal; replaced in one step"
    )


def add_running_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the seed and the number of threads."""
    running = parser.add_argument_group("running")
    running.add_argument("--seed", type=int, help="a whole number; one seed, one answer")
    running.add_argument("--jobs", type=int, default=-1, help="threads; -1, the default: all cores")


def add_device_argument(parser: argparse._ActionsContainer, meaning: str) -> None:
    """Add where arrays live."""
    parser.add_argument(
        "--device",
        metavar="NAME",
        help=f"{meaning}: cuda, cuda:1, torch:cuda, cupy:cuda or torch:cpu; default the CPU",
    )


def add_time_limit_argument(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add the seconds after which a search or a proof ends."""
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help=meaning)


def form(arguments: argparse.Namespace) -> str:
    """Return the format that was asked for, or that the name of the output file suggests.

    Called before anything else, it also refuses a place that could not be written to in the end.
    """
    from partita import io

    for place in (arguments.output, getattr(arguments, "save", None)):
        if place is not None:
            io.check_place(place)
    if arguments.format is not None:
        return str(arguments.format)
    from pathlib import PurePath

    suffix = PurePath(arguments.output or "").suffix.lower()
    if suffix in ("", ".txt"):
        return "table"
    if suffix[1:] in FORMATS:
        return suffix[1:]
    from partita.errors import InvalidValueError

    raise InvalidValueError(
        f"--output must end in .csv, .json or .txt, or --format say what to write; got "
        f"{arguments.output!r}."
    )


def write(text: str, arguments: argparse.Namespace, what: str = "The result") -> None:
    """Send ``text`` to the output file, and say ``what`` is there, or to the terminal."""
    if arguments.output is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    from partita import io

    whole = text if text.endswith("\n") else text + "\n"
    write_or_keep(arguments.output, lambda path: io.write_text(path, whole))
    say_where(what, arguments.output)


def write_or_keep(path: str, write: Callable[[str], None]) -> None:
    """Write; if that fails, to the folder for temporary files, and say so: no work is lost."""
    from partita.errors import FileError

    try:
        write(path)
    except FileError as error:
        elsewhere = _kept_elsewhere(path, write)
        if elsewhere is None:
            raise
        raise FileError(f"{error} What was to be there is in {elsewhere!r}.") from None


def _kept_elsewhere(path: str, write: Callable[[str], None]) -> str | None:
    import os
    import shutil
    import tempfile

    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="partita-")
        elsewhere = os.path.join(folder, os.path.basename(path) or "result")
        write(elsewhere)
        return elsewhere
    except BaseException as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            return None
        raise


def say_where(what: str, path: Any) -> None:
    """Say on stderr what was written where."""
    print(f"{what} written to {path}", file=sys.stderr)


def write_all(*writers: Callable[[], None]) -> None:
    """Call every one of them, though others fail; what failed is then said together."""
    from partita.errors import FileError, PartitaError

    failed: list[Exception] = []
    for one in writers:
        try:
            one()
        except BrokenPipeError:
            raise
        except (PartitaError, OSError) as error:
            failed.append(error)
    if len(failed) == 1:
        raise failed[0]
    if failed:
        raise FileError(" ".join(map(str, failed)))


def to_json(value: Any) -> str:
    """Return ``value`` as JSON; not a number becomes null."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as a list of plain dicts, its index first; an infinity becomes a string."""
    rows = frame.reset_index().to_dict(orient="records")
    return [{str(k): _plain(v) for k, v in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    import pandas as pd

    if pd.isna(value):
        return None
    if isinstance(value, float) and abs(value) == float("inf"):
        return str(value)
    return value


def table(frame: pd.DataFrame) -> str:
    """Return a frame as text, what is missing as a dash."""
    return str(frame.to_string(float_format=lambda x: f"{x:.4g}", na_rep="-"))


def frame_text(frame: pd.DataFrame, form: str, arguments: argparse.Namespace | None = None) -> str:
    """Return a frame as a table, CSV or JSON; of a large one, what a terminal can show."""
    if form == "csv":
        return str(frame.to_csv())
    if form == "json":
        return to_json(records(frame))
    frame, more = for_terminal(frame, arguments)
    return table(frame) + more


def for_terminal(
    frame: pd.DataFrame, arguments: argparse.Namespace | None
) -> tuple[pd.DataFrame, str]:
    """Return the beginning of a table too large for a terminal, and a line about the rest.

    All of it where it goes to a file, a pipe, or is small.
    """
    if arguments is None or arguments.output is not None or not sys.stdout.isatty():
        return frame, ""
    n_rows, n_columns = (size if size <= 2 * few else few for size, few in _most(frame))
    if (n_rows, n_columns) == frame.shape:
        return frame, ""
    left = [
        f"{all_of - shown:,} more {what}"
        for what, all_of, shown in zip(
            ("rows", "columns"), frame.shape, (n_rows, n_columns), strict=True
        )
        if all_of > shown
    ]
    return frame.iloc[:n_rows, :n_columns], f"\n... {' and '.join(left)}: -o FILE has all of them."


def _most(frame: pd.DataFrame) -> tuple[tuple[int, int], tuple[int, int]]:
    return (frame.shape[0], _ROWS), (frame.shape[1], _COLUMNS)
