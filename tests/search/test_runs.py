"""Runs that are made in one compiled call, on the similarity of few items or on few draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import partita as pt
from partita import losses
from partita.evidence import Evidence
from partita.partitions import canonical
from partita.search import _greedy_draws, _greedy_runs
from partita.search._greedy_clock import Clock
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_run import MOVES
from partita.search._greedy_runs import QUICK, Runs
from partita.search._greedy_similarity import SimilarityProblem

LOSSES = [losses.Binder(), losses.Binder(a=0.6), losses.PEAR(), losses.VILowerBound()]


def noisy(n_items, n_draws, n_clusters, seed, share=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n_items)
    labels = np.where(
        rng.random((n_draws, n_items)) < share,
        rng.integers(0, n_clusters, (n_draws, n_items)), truth,
    )  # fmt: skip
    return Evidence(draws=pt.Draws(labels))


def made(loss, evidence, tasks, *, limit=None, n_jobs=1, seed=0, **how):
    shared = SimilarityProblem(evidence.similarity, loss)
    runs = Runs(limit or evidence.n_items, n_jobs, Clock())
    return runs.of(shared, tasks, np.random.default_rng(seed), patience=1.0, **how)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("moves", [QUICK, MOVES], ids=["quick", "thorough"])
@given(
    n_items=st.integers(2, 40), n_clusters=st.integers(1, 40), limit=st.integers(1, 40),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_each_ends_with_its_loss_no_higher_than_it_began(
    loss, moves, n_items, n_clusters, limit, seed
):
    evidence = noisy(n_items, 6, n_clusters, seed)
    rng, limit = np.random.default_rng(seed), min(limit, n_items)
    starts = [canonical(rng.integers(0, limit, n_items)) for _ in range(2)]
    tasks = [("random", start, moves) for start in starts] + [("sequential", None, moves)]
    others = [canonical(evidence.draws.labels[0])]
    ends = made(loss, evidence, tasks, limit=limit, seed=seed, others=others)
    assert [end.start for end in ends] == ["random", "random", "sequential"]
    labels = np.stack([end.labels for end in ends])
    assert_allclose([e.value for e in ends], losses.expected(loss, labels, evidence), atol=1e-9)
    assert labels.max() < limit
    for end in ends:
        assert_array_equal(end.labels, canonical(end.labels))
    for start, end in zip(starts, ends, strict=False):
        assert end.value <= losses.expected(loss, start[None], evidence)[0] + 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_end_of_a_thorough_run_can_be_bettered_by_moving_an_item(loss):
    evidence = noisy(25, 20, 4, 3, share=0.5)
    tasks = [("sequential", None, MOVES)] * 3
    for end in made(loss, evidence, tasks):
        moved = []
        for i in range(25):
            for k in range(int(end.labels.max()) + 2):
                one = end.labels.copy()
                one[i] = k
                moved.append(canonical(one))
        values = losses.expected(loss, np.stack(moved), evidence)
        assert values.min() >= end.value - 1e-10


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_there_is_room_for_a_cluster_of_every_item(loss):
    evidence = Evidence(draws=pt.Draws(np.arange(50)[None]))
    tasks = [("sequential", None, MOVES), ("one", np.zeros(50, dtype=np.int64), MOVES)]
    ends = made(loss, evidence, tasks)
    assert min(end.value for end in ends) == pytest.approx(0.0, abs=1e-12)
    assert max(int(end.labels.max()) for end in ends) == 49


@pytest.mark.parametrize("moves", [QUICK, MOVES], ids=["quick", "thorough"])
def test_how_many_are_made_in_a_call_and_on_how_many_threads_does_not_matter(monkeypatch, moves):
    evidence, loss = noisy(40, 30, 8, 1, share=0.6), losses.PEAR()
    tasks = [("sequential", None, moves)] * 7
    all_at_once = made(loss, evidence, tasks)
    monkeypatch.setattr(_greedy_runs, "_AT_ONCE", 40**2 * 20)
    for n_jobs in (1, 3):
        some = made(loss, evidence, tasks, n_jobs=n_jobs)
        assert [end.value for end in some] == [end.value for end in all_at_once]
        assert_array_equal([e.labels for e in some], [e.labels for e in all_at_once])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_runs_made_one_by_one_find_the_same(monkeypatch, loss):
    evidence, tasks = noisy(60, 50, 5, 2, share=0.15), [("sequential", None, MOVES)] * 6
    at_once = made(loss, evidence, tasks)
    monkeypatch.setattr(_greedy_runs, "_AT_ONCE", 0)
    one_by_one = made(loss, evidence, tasks)
    best = min(at_once, key=lambda f: f.value), min(one_by_one, key=lambda f: f.value)
    assert_array_equal(best[0].labels, best[1].labels)
    assert best[0].value == pytest.approx(best[1].value, abs=1e-12)


@pytest.mark.parametrize(("limit", "at_once"), [(None, True), (60.0, True), (0.01, False)])
def test_whole_runs_look_at_the_clock_where_time_is_short(monkeypatch, limit, at_once):
    called, before = [], SimilarityProblem.thorough
    monkeypatch.setattr(
        SimilarityProblem, "thorough", lambda *args: called.append(1) or before(*args)
    )
    shared = SimilarityProblem(noisy(60, 30, 5, 0).similarity, losses.PEAR())
    runs = Runs(60, 1, Clock(limit))
    ends = runs.of(shared, [("sequential", None, MOVES)], np.random.default_rng(0), patience=1.0)
    assert bool(called) is at_once
    assert len(ends) == 1


def test_what_a_clock_leaves_no_time_for_is_left_out():
    evidence, clock = noisy(60, 20, 4, 5), Clock(1e-9)
    shared = SimilarityProblem(evidence.similarity, losses.PEAR())
    runs = Runs(60, 1, clock)
    tasks = [("sequential", None, MOVES)] * 100
    first = runs.of(shared, tasks, np.random.default_rng(0), patience=1.0)
    assert 0 < len(first) < len(tasks)
    assert runs.of(shared, tasks, np.random.default_rng(0), patience=1.0) == []
    assert clock.has_ended_work


def test_starts_under_other_losses_leave_no_trace_in_the_history():
    evidence = noisy(60, 200, 4, 7, share=0.5)
    draws = evidence.draws
    est = pt.estimate(draws, loss="nvi", rng=0)
    assert max(loss for _, loss, _ in est.history) <= 1 + 1e-9


ON_DRAWS = [
    losses.VI(), losses.VI(a=0.6), losses.NVI(), losses.ID(), losses.NID(), losses.OMARI(),
]  # fmt: skip


def quick(loss, evidence, tasks, *, limit=None, n_jobs=1, seed=0, merge=False, **how):
    shared = DrawsProblem(evidence.distinct, loss, merge=merge)
    runs = Runs(limit or evidence.n_items, n_jobs, Clock())
    return runs.of(shared, tasks, np.random.default_rng(seed), patience=1.0, **how)


@pytest.mark.parametrize("loss", ON_DRAWS, ids=str)
@given(
    n_items=st.integers(33, 60), n_clusters=st.integers(1, 60), limit=st.integers(1, 60),
    seed=st.integers(0, 99), softens=st.booleans(), is_stepwise=st.booleans(), merge=st.booleans(),
)  # fmt: skip
def test_each_on_draws_ends_with_its_loss_no_higher_than_it_began(
    loss, n_items, n_clusters, limit, seed, softens, is_stepwise, merge
):
    evidence = noisy(n_items, 6, n_clusters, seed)
    rng, limit = np.random.default_rng(seed), min(limit, n_items)
    starts = [canonical(rng.integers(0, limit, n_items)) for _ in range(2)]
    tasks = [("random", start, QUICK) for start in starts] + [("sequential", None, QUICK)]
    how = {"softens": softens, "is_stepwise": is_stepwise, "merge": merge}
    ends = quick(loss, evidence, tasks, limit=limit, seed=seed, **how)
    labels = np.stack([end.labels for end in ends])
    assert_allclose([e.value for e in ends], losses.expected(loss, labels, evidence), atol=1e-9)
    assert labels.max() < limit
    for end in ends:
        assert_array_equal(end.labels, canonical(end.labels))
    if not merge:
        began = losses.expected(loss, np.stack(starts), evidence)
        assert all(end.value <= value + 1e-9 for end, value in zip(ends, began, strict=False))


@pytest.mark.parametrize("loss", ON_DRAWS, ids=str)
def test_on_draws_there_is_room_for_a_cluster_of_every_item(loss):
    evidence = Evidence(draws=pt.Draws(np.arange(50)[None]))
    tasks = [("sequential", None, QUICK), ("one", np.zeros(50, dtype=np.int64), QUICK)]
    ends = quick(loss, evidence, tasks, softens=True)
    assert min(end.value for end in ends) == pytest.approx(0.0, abs=1e-12)
    assert max(int(end.labels.max()) for end in ends) == 49


@pytest.mark.parametrize("loss", ON_DRAWS, ids=str)
def test_on_draws_how_many_are_made_in_a_call_and_on_how_many_threads_does_not_matter(
    monkeypatch, loss
):
    evidence = noisy(40, 30, 8, 1, share=0.6)
    tasks = [("sequential", None, QUICK)] * 7
    all_at_once = quick(loss, evidence, tasks, softens=True)
    monkeypatch.setattr(_greedy_runs, "_AT_ONCE_ON_DRAWS", 2e-4)
    for n_jobs in (1, 3):
        some = quick(loss, evidence, tasks, n_jobs=n_jobs, softens=True)
        assert [end.value for end in some] == [end.value for end in all_at_once]
        assert_array_equal([e.labels for e in some], [e.labels for e in all_at_once])


@pytest.mark.parametrize("loss", ON_DRAWS, ids=str)
def test_runs_on_draws_made_one_by_one_find_the_same(monkeypatch, loss):
    evidence, tasks = noisy(60, 50, 5, 2, share=0.15), [("sequential", None, QUICK)] * 6
    at_once = quick(loss, evidence, tasks, softens=True)
    monkeypatch.setattr(_greedy_runs, "_AT_ONCE_ON_DRAWS", 0.0)
    one_by_one = quick(loss, evidence, tasks, softens=True)
    best = min(at_once, key=lambda f: f.value), min(one_by_one, key=lambda f: f.value)
    assert_array_equal(best[0].labels, best[1].labels)
    assert best[0].value == pytest.approx(best[1].value, abs=1e-12)


@pytest.mark.parametrize(("limit", "at_once"), [(None, True), (60.0, True), (1e-4, False)])
def test_quick_runs_on_draws_look_at_the_clock_where_time_is_short(monkeypatch, limit, at_once):
    called, before = [], DrawsProblem.quick
    monkeypatch.setattr(DrawsProblem, "quick", lambda *args: called.append(1) or before(*args))
    shared = DrawsProblem(noisy(60, 30, 5, 0).distinct, losses.VI())
    ends = Runs(60, 1, Clock(limit)).of(
        shared, [("sequential", None, QUICK)], np.random.default_rng(0), patience=1.0
    )
    assert bool(called) is at_once
    assert len(ends) == 1


@pytest.mark.parametrize("loss", [losses.VI(), losses.ID()], ids=str)
def test_a_run_that_is_too_long_for_a_call_is_made_to_its_end_all_the_same(monkeypatch, loss):
    evidence = noisy(60, 40, 4, 3, share=0.9)
    tasks = [("sequential", None, QUICK), ("one", np.zeros(60, dtype=np.int64), QUICK)]
    whole = quick(loss, evidence, tasks, softens=True)
    monkeypatch.setattr(_greedy_draws, "CALL", 1)
    parted = [quick(loss, evidence, tasks, softens=True, n_jobs=n) for n in (1, 2)]
    assert [end.value for end in parted[0]] == [end.value for end in parted[1]]
    for ends in (whole, parted[0]):
        for end in ends:
            moved = np.tile(end.labels, (60 * 3, 1))
            rng = np.random.default_rng(0)
            moved[np.arange(180), np.repeat(np.arange(60), 3)] = rng.integers(
                0, end.labels.max() + 2, 180
            )
            values = losses.expected(loss, np.stack([canonical(one) for one in moved]), evidence)
            assert values.min() >= end.value - 1e-9


def test_a_call_ends_soon_on_a_weak_posterior_under_a_loss_that_bends():
    """Quick runs there took a thousand times as long as expected, in one call."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 4, 800)
    labels = np.where(rng.random((600, 800)) < 0.9, rng.integers(0, 4, (600, 800)), base)
    shared = DrawsProblem(Evidence(draws=pt.Draws(labels)).distinct, losses.ID())
    seeds = rng.integers(0, 1 << 64, (1, 4), dtype=np.uint64)
    how = (800, 100, np.array([64.0, 8.0, 0.5]), 16, False)
    values = shared.quick(np.full((1, 800), -1), seeds, *how)
    assert values[2, 0] <= 0  # it was not done


def test_runs_of_many_clusters_are_not_one_call_where_time_is_short():
    rng = np.random.default_rng(0)
    draws = pt.Draws(rng.integers(0, 60, (150, 400)))
    shared = DrawsProblem(draws, pt.losses.VI())
    task = [("sequential", None, QUICK)]
    for limit, is_one in ((None, True), (0.05, False)):
        runs = Runs(400, 1, Clock(limit))
        assert bool(runs._n_at_once(shared, task[0][2])) is is_one
