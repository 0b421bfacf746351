"""The core's own logarithm, exponential and log gamma, against those of SciPy and long doubles."""

import numpy as np
import pytest
from scipy import special

from partita import _core


def units_in_the_last_place(found, exact):
    return np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(float)))


@pytest.mark.parametrize("name", ["log", "log2"])
def test_logarithm_is_within_two_units_in_the_last_place(name):
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 20_000)), rng.uniform(0.5, 2, 20_000)])
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert units_in_the_last_place(getattr(_core, name)(x), exact) < 2


def test_exponential_is_within_two_units_in_the_last_place():
    x = np.random.default_rng(0).uniform(-707, 709, 20_000)
    assert units_in_the_last_place(_core.exp(x), np.exp(x.astype(np.longdouble))) < 2


def test_powers_of_two_have_exact_logarithms():
    powers = np.arange(-1074, 1024)
    np.testing.assert_array_equal(_core.log2(2.0**powers), powers)


def test_edges():
    inf, nan = np.inf, np.nan
    np.testing.assert_array_equal(
        _core.log(np.array([0, -1, inf, nan, 1])), [-inf, nan, inf, nan, 0]
    )
    np.testing.assert_array_equal(_core.exp(np.array([-inf, inf, nan, 0])), [0, inf, nan, 1])


def test_log_gamma():
    x = np.exp(np.random.default_rng(0).uniform(-10, 12, 20_000))
    np.testing.assert_allclose(_core.lgamma(x), special.gammaln(x), rtol=1e-13, atol=1e-14)
