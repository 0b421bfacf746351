"""Small kernels of the sampler by themselves; those without a wrapper are called from one."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy.stats import gamma

from partita.kernels.mixture_chain import _log_concentration
from partita.kernels.mixture_exp import exp_rows
from partita.kernels.mixture_types import BLOCK, Sizes


@njit
def _exp(source, target, top):
    return exp_rows(source, target, source.size, top)


def test_exp_of_a_row_is_exact_to_the_last_bits():
    x = np.linspace(-690.0, 300.0, BLOCK)
    x[:5] = 0.0, 1e-9, -1e-9, np.log(2) / 2, -np.log(2) / 2
    found = np.empty(BLOCK)
    assert not _exp(x, found, 300.0)
    assert found == pytest.approx(np.exp(x), rel=2e-15)


def test_exp_is_cut_at_the_top_and_small_ones_vanish():
    found = np.empty(3)
    assert _exp(np.array([-1000.0, 2.0, 5.0]), found, 3.0)
    assert found[0] < 1e-300
    assert found[1:] == pytest.approx(np.exp([2.0, 3.0]), rel=2e-15)


def seated(labels, a, discount):
    """Log probability of a partition under Pitman-Yor, an item after another."""
    total, sizes = 0.0, []
    for i, k in enumerate(labels):
        chance = sizes[k] - discount if k < len(sizes) else a + discount * len(sizes)
        total += np.log(chance / (a + i))
        sizes += [0] * (k == len(sizes))
        sizes[k] += 1
    return total


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_the_concentration_is_weighed_by_its_prior_and_the_partition(discount):
    labels, a = [0, 1, 0, 2, 2, 0, 3, 1, 0], np.array([0.2, 1.0, 3.5, 20.0])
    prior = Sizes(0, discount, 0.0, 2.5, 0.7, np.empty(0), np.empty(0))
    found = [_log_concentration.py_func(prior, len(labels), 4, np.log(x)) for x in a]
    wanted = gamma.logpdf(a, 2.5, scale=1 / 0.7) + np.log(a)  # the density of log a
    wanted += [seated(labels, x, discount) for x in a]
    assert np.diff(found) == pytest.approx(np.diff(wanted), rel=1e-12)
