"""Where new items belong: by hand, by our own sampler, whatever components are called."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import partita as pt
from partita.errors import InvalidValueError

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(-4, 1, (30, 2)), RNG.normal(4, 1, (20, 2))])
NEW = np.array([[-4.0, -4.0], [0.2, 0.0], [4.0, 3.0], [1.0, -1.0]])
LABELS = np.repeat([0, 1], [30, 20])


def test_two_draws_by_hand() -> None:
    z = [[0, 0, 0, 1], [1, 1, 0, 0]]
    new = np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.6, 0.4]]])
    align = pt.predict_memberships([0, 0, 1, 1], z, new)
    np.testing.assert_allclose(align, [[0.85, 0.15, 0], [0.45, 0.55, 0]], atol=1e-12)
    items = pt.predict_memberships([0, 0, 1, 1], z, new, method="items")
    first = (0.9 * 2 / 3 + 0.8) / 2  # two thirds of the companions in draw 0
    np.testing.assert_allclose(items[0], [first, 1 - first, 0], atol=1e-12)


def test_components_without_items_are_none() -> None:
    new = np.log([[[0.6, 0.1, 0.3]]])
    found = pt.predict_memberships([0, 0, 1], [[0, 0, 1]], new)
    np.testing.assert_allclose(found, [[0.6, 0.1, 0.3]], atol=1e-12)


def test_our_own_sampler_is_a_case_of_it() -> None:
    draws = pt.sample_mixture(X, n_draws=40, n_burn=40, n_chains=1, prior="conjugate", rng=0)
    params = pt.mixture.component_parameters(draws, X, rng=7)
    widest = int(draws.n_clusters.max())
    logs = np.full((draws.n_draws, len(NEW), widest), -np.inf)
    for m in range(draws.n_draws):
        sizes = np.bincount(draws.labels[m])
        for k, (mean, cov) in enumerate(zip(*params.of_draw(m), strict=True)):
            logs[m, :, k] = np.log(sizes[k]) + multivariate_normal.logpdf(NEW, mean, cov)
    ours = pt.mixture.join_probabilities(draws, X, NEW, LABELS, own_cluster=False, rng=7)
    found = pt.predict_memberships(LABELS, draws, logs, method="items")
    np.testing.assert_allclose(found[:, :-1], ours, atol=1e-9)
    assert found[:, -1].max() < 1e-9


def test_a_mixture_and_numbers_from_one() -> None:
    rng = np.random.default_rng(1)
    order = np.argsort(rng.random((50, 2)), axis=1)
    mu = np.array([-4.0, 4.0])[order]
    logs = -0.5 * (X[:, 0][None, :, None] - mu[:, None]) ** 2
    new = -0.5 * (NEW[:, 0][None, :, None] - mu[:, None]) ** 2
    mixture = pt.MarginalizedMixture(logs, np.zeros(50, dtype=int))
    soft = pt.predict_memberships(LABELS, mixture, new)
    exact = 1 / (1 + np.exp(8 * NEW[:, 0]))
    np.testing.assert_allclose(soft[:, 0], exact, atol=1e-9)
    codes = np.argsort(order, axis=1)[:, LABELS]
    hard = pt.predict_memberships(LABELS, codes + 1, new, first_code=1)
    np.testing.assert_allclose(hard, soft, atol=1e-9)


def test_what_is_wrong_is_said() -> None:
    z, new = [[0, 0, 1], [0, 1, 1]], np.zeros((2, 1, 2))
    with pytest.raises(InvalidValueError, match="must have the 2 draws of `draws` first; got 3"):
        pt.predict_memberships([0, 0, 1], z, np.zeros((3, 1, 2)))
    with pytest.raises(InvalidValueError, match="axis of `log_weights_new`.*1 components"):
        pt.predict_memberships([0, 0, 1], z, new[:, :, :1])
    with pytest.raises(InvalidValueError, match=r"unique\(\) leaves them"):
        pt.predict_memberships([0, 0, 1], pt.Draws(z).unique(), new)
