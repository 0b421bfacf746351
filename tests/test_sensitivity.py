"""The best partition for every weight, against every partition there is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.partitions import canonical_rows, enumerate_partitions


@pytest.mark.parametrize("loss", [pt.losses.VI, pt.losses.Binder])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_partitions_at_every_weight(loss, seed):
    """Seven items: the 877 partitions are enumerated at weights within every stretch."""
    noise = 0.25
    draws = pt.datasets.simulate_draws(7, 40, n_clusters=3, noise=noise, rng=seed)
    found = pt.sensitivity(draws, losses=[loss()], weights=np.linspace(0.4, 1.6, 7), rng=0)
    every = enumerate_partitions(7)
    for row, labels in zip(found.frame.itertuples(), found.labels, strict=True):
        a = (row.low + row.high) / 2
        value = pt.expected_loss(labels, draws, loss=loss(a=a))
        least = np.asarray(pt.expected_loss(every, draws, loss=loss(a=a))).min()
        assert_allclose((row.loss_at_low + row.loss_at_high) / 2, value, atol=1e-12)
        assert value <= least * 1.02 + 1e-9
        assert row.n_clusters == labels.max() + 1
        assert np.array_equal(found.at(a), labels)
    assert (found.frame["low"].to_numpy()[1:] == found.frame["high"].to_numpy()[:-1]).all()
    assert found.frame[["low", "high"]].iloc[[0, -1]].to_numpy()[[0, 1], [0, 1]].tolist() == [
        0.4,
        1.6,
    ]
    for low, high in zip(found.labels, found.labels[1:], strict=False):
        at = found.frame["high"][np.flatnonzero((found.labels == low).all(1))[0]]
        both = pt.expected_loss([low, high], draws, loss=loss(a=at))
        assert_allclose(both[0], both[1], atol=1e-9)  # they meet where one gives way


def test_the_reference_and_what_moves(draws):
    found = pt.sensitivity(draws, rng=0)
    assert np.array_equal(found.reference, pt.estimate(draws, loss="vi", rng=0).labels)
    assert list(dict.fromkeys(found.frame["loss"])) == ["vi", "binder"]
    first = found.frame["loss"].ne(found.frame["loss"].shift())
    assert found.frame["n_moved"].isna().tolist() == first.tolist()
    assert (found.frame["n_moved"].dropna() > 0).all()
    far = [pt.variation_of_information(found.reference, row) for row in found.labels]
    assert_allclose(found.frame["vi_to_reference"], far, atol=1e-12)
    rows = found.frame[found.frame["loss"] == "vi"]
    low, high = found.weights(int(rows["n_clusters"].iloc[0]))
    assert low == 0.5 < high
    assert found.weights(59) is None
    assert repr(found).startswith(f"Sensitivity({len(found.frame)} partitions of")
    one, two = (pt.sensitivity(draws, rng=0, n_jobs=j).frame for j in (1, 2))
    assert one.equals(two)


def test_losses_without_a_weight_have_a_row(draws):
    found = pt.sensitivity(draws, losses=["nvi", pt.losses.Binder()], weights=[0.8, 1.2], rng=0)
    assert np.isnan(found.frame["low"].iloc[0])
    assert_allclose(
        found.frame["loss_at_low"].iloc[0], pt.estimate(draws, loss="nvi", rng=0).expected_loss
    )
    assert np.array_equal(found.at(1.0), found.at(1.0, "binder"))
    alone = pt.sensitivity([[0, 0, 1]] * 3, losses="vi", rng=0)
    assert alone.frame[["low", "high"]].to_numpy().tolist() == [[0.5, 1.5]]
    assert canonical_rows(alone.labels).tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"weights": [1.0]}, "`weights` must hold at least two"),
        ({"weights": [0.5, 2.5]}, "`weights` must lie in"),
        ({"losses": ["pear"]}, "Use 'omari'"),
    ],
)
def test_what_cannot_be_is_refused(words, match, draws):
    with pytest.raises(ValueError, match=match):
        pt.sensitivity(draws, **words)
    with pytest.raises(ValueError, match="`a` must lie in"):
        pt.sensitivity([[0, 0, 1]], rng=0).at(1.9)
