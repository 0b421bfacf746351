from __future__ import annotations

import numpy as np
import pytest

import partita as pt


def test_galaxies_as_published():
    galaxies = pt.datasets.load_galaxies()
    velocities = galaxies.data[:, 0]
    assert velocities.shape == (82,)
    assert (velocities[0], velocities[77], velocities[-1]) == (9.172, 26.69, 34.279)
    assert (np.diff(velocities) >= 0).all()


def test_crabs_have_four_classes_of_fifty():
    crabs = pt.datasets.load_crabs()
    assert crabs.data.shape == (200, 5)
    assert np.bincount(crabs.truth).tolist() == [50, 50, 50, 50]
    assert len(set(crabs.item_names)) == 200
    assert crabs.to_frame().loc["BM1", "CW"] == 19.0


def test_simulated_draws_centre_on_the_planted_partition():
    draws = pt.datasets.simulate_draws(80, 300, n_clusters=4, noise=0.1, rng=0)
    planted = np.arange(80) // 20
    best = pt.estimate(draws, rng=0)
    assert pt.adjusted_rand_index(planted, best.labels) > 0.9
    assert len(set(draws.n_clusters.tolist())) > 1
    again = pt.datasets.simulate_draws(80, 300, n_clusters=4, noise=0.1, rng=0)
    assert again == draws


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"n_items": 0}, "`n_items` must be at least 1"),
        ({"n_items": 3, "n_clusters": 4}, "`n_clusters` must be at most 3"),
        ({"noise": 1.0}, r"`noise` must lie in \[0, 1\)"),
    ],
)
def test_simulation_checks_its_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        pt.datasets.simulate_draws(**call)


def test_one_cluster_and_one_item_can_be_simulated():
    assert pt.datasets.simulate_draws(1, 2, n_clusters=1, noise=0.5, rng=0).n_items == 1
    assert pt.datasets.simulate_draws(9, 5, n_clusters=1, noise=0.5, rng=0).n_draws == 5
