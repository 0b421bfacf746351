"""Work for blocks of items that the tests send to workers."""

from __future__ import annotations


def spread(block, items, weights):
    """Something to keep and something to send that both depend on every label."""
    kept = block.sum(axis=0) * weights + items.start
    return kept, float((kept * weights).sum())


def tally(block, items, x, factor):
    """Sums of a block whose last bits depend on the order in which blocks are added."""
    return (factor * x.sum(axis=0) / 3.0, block.sum(axis=1) * 0.1)
