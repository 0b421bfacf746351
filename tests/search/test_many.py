"""Searches where draws have too many clusters for tables of all clusters by all clusters."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita import losses
from partita.search import Greedy, polish

N, K, M = 2_500, 520, 800  # items x draws x clusters above 1e9, from where the search is in rounds
ON_DRAWS = sorted(
    name
    for name, loss in losses.NAMES.items()
    if isinstance(loss, losses.RatioLoss) and loss.needs != "similarity"
)


@pytest.fixture(scope="module")
def truth():
    """Clusters of four or five."""
    return np.arange(N) * K // N


@pytest.fixture(scope="module")
def labels(truth):
    """One label in ten replaced in every draw."""
    rng = np.random.default_rng(2)
    wrong = rng.random((M, N)) < 0.1
    return np.where(wrong, rng.integers(0, K, (M, N)), truth).astype(np.uint16)


@pytest.fixture(scope="module")
def draws(labels):
    return pt.Draws(labels, weights=np.linspace(1, 2, M))


@pytest.mark.parametrize("name", sorted(set(ON_DRAWS) - {"binder"}))
def test_the_truth_is_found_from_a_draw(draws, truth, name):
    best = pt.estimate(draws, loss=name, rng=0)
    assert best.info["many_clusters"]
    assert best.expected_loss <= pt.expected_loss(truth, draws, loss=name) + 1e-12
    again = pt.expected_loss(best.labels, draws, loss=name)
    assert best.expected_loss == pytest.approx(again, rel=1e-10)


def test_stores_and_memory_and_threads_give_one_answer(labels, tmp_path):
    np.save(tmp_path / "draws.npy", labels)
    one, two = (
        pt.estimate(pt.read_draws(tmp_path / "draws.npy", stored=stored), rng=0, n_jobs=n_jobs)
        for stored, n_jobs in ((False, 1), (True, 2))
    )
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.expected_loss == two.expected_loss


def test_what_was_said_of_the_search_and_is_not_used_is_a_warning(draws, truth):
    with pytest.warns(pt.errors.PartitaWarning, match=r"^`effort`: not used, since"):
        pt.estimate(draws, search=Greedy(effort=3), rng=0)
    with pytest.warns(pt.errors.PartitaWarning, match="^`starts`: not used"):
        pt.estimate(draws, search=Greedy(starts=("average", truth)), rng=0)


@pytest.mark.parametrize("most", [1, 519])
def test_never_more_clusters_than_allowed(draws, truth, most):
    best = pt.estimate(draws, search=Greedy(starts=(truth,), max_clusters=most), rng=0)
    assert best.n_clusters <= most


def test_exactly_as_many_clusters_as_asked_for(draws):
    assert pt.estimate(draws, n_clusters=400, rng=0).n_clusters == 400


def test_few_clusters_are_polished_into_many(draws, truth):
    evidence, rng = pt.evidence.as_evidence(draws), np.random.default_rng(0)
    found = polish(truth // 10, evidence, losses.VI(), rng=rng)
    assert pt.adjusted_rand_index(found, truth) == 1.0
    found = polish(truth // 10, evidence, losses.VI(), rng=rng, max_clusters=60)
    assert found.max() < 60


def test_a_time_limit_ends_rounds_with_an_answer(draws):
    with pytest.warns(pt.errors.PartitaWarning, match="`time_limit` was too short"):
        best = pt.estimate(draws, time_limit=1e-9, rng=0)
    assert best.info["rounds"] == 1
    assert best.expected_loss == pytest.approx(pt.expected_loss(best.labels, draws), rel=1e-10)


def test_pairs_find_each_other_and_do_not_change_places():
    """As in record linkage: clusters of two."""
    truth = np.arange(2_600) // 2
    rng = np.random.default_rng(4)
    wrong = rng.random((310, truth.size)) < 0.05
    draws = pt.Draws(np.where(wrong, rng.integers(0, 1_300, wrong.shape), truth))
    best = pt.estimate(draws, search=Greedy(starts=(np.arange(truth.size),)), rng=0)
    assert best.info["start"] in ("draws", "labels")
    assert pt.adjusted_rand_index(best.labels, truth) > 0.99
