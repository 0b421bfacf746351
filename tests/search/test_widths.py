"""Tables with a column for each cluster: as wide as a run needs on its way, then narrow again."""

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
from partita.search._greedy_tables import width_for

ON_DRAWS = ["vi", "nvi", "id", "nid", "omari"]


def noisy(n_items, n_draws, seed):
    """Draws about three clusters."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    noise = rng.integers(0, 6, (n_draws, n_items))
    return np.where(rng.random((n_draws, n_items)) < 0.25, noise, truth)


@pytest.mark.parametrize("loss", ON_DRAWS)
def test_attempts_that_needed_many_columns_leave_narrow_tables(loss, monkeypatch):
    """With calls so short that Python makes the attempts; totals are checked by every run."""
    monkeypatch.setattr("partita.search._greedy_counts.CALL", 2_000)
    seen, plain = [], DrawsState.fit

    def fit(self, most=1.5):
        before = self.sizes.size
        plain(self, most)
        seen.append((before, self.sizes.size, self.n_clusters, most))

    monkeypatch.setattr(DrawsState, "fit", fit)
    draws, how = noisy(60, 40, 1), pt.search.Greedy(n_runs=3, starts=("singletons", "draws"))
    best = pt.estimate(draws, loss=loss, search=how, rng=0)
    assert best.expected_loss == pytest.approx(pt.expected_loss(best, draws, loss=loss), abs=1e-9)
    assert any(after < before for before, after, _, most in seen)
    assert any(most > 1.5 for *_, most in seen)
    assert all(after <= most * width_for(k) for _, after, k, most in seen)


@given(seed=st.integers(0, 99), loss=st.sampled_from(ON_DRAWS))
def test_fitting_changes_the_columns_and_nothing_else(seed, loss):
    rng = np.random.default_rng(seed)
    state = problem(losses.resolve(loss), as_evidence(noisy(30, 12, seed))).state()
    state.load(np.arange(state.labels.size))
    state.move(np.arange(state.labels.size), rng.integers(0, 3, state.labels.size))
    before, value = state.labels.copy(), state.value
    state.fit()
    assert state.sizes.size == width_for(state.n_clusters) < 30
    pairs = {(int(a), int(b)) for a, b in zip(before, state.labels, strict=True)}
    assert len(pairs) == state.n_clusters
    assert state.value == pytest.approx(value, abs=1e-12)
    assert state.recomputed() == pytest.approx(value, abs=1e-9)


def test_columns_that_are_gone_are_proposed_no_more():
    proposals = Proposals(("rebuild",), 2.0, 10, (), np.random.default_rng(0))
    cursor = proposals.arguments[1]
    cursor[cursors.AT], cursor[cursors.N_COLUMNS] = 2, 5
    proposals.turn_to(16)
    proposals.turn_to(24)
    assert cursor[cursors.AT] == 2  # wider tables have them still
    proposals.turn_to(8)
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
