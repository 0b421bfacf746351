"""What burn-in settles about the moves of a scan."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mixture import chains

from partita.kernels import mixture_types as types
from partita.kernels.mixture_chain import advance
from partita.mixture import DirichletProcess, Independent, assembly


def after_burn_in(apart, n_burn):
    """A chain on two round groups of 40, ``apart`` standard deviations from each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) + apart * (np.arange(80) >= 40)[:, None] * [1.0, 0.0]
    prior = Independent().complete(X, "full")
    model = assembly.make_model(prior, DirichletProcess(), (2.0, 1.0, 2.0))
    state = chains.fresh(model, np.arange(80) // 40)
    state, labels, _ = chains.advance(model, state, n_draws=320, n_burn=n_burn, re=4)
    return state, labels


def settled(proposed, large, planned=4):
    """The number a scan that one scan of burn-in settles, its tally made up."""
    X = np.array([[0.0], [1.0]])
    prior = Independent().complete(X, "full")
    model = assembly.make_model(prior, DirichletProcess(), (0.0, 0.0, 1.0))
    state = chains.fresh(model, [0, 0])
    state.tally[types.REALLOCATE] = proposed, large, large
    plan = np.array([1, 1, 1, types.NO_ITEMS, 0, planned, 0])
    work = assembly.make_work(model, state.order.size)
    advance(model, state, work, plan, np.zeros((1, 2), np.uint32), np.zeros((1, 3)), 10**6)
    return state.reallocate[0]


def test_the_number_falls_smoothly_and_on_ample_evidence_alone():
    assert settled(0, 0) == settled(1999, 0) == settled(1999, 1999) == 4.0
    assert settled(6000, 0) == settled(10_000, 2) == settled(10_000, 50) == 4.0
    assert settled(12_000, 0) == pytest.approx(1.0)
    assert settled(96_000, 0) == 0.25
    # One large change in a hundred proposals: two a scan make one every fifty.
    assert settled(10_000, 100) == pytest.approx(2.0)
    falling = np.array([settled(proposed, 0) for proposed in range(5900, 26_000, 100)])
    assert (np.diff(falling) <= 0).all()
    assert np.diff(falling).min() > -0.15
    assert settled(10_000, 0, planned=0) == 0.0


def test_reallocations_are_many_where_large_changes_occur_and_are_rare():
    state, _ = after_burn_in(5.0, 2000)
    assert state.reallocate[0] > 1.0
    assert state.tally[types.REALLOCATE, 2] > 0


def test_reallocations_are_few_where_no_large_change_occurs():
    state, labels = after_burn_in(30.0, 12_500)
    assert (labels.max(axis=1) >= 1).all()
    assert state.reallocate[0] == 0.25
    # Counted since the end of burn-in, spread evenly over the scans.
    assert state.tally[types.REALLOCATE, 0] == pytest.approx(320 * 0.25, abs=1)


@pytest.mark.parametrize("n_burn", [0, 1, 100])
def test_a_short_burn_in_keeps_the_plan(n_burn):
    state, labels = after_burn_in(30.0, n_burn)
    assert (labels.max(axis=1) >= 1).all()
    assert state.tally[types.REALLOCATE, 0] == 4 * 320


def test_one_cluster_throughout_burn_in_keeps_the_plan():
    X = np.random.default_rng(0).normal(size=(30, 1))
    prior = Independent().complete(X, "full")
    model = assembly.make_model(prior, DirichletProcess(), (0.0, 0.0, 1e-300))
    state = chains.fresh(model, np.zeros(30), 1e-300)
    state, labels, _ = chains.advance(model, state, n_draws=10, n_burn=5000, re=4)
    assert labels.max() == 0
    assert state.reallocate[0] == 4.0
