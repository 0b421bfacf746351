"""``--scheduler``: the same command on the workers of a Dask cluster that is already running."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 15  # to find a scheduler in


def add_scheduler_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the address of a Dask scheduler; ``what`` says what its workers do."""
    group = parser.add_argument_group("a Dask cluster (pip install 'partita[dask]')")
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"of a running scheduler, such as tcp://10.0.0.1:8786; {what}",
    )


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator[int | None]:
    """Hold a connection to the cluster of ``--scheduler``; nothing where none is named.

    Inside, what joblib shares out (restarts, ranks, replicates) and what is in an array of Dask
    goes to the workers.

    Yields
    ------
    int or None
        The threads that all workers have together; None without a cluster.
    """
    address = getattr(arguments, "scheduler", None)
    if address is None:
        yield None
        return
    import joblib

    client = _client(address)
    try:
        with joblib.parallel_config(backend="dask"):
            yield sum(client.nthreads().values())
    finally:
        client.close()


def _client(address: str) -> Any:
    from partita.errors import FileError, InvalidValueError, MissingDependencyError

    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "--scheduler needs dask.distributed; pip install 'partita[dask]'."
        ) from None
    try:
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
