"""Small kernels of the sampler by themselves; those without a wrapper are called from one."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from partita.kernels.mixture_exp import exp_rows
from partita.kernels.mixture_types import BLOCK


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
