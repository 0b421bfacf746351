"""What burn-in settles about the moves of a scan."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mixture import chains

from partita.kernels import mixture_types as types
from partita.mixture import DirichletProcess, Independent, assembly


def after_burn_in(apart, n_burn=400):
    """A chain on two round groups of 40, ``apart`` standard deviations from each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) + apart * (np.arange(80) >= 40)[:, None] * [1.0, 0.0]
    model = assembly.make_model(Independent().complete(X, "full"), DirichletProcess(), (2, 1, 2))
    state = chains.fresh(model, np.arange(80) // 40)
    state, labels, _ = chains.advance(model, state, n_draws=320, n_burn=n_burn, re=4)
    return state, labels


def test_reallocations_are_many_where_large_changes_occur_and_are_rare():
    state, _ = after_burn_in(5.0)
    assert state.reallocate[0] > 1.0
    assert state.tally[types.REALLOCATE, 2] > 0


def test_reallocations_are_few_where_no_large_change_occurs():
    state, labels = after_burn_in(30.0)
    assert (labels.max(axis=1) >= 1).all()
    assert state.reallocate[0] == 0.25
    # Counted since the end of burn-in, spread evenly over the scans.
    assert state.tally[types.REALLOCATE, 0] == pytest.approx(320 * 0.25, abs=1)


def test_without_burn_in_there_are_as_many_as_asked_for():
    state, _ = after_burn_in(30.0, n_burn=0)
    assert state.tally[types.REALLOCATE, 0] == 4 * 320
