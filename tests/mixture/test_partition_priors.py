"""The numbers that priors of the partition give the sampler, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from partita.draws import Draws
from partita.errors import InvalidTypeError, InvalidValueError
from partita.mixture import (
    FiniteMixture,
    PitmanYor,
    partition_priors,
    predictive_density,
)


def test_names_and_refusals():
    assert partition_priors.named("mfm") == FiniteMixture()
    assert partition_priors.concentration(3) == (0.0, 0.0, 3.0)
    with pytest.raises(InvalidValueError, match="`partition` must be one of"):
        partition_priors.named("crp")
    with pytest.raises(InvalidTypeError, match="`partition`"):
        partition_priors.named(3)
    with pytest.raises(InvalidValueError, match="`discount`"):
        PitmanYor(1.0).log_size(3)
    with pytest.raises(InvalidValueError, match="`concentration`"):
        partition_priors.concentration((1, 2, 3))
    with pytest.raises(InvalidValueError, match="`concentration`"):
        partition_priors.concentration(0)


def long_sum(prior, n, t, size=500_000):
    """Log V_n(t) from its definition, factor by factor, over a fixed long range."""
    from scipy import stats
    from scipy.special import logsumexp

    k = np.arange(max(t, 1), size)
    pmf = (
        stats.geom(prior.rate) if prior.components == "geometric" else stats.poisson(prior.rate, 1)
    )
    value = pmf.logpmf(k)
    for j in range(t):
        value += np.log(k - j)
    for j in range(n):
        value -= np.log(prior.gamma * k + j)
    return logsumexp(value)


@pytest.mark.parametrize(
    "prior",
    [
        FiniteMixture(),
        FiniteMixture(0.3, "geometric", 0.001),
        FiniteMixture(2.0, "geometric", 0.0001),
        FiniteMixture(1.0, "poisson", 5000.0),
        FiniteMixture(50.0, "poisson", 3.0),
    ],
)
def test_v_against_a_long_sum(prior):
    n = 20
    found = prior.log_v(n, n + 1)
    assert found[0] == -np.inf
    for t in (1, 5, 21):
        assert found[t] == pytest.approx(long_sum(prior, n, t), abs=1e-9)


def test_v_of_many_items_obeys_its_recursion():
    """V_n(t) = gamma V_(n+1)(t + 1) + (n + gamma t) V_(n+1)(t) (Miller & Harrison 2018)."""
    prior, n, most = FiniteMixture(0.8, "geometric", 0.01), 10_000, 2001
    now, then = prior.log_v(n, most), prior.log_v(n + 1, most)
    t = np.arange(1, most)
    wanted = np.logaddexp(np.log(0.8) + then[2:], np.log(n + 0.8 * t) + then[1:-1])
    assert np.allclose(now[1:-1], wanted, rtol=0, atol=1e-7)


def test_v_that_cannot_be_summed_is_refused():
    for prior in (FiniteMixture(1.0, "poisson", 1e8), FiniteMixture(1.0, "geometric", 1e-9)):
        with pytest.raises(InvalidValueError, match="`rate` must leave the number of components"):
            prior.log_v(5, 6)


def test_a_prediction_places_one_item_more():
    """Of one cluster of six items the density is p(new) m(y) + p(joins) f(y), one f for all."""
    data = np.random.default_rng(0).normal(size=(6, 1))
    draws = Draws(np.zeros((1, 6), np.uint8))

    def density(**words):
        return predictive_density(draws, data, [0.5], rng=0, **words)[0]

    # The Dirichlet process, whose p(new) is known, twice: what m and f are at 0.5.
    chances = np.array([[1 / 7, 6 / 7], [3 / 9, 6 / 9]])
    m_and_f = np.linalg.solve(chances, [density(concentration=1.0), density(concentration=3.0)])
    prior = FiniteMixture(0.7)
    v = np.exp(prior.log_v(7, 7))
    weights = np.array([0.7 * v[2], (6 + 0.7) * v[1]])
    assert density(partition=prior) == pytest.approx(weights @ m_and_f / weights.sum(), rel=1e-9)
