"""Some draws that stand for all."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita import plots
from partita.draws import representative
from partita.errors import InvalidValueError

TOGETHER, APART = np.zeros(1_200, int), np.arange(1_200) * 2 // 1_200


def taking_turns(n_draws, chains):
    """One chain has all items together, the other two halves; their draws alternate."""
    turn = np.arange(n_draws) % 2
    labels = np.where(turn[:, None] == 0, TOGETHER, APART)
    return pt.Draws(labels, chains=turn if chains else None)


@pytest.mark.parametrize("n_draws", [1_002, 2_000, 3_334, 4_000])
def test_chains_that_take_turns_are_all_met(n_draws):
    found = plots.average_similarity(taking_turns(n_draws, True), max_cells=2)
    np.testing.assert_allclose(found.values, [[1, 0.5], [0.5, 1]], atol=1e-6)
    assert found.note == f"1,000 of {n_draws:,} draws"


@pytest.mark.parametrize("n_draws", [2_000, 4_000, 6_000])
def test_chains_that_take_turns_untold(n_draws):
    found = plots.average_similarity(taking_turns(n_draws, False), max_cells=2)
    np.testing.assert_allclose(found.values, [[1, 0.5], [0.5, 1]], atol=0.01)


def test_a_heavy_draw_has_its_weight():
    labels = np.tile(APART, (2_000, 1))
    labels[777] = TOGETHER
    weights = np.ones(2_000)
    weights[777] = 1_000.0
    found = plots.average_similarity(pt.Draws(labels, weights=weights), max_cells=2).values
    assert found[0, 1] == pytest.approx(1_000 / 2_999, abs=2e-3)


def test_draws_of_no_weight_are_never_taken():
    labels = np.tile(np.arange(4), (3_000, 1))
    labels[::3] = 0
    weights = np.ones(3_000)
    weights[::3] = 0.0
    some = representative(pt.Draws(labels, weights=weights), 1_000)
    assert some.n_draws == 1_000
    assert some.weights is None
    assert set(some.n_clusters.tolist()) == {4}
    last = pt.Draws(labels, weights=np.r_[1.0, np.zeros(2_999)])
    assert set(representative(last, 7).n_clusters.tolist()) == {1}


@pytest.mark.parametrize("most", [1, 7, 400, 999, 1_000])
def test_shares_of_weight_within_two_draws(most):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 5, 1_001)
    labels = (np.arange(6) <= kind[:, None]).astype(int)
    draws = pt.Draws(labels, weights=rng.random(1_001) ** 8, chains=kind)
    some = representative(draws, most)
    assert some.n_draws == most
    found = np.bincount((some.labels == 0).sum(axis=1) - 1, minlength=5)
    expected = np.bincount(kind, draws.probabilities, 5) * most
    assert np.abs(found - expected).max() < 2
    np.testing.assert_array_equal(representative(draws, most).labels, some.labels)


def test_few_draws_come_back_as_they_are():
    draws = pt.Draws([[0, 0], [0, 1]], weights=[1, 3])
    assert representative(draws, 2) is draws
    with pytest.raises(InvalidValueError, match="most"):
        representative(draws, 0)


def test_the_figure_says_how_many_draws_it_shows():
    ax = plots.similarity(taking_turns(1_002, True), APART)
    assert ax.get_xlabel() == "1,200 items, by cluster; 1,000 of 1,002 draws"


@pytest.mark.parametrize("n_clusters", [2, 60, 200])
def test_averages_are_means_of_the_matrix_however_many_the_clusters(n_clusters):
    draws = pt.datasets.simulate_draws(500, 40, n_clusters=n_clusters, noise=0.3, rng=0)
    order = np.random.default_rng(1).permutation(500)
    found = plots.average_similarity(draws, order, max_cells=37)
    matrix = pt.posterior_similarity(draws).to_dense()[np.ix_(order, order)]
    starts, sizes = found.edges[:-1], np.diff(found.edges)
    sums = np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1)
    np.testing.assert_allclose(found.values, sums / np.outer(sizes, sizes), rtol=1e-4, atol=1e-4)
