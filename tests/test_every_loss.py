"""What must hold for every loss there is, found in the namespace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import metrics

import naive
import partita as pt
from partita import losses
from partita.evidence import as_evidence
from partita.losses import _ratio
from partita.partitions import Tree, canonical, enumerate_partitions

NAMES = sorted(losses.NAMES)
RATIOS = [name for name in NAMES if isinstance(losses.NAMES[name], losses.RatioLoss)]

labellings = st.integers(1, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-2, 4), min_size=n, max_size=n)] * 2)
)


def posteriors(most_items=7, most_draws=6):
    return st.tuples(st.integers(1, most_items), st.integers(1, most_draws)).flatmap(
        lambda shape: st.tuples(
            st.lists(
                st.lists(st.integers(0, 3), min_size=shape[0], max_size=shape[0]),
                min_size=shape[1],
                max_size=shape[1],
            ),
            st.lists(st.integers(0, 3), min_size=shape[0], max_size=shape[0]),
            st.lists(st.integers(1, 4), min_size=shape[1], max_size=shape[1]),
        )
    )


def test_the_naive_losses_cover_every_name():
    assert set(NAMES) == set(naive.ON_DRAWS) | set(naive.ON_SIMILARITY)


@pytest.mark.parametrize("name", NAMES)
@given(pair=labellings)
def test_is_a_metric_between_partitions(name, pair):
    loss, (a, b) = losses.NAMES[name], pair
    assert loss(a, a) == 0
    assert loss(a, b) >= 0
    assert_allclose(loss(a, b), loss(b, a), atol=1e-12)
    relabelled = [f"cluster {x}" for x in b]
    assert loss(a, relabelled) == loss(a, b)


@pytest.mark.parametrize("work", [7, 1 << 20])
@pytest.mark.parametrize("name", ["vi", "binder", "nid", "zero-one"])
def test_distances_are_those_of_every_pair(name, work, monkeypatch):
    """More partitions than items or draws, whole and cut into blocks: none may be left out."""
    monkeypatch.setattr(_ratio, "_WORK", work)
    rng = np.random.default_rng(0)
    partitions = np.stack([canonical(row) for row in rng.integers(0, 3, (11, 4))])
    draws = pt.Draws(rng.integers(0, 3, (6, 4)))
    wanted = [
        [naive.ON_DRAWS[name](draw, labels) for draw in draws.labels] for labels in partitions
    ]
    found = losses.distances(losses.NAMES[name], partitions, draws)
    assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@given(posterior=posteriors())
def test_expected_equals_a_naive_double_loop(name, posterior):
    rows, labels, counts = posterior
    weights = np.array(counts, dtype=float)
    plain = pt.expected_loss(labels, rows, loss=name)
    assert_allclose(plain, naive.expected(name, labels, rows), atol=1e-12)
    weighted = pt.expected_loss(labels, pt.Draws(rows, weights=weights), loss=name)
    assert_allclose(weighted, naive.expected(name, labels, rows, weights), atol=1e-12)
    repeated = pt.expected_loss(labels, np.repeat(rows, counts, axis=0), loss=name)
    assert_allclose(weighted, repeated, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_partitions_at_once_equal_one_by_one(name, draws):
    partitions = np.vstack([draws.labels[:7], np.zeros((1, 60)), np.arange(60)[None, :]])
    many = pt.expected_loss(partitions, draws, loss=name)
    single = [pt.expected_loss(labels, draws, loss=name) for labels in partitions]
    assert_allclose(many, single, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing(name, draws, monkeypatch):
    monkeypatch.setattr(_ratio, "_WORK", 50_000)  # so that there are many blocks
    partitions = draws.labels[:200]
    one, two = (pt.expected_loss(partitions, draws, loss=name, n_jobs=j) for j in (1, 3))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("name", [n for n in NAMES if losses.NAMES[n].needs != "draws"])
@given(posterior=posteriors())
def test_dense_implicit_and_responsibilities_agree(name, posterior):
    rows, labels, _ = posterior
    one_hot = (np.asarray(rows)[:, :, None] == np.arange(4)).astype(float)
    kinds = [
        pt.posterior_similarity(rows),
        pt.posterior_similarity(rows, dtype="float32"),
        pt.posterior_similarity(rows, kind="implicit"),
        pt.Similarity.from_responsibilities(one_hot),
    ]
    values = [pt.expected_loss(labels, kind, loss=name) for kind in kinds]
    assert_allclose(values, values[0], atol=1e-6)
    assert_allclose(values[2:], values[0], atol=1e-12)


@pytest.mark.parametrize("name", RATIOS)
@pytest.mark.parametrize("seed", range(5))
def test_one_pass_over_a_tree_equals_each_cut_from_scratch(name, seed):
    draws = pt.datasets.simulate_draws(31, 17, n_clusters=4, noise=0.3, rng=seed)
    evidence = as_evidence(draws)
    tree = random_tree(draws.n_items, seed)
    loss = losses.NAMES[name]
    along = loss.expected_along(tree, evidence)
    cuts = np.stack(list(tree.cuts(draws.n_items)))
    assert [len(set(cut)) for cut in cuts.tolist()] == list(range(1, 32))
    assert_allclose(along, losses.expected(loss, cuts, evidence), rtol=1e-11, atol=1e-12)


def test_a_tree_of_many_items_is_climbed_in_parts():
    evidence = as_evidence(pt.datasets.simulate_draws(2_100, 5, n_clusters=4, noise=0.3, rng=0))
    tree, loss = random_tree(2_100, 0), losses.PEAR()
    along = loss.expected_along(tree, evidence)
    for k in (1, 2, 5, 100, 2_100):
        assert along[k - 1] == pytest.approx(losses.expected(loss, tree.cut(k)[None], evidence)[0])


def random_tree(n, seed):
    """A tree that merges two random nodes at a time, lopsided or balanced as it comes."""
    rng = np.random.default_rng(seed)
    live, children = list(range(n)), []
    for t in range(n - 1):
        pair = sorted(rng.choice(len(live), size=2, replace=False), reverse=True)
        children.append([live.pop(i) for i in pair])
        live.append(n + t)
    return Tree(np.array(children), np.arange(n - 1.0))


@pytest.mark.parametrize("a", [0.0, 0.4, 1.5, 2.0])
@pytest.mark.parametrize("name", ["binder", "vi"])
@given(pair=labellings)
def test_generalised_losses_weigh_the_two_mistakes(name, a, pair):
    loss = replace(losses.NAMES[name], a=a)
    assert_allclose(loss(*pair), naive.ON_DRAWS[name](*pair, a=a), atol=1e-12)


@given(pair=labellings)
def test_scores_equal_scikit_learn(pair):
    truth, labels = pair
    rand = 1.0 if len(truth) == 1 else metrics.rand_score(truth, labels)
    assert_allclose(pt.rand_index(truth, labels), rand, atol=1e-12)
    ari = metrics.adjusted_rand_score(truth, labels)
    assert_allclose(pt.adjusted_rand_index(truth, labels), ari, atol=1e-12)
    mutual = metrics.mutual_info_score(truth, labels) / np.log(2)
    vi = naive.entropy(truth) + naive.entropy(labels) - 2 * mutual
    assert_allclose(pt.variation_of_information(truth, labels), vi, atol=1e-9)


def test_tables_wider_than_the_kernel_keeps_are_counted_by_cluster():
    """Some hundred clusters in both partitions: the other path of the kernel, the same sums."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1500, size=(3, 3000))
    labels = rng.integers(0, 1400, size=3000)
    pairs = [rows[0] * 1400 + labels, rows[0], labels]
    h_both, h_truth, h_labels = (naive.entropy(x) for x in pairs)
    assert_allclose(losses.VI()(rows[0], labels), 2 * h_both - h_truth - h_labels, atol=1e-10)
    apart = np.arange(20_000)
    assert losses.VI()(apart, apart) == 0
    implicit = pt.posterior_similarity([apart, apart], kind="implicit")
    assert implicit.own_sums(apart).tolist() == [1.0] * 20_000


