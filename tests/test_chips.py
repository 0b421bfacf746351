"""Parts of a partition that can be stated, against every sub-partition there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import naive
import partita as pt
from partita.partitions import canonical, canonical_rows, enumerate_partitions


def share_that_agrees(rows, weights, items, labels):
    """The share of the draws that, on some items, are this partition."""
    held = [np.array_equal(canonical(row[items]), canonical(labels[items])) for row in rows]
    return float(weights[held].sum() / weights.sum())


def best_by_size(rows, weights):
    """The largest probability of any sub-partition of 1, 2, ... items, by trying every one."""
    n, found = rows.shape[1], []
    for size in range(1, n + 1):
        most = 0.0
        for items in combinations(range(n), size):
            _, which = np.unique(canonical_rows(rows[:, items]), axis=0, return_inverse=True)
            most = max(most, np.bincount(which.ravel(), weights).max())
        found.append(most / weights.sum())
    return np.array(found)


def test_the_path_is_the_best_of_every_sub_partition():
    for seed in range(40):
        rows = np.random.default_rng(seed).integers(0, 3, (8, 6))
        weights = np.random.default_rng(seed).integers(1, 4, 8).astype(float)
        found = pt.chips(pt.Draws(rows, weights=weights), rng=0)
        assert_allclose(found.path, best_by_size(rows, weights), atol=1e-12)


@settings(max_examples=60)
@given(
    labels=st.lists(st.lists(st.integers(0, 2), min_size=5, max_size=5), min_size=1, max_size=8),
    prob=st.sampled_from([0.3, 0.6, 0.9, 1.0]),
)
def test_chips_hold_with_the_probability_they_say(labels, prob):
    rows = np.array(labels)
    weights = np.arange(1.0, len(rows) + 1)
    found = pt.chips(pt.Draws(rows, weights=weights), prob=prob, rng=0)
    kept = np.flatnonzero(found.labels >= 0)
    assert sorted(found.order.tolist()) == kept.tolist()
    true = share_that_agrees(rows, weights, kept, found.labels)
    assert_allclose(found.probability, true, atol=1e-12)
    assert found.probability >= prob - 1e-12
    assert found.labels[kept[0]] == 0
    table = found.to_frame()
    for i in np.flatnonzero(found.labels < 0):
        places = [*range(found.n_clusters), found.n_clusters]
        shares = []
        for k in places:
            more = found.labels.copy()
            more[i] = k
            shares.append(share_that_agrees(rows, weights, [*kept, i], more))
        assert_allclose(table["probability"][i], max(shares), atol=1e-12)
        best = int(table["best"][i])
        assert_allclose(shares[best if best >= 0 else -1], max(shares), atol=1e-12)
    for k, row in found.clusters().iterrows():
        own, other = (np.flatnonzero((found.labels >= 0) & is_k)
                      for is_k in (found.labels == k, found.labels != k))  # fmt: skip
        together = (rows[:, own] == rows[:, own[:1]]).all(axis=1)
        alone = together & (rows[:, other] != rows[:, own[:1]]).all(axis=1)
        assert row["size"] == own.size
        assert_allclose(row["together"], weights[together].sum() / weights.sum())
        assert_allclose(row["probability"], weights[alone].sum() / weights.sum())


def test_one_search_serves_every_probability(draws):
    found = pt.chips(draws, prob=0.9, rng=3)
    for prob in (0.05, 0.3, 0.5, 0.99):
        other, again = found.at(prob), pt.chips(draws, prob=prob, rng=3)
        assert np.array_equal(other.labels, again.labels)
        assert other.probability == again.probability >= prob
        assert other.n_kept == (found.path >= prob).sum()
    assert (np.diff(found.path) <= 0).all()
    assert found.area == pytest.approx(found.path.mean())
    assert pt.chips(draws.labels[:1]).area == 1


def test_names_of_clusters_and_the_order_of_draws_do_not_matter(draws):
    rng = np.random.default_rng(0)
    names = np.array([rng.permutation(60)[row] for row in draws.labels])[rng.permutation(400)]
    one, other = (pt.chips(given, prob=0.4, rng=1) for given in (draws, names))
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.path, other.path)


def test_more_side_by_side_is_more(draws):
    narrow, wide = (pt.chips(draws, width=width, rng=0) for width in (1, 32))
    assert wide.area >= narrow.area


def test_a_sub_partition_to_begin_with(draws):
    free = pt.chips(draws, prob=0.5, rng=0)
    kept = free.order[:4]
    start = np.full(60, -1)
    start[kept] = free.labels[kept] + 7
    found = pt.chips(draws, prob=0.3, start=start, rng=0)
    assert np.array_equal(canonical(found.labels[kept]), canonical(free.labels[kept]))
    assert set(kept) <= set(found.order[:4].tolist())
    whole = pt.chips(draws, prob=1e-3, start=draws.labels[0], rng=0)
    assert np.array_equal(whole.labels, draws.labels[0])
    assert whole.probability == pytest.approx((draws.labels == draws.labels[0]).all(1).mean())
    with pytest.raises(ValueError, match="`start` must hold with probability `prob`, 0.9; it"):
        pt.chips(draws, start=np.arange(60))
    with pytest.raises(ValueError, match="`start` must hold the cluster of at least one item"):
        pt.chips(draws, start=np.full(60, -1))


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi", "vi-lower-bound"])
def test_completion_is_the_best_of_all_that_keep_it(loss):
    for seed in range(6):
        rows = pt.datasets.simulate_draws(7, 30, n_clusters=3, noise=0.3, rng=seed).labels
        found = pt.chips(rows, prob=0.5, rng=0)
        kept = np.flatnonzero(found.labels >= 0)
        every = [c for c in enumerate_partitions(7)
                 if np.array_equal(canonical(c[kept]), canonical(found.labels[kept]))]  # fmt: skip
        least = min(np.asarray(pt.expected_loss(np.array(every), rows, loss=loss)))
        best = found.complete(loss, rng=0)
        assert np.array_equal(canonical(best.labels[kept]), canonical(found.labels[kept]))
        assert_allclose(best.expected_loss, least, atol=1e-9)


def test_completion_of_everything_and_of_a_loss_that_cannot(draws):
    whole = pt.chips(draws, prob=1e-3, start=draws.labels[0], rng=0).complete("binder")
    assert np.array_equal(whole.labels, draws.labels[0])
    best = pt.chips(draws, prob=0.9, rng=0).complete("vi", rng=0)
    assert_allclose(best.expected_loss, naive.expected("vi", best.labels, draws.labels))
    with pytest.raises(TypeError, match="greedy search can score"):
        pt.chips(draws).complete("zero-one")


def test_chips_keep_what_is_certain_and_leave_what_is_not():
    rng = np.random.default_rng(0)
    four = np.repeat([0, 1, 2, 3], 10)
    labels = np.tile(four, (500, 1))
    labels[:, [3, 17]] = rng.integers(0, 4, size=(500, 2))
    found = pt.chips(pt.Draws(labels, item_names=[f"i{j}" for j in range(40)]), prob=0.95, rng=0)
    assert np.flatnonzero(found.labels < 0).tolist() == [3, 17]
    assert (found.probability, found.n_clusters) == (1.0, 4)
    assert repr(found).startswith("Chips(38 of 40 items in 4 clusters")
    frame = found.to_frame()
    assert frame.loc["i3", "cluster"] == -1
    assert frame["step"].isna().sum() == 2
    assert 0.2 < frame.loc["i3", "share"] < 0.4


def test_one_draw_one_cluster_one_item_and_zero_weights():
    assert pt.chips([[0, 1, 0]]).labels.tolist() == [0, 1, 0]
    assert pt.chips([[0]]).path.tolist() == [1.0]
    assert pt.chips(np.zeros((9, 3), int)).labels.tolist() == [0, 0, 0]
    never = pt.chips(pt.Draws([[0, 0], [0, 1]], weights=[1, 0]), prob=1)
    assert never.labels.tolist() == [0, 0]
    hardly = pt.chips(pt.Draws([[0, 0], [0, 1]], weights=[1, 1e-30]), prob=1e-9)
    assert hardly.labels.tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"`prob` must lie in \(0, 1\]"):
        pt.chips([[0, 0]], prob=0)
    with pytest.raises(ValueError, match="`width` must be at least 1"):
        pt.chips([[0, 0]], width=0)
