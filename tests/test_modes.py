"""Several partitions instead of one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
import partita as pt

FIRST = np.repeat([0, 1, 2, 3], 10)
SECOND = np.repeat([0, 1, 2], [10, 15, 15])


def two_modes(n_draws=600, share=0.63, moved=0.04, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.random(n_draws) >= share
    labels = np.where(which[:, None], SECOND, FIRST)
    noise = rng.random(labels.shape) < moved
    return np.where(noise, rng.integers(0, 4, labels.shape), labels), which


@pytest.mark.parametrize("n_modes", [2, "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_two_modes_made_by_hand(n_modes, seed):
    labels, which = two_modes(seed=seed)
    modes = pt.summarize_modes(labels, n_modes=n_modes, max_modes=4, rng=seed)
    assert modes.n_modes == 2
    assert naive.vi(modes.labels[0], FIRST) == pytest.approx(0, abs=1e-12)
    assert naive.vi(modes.labels[1], SECOND) == pytest.approx(0, abs=1e-12)
    assert_allclose(modes.weights, [1 - which.mean(), which.mean()], atol=0.02)
    assert ((modes.nearest == 1) == which).mean() > 0.98


def test_three_modes_and_another_loss():
    rng = np.random.default_rng(0)
    third = np.arange(40) % 4
    which = rng.choice(3, size=900, p=[0.5, 0.3, 0.2])
    labels = np.stack([FIRST, SECOND, third])[which]
    labels = np.where(rng.random(labels.shape) < 0.03, rng.integers(0, 4, labels.shape), labels)
    modes = pt.summarize_modes(labels, loss="binder", max_modes=5, rng=0)
    assert_allclose(modes.weights, np.bincount(which) / 900, atol=0.02)
    assert pt.adjusted_rand_index(modes.labels[2], third) == 1


def test_one_mode_is_one_mode():
    labels, _ = two_modes(share=1.0)
    modes = pt.summarize_modes(labels, rng=0, max_modes=4)
    assert modes.n_modes == 1
    assert_allclose(modes.distance, pt.expected_loss(FIRST, labels), rtol=1e-9)
    assert modes.weights.tolist() == [1.0]


def test_what_is_reported_is_what_the_definition_says(draws):
    modes = pt.summarize_modes(draws, n_modes=3, rng=1)
    far = np.array([[naive.vi(d, mode) for d in draws.labels] for mode in modes.labels])
    assert_allclose(modes.distance, far.min(axis=0).mean(), rtol=1e-9)
    assert np.array_equal(modes.nearest, far.argmin(axis=0))
    assert_allclose(modes.weights, np.bincount(modes.nearest) / 400)
    assert (np.diff(modes.weights) <= 0).all()
    within = [far[k, modes.nearest == k].mean() for k in range(3)]
    assert_allclose(modes.expected_loss, within, rtol=1e-9)
    assert modes.to_frame()["n_clusters"].tolist() == [len(set(m)) for m in modes.labels.tolist()]
    assert repr(modes).startswith("Modes(0.")


def test_more_modes_are_never_farther(draws):
    modes = pt.summarize_modes(draws, rng=0, max_modes=5)
    curve = modes.curve["distance"].to_numpy()
    assert (np.diff(curve) <= 1e-12).all()
    best = pt.estimate(draws, search="average")
    assert curve[0] <= best.expected_loss + 1e-12


def test_weights_are_repetitions_and_zero_weights_are_nothing():
    rows = np.array([FIRST, SECOND, np.zeros(40, int)])
    modes = pt.summarize_modes(pt.Draws(rows, weights=[6, 4, 0]), rng=0)
    assert_allclose(modes.weights, [0.6, 0.4])
    assert modes.distance == pytest.approx(0, abs=1e-12)
    assert modes.nearest.shape == (3,)


@pytest.mark.parametrize("rows", [[[0, 0, 1]], [[0, 0, 0]] * 4, [[0]]])
def test_one_draw_one_cluster_one_item(rows):
    modes = pt.summarize_modes(rows, rng=0)
    assert (modes.n_modes, modes.distance) == (1, 0.0)
    assert modes.labels.tolist() == [rows[0]]


def test_one_seed_one_answer_on_any_number_of_threads():
    labels, _ = two_modes(200)
    one, two, again = (pt.summarize_modes(labels, rng=5, n_jobs=j) for j in (1, 2, 1))
    assert np.array_equal(one.labels, two.labels)
    assert one.distance == two.distance == again.distance
    assert one.curve.equals(two.curve)


@pytest.mark.parametrize("method", ["wasserstein", "peaks"])
def test_what_modes_have_between_them(method):
    labels, which = two_modes(300)
    modes = pt.summarize_modes(labels, method=method, rng=0)
    assert modes.n_modes == 2
    assert ((modes.nearest == 1) == which).mean() > 0.95
    between = modes.between()
    assert_allclose(between.loc[0, 1], naive.vi(*modes.labels), atol=1e-12)
    assert_allclose(np.diag(between), 0, atol=1e-12)
    shares = modes.shares(0, 1)
    assert_allclose(shares.sum(), between.loc[0, 1])
    i, n = 13, 40
    with_i = modes.labels == modes.labels[:, [i]]
    logs = np.log2([with_i[0].sum(), with_i[1].sum(), with_i.all(axis=0).sum()])
    assert_allclose(shares[i], (logs[0] + logs[1] - 2 * logs[2]) / n, atol=1e-12)
    together = modes.meet()[:, None] == modes.meet()[None, :]
    both = (modes.labels[:, :, None] == modes.labels[:, None, :]).all(axis=0)
    assert np.array_equal(together, both)
    own = naive.similarity(labels[modes.nearest == 1])
    assert_allclose(modes.similarity(1).to_dense(), own, atol=1e-6)
    assert modes.to_frame()["n_draws"].tolist() == np.bincount(modes.nearest).tolist()
    with pytest.raises(ValueError, match="`mode` must be at most 1"):
        modes.similarity(2)


def test_peaks_are_draws_and_one_peak_is_one():
    labels, _ = two_modes(200, share=1.0)
    one = pt.summarize_modes(labels, method="peaks", rng=0)
    assert one.n_modes == 1
    assert (labels == one.labels[0]).all(axis=1).any() or pt.adjusted_rand_index(
        one.labels[0], FIRST
    ) == pytest.approx(1)
    assert pt.summarize_modes(labels, method="peaks", n_modes=3).n_modes <= 3
    assert pt.summarize_modes([[0, 0, 1]], method="peaks").labels.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"method": "means"}, "`method` must be one of 'wasserstein', 'peaks'"),
        ({"n_modes": "many"}, "`n_modes` must be a whole number or 'auto'; got 'many'"),
        ({"n_modes": 0}, "`n_modes` must be at least 1"),
        ({"n_modes": 3}, "`n_modes` must be at most 2"),
        ({"max_modes": 0}, "`max_modes` must be at least 1"),
        ({"loss": "pear"}, "Use 'omari'"),
    ],
)
def test_modes_that_cannot_be_are_refused(words, match):
    with pytest.raises(ValueError, match=match):
        pt.summarize_modes([[0, 0, 1], [0, 1, 1]], **words)


def test_weights_and_nearest_are_one_assignment_when_draws_tie():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        draws = pt.Draws(rng.integers(0, 3, size=(20, 4)), weights=rng.random(20))
        modes = pt.summarize_modes(draws, n_modes=4, rng=0)
        shares = np.bincount(modes.nearest, draws.probabilities, len(modes.weights))
        np.testing.assert_allclose(modes.weights, shares, atol=1e-12)
        assert (np.diff(modes.weights) <= 1e-12).all()