@pytest.mark.parametrize("name", NAMES)
def test_one_item_costs_nothing(name):
    assert pt.expected_loss([0], [[3], [1]], loss=name) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("extreme", [np.zeros(9, int), np.arange(9)], ids=["together", "apart"])
def test_a_certain_posterior_costs_nothing_at_its_partition(name, extreme):
    rows = np.tile(extreme, (5, 1))
    values = pt.expected_loss(enumerate_partitions(9)[::97], rows, loss=name)
    assert pt.expected_loss(extreme, rows, loss=name) == 0
    assert np.isfinite(values).all()
    assert (values >= 0).all()


def test_the_lower_bound_can_exceed_the_expected_loss():
    """It is called a lower bound in the literature; the docs say that it is not always one."""
    found = False
    for seed in range(50):
        rows = np.random.default_rng(seed).integers(0, 3, size=(2, 4))
        every = enumerate_partitions(4)
        bound = pt.expected_loss(every, rows, loss="vi-lower-bound")
        found |= bool((bound > pt.expected_loss(every, rows, loss="vi") + 1e-9).any())
    assert found


@pytest.mark.parametrize("bad", [-0.1, 2.1, float("nan"), float("inf")])
def test_a_weight_outside_its_interval_is_refused(bad):
    for loss in (losses.Binder, losses.VI):
        with pytest.raises(ValueError, match=r"`a` must lie in \[0, 2\]"):
            loss(a=bad)


def test_unequal_lengths_are_refused():
    for name in NAMES:
        with pytest.raises(ValueError, match="one label for each of the 3 items"):
            losses.NAMES[name]([0, 0, 1], [0, 1])


@pytest.mark.parametrize("loss", [losses.VI, "VI()", 3, len])
def test_what_is_no_loss_is_refused(loss):
    with pytest.raises((TypeError, ValueError), match="`loss` must be"):
        losses.resolve(loss)
