"""Tables with a column for each cluster: as many as a run needs on its way, then few again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import partita as pt
from partita import losses
from partita.evidence import as_evidence
from partita.kernels import greedy_proposals as cursors
from partita.search._greedy_problem import problem
from partita.search._greedy_proposals import Proposals
from partita.search._greedy_state import DrawsState
from partita.search._greedy_tables import Tables

ON_DRAWS = ["vi", "nvi", "id", "nid", "omari"]


def noisy(n_items, n_draws, seed):
    """Draws about three clusters."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    noise = rng.integers(0, 6, (n_draws, n_items))
    return np.where(rng.random((n_draws, n_items)) < 0.25, noise, truth)


@pytest.mark.parametrize("loss", ON_DRAWS)
def test_attempts_that_needed_many_columns_leave_few(loss, monkeypatch):
    """With calls so short that Python makes the attempts; totals are checked by every run."""
    monkeypatch.setattr("partita.search._greedy_counts.CALL", 2_000)
    seen, plain = [], DrawsState.fit

    def fit(self, most=1.5):
        before = self._tables.n_used
        plain(self, most)
        seen.append((before, self._tables.n_used, self.n_clusters, most))

    monkeypatch.setattr(DrawsState, "fit", fit)
    draws, how = noisy(60, 40, 1), pt.search.Greedy(n_runs=3, starts=("singletons", "draws"))
    best = pt.estimate(draws, loss=loss, search=how, rng=0)
    assert best.expected_loss == pytest.approx(pt.expected_loss(best, draws, loss=loss), abs=1e-9)
    assert any(after < before for before, after, _, most in seen)
    assert any(most > 1.5 for *_, most in seen)
    assert all(after <= most * k + 8 for _, after, k, most in seen)


@given(seed=st.integers(0, 99), loss=st.sampled_from(ON_DRAWS))
def test_fitting_changes_the_columns_and_nothing_else(seed, loss):
    rng = np.random.default_rng(seed)
    state = problem(losses.resolve(loss), as_evidence(noisy(30, 12, seed))).state()
    state.load(np.arange(state.labels.size))
    state.move(np.arange(state.labels.size), rng.integers(10, 13, state.labels.size))
    before, value = state.labels.copy(), state.value
    state.fit(0.0)
    assert set(state.labels) == set(range(state.n_clusters))
    assert state._tables.n_used == state.n_clusters
    assert state.n_fitted == 1
    pairs = {(int(a), int(b)) for a, b in zip(before, state.labels, strict=True)}
    assert len(pairs) == state.n_clusters
    assert state.value == pytest.approx(value, abs=1e-12)
    assert state.recomputed() == pytest.approx(value, abs=1e-9)


def test_room_that_was_there_before_does_not_matter():
    """A state is used for one run after another: partitions of many clusters, then of few."""
    shared = problem(losses.resolve("vi"), as_evidence(noisy(200, 12, 3)), merge=False)
    state, few = shared.state(), np.arange(200) % 3
    state.load(np.arange(200))
    state.load(few)
    fresh = shared.state()
    fresh.load(few)
    assert state.sizes.size == fresh.sizes.size < 200
    state.grow(150)
    assert np.count_nonzero(state.sizes) == state.n_clusters == 3
    assert state.value == fresh.value


def test_there_is_room_for_every_item_alone_at_most():
    shared = problem(losses.resolve("vi"), as_evidence(noisy(20, 12, 3)))
    tables = Tables(shared, 4)
    tables.make_room(shared.n + 1)
    assert tables.sizes.size == len(tables.counts) == shared.n + 1


def test_columns_that_are_gone_are_proposed_no_more():
    proposals = Proposals(("rebuild",), 2.0, 10, (), np.random.default_rng(0))
    cursor = proposals.arguments[1]
    cursor[cursors.AT], cursor[cursors.N_COLUMNS] = 2, 5
    proposals.turn_to(0)
    assert cursor[cursors.AT] == 2  # columns are where they were
    proposals.turn_to(1)
    assert cursor[cursors.AT] == cursor[cursors.N_COLUMNS] == 5  # so that they are listed anew


def test_many_clusters_are_merged_in_few_rounds(monkeypatch):
    """One big cluster takes many small ones in at once."""
    rounds, plain = [], DrawsState.merge_values

    def counted(self):
        rounds.append(self.n_clusters)
        return plain(self)

    monkeypatch.setattr(DrawsState, "merge_values", counted)
    draws = np.zeros((30, 200), dtype=np.int64)
    draws[np.arange(30), np.arange(30)] = 1
    how = pt.search.Greedy(n_runs=1, starts=("singletons",), moves=("merge",))
    best = pt.estimate(draws, loss="vi", search=how, rng=0)
    assert best.n_clusters == 1
    assert len(rounds) < 60
