"""``--scheduler``: the same command on the workers of a Dask cluster that is already running."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita.draws import Draws

SECONDS = 15  # to find a scheduler in


def add_scheduler_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the address of a Dask scheduler; ``what`` says what its workers do."""
    group = parser.add_argument_group("a Dask cluster (pip install 'partita[dask]')")
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"of a running scheduler, such as tcp://10.0.0.1:8786; {what}",
    )


def check_device(arguments: argparse.Namespace) -> None:
    """Refuse a device together with a cluster: the device would be this machine's."""
    from partita.errors import InvalidValueError

    if getattr(arguments, "scheduler", None) and getattr(arguments, "device", None):
        raise InvalidValueError(
            f"--device {arguments.device} is of this machine, and --scheduler has the workers do "
            "the work, which use their processors alone; give one of the two."
        )


@contextmanager
def connected(arguments: argparse.Namespace, *, shares: bool = True) -> Iterator[int | None]:
    """Hold a connection to the cluster of ``--scheduler``; nothing where none is named.

    Inside, draws in a store are worked on block by block by the workers that read them; of anything
    else, what joblib shares out (restarts, ranks, replicates) goes to the workers, if there is such
    (``shares``); if not, a warning says that this machine does the work.

    Yields
    ------
    int or None
        The jobs to share out: ``--jobs`` where it was said, or as many as the workers have threads;
        None where nothing is shared out.
    """
    address = getattr(arguments, "scheduler", None)
    if address is None:
        yield None
        return
    import joblib

    _check_there(getattr(arguments, "draws", None))
    client = _client(address)
    try:
        if _opener(arguments) is not None:
            yield None
        elif not shares:
            _warn_of_work_here(arguments.draws)
            yield None
        else:
            said = getattr(arguments, "jobs", None) or -1
            with joblib.parallel_config(backend="dask"):
                yield sum(client.nthreads().values()) if said < 0 else said
    finally:
        client.close()


def _check_there(path: str | None) -> None:
    """Say that a file is not there before anything is said of the cluster."""
    import glob
    import os

    if path is not None and not os.path.lexists(path) and not glob.has_magic(path):
        from partita.draws import read_draws

        read_draws(path)


def on_workers(arguments: argparse.Namespace) -> Draws | None:
    """Return the draws of a store as labels that the workers read; None without a cluster."""
    if getattr(arguments, "scheduler", None) is None:
        return None
    opener = _opener(arguments)
    if opener is None:
        return None
    from partita.distributed import OnWorkers
    from partita.draws._read import around

    words = {"orient": arguments.orient}
    if arguments.key is not None:
        words["key"] = arguments.key
    blocks = opener(arguments.draws, **words)
    path, how = arguments.draws, {"orient": arguments.orient, "key": arguments.key}
    return around(OnWorkers(blocks), blocks.chains, path, **how)


def _warn_of_work_here(path: str) -> None:
    import warnings

    from partita.errors import PartitaWarning

    warnings.warn(
        f"--scheduler: workers cannot read {path!r} in blocks, and of other files they only share "
        "the restarts and ranks of NMF searches; all the work is done on this machine. Put the "
        "draws into Zarr or .npy where every worker can read them (Parquet, with a column for each "
        "item, is for some thousands of them).",
        PartitaWarning,
        stacklevel=3,
    )


def _opener(arguments: argparse.Namespace) -> Callable[..., Any] | None:
    """What opens the file of draws for reading in blocks; None if it must be read whole."""
    path = getattr(arguments, "draws", None)
    other = ("similarity", "log_weights")
    if path is None or any(getattr(arguments, name, False) for name in other):
        return None
    from partita.draws._read import opener_of

    return opener_of(path, arguments.key)


def _client(address: str) -> Any:
    from partita.errors import FileError, InvalidValueError, MissingDependencyError

    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "--scheduler needs dask.distributed; pip install 'partita[dask]'."
        ) from None
    try:
        _check_open(address)
        client = Client(address, timeout=SECONDS, set_as_default=True)
    except ValueError as error:
        raise InvalidValueError(
            "--scheduler must be an address such as tcp://10.0.0.1:8786; got "
            f"{address!r} ({error})."
        ) from None
    except OSError as error:
        raise FileError(
            f"--scheduler must be the address of a running scheduler; {address!r} did not answer "
            f"({error}). Start one with `dask scheduler`, and workers with `dask worker {address}`."
        ) from None
    if not client.nthreads():
        client.close()
        raise FileError(
            f"--scheduler {address} has no workers; start some with `dask worker {address}`."
        )
    return client


def _check_open(address: str) -> None:
    """Raise OSError at once where nobody listens: a client would go on trying."""
    import socket

    from distributed.comm import get_address_host_port

    if not address.startswith(("inproc", "ucx", "ws")):
        host, port = get_address_host_port(address)
        socket.create_connection((host, port), timeout=SECONDS).close()
