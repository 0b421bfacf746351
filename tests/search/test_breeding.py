"""Breeding: children of two ends of runs, and what comes of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import partita as pt
from partita import losses
from partita.evidence import as_evidence
from partita.partitions import canonical
from partita.search import _greedy_brood
from partita.search._greedy_breeding import _apart, _child, breed
from partita.search._greedy_clock import Clock
from partita.search._greedy_ends import Found
from partita.search._greedy_problem import problem
from partita.search._greedy_runs import QUICK, Runs


def two_weak_modes(n, n_draws, k, seed):
    """Two chains near partitions that half agree, two items in five of every draw misplaced."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, k, n)
    other = np.where(rng.random(n) < 0.5, one, rng.integers(0, k, n))
    draws = np.repeat([one, other], n_draws // 2, axis=0)
    moved = rng.random(draws.shape) < rng.beta(1, 1.5, n)
    draws[moved] = rng.integers(0, k, int(moved.sum()))
    return draws


def together(labels):
    return labels[:, None] == labels


partitions = st.lists(st.integers(0, 4), min_size=2, max_size=12).map(np.array)


@given(one=partitions, seed=st.integers(0, 99))
def test_a_child_has_whole_clusters_of_one_parent_and_the_rest_as_the_other(one, seed):
    rng = np.random.default_rng(seed)
    one, other = canonical(one), canonical(rng.integers(0, 5, one.size))
    child = _child(one, other, rng)
    sets = [{tuple(row) for row in together(labels).tolist()} for labels in (one, child)]
    taken = np.array([tuple(row) in sets[0] for row in together(child).tolist()])
    rest = together(child)[np.ix_(~taken, ~taken)]
    assert_array_equal(rest, together(other)[np.ix_(~taken, ~taken)])
    assert not together(child)[np.ix_(taken, ~taken)].any()
    assert_array_equal(child, canonical(child))


def test_children_have_something_of_both():
    one, other = np.repeat([0, 1, 2, 3], 6), np.tile([0, 1, 2, 3, 4, 5], 4)
    children = [_child(one, other, np.random.default_rng(seed)) for seed in range(20)]
    sizes = [sorted(np.bincount(child).tolist()) for child in children]
    assert {6} < {size for each in sizes for size in each}  # a cluster of one is whole
    assert all(max(each[:-1], default=0) <= 6 for each in sizes)
    mixed = [each for each in sizes if 1 < each.count(6) < 4 and min(each) < 4]
    assert len(mixed) > 5


@given(one=partitions, seed=st.integers(0, 99))
def test_how_far_apart_is_counted_in_pairs(one, seed):
    other = np.random.default_rng(seed).integers(0, 5, one.size)
    assert _apart(one, other) == np.count_nonzero(together(one) != together(other))


def bred_ends(seed, n_litters=10):
    """Ends of quick runs from draws, and what is bred from them."""
    draws = two_weak_modes(60, 80, 8, 3)
    posed = problem(losses.ID(), as_evidence(draws))
    runs, rng = Runs(60, 1, Clock()), np.random.default_rng(seed)

    def run(starts):
        return runs.of(posed, [("some", each, QUICK) for each in starts], rng, patience=2.0)

    ends = run([canonical(draw) for draw in draws[::10]])
    return draws, ends, breed(ends, run, rng, n_litters)


@pytest.mark.parametrize("seed", range(4))
def test_no_place_is_taken_by_what_is_worse(seed):
    draws, ends, bred = bred_ends(seed)
    before = sorted({end.labels.tobytes(): end.value for end in ends}.values())
    after = [end.value for end in bred]
    assert after == sorted(after)
    assert 1 < len(after) <= len(before)  # two that have come to the same are one
    assert after[0] < before[0]
    assert np.all(np.array(after) <= before[len(before) - len(after) :])
    for end in bred:
        exact = float(pt.expected_loss(end.labels, draws, loss="id"))
        assert end.value == pytest.approx(exact, rel=1e-12)


def test_one_seed_gives_the_same_children():
    first, second = (bred_ends(5)[2] for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one.labels, other.labels)


def test_it_ends_in_vain_without_a_second_end_and_when_time_is_up():
    end, asked = Found(1.0, np.zeros(5, dtype=np.int64), "one"), []
    assert breed([end, end], asked.append, np.random.default_rng(0), 9) == [end]
    assert asked == []
    other = Found(2.0, np.arange(5), "alone")
    assert breed([other, end], lambda starts: [], np.random.default_rng(0), 9) == [end, other]
    low = Found(0.1, np.array([0, 0, 1, 1, 1]), "bred")  # done before it was
    assert breed([other, end], lambda starts: [low], np.random.default_rng(0), 9)[0] is low


def test_ends_that_come_to_the_same_are_one_and_litters_in_vain_end_it():
    best, litters = Found(0.5, np.array([0, 0, 1, 1]), "bred"), []

    def run(starts):
        litters.append(len(starts))
        return [best for _ in starts]

    ends = [Found(1.0 + k, np.eye(4, dtype=np.int64)[k], "some") for k in range(4)]
    bred = breed(ends, run, np.random.default_rng(0), 99)
    assert bred[0] is best
    assert len(bred) < len(ends)
    assert len(litters) < 20


def test_what_a_child_takes_over_lies_side_by_side():
    """Of a line of clusters in two parents, one a step further, neighbours are taken over."""
    one, other = np.arange(40) // 4, (np.arange(40) + 2) // 4
    for seed in range(20):
        child = _child(one, other, np.random.default_rng(seed))
        whole = [k for k in range(10) if np.ptp(child[one == k]) == 0]
        taken = [k for k in whole if (child == child[4 * k]).sum() == 4]
        assert taken == list(range(taken[0], taken[-1] + 1))


def test_where_first_runs_end_apart_in_many_clusters_their_ends_are_bred(monkeypatch):
    """And once more with new starts; lower on average than without, the same on two threads."""
    draws = two_weak_modes(150, 400, 20, 1)
    bred, real = [], _greedy_brood.breed

    def noted(ends, *rest):
        bred.append(len(ends))
        return real(ends, *rest)

    monkeypatch.setattr(_greedy_brood, "breed", noted)
    found = [pt.estimate(draws, loss="id", rng=seed) for seed in (1, 2)]
    assert len(bred) >= 4
    assert max(bred) > 1
    again = pt.estimate(draws, loss="id", rng=1, n_jobs=2)
    assert_array_equal(again.labels, found[0].labels)
    monkeypatch.setattr(_greedy_brood, "breed", lambda ends, *rest: list(ends))
    without = [pt.estimate(draws, loss="id", rng=seed) for seed in (1, 2)]
    assert np.mean([best.expected_loss for best in found]) < np.mean(
        [best.expected_loss for best in without]
    )
