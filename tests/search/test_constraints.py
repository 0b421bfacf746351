"""Estimates under constraints against every partition that keeps to them."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError


def keeps(labels, n_clusters=None, min_size=1, must_link=(), cannot_link=(), fixed=None):
    """The rules, written out."""
    sizes = np.bincount(labels)
    known = [] if fixed is None else np.flatnonzero(np.asarray(fixed) != -1)
    return (
        (n_clusters is None or len(sizes) == n_clusters)
        and sizes.min() >= (min_size or 1)
        and all(labels[a] == labels[b] for a, b in must_link or ())
        and all(labels[a] != labels[b] for a, b in cannot_link or ())
        and all((labels[a] == labels[b]) == (fixed[a] == fixed[b]) for a in known for b in known)
    )


def random_problem(rng):
    n = int(rng.integers(3, 9))
    draws = rng.integers(0, rng.integers(2, n + 1), (int(rng.integers(2, 12)), n))
    rules = {}
    if rng.random() < 0.5:
        rules["min_size"] = int(rng.integers(1, 4))
    for name in ("must_link", "cannot_link"):
        if rng.random() < 0.5:
            count = rng.integers(1, 3)
            rules[name] = [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(count)]
    if rng.random() < 0.3:
        rules["fixed"] = np.where(rng.random(n) < 0.5, rng.integers(0, 2, n), -1)
    if rng.random() < 0.2:
        rules["n_clusters"] = int(rng.integers(1, n + 1))
    return draws, {"min_size": 1, **rules}


@pytest.mark.parametrize("loss", list(pt.losses.NAMES))
def test_are_the_best_of_all_partitions_that_keep_to_them(loss):
    rng = np.random.default_rng(7)
    n_refused = 0
    for _ in range(200):
        draws, rules = random_problem(rng)
        every = pt.partitions.enumerate_partitions(draws.shape[1])
        kept = every[[keeps(one, **rules) for one in every]]
        for search in ("auto", "exact") if loss == "zero-one" else ("auto", "exact", "greedy"):
            if not len(kept):
                n_refused += 1
                with pytest.raises(InvalidValueError, match="contradict|be met|no partition"):
                    pt.estimate(draws, loss=loss, search=search, rng=0, **rules)
                continue
            found = pt.estimate(draws, loss=loss, search=search, rng=0, **rules)
            assert keeps(found.labels, **rules)
            values = pt.expected_loss(kept, draws, loss=loss)
            assert found.expected_loss == pytest.approx(values.min(), abs=1e-12)
            assert found.info["constraint_cost"] >= 0
    assert n_refused > 5


@pytest.fixture(scope="module")
def draws():
    return pt.datasets.simulate_draws(60, 80, n_clusters=4, noise=0.15, rng=2)


class TestManyItems:
    def test_keeps_to_them_at_no_more_than_a_mended_partition(self, draws):
        free = pt.estimate(draws, rng=0)
        one, other = (np.flatnonzero(free.labels == k) for k in (0, 1))
        rules = {"must_link": [(int(one[0]), int(other[0]))], "cannot_link": [tuple(one[1:3])]}
        found = pt.estimate(draws, rng=0, **rules)
        assert keeps(found.labels, **rules)
        mended = free.labels.copy()
        mended[other[0]] = 0
        mended[one[1]] = mended.max() + 1
        assert found.expected_loss <= pt.expected_loss(mended, draws) + 1e-12
        assert found.info["constraint_cost"] == found.expected_loss - free.expected_loss

    def test_sizes_and_number(self, draws):
        found = pt.estimate(draws, rng=0, min_size=12, n_clusters=3, search="greedy")
        assert keeps(found.labels, n_clusters=3, min_size=12)

    def test_from_a_similarity(self, draws):
        alone = pt.Similarity(pt.posterior_similarity(draws).to_dense())
        found = pt.estimate(alone, rng=0, cannot_link=[(0, 1)])
        assert found.labels[0] != found.labels[1]

    def test_other_searches_are_held_to_them(self, draws):
        free = pt.estimate(draws, search="average", rng=0)
        pair = tuple(np.flatnonzero(free.labels == 0)[:2].tolist())
        found = pt.estimate(draws, search=["average", "draws"], rng=0, cannot_link=[pair])
        assert found.labels[pair[0]] != found.labels[pair[1]]

    def test_free_where_nothing_is_in_the_way(self, draws):
        found = pt.estimate(draws, rng=0, min_size=2)
        assert found.info["constraint_cost"] == 0

    def test_names_of_items(self, draws):
        named = pt.Draws(draws.labels, item_names=[f"i{k}" for k in range(60)])
        found = pt.estimate(named, rng=0, must_link=[("i0", "i1")])
        assert found.labels[0] == found.labels[1]
        with pytest.raises(InvalidValueError, match="not there: 'zz'"):
            pt.estimate(named, must_link=[("i0", "zz")])

    def test_exact_says_how_many_it_can(self, draws):
        with pytest.raises(InvalidValueError, match="at most 10 items"):
            pt.estimate(draws, search="exact", loss="binder", cannot_link=[(0, 1)], rng=0)


def test_contradictions():
    draws = [[0, 0, 1, 1]]
    with pytest.raises(InvalidValueError, match="items 0 and 2 must be together and apart"):
        pt.estimate(draws, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    with pytest.raises(InvalidValueError, match="`min_size` cannot be met"):
        pt.estimate(draws, min_size=5)
    with pytest.raises(InvalidTypeError, match="list of pairs"):
        pt.estimate(draws, must_link=[0, 1])
    with pytest.raises(InvalidValueError, match="no partition found that satisfies"):
        pt.estimate(draws, cannot_link=[(0, 1), (1, 2), (0, 2)], n_clusters=2)
