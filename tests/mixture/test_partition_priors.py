"""Runs without data reproduce the priors of the partition, whatever moves are used."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln
from tests.mixture import chains, exact

from partita.errors import InvalidTypeError, InvalidValueError
from partita.mixture import (
    DirichletProcess,
    FiniteMixture,
    Independent,
    PitmanYor,
    assembly,
    partition_priors,
)

N = 6


def seating(rows, concentration, discount):
    """Probabilities by the restaurant's sequential rule."""
    out = []
    for row in rows:
        p, sizes = 1.0, []
        for i, k in enumerate(row):
            if k == len(sizes):
                p *= (concentration + discount * len(sizes)) / (concentration + i)
                sizes.append(1)
            else:
                p *= (sizes[k] - discount) / (concentration + i)
                sizes[k] += 1
        out.append(p)
    return np.array(out)


def finite(rows, prior):
    """Sum over the number of components of multinomial-Dirichlet probabilities."""
    k = np.arange(1, 3000)
    p_k = np.exp(prior.log_components(k))
    assert p_k.sum() == pytest.approx(1.0)
    out = []
    for row in rows:
        sizes = np.bincount(row)
        t, g = sizes.size, prior.gamma
        with np.errstate(divide="ignore"):
            ways = np.where(k >= t, np.exp(gammaln(k + 1) - gammaln(np.maximum(k - t, 0) + 1)), 0)
        inside = np.exp(
            gammaln(g * k) - gammaln(g * k + N) + (gammaln(sizes + g) - gammaln(g)).sum()
        )
        out.append((p_k * ways * inside).sum())
    return np.array(out)


ROWS = exact.partitions(N)
PRIORS = {
    "dirichlet": (DirichletProcess(), seating(ROWS, 1.3, 0.0)),
    "pitman-yor": (PitmanYor(0.4), seating(ROWS, 1.3, 0.4)),
    "mfm": (FiniteMixture(0.7), finite(ROWS, FiniteMixture(0.7))),
    "mfm-poisson": (
        FiniteMixture(1.0, "poisson", 2.0),
        finite(ROWS, FiniteMixture(1.0, "poisson", 2.0)),
    ),
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize(
    ("items", "sm", "re"), [("explicit", 0, 0), ("explicit", 1, 1), ("none", 2, 1)]
)
def test_prior_alone(name, items, sm, re):
    """The proposals still look at the data, which must not matter."""
    prior, wanted = PRIORS[name]
    assert wanted.sum() == pytest.approx(1.0)
    X = np.random.default_rng(0).normal(size=(N, 1))
    model = assembly.make_model(
        Independent().complete(X, "full"), prior, (0.0, 0.0, 1.3), with_data=False
    )
    state = chains.fresh(model, np.zeros(N, np.int64), 1.3)
    thin = 5 if items == "none" else 1
    _, labels, _ = chains.advance(
        model, state, n_draws=100_000, thin=thin, items=items, sm=sm, re=re
    )
    assert exact.total_variation(labels, ROWS, wanted) < 0.02
    n_clusters = np.bincount(labels.max(axis=1) + 1, minlength=N + 1)[1:] / len(labels)
    of_rows = np.array([max(row) + 1 for row in ROWS])
    exactly = np.array([wanted[of_rows == t].sum() for t in range(1, N + 1)])
    assert np.abs(n_clusters - exactly).max() < 0.01


@pytest.mark.parametrize("prior", [DirichletProcess(), PitmanYor(0.3)])
def test_concentration_given_nothing_is_its_prior(prior):
    """Without data the concentration must come out as Gamma(2, rate 1)."""
    from scipy import stats

    X = np.random.default_rng(0).normal(size=(N, 1))
    model = assembly.make_model(
        Independent().complete(X, "full"), prior, (2.0, 1.0, 2.0), with_data=False
    )
    state = chains.fresh(model, np.zeros(N, np.int64), 2.0)
    _, _, traces = chains.advance(model, state, n_draws=20_000, thin=5)
    values = traces[::10, 1]
    assert stats.kstest(values, stats.gamma(2.0).cdf).pvalue > 1e-3


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
    from partita.mixture import assembly, priors

    prior = partition_priors.FiniteMixture()
    data = np.random.default_rng(0).normal(size=(6, 1))
    resolved = priors.named("independent", None).complete(data, "full")
    model = assembly.make_model(resolved, prior, (0.0, 0.0, 1.0), n_new=1)
    seven = prior.log_v(7, 7)
    assert np.allclose(model.sizes.log_more[1:6], np.diff(seven)[1:6])
