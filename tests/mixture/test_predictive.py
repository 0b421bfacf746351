"""New items: densities that integrate to one, against the exact answer where there is one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.mixture import exact

import partita as pt
from partita.errors import InvalidValueError, PartitaWarning
from partita.mixture import (
    Conjugate,
    FiniteMixture,
    Independent,
    Paper,
    PitmanYor,
    component_parameters,
    join_probabilities,
    predictive_density,
)

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(-4, 1, 30), rng.normal(4, 0.5, 20)])
DRAWS = pt.sample_mixture(X, n_draws=500, n_burn=300, rng=1)


def test_density_integrates_to_one_and_follows_the_data():
    grid = np.linspace(-60, 60, 24_001)
    density = predictive_density(DRAWS, X, grid, rng=0)
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=0.01)
    at = np.interp([-4.0, 0.0, 4.0], grid, density)
    assert at[1] < 0.1 * min(at[0], at[2])


def test_density_of_one_partition_by_exact_predictives():
    """Conjugate prior: the mean over draws of (mu, T) is a Student density."""
    Y = rng.normal(size=(5, 2))
    prior, a = Conjugate(np.zeros(2), 0.3, np.eye(2), 4.0), 0.7
    labels = [0, 0, 0, 1, 1]
    points = np.array([[0.5, 0.5], [-1.0, 2.0]])
    draws = pt.Draws([labels] * 20_000)
    found = predictive_density(
        draws, Y, points, prior=prior, concentration=a, max_draws=20_000, rng=0
    )

    def log_m(rows):
        return exact.log_marginal_conjugate(rows, np.zeros(2), 0.3, np.eye(2), 4.0)

    for y, value in zip(points, found, strict=True):
        wanted = a / (5 + a) * np.exp(log_m(y[None]))
        for own in (Y[:3], Y[3:]):
            wanted += len(own) / (5 + a) * np.exp(log_m(np.vstack([own, y])) - log_m(own))
        assert value == pytest.approx(wanted, rel=0.02)


def test_joining_an_estimate():
    best = pt.estimate(DRAWS, loss="vi", rng=0)
    p = join_probabilities(DRAWS, X, [-4.0, 4.0, 0.0, 500.0], best.labels, rng=0)
    assert p.shape == (4, best.n_clusters + 1)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert p[0, best.labels[0]] > 0.9
    assert p[1, best.labels[-1]] > 0.9
    assert p[3, -1] > 0.9
    joined = join_probabilities(DRAWS, X, [-4.0, 500.0], best.labels, own_cluster=False, rng=0)
    assert joined.shape == (2, best.n_clusters)
    assert np.allclose(joined.sum(axis=1), 1.0)
    assert joined[0] == pytest.approx(p[0, :-1] / p[0, :-1].sum(), abs=0.01)


def test_labels_of_an_estimate_may_be_any():
    labels = np.where(X < 0, 0, 1)
    wanted = join_probabilities(DRAWS, X, [-4.0, 0.0], labels, rng=0)
    assert wanted.shape == (2, 3)
    for other in (labels * 2 + 5, labels - 3, np.array(["a", "b"])[labels]):
        assert np.array_equal(join_probabilities(DRAWS, X, [-4.0, 0.0], other, rng=0), wanted)


def test_items_left_out_of_an_estimate_are_in_the_last_column():
    labels = np.where(X < 0, 0, 1)
    whole = join_probabilities(DRAWS, X, [-4.0, 0.0], labels, rng=0)
    found = join_probabilities(DRAWS, X, [-4.0, 0.0], np.where(X < 0, 0, -1), rng=0)
    assert np.allclose(found, np.column_stack([whole[:, 0], whole[:, 1:].sum(axis=1)]))


SHORT = {"n_draws": 20, "n_burn": 20, "rng": 0}
TOLD = {"prior": "paper", "df": 3.0, "covariance": "diagonal", "partition": "mfm"}


def test_the_draws_say_what_they_were_sampled_under(tmp_path):
    draws = pt.sample_mixture(X, **TOLD, **SHORT)
    assert draws.about == TOLD
    draws.save(tmp_path / "d.npz")
    told = predictive_density(draws.labels, X, [0.0], rng=0, **TOLD)
    for each in (draws, pt.read_draws(tmp_path / "d.npz")):
        assert predictive_density(each, X, [0.0], rng=0) == told
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert predictive_density(each, X, [0.0], rng=0, **TOLD) == told
            same = {"prior": Paper(df=3.0), "partition": FiniteMixture()}
            assert predictive_density(each, X, [0.0], rng=0, **same) == told
    plain = predictive_density(draws.labels, X, [0.0], rng=0, partition="mfm")
    assert told != plain
    prior = {name: TOLD[name] for name in ("prior", "df", "covariance")}
    a, b = (
        component_parameters(draws, X, rng=0),
        component_parameters(draws.labels, X, rng=0, **prior),
    )
    assert np.array_equal(a.covariances, b.covariances)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prior", "independent"),
        ("prior", Conjugate()),
        ("prior", Paper(df=4.0)),
        ("df", 1.0),
        ("covariance", "full"),
        ("partition", "pitman-yor"),
    ],
)
def test_a_contradiction_is_said(name, value):
    draws = pt.sample_mixture(X, **TOLD, **SHORT)
    with pytest.warns(PartitaWarning, match="is .* but the draws were sampled with"):
        predictive_density(draws, X, [0.0], rng=0, **{name: value})


def test_a_prior_without_a_name_must_be_given():
    prior = Conjugate(df=3.0)
    draws = pt.sample_mixture(X, prior=prior, **SHORT)
    assert draws.about == {"covariance": "full", "partition": "dirichlet"}
    with pytest.raises(InvalidValueError, match="`prior` must be given"):
        predictive_density(draws, X, [0.0])
    assert predictive_density(draws, X, [0.0], prior=prior, rng=0).shape == (1,)
    both = pt.Draws.concat([DRAWS, pt.sample_mixture(X, prior="paper", **SHORT)])
    with pytest.raises(InvalidValueError, match="`prior` must be given"):
        component_parameters(both, X)
    draws = pt.sample_mixture(X, partition=PitmanYor(0.5), **SHORT)
    with pytest.raises(InvalidValueError, match="`partition` must be given"):
        predictive_density(draws, X, [0.0])
    assert component_parameters(draws, X, rng=0).sizes.sum() == 50 * 20


def test_a_diagonal_precision_has_the_expectation_of_its_scale():
    """E[T_jj] = df R0_jj, also where R0 is not diagonal; R0^-1 is what the sampler works on."""
    scale = np.array([[2.0, 1.2], [1.2, 1.0]])
    Y = np.random.default_rng(0).normal(size=(5, 2))
    for shape, inverse in [
        ("full", np.linalg.inv(scale)),
        ("diagonal", np.diag([0.5, 1.0])),
        ("spherical", np.diag([0.75, 0.75])),
    ]:
        prior = Independent([0.0, 0.0], [1.0, 1.0], scale, 3.0)
        assert np.allclose(prior.complete(Y, shape).inverse_scale, inverse)


def test_parameters_have_the_data_s_units():
    drawn = component_parameters(DRAWS, 1000 * X + 7, rng=0)
    means, _ = drawn.of_draw(0)
    assert means.shape == (DRAWS.n_clusters[0], 1)
    own = 1000 * X[DRAWS.labels[0] == 0] + 7
    of_first = np.array([drawn.of_draw(m)[0][0, 0] for m in range(100)])
    assert of_first.mean() == pytest.approx(own.mean(), abs=300)
    spread = np.median([drawn.of_draw(m)[1][0, 0, 0] ** 0.5 for m in range(100)])
    assert spread == pytest.approx(own.std(), rel=0.5)
    assert drawn.sizes.sum() == 50 * DRAWS.n_draws


def test_refusals():
    with pytest.raises(InvalidValueError, match="`concentration` must be given"):
        predictive_density(DRAWS.labels, X, [0.0])
    with pytest.raises(InvalidValueError, match="`points` must have the 1 columns"):
        predictive_density(DRAWS, X, [[0.0, 1.0]])
    with pytest.raises(InvalidValueError, match="`X` must have a row for each"):
        predictive_density(DRAWS, X[:5], [0.0])
    assert predictive_density(DRAWS.labels, X, [0.0], partition="mfm", rng=0).shape == (1,)


def test_progress_counts_every_draw_used(monkeypatch):
    from partita.mixture import predictive

    counted = []

    class Bar:
        def __init__(self, total, label):
            counted.append((total, label))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            counted.append("closed")

        def advance(self, n):
            counted.append(n)

    monkeypatch.setattr(predictive, "progress", Bar)
    join_probabilities(DRAWS, X, [0.0], np.arange(50) >= 30, max_draws=40, rng=0)
    assert counted[0] == (40, "predicting")
    assert sum(counted[1:-1]) == 40
    assert counted[-1] == "closed"
