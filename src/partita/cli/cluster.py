"""``--scheduler``: the same command on the workers of a Dask cluster that is already running."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partita import io
from partita.errors import FileError, InvalidValueError, MissingDependencyError, PartitaWarning
from partita.io.files import kind_at

if TYPE_CHECKING:
    import argparse

    from partita.draws import Draws

SECONDS = 15  # to find a scheduler in


@contextmanager
def connected(arguments: argparse.Namespace, *, shares: bool = False) -> Iterator[int]:
    """Hold a connection to the cluster of ``--scheduler``; nothing where none is named.

    Inside, draws in a store are worked on block by block by the workers that read them. Of anything
    else the restarts and ranks of NMF go to the workers, if the command has such (``shares``); if
    not, a warning says that this machine does the work.

    Yields
    ------
    int
        ``n_jobs`` for the work: where it is shared out and ``--n-jobs`` was not given, as many as
        the workers have threads.
    """
    address, n_jobs = arguments.scheduler, arguments.n_jobs
    if address is None:
        yield n_jobs
        return
    if arguments.device:
        raise InvalidValueError(
            f"`device` {arguments.device} is of this machine, and --scheduler has the workers do "
            "the work, which use their processors alone; give one of the two."
        )
    kind_at(io.matching(arguments.draws)[0])  # a file that is not there is said first
    client = _client(address)
    try:
        if _in_blocks(arguments):
            yield n_jobs
        elif shares:
            import joblib

            with joblib.parallel_config(backend="dask"):
                yield sum(client.nthreads().values()) if n_jobs < 0 else n_jobs
        else:
            warnings.warn(
                f"--scheduler: workers cannot read {arguments.draws!r} in blocks, so all the work "
                "is done on this machine. Put the draws into Zarr or .npy where every worker can "
                "read them.",
                PartitaWarning,
                stacklevel=3,
            )
            yield n_jobs
    finally:
        client.close()


def on_workers(arguments: argparse.Namespace) -> Draws | None:
    """Return the draws of a store as labels that the workers read; None without a cluster."""
    if arguments.scheduler is None or not _in_blocks(arguments):
        return None
    from partita import io
    from partita.draws.read import around
    from partita.parallel import OnWorkers

    blocks = io.open_stored(arguments.draws, orient=arguments.orient or "draws", key=arguments.key)
    return around(OnWorkers(blocks), blocks.beside)


def _in_blocks(arguments: argparse.Namespace) -> bool:
    """Whether the workers can read the draws in blocks."""
    if arguments.similarity or arguments.log_weights:
        return False
    from partita.draws.read import stays

    return stays(arguments.draws, arguments.key)


def _client(address: str) -> Any:
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
