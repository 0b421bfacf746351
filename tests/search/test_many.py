"""Searches where draws have too many clusters for tables of all clusters by all clusters."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita.draws import _blocks, _counts, contingency
from partita.losses import VI, Binder
from partita.parallel import Stop
from partita.parallel import items as _items
from partita.search import Greedy, _large, polish
from partita.search._large import extend, extend_by_similarity, sample
from partita.search._problem import Watch
from partita.search._scoring import Rows, best_mergers
from partita.search._streamed import StreamedState, settle

N, K = 240, 40


@pytest.fixture(scope="module")
def truth():
    return np.arange(N) * K // N


@pytest.fixture(scope="module")
def labels(truth):
    """Forty clusters of six, one label in ten replaced in every draw."""
    rng = np.random.default_rng(2)
    return np.where(rng.random((50, N)) < 0.1, rng.integers(0, K, (50, N)), truth)


@pytest.fixture
def many(monkeypatch):
    """Forty clusters count as many, and no table is kept whole."""
    monkeypatch.setattr(_items, "_LEAST", 32)
    monkeypatch.setattr(_counts, "_CELLS", 0)
    monkeypatch.setattr(_large, "_WORK", 0)


@pytest.fixture
def draws(labels):
    return pt.Draws(labels, weights=np.linspace(1, 2, 50))


@pytest.mark.parametrize("loss", [VI(), Binder(0.7)])
def test_what_a_move_gains_is_what_the_loss_falls_by(draws, truth, many, loss):
    start = truth // 2
    state = StreamedState(start, draws, loss, 1)
    best, gains = state.best_moves(N)
    before = pt.expected_loss(start, draws, loss=loss)
    for i in range(0, N, 17):
        tried = np.repeat(start[None, :], K // 2 + 1, axis=0)
        tried[np.arange(K // 2 + 1), i] = np.arange(K // 2 + 1)
        falls = before - pt.expected_loss(tried, draws, loss=loss)
        # scored on the loss made linear, which one item bends a little
        assert gains[i] == pytest.approx(max(falls.max(), 0.0), rel=1e-4, abs=1e-7)
        assert falls[best[i]] == pytest.approx(falls.max(), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", ["binder", "id", "nid", "nvi", "omari", "vi"])
def test_whole_tables_and_those_without_empty_cells_score_alike(draws, truth, many, name):
    loss = pt.losses.NAMES[name]
    block = np.ascontiguousarray(draws.labels)
    for here in (truth // 2, np.random.default_rng(0).integers(0, K // 2, N)):
        counts = next(contingency(draws, [here])).widened(K // 2 + 1)
        rows = Rows(draws, loss, counts.row_sizes())
        for limit in (N, K // 2):
            scored = []
            for table in (counts, counts.without_empty()):
                scoring = rows.scoring(table, limit)
                scored.append(scoring.work(block, slice(0, N), here, *scoring.shared))
            np.testing.assert_allclose(scored[0][1], scored[1][1], rtol=1e-4, atol=1e-8)
            clear = scored[0][1] > 1e-6
            np.testing.assert_array_equal(scored[0][0][clear], scored[1][0][clear])


def test_many_columns_are_visited_where_they_are_met_alone(draws, many, monkeypatch):
    few = draws.take(slice(0, 3))  # more than eight columns a draw
    state = StreamedState(np.arange(N) // 3, few, VI(), 1)
    best, gains = state.best_moves(N)
    monkeypatch.setattr(_counts, "_CELLS", 10**9)
    dense_best, dense_gains = StreamedState(np.arange(N) // 3, few, VI(), 1).best_moves(N)
    np.testing.assert_allclose(gains, dense_gains, rtol=1e-4, atol=1e-8)
    clear = gains > 1e-6
    values = [
        pt.expected_loss(_moved(b, i), few)
        for b in (best, dense_best)
        for i in np.flatnonzero(clear)[:5]
    ]
    np.testing.assert_allclose(values[:5], values[5:], rtol=1e-9)


def _moved(best, item):
    out = np.arange(N) // 3
    out[item] = best[item]
    return out


def test_clusters_cut_in_two_are_merged_all_at_once(draws, truth, many):
    state = StreamedState(2 * truth + np.arange(N) % 2, draws, VI(), 1)
    pairs = best_mergers(state.rows, state.counts)
    assert len(pairs) == K
    column = np.arange(2 * K)
    column[[a for a, _ in pairs]] = [b for _, b in pairs]
    assert pt.adjusted_rand_index(column[state.labels], truth) == 1.0
    assert state.merge()
    assert state.n_clusters == K


def test_clusters_that_are_two_are_split_many_at_once(draws, truth, many):
    state = StreamedState(truth // 2, draws, VI(), 1)
    assert state.split(N)
    assert state.n_clusters > 0.9 * K
    state = StreamedState(truth // 2, draws, VI(), 1)
    assert state.split(K // 2 + 3)
    assert state.n_clusters == K // 2 + 3


def test_items_that_would_be_alone_make_many_clusters_at_once(draws, truth, many):
    scattered = np.random.default_rng(0).integers(0, 3, N)
    scattered[truth < 3] = truth[truth < 3]
    state = StreamedState(scattered, draws, VI(), 1)
    assert state.sweep(N)
    assert state.n_clusters > 20


@pytest.mark.parametrize("name", sorted(set(pt.losses.NAMES) - {"zero-one"}))
def test_rounds_from_a_draw_end_near_where_runs_end(draws, truth, many, monkeypatch, name):
    found = pt.estimate(draws, loss=name, search=Greedy(), rng=0, n_jobs=2)
    monkeypatch.setattr(_large, "_WORK", 10**12)
    held = pt.estimate(draws, loss=name, search=Greedy(), rng=0)
    assert found.expected_loss <= 1.01 * held.expected_loss
    assert found.expected_loss == pytest.approx(
        pt.expected_loss(found.labels, draws, loss=name), rel=1e-10
    )


def test_stores_and_memory_give_one_answer_of_many_clusters(
    labels, truth, many, monkeypatch, tmp_path
):
    np.save(tmp_path / "draws.npy", labels)
    monkeypatch.setattr(_blocks, "_LARGE", 0)
    monkeypatch.setattr("partita.evidence.LARGE", 100)
    answers = []
    for stored in (False, True):
        draws = pt.read_draws(tmp_path / "draws.npy", stored=stored)
        best = pt.estimate(draws, rng=0)
        assert best.info["start"] == "draws"
        assert best.info["many_clusters"]
        assert pt.adjusted_rand_index(best.labels, truth) == 1.0
        answers.append(
            (best.labels.tolist(), best.expected_loss, pt.credible_ball(best, draws).radius)
        )
    assert answers[0] == answers[1]


def test_draws_too_many_for_the_tables_are_thinned_for_the_runs(truth, monkeypatch):
    """Rounds from a draw are for clusters that are many, not for draws that are."""
    rng = np.random.default_rng(4)
    labels = np.where(rng.random((400, N)) < 0.1, rng.integers(0, K, (400, N)), truth)
    monkeypatch.setattr(_large, "_CELLS", 1.5 * K * K * 300)
    best = pt.estimate(pt.Draws(labels), search=Greedy(), rng=0)
    assert "many_clusters" not in best.info
    assert best.info["rounds"] >= 1  # on all of the draws
    assert pt.adjusted_rand_index(best.labels, truth) == 1.0
    monkeypatch.setattr(_large, "_CELLS", 1.5 * K * K * 200)  # for fewer than runs can do with
    assert pt.estimate(pt.Draws(labels), search=Greedy(), rng=0).info["many_clusters"]


def test_what_was_said_of_the_search_and_is_not_used_is_a_warning(draws, truth, many):
    with pytest.warns(pt.errors.PartitaWarning, match=r"^`effort`: not used, since"):
        pt.estimate(draws, search=Greedy(effort=3), rng=0)
    with pytest.warns(pt.errors.PartitaWarning, match="^`starts`: not used"):
        pt.estimate(draws, search=Greedy(starts=("average", truth)), rng=0)
    pt.estimate(draws, search=Greedy(starts=(truth,), max_clusters=30), rng=0)


def test_few_clusters_are_polished_into_many_and_never_more_than_allowed(draws, truth, many):
    evidence = pt.evidence.as_evidence(draws)
    rng = np.random.default_rng(0)
    found = polish(truth // 10, evidence, VI(), rng=rng)
    assert pt.adjusted_rand_index(found, truth) == 1.0
    found = polish(truth // 10, evidence, VI(), rng=rng, max_clusters=12)
    assert found.max() + 1 <= 12
    best = pt.estimate(draws, search=Greedy(max_clusters=15), rng=0)
    assert best.n_clusters <= 15


def test_landmarks_are_extended_alike_by_either_table(draws, truth, monkeypatch):
    monkeypatch.setattr(_large, "N_LANDMARKS", 120)
    monkeypatch.setattr(_large, "EACH", 1)
    evidence = pt.evidence.Evidence(draws=draws)
    monkeypatch.setattr(type(evidence), "has_few_items", False)
    some = sample(evidence, 0)
    assert some.landmarks.size == 120
    found = truth[some.landmarks.items]
    by_either = []
    for cells in (10**9, 0):
        monkeypatch.setattr(_counts, "_CELLS", cells)
        by_either.append((extend(found, some, VI()), extend_by_similarity(found, some)))
    for one, other in zip(*by_either, strict=True):
        np.testing.assert_array_equal(one, other)
        assert pt.adjusted_rand_index(one, truth) == 1.0


def test_landmarks_grow_with_the_clusters(draws, monkeypatch):
    monkeypatch.setattr(_large, "N_LANDMARKS", 60)
    evidence = pt.evidence.Evidence(draws=draws)
    monkeypatch.setattr(type(evidence), "has_few_items", False)
    monkeypatch.setattr(_large, "EACH", 3)
    assert 110 <= sample(evidence, 0).landmarks.size <= 125
    assert sample(evidence, 0, most=80).landmarks.size == 80


def test_a_time_limit_ends_rounds(draws, truth, many):
    state = StreamedState(truth // 2, draws, VI(), 1)
    clock = Stop(10.0)
    clock.set()
    assert settle(state, N, Watch(clock)) == 1
    assert state.n_clusters == K // 2


def test_halves_of_small_clusters_find_each_other_and_do_not_change_places(many):
    truth = np.arange(N) // 2
    rng = np.random.default_rng(4)
    wrong = rng.random((40, N)) < 0.05
    draws = pt.Draws(np.where(wrong, rng.integers(0, N // 2, wrong.shape), truth))
    state = StreamedState(np.arange(N), draws, VI(), 1)
    assert state.sweep(N)  # all would join their other half at once
    assert pt.adjusted_rand_index(state.labels, truth) == 1.0


def test_labels_to_start_from_keep_to_the_most_clusters(draws, truth, many):
    best = pt.estimate(draws, search=Greedy(starts=(truth,), max_clusters=10), rng=0)
    assert best.n_clusters <= 10
