"""Items, clusters, memberships by alignment, the error of the loss, and parts of the draws."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import naive
import partita as pt
from partita import search
from partita.partitions import canonical

small = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=6),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
    )
)


@pytest.fixture(scope="module")
def best(draws):
    return pt.estimate(draws, loss="vi", search="average", rng=0)


@given(posterior=small)
def test_items_against_the_definitions(posterior):
    rows, labels = posterior
    table = pt.item_uncertainty(labels, rows)
    labels = canonical(labels)
    psm = naive.similarity(rows)
    n = labels.size
    for i in range(n):
        means = {}
        for k in set(labels.tolist()):
            others = [j for j in range(n) if labels[j] == k and j != i]
            means[k] = np.mean([psm[i, j] for j in others]) if others else np.nan
        own = means.pop(int(labels[i]))
        assert_allclose(table["own_similarity"][i], own, atol=1e-12)
        if means:
            assert_allclose(table["runner_up_similarity"][i], max(means.values()), atol=1e-12)
            assert_allclose(means[int(table["runner_up"][i])], max(means.values()), atol=1e-12)
        else:
            assert table["runner_up"].isna().all()
            assert table["runner_up_similarity"].isna().all()
    assert_allclose(table["expected_vi"].sum(), naive.expected("vi", labels, rows), atol=1e-12)
    assert (table["expected_vi"] >= 0).all()


def test_an_item_s_share_of_the_expected_vi(draws, best):
    table = pt.item_uncertainty(best, draws)
    i, n = 7, draws.n_items
    share = 0.0
    for draw in draws.labels:
        with_i, own = draw == draw[i], best.labels == best.labels[i]
        share += np.log2(with_i.sum()) + np.log2(own.sum()) - 2 * np.log2((with_i & own).sum())
    assert_allclose(table["expected_vi"][i], share / 400 / n, rtol=1e-12)
    assert_allclose(table["expected_vi"].sum(), best.expected_loss, rtol=1e-12)


def test_the_item_table_has_names_memberships_and_sorts(draws):
    named = pt.Draws(draws.labels, item_names=[f"gene{i}" for i in range(60)])
    best = pt.estimate(named, search="average")
    soft = np.full((60, best.n_clusters), 0.1)
    soft[np.arange(60), best.labels] = np.linspace(0.4, 0.7, 60)
    with_soft = pt.Estimate(best.labels, best.expected_loss, best.loss, best.search, soft)
    table = pt.item_uncertainty(with_soft, named)
    assert table.index.tolist()[:2] == ["gene0", "gene1"]
    assert_allclose(table["membership"], np.linspace(0.4, 0.7, 60))
    assert table.sort_values("membership").index[0] == "gene0"
    assert "membership" not in pt.item_uncertainty(best, named)


def test_items_on_one_draw_one_cluster_and_zero_weights():
    one = pt.item_uncertainty([0, 0, 1], [[0, 0, 1]])
    assert one["probability"].tolist() == [1, 1, 1]
    assert one["entropy"].tolist() == [0, 0, 0]
    assert np.isnan(one["own_similarity"][2])
    together = pt.item_uncertainty([0, 0], np.zeros((5, 2), int))
    assert together["own_similarity"].tolist() == [1, 1]
    never = pt.Draws([[0, 0, 1], [0, 1, 2]], weights=[3, 0])
    assert pt.item_uncertainty([0, 0, 1], never).equals(one)
    with pytest.raises(ValueError, match="one label for each of the 3 items"):
        pt.item_uncertainty([0, 1], [[0, 0, 1]])


@given(posterior=small)
def test_clusters_against_the_definitions(posterior):
    rows, labels = posterior
    weights = np.arange(1.0, len(rows) + 1)
    table = pt.cluster_uncertainty(labels, pt.Draws(rows, weights=weights))
    labels = canonical(labels)
    psm = naive.similarity(rows, weights)
    for k, row in table.iterrows():
        own = np.flatnonzero(labels == k)
        assert row["size"] == own.size
        pairs = [psm[i, j] for i in own for j in own if i != j]
        assert_allclose(row["cohesion"], np.mean(pairs) if pairs else np.nan, atol=1e-12)
        others = {c: psm[np.ix_(own, labels == c)].mean() for c in set(labels.tolist()) - {k}}
        if others:
            assert_allclose(row["separation"], 1 - max(others.values()), atol=1e-12)
            assert_allclose(others[int(row["nearest"])], max(others.values()), atol=1e-12)
        exactly = [
            any(set(np.flatnonzero(np.array(draw) == c)) == set(own) for c in set(draw))
            for draw in rows
        ]
        assert_allclose(row["probability"], weights[exactly].sum() / weights.sum(), atol=1e-12)
        if own.size > 1:
            to_others = {i: np.mean([psm[i, j] for j in own if j != i]) for i in own}
            assert_allclose(to_others[row["exemplar"]], max(to_others.values()), atol=1e-12)
        else:
            assert row["exemplar"] == own[0]


def test_posterior_of_the_number_of_clusters(draws):
    table = pt.posterior_n_clusters(draws)
    values, counts = np.unique(draws.n_clusters, return_counts=True)
    assert table.index.tolist() == values.tolist()
    assert_allclose(table["probability"], counts / 400)
    binomial = np.sqrt(table["probability"] * (1 - table["probability"]) / 400)
    assert_allclose(table["mcse"], binomial, rtol=0.3)
    weighted = pt.posterior_n_clusters(pt.Draws([[0, 0], [0, 1]], weights=[1, 0]))
    assert weighted["probability"].to_dict() == {1: 1.0}


@given(posterior=small)
def test_alignment_is_the_best_of_all_matchings(posterior):
    rows, labels = posterior
    aligned = pt.align_memberships(labels, rows)
    labels = canonical(labels)
    k = labels.max() + 1
    total = aligned.memberships.sum(axis=1) + aligned.elsewhere
    assert_allclose(total, 1)
    relabelled = aligned.relabelled()
    for row, ours in zip(rows, relabelled, strict=True):
        draw = canonical(row)
        width = max(k, draw.max() + 1)
        most = max(
            sum(order[c] == own for c, own in zip(draw, labels, strict=True))
            for order in permutations(range(width))
        )
        assert (ours == labels).sum() == most
        same = ours[:, None] == ours[None, :]
        kept = ours >= 0
        truly = draw[:, None] == draw[None, :]
        assert (same == truly)[np.ix_(kept, kept)].all()


def planted(n_draws=300, seed=0):
    """Draws of a mixture of three components with known membership probabilities."""
    rng = np.random.default_rng(seed)
    p = np.repeat([[0.9, 0.08, 0.02], [0.1, 0.85, 0.05], [0.02, 0.28, 0.7]], 12, axis=0)
    return p, (rng.random((n_draws, 36, 1)) > p.cumsum(axis=1)[None, :, :]).sum(axis=2)


@pytest.mark.parametrize("method", ["hungarian", "stephens"])
def test_alignment_gives_back_planted_memberships(method):
    """Labels are switched at random when Draws makes them canonical; alignment undoes it."""
    p, labels = planted(4000)
    aligned = pt.align_memberships(p.argmax(axis=1), labels, method=method)
    assert_allclose(aligned.memberships, p, atol=0.035)
    assert_allclose(aligned.elsewhere, 0, atol=1e-12)
    frame = aligned.to_frame()
    assert frame.columns.tolist()[:2] == ["cluster", "membership_0"]
    one_two = [
        pt.align_memberships(p.argmax(axis=1), labels, method=method, n_jobs=j).memberships
        for j in (1, 2)
    ]
    assert np.array_equal(*one_two)


def test_stephens_lowers_its_own_objective():
    p, labels = planted(300)
    start = np.arange(36) % 3  # a poor partition to start from

    def cost(aligned):
        q = (aligned.memberships + 0.5 / 300) / (1 + 1.5 / 300)
        return -np.log(q[np.arange(36), aligned.relabelled()]).sum()

    once = pt.align_memberships(start, labels, method="stephens", max_iter=1)
    often = pt.align_memberships(start, labels, method="stephens")
    assert cost(often) < cost(once)
    good = pt.align_memberships(p.argmax(axis=1), labels, method="stephens")
    assert cost(good) <= cost(often) * (1 + 1e-9)


def test_stephens_needs_a_fixed_number_of_clusters():
    with pytest.raises(ValueError, match="at most as many clusters as the partition, 1"):
        pt.align_memberships([0, 0], [[0, 1]], method="stephens")
    with pytest.raises(ValueError, match="`method` must be one of"):
        pt.align_memberships([0, 0], [[0, 1]], method="best")


def test_error_of_the_loss_and_of_the_difference(draws, best):
    found = pt.loss_error(best, draws)
    far = np.array([naive.vi(draw, best.labels) for draw in draws.labels])
    assert_allclose(found.value, far.mean(), rtol=1e-12)
    assert_allclose(found.error, far.std(ddof=1) / np.sqrt(found.ess), rtol=1e-12)
    other = np.array([naive.vi(draw, found.rival) for draw in draws.labels])
    assert_allclose(found.difference, (other - far).mean(), rtol=1e-12)
    assert found.difference > 0
    assert found.clear == (found.difference > 2 * found.difference_error)
    runners = [s.expected_loss for s in best.path if s.rank != best.n_clusters]
    assert_allclose(found.difference, min(runners) - best.expected_loss, rtol=1e-9)
    assert "±" in repr(found)
    assert found.to_frame().loc["expected loss", "value"] == found.value


def test_error_shrinks_as_the_root_of_the_draws():
    some = pt.datasets.simulate_draws(30, 4000, n_clusters=3, noise=0.3, rng=0)
    center = some.labels[0]
    few, many = (pt.loss_error(center, some.take(slice(m))).error for m in (250, 4000))
    assert 3 < few / many < 5.5


def test_error_covers_the_truth():
    """The mean over a long run is within three errors of a short one, nearly always."""
    some = pt.datasets.simulate_draws(20, 20_000, n_clusters=3, noise=0.3, rng=1)
    center = some.labels[0]
    truth = pt.expected_loss(center, some)
    parts = [pt.loss_error(center, some.take(slice(i, i + 400))) for i in range(0, 20_000, 400)]
    z = np.array([(part.value - truth) / part.error for part in parts])
    assert (np.abs(z) < 3).mean() > 0.9
    assert 0.6 < z.std() < 1.5


def test_error_with_a_rival_other_losses_and_nothing_else():
    rows = [[0, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]] * 10
    found = pt.loss_error([0, 0, 1], rows, rival=[0, 1, 1], loss="binder")
    assert_allclose(found.difference, 0.5 * 4 / 9)
    sure = pt.loss_error([0, 0, 1], [[0, 0, 1]] * 10)
    assert sure.rival is None
    assert (sure.value, sure.error) == (0.0, 0.0)
    assert not sure.clear
    assert np.isnan(pt.loss_error([0, 1], [[0, 0]]).error)
    on_similarity = pt.estimate(rows, method="minvi")
    assert_allclose(
        pt.loss_error(on_similarity, rows).value, pt.expected_loss([0, 0, 1], rows, loss="vi")
    )
    with pytest.raises(ValueError, match="Use 'vi'"):
        pt.loss_error([0, 0, 1], rows, loss="vi-lower-bound")


def test_stability_by_halves_and_chains(draws):
    chained = pt.Draws(draws.labels, chains=np.repeat([0, 1], [150, 250]))
    best = pt.estimate(chained, search="average", rng=3)
    table = pt.stability(best, chained)
    assert table.index.tolist() == ["first half", "second half", "chain 0", "chain 1"]
    assert table["n_draws"].tolist() == [200, 200, 150, 250]
    first = np.r_[0:75, 150:275]
    rest = np.setdiff1d(np.arange(400), first)
    again = pt.estimate(draws.labels[first], search="average", rng=3)
    row = table.loc["first half"]
    assert_allclose(row["expected_loss"], again.expected_loss, rtol=1e-12)
    held_out = pt.expected_loss([again.labels, best.labels], draws.labels[rest])
    assert_allclose(row[["held_out_loss", "all_held_out_loss"]], held_out, rtol=1e-12)
    assert_allclose(row["distance"], naive.vi(best.labels, again.labels), atol=1e-12)


def test_stability_of_labels_of_a_similarity_loss_and_of_too_few(draws):
    labels = draws.labels[0]
    table = pt.stability(labels, draws, search=search.Sampled(20), loss="binder", rng=0)
    assert (table["held_out_loss"] > 0).all()
    on_similarity = pt.stability(pt.estimate(draws, method="minvi"), draws)
    assert on_similarity.shape == (2, 6)
    with pytest.raises(ValueError, match="at least two draws"):
        pt.stability([0, 0], [[0, 0]])
    apart = pt.Draws([[0, 0], [0, 1]], chains=[0, 1])
    assert pt.stability([0, 0], apart, search="draws")["n_draws"].tolist() == [1, 1, 1, 1]


def test_as_many_clusters_as_items(draws):
    apart = pt.item_uncertainty(np.arange(60), draws)
    assert apart["own_similarity"].isna().all()
    psm = naive.similarity(draws.labels) - 2 * np.eye(60)
    assert_allclose(apart["runner_up_similarity"], psm.max(axis=1), atol=1e-12)
    clusters = pt.cluster_uncertainty(np.arange(60), draws)
    assert_allclose(clusters["separation"], 1 - psm.max(axis=1), atol=1e-12)
    assert clusters["exemplar"].tolist() == list(range(60))


def test_tables_that_do_not_fit_are_refused(draws, monkeypatch):
    from partita import validate

    monkeypatch.setattr(validate, "free_memory", lambda: 10_000)
    for verb in (pt.item_uncertainty, pt.cluster_uncertainty, pt.align_memberships):
        with pytest.raises(MemoryError, match="Tables of 60 items by 60 clusters would take"):
            verb(np.arange(60), draws)


def test_threads_change_nothing(draws, best):
    for verb in (pt.item_uncertainty, pt.cluster_uncertainty, pt.stability):
        one, two = (verb(best, draws, n_jobs=j) for j in (1, 2))
        assert one.equals(two)
