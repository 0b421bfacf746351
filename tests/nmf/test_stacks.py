"""Fits that share a leading axis."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.nmf import NAMES, Factors
from partita.nmf._accelerate import Looks, State, run
from partita.nmf._fast import ranking
from partita.nmf._stacks import joined, taken
from partita.nmf._target import of_array


@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
def test_taken_apart_and_joined(library):
    xp = pytest.importorskip(library)
    if library == "torch":
        from array_api_compat import torch as xp
    elif library == "numpy":
        from array_api_compat import numpy as xp
    values = np.arange(24.0).reshape(4, 3, 2)
    stack = (Factors(xp.asarray(values), xp.asarray(2 * values), None), (np.arange(4),))
    rows = np.array([2, 0])
    some, rest = taken(xp, stack, rows), taken(xp, stack, np.array([False, True, False, True]))
    assert isinstance(some[0], Factors)
    assert some[0].offset is None
    assert_allclose(np.asarray(some[0].W), values[rows])
    whole = joined(xp, [some, rest], np.array([2, 0, 1, 3]))
    assert_allclose(np.asarray(whole[0].H), 2 * values)
    assert np.array_equal(whole[1][0], np.arange(4))


@pytest.mark.parametrize("name", ["kl", "ls", "symmetric"])
def test_a_restart_ends_in_a_stack_where_it_ends_alone(name, psm):
    """They stop at different times, and one is done when it begins."""
    model, target = NAMES[name], of_array(np.array(psm))
    random = np.random.default_rng(0)
    starts = Factors(random.random((4, 60, 4)), random.random((4, 4, 60)))
    known = pt.factorize(psm, model=name, rank=4, n_init=8, rng=0)
    starts.W[2], starts.H[2] = known.W, known.H
    looks = Looks(1e-4, model.per_look, keep=0.1 if model.dense_only else 0.0)

    def fitted(which):
        blocks = model.blocks(target, taken(np, starts, which))
        begun = State.begin(
            np, blocks, model.beta, model.objective(target, taken(np, starts, which))
        )
        return run(target.xp, lambda b: model.step(target, b), begun, looks)

    together, n_iter, converged = fitted(np.arange(4))
    assert np.unique(n_iter).size > 1
    assert n_iter[2] == n_iter.min()
    for i in range(4):
        alone, count, done = fitted([i])
        assert (count[0], done[0]) == (n_iter[i], converged[i])
        assert_allclose(together.objective[i], alone.objective[0], rtol=1e-9)
        for one, other in zip(together.blocks, alone.blocks, strict=True):
            assert_allclose(one[i], other[0], rtol=1e-6, atol=1e-9)


def test_restarts_that_are_equal_but_for_rounding_stay_in_their_order():
    values = np.array([3.0, 1.0 + 1e-14, 2.0, 1.0, 1.0 + 1e-9])
    assert ranking(values).tolist() == [1, 3, 4, 2, 0]
    assert ranking(np.array([1e-16, 0.0, 1e-3]), 1e-3).tolist() == [0, 1, 2]
    assert ranking(np.array([1e5, 1e-300, 0.0])).tolist() == [1, 2, 0]
    assert ranking(np.zeros(3)).tolist() == [0, 1, 2]
