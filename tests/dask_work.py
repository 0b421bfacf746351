"""Work for blocks of items that the tests send to workers."""

from __future__ import annotations

from types import SimpleNamespace

from distributed.scheduler import KilledWorker


def die(block):
    """What Dask raises here when several workers have died at a block."""
    if block.size:  # it is empty where Dask asks for the type of the result
        worker = SimpleNamespace(address="tcp://127.0.0.1:1")
        raise KilledWorker("block", worker, 3)
    return block


def tally(block, items, x, factor):
    """Sums of a block whose last bits depend on the order in which blocks are added."""
    return (factor * x.sum(axis=0) / 3.0, block.sum(axis=1) * 0.1)
