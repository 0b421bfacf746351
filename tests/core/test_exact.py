"""The visit of every partition, against a visit by hand."""

from __future__ import annotations

import time

import numpy as np
import pytest

import partita as pt
from partita import _core
from partita.partitions import enumerate_partitions

RNG = np.random.default_rng(0)


def visited(labels, weights, loss, limit, best, seconds=None):
    """Visit all partitions; return whether that came to an end."""
    rows = labels.astype(np.uint32)
    return _core.visit_draws(
        rows, weights, loss.tables(labels.shape[1]), limit, best, _core.Stop(seconds)
    )


@pytest.mark.parametrize("name", ["vi", "nvi", "id", "nid", "omari", "binder"])
@pytest.mark.parametrize(("n", "limit"), [(1, 1), (2, 2), (6, 6), (7, 3)])
def test_the_first_of_the_least_is_kept(name, n, limit):
    draws, weights = RNG.integers(0, 4, (37, n)), RNG.random(37)
    weights /= weights.sum()
    loss = pt.losses.resolve(name)
    partitions = enumerate_partitions(n)
    partitions = partitions[partitions.max(axis=1) < limit]
    values = pt.expected_loss(partitions, pt.Draws(draws, weights=weights), loss=loss)
    best = np.zeros(n, dtype=np.int64)
    assert visited(draws, weights, loss, limit, best)
    wanted = partitions[np.flatnonzero(values <= values.min() + 1e-12)[0]]
    assert best.tolist() == wanted.tolist()


def test_what_is_not_beaten_stays():
    draws, weights = np.zeros((3, 5), dtype=np.int64), np.ones(3) / 3
    best = np.zeros(5, dtype=np.int64)
    assert visited(draws, weights, pt.losses.NID(), 5, best)
    assert best.tolist() == [0] * 5


@pytest.mark.parametrize("name", ["vi", "nid"])
def test_time_ends_it(name):
    draws, weights = RNG.integers(0, 4, (20_000, 13)), np.ones(20_000) / 20_000
    best, began = np.arange(13), time.monotonic()
    assert not visited(draws, weights, pt.losses.resolve(name), 13, best, 0.02)
    assert time.monotonic() - began < 1.0
    assert not visited(draws, weights, pt.losses.resolve(name), 13, best, 0.0)
