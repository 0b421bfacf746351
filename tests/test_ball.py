"""Credible balls: the R peer's, the galaxy's, and coverage by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import naive
import partita as pt
from partita import losses
from partita.partitions import canonical_rows, enumerate_partitions

DRAW_BY_DRAW = sorted(naive.ON_DRAWS)


def rows(partitions):
    return {tuple(row) for row in canonical_rows(np.asarray(partitions)).tolist()}


@pytest.fixture(scope="module")
def center(reference):
    return reference["estimates"]["minVI_avg"]["labels"]


def test_the_vi_ball_of_the_peer(center, draws, reference):
    theirs = reference["credible_balls"]["VI"]
    ball = pt.credible_ball(center, draws, loss="vi", prob=0.95)
    assert ball.radius == ball.horizontal.distance
    for ours, name, distance in (
        (ball.horizontal, "horizontal", "dist_horizontal"),
        (ball.upper_vertical, "upper_vertical", "dist_upper"),
        (ball.lower_vertical, "lower_vertical", "dist_lower"),
    ):
        assert_allclose(ours.distance, theirs[distance], rtol=0, atol=1e-10)
        assert rows(ours.labels) == rows(np.transpose(theirs[name]))


def test_the_binder_ball_of_the_peer_with_the_tied_draw_it_dropped(center, draws, reference):
    """R keeps ⌈pM⌉ draws: of two tied at the radius it drops one, here that of most clusters."""
    theirs = reference["credible_balls"]["Binder"]
    ball = pt.credible_ball(center, draws, loss="binder", prob=0.95)
    assert_allclose(ball.horizontal.distance, theirs["dist_horizontal"], rtol=0, atol=1e-10)
    assert_allclose(ball.upper_vertical.distance, theirs["dist_upper"], rtol=0, atol=1e-10)
    assert rows(ball.upper_vertical.labels) == rows(np.transpose(theirs["upper_vertical"]))
    assert rows(ball.horizontal.labels) > rows(np.transpose(theirs["horizontal"]))
    assert theirs["dist_lower"] == pytest.approx(0.215)
    assert_allclose(ball.lower_vertical.distance, 776 / 3600, rtol=0, atol=1e-12)
    assert ball.lower_vertical.labels.shape == (1, 60)
    assert ball.probability > 0.95


def test_the_galaxy_ball(galaxy_draws):
    best = pt.estimate(galaxy_draws, method="minvi")
    ball = pt.credible_ball(best, galaxy_draws, loss="vi", prob=0.95)
    assert_allclose(ball.radius, 1.832173, atol=5e-7)
    assert_allclose(ball.upper_vertical.distance, 1.363592, atol=5e-7)
    assert_allclose(ball.lower_vertical.distance, 1.669325, atol=5e-7)


@pytest.fixture(scope="module")
def conjugate():
    """Seven points, a Dirichlet process mixture of Gaussians: all 877 partitions, exactly."""
    x = np.array([-2.1, -1.7, -1.5, 0.1, 0.4, 1.9, 2.2])
    partitions = enumerate_partitions(x.size)
    log_p = np.zeros(len(partitions))
    for r, labels in enumerate(partitions):
        for k in range(labels.max() + 1):
            of_k = x[labels == k]
            covariance = 0.3 * np.eye(of_k.size) + 2.0  # mean ~ N(0, 2), noise variance 0.3
            log_p[r] += multivariate_normal(np.zeros(of_k.size), covariance).logpdf(of_k)
            log_p[r] += np.log(1.0) + np.sum(np.log(np.arange(1, of_k.size)))
    p = np.exp(log_p - log_p.max())
    return partitions, p / p.sum()


@pytest.mark.parametrize("loss", ["vi", "binder", "nid"])
@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
def test_coverage_of_the_exact_posterior(conjugate, loss, prob):
    """The exact posterior as weights: the ball holds prob, and no smaller one does."""
    partitions, p = conjugate
    best = partitions[p.argmax()]
    far = np.array([losses.NAMES[loss](c, best) for c in partitions])
    ball = pt.credible_ball(best, pt.Draws(partitions, weights=p), loss=loss, prob=prob)
    assert p[far <= ball.radius + 1e-12].sum() >= prob
    assert p[far < ball.radius - 1e-12].sum() < prob
    assert_allclose(ball.probability, p[far <= ball.radius + 1e-12].sum())


@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
def test_coverage_of_a_sample_within_monte_carlo_error(conjugate, prob):
    partitions, p = conjugate
    best = partitions[p.argmax()]
    far = np.array([losses.VI()(c, best) for c in partitions])
    n_draws = 4000
    error = 4 * np.sqrt(prob * (1 - prob) / n_draws)
    for seed in range(5):
        drawn = np.random.default_rng(seed).choice(len(p), size=n_draws, p=p)
        ball = pt.credible_ball(best, partitions[drawn], prob=prob)
        assert p[far <= ball.radius + 1e-12].sum() >= prob - error
        assert p[far < ball.radius - 1e-12].sum() <= prob + error


@pytest.mark.parametrize("loss", DRAW_BY_DRAW)
@given(
    labels=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=9),
    counts=st.lists(st.integers(1, 4), min_size=9, max_size=9),
    prob=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)
def test_every_loss_against_the_definition(loss, labels, counts, prob):
    """Slowly, from the naive losses; weights are repetitions."""
    weights = np.array(counts[: len(labels)], dtype=float)
    ball = pt.credible_ball(labels[0], pt.Draws(labels, weights=weights), loss=loss, prob=prob)
    far = np.array([naive.ON_DRAWS[loss](row, labels[0]) for row in labels])
    p = weights / weights.sum()
    radius = min(r for r in far if p[far <= r + 1e-12].sum() >= prob - 1e-12)
    assert_allclose(ball.radius, radius, atol=1e-12)
    inside = np.flatnonzero(far <= radius + 1e-12)
    k = np.array([len(set(row)) for row in labels])
    for bound, kept in (
        (ball.horizontal, inside),
        (ball.upper_vertical, inside[k[inside] == k[inside].min()]),
        (ball.lower_vertical, inside[k[inside] == k[inside].max()]),
    ):
        edge = kept[far[kept] >= far[kept].max() - 1e-12]
        assert_allclose(bound.distance, far[kept].max(), atol=1e-12)
        assert rows(bound.labels) == rows([labels[m] for m in edge])
    repeated = pt.credible_ball(
        labels[0], np.repeat(labels, weights.astype(int), axis=0), prob=prob, loss=loss
    )
    assert_allclose(repeated.radius, ball.radius, atol=1e-12)


def test_a_loss_of_one_s_own_and_a_generalised_one(draws, center):
    class Differs:
        needs = "draws"

        def __call__(self, truth, labels):
            return float(len(set(truth)) != len(set(labels)))

    assert pt.credible_ball(center, draws, loss=Differs(), prob=0.1).radius == 0.0
    assert pt.credible_ball(center, draws, loss=Differs(), prob=1).radius == 1.0
    split, joined = (
        pt.credible_ball(center, draws, loss=losses.VI(a=a)).radius for a in (0.5, 1.5)
    )
    assert split != joined


def test_zero_weights_one_draw_one_cluster():
    never = pt.Draws([[0, 0, 1], [0, 1, 2]], weights=[1, 0])
    ball = pt.credible_ball([0, 0, 1], never, prob=1)
    assert (ball.radius, ball.probability) == (0.0, 1.0)
    assert ball.distances.shape == (2,)
    assert rows(ball.lower_vertical.labels) == {(0, 0, 1)}
    one = pt.credible_ball([0, 0, 0], [[0, 0, 0]])
    assert (one.radius, one.horizontal.n_clusters) == (0.0, 1)
    everywhere = pt.credible_ball([0, 0], np.zeros((50, 2), int))
    assert len(everywhere.horizontal.labels) == 1


def test_membership_of_a_ball_and_its_frame(draws, center):
    ball = pt.credible_ball(center, draws)
    assert center in ball
    assert ball.lower_vertical.labels[0] in ball
    assert np.arange(60) not in ball
    frame = ball.to_frame()
    assert frame.loc["horizontal", "distance"] == ball.radius
    assert frame["n_clusters"].tolist() == [5, 3, 5]
    assert "0.95 of the posterior within vi" in repr(ball)
    assert "1 partition at" in repr(ball.horizontal)


def p_by_hand(labels, rows):
    """The definition, for draws of one chain: the first half is the kernel."""
    half = (len(rows) + 1) // 2

    def score(one):
        return np.mean([np.exp(-naive.vi(draw, one) / 2) for draw in rows[:half]])

    others = [score(draw) for draw in rows[half:]]
    return (1 + sum(other <= score(labels) + 1e-9 for other in others)) / (len(others) + 1)


def test_p_values_by_the_definition(draws, center):
    rows = draws.labels[:41]
    ball = pt.credible_ball(center, rows)
    asked = [center, np.zeros(60, int), np.arange(60), rows[40]]
    assert_allclose(ball.p_value(asked), [p_by_hand(one, rows) for one in asked])
    assert ball.p_value(asked[0]) == pytest.approx(ball.p_value(asked)[0])
    assert ball.p_value(asked[0]) > ball.p_value(asked[1])
    doubled = pt.Draws(rows, weights=np.full(41, 2.0))
    assert_allclose(pt.credible_ball(center, doubled).p_value(asked), ball.p_value(asked))
    with pytest.raises(ValueError, match="one label for each of the 60 items"):
        ball.p_value([0, 1])


def test_a_p_value_covers(conjugate):
    """A partition from the posterior has a p-value of at most x with probability at most x."""
    partitions, p = conjugate
    rng, levels, n_sets = np.random.default_rng(0), np.array([0.05, 0.1, 0.3, 0.6]), 120
    held = np.zeros((n_sets, levels.size))
    for row in held:
        draws = partitions[rng.choice(len(p), size=200, p=p)]
        found = pt.credible_ball(draws[0], draws).p_value(partitions)
        row[:] = [p[found <= level].sum() for level in levels]
    error = held.std(axis=0) / np.sqrt(n_sets)
    assert (held.mean(axis=0) <= levels + 4 * error).all()
    assert held.mean(axis=0)[1] > 0.02  # and it is not empty words: some are refused


def test_could_these_two_clusters_be_one():
    rng = np.random.default_rng(0)
    apart = np.repeat([0, 1, 2], 10)
    joined = np.minimum(apart, 1)
    which = rng.random(600) < 0.3
    labels = np.where(which[:, None], joined, apart)
    labels = np.where(rng.random(labels.shape) < 0.02, rng.integers(0, 3, labels.shape), labels)
    ball = pt.credible_ball(apart, labels)
    assert ball.p_value(apart) > ball.p_value(joined) > 0.05
    assert ball.p_value(np.where(apart == 2, 0, apart)) < 0.05  # two others never are
    assert ball.p_value(np.zeros(30, int)) < 0.01


def test_threads_change_nothing(center, draws):
    one, two = (pt.credible_ball(center, draws, n_jobs=j).distances for j in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"prob": 1.5}, r"`prob` must lie in \(0, 1\]; got 1.5"),
        ({"prob": 0}, r"`prob` must lie in"),
        ({"loss": "vi-lower-bound"}, "Use 'vi'"),
        ({"loss": "pear"}, "Use 'omari'"),
        ({"loss": "nearest"}, "`loss` must be one of"),
        ({"labels": [0, 1]}, "one label for each of the 60 items; got 2"),
    ],
)
def test_what_cannot_be_is_refused(words, match, center, draws):
    call = {"labels": center, "draws": draws} | words
    with pytest.raises(ValueError, match=match):
        pt.credible_ball(**call)


@pytest.mark.parametrize(
    ("own", "used"),
    [
        ("binder", "binder"),
        ("nvi", "nvi"),
        ("omari", "omari"),
        ("pear", "vi"),
        ("vi-lower-bound", "vi"),
        ("zero-one", "vi"),
    ],
)
def test_the_default_is_the_loss_of_the_estimate(own, used, draws, tmp_path):
    best = pt.estimate(draws, loss=own, search="average")
    ball = pt.credible_ball(best, draws)
    assert losses.name_of(ball.loss) == used
    assert f"within {used} " in repr(ball)
    assert ball.radius == pt.credible_ball(best.labels, draws, loss=used).radius
    best.save(tmp_path / "best.npz")
    kept = pt.Estimate.load(tmp_path / "best.npz")
    assert losses.name_of(pt.credible_ball(kept, draws).loss) == used
    assert losses.name_of(pt.credible_ball(best.labels, draws).loss) == "vi"
