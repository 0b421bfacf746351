"""Chains that are stuck are called out, chains that mix are not, and ArviZ agrees."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from arviz_stats.base import array_stats
from numpy.testing import assert_allclose

import naive
import partita as pt
from partita.diagnostics import Chains, disagreement, ess_bulk, ess_mean, monte_carlo_error, rhat
from partita.errors import PartitaWarning


def autoregressive(rng, shape, phi):
    noise = rng.normal(size=shape)
    for t in range(1, shape[1]):
        noise[:, t] += phi * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("phi", [-0.6, 0.0, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("shape", [(1, 4), (1, 37), (2, 100), (4, 251), (3, 1000)])
@pytest.mark.parametrize("whole", [False, True])
def test_r_hat_and_effective_sizes_equal_arviz(phi, shape, whole):
    rng = np.random.default_rng([int(100 * phi) + 100, *shape])
    values = autoregressive(rng, shape, phi)
    values = np.round(values) + 5 if whole else values
    axes = {"chain_axis": 0, "draw_axis": 1}
    for ours, method in ((ess_bulk, "bulk"), (ess_mean, "mean")):
        assert_allclose(ours(values), array_stats.ess(values, **axes, method=method), rtol=1e-10)
    if shape[0] > 1:
        assert_allclose(rhat(values), array_stats.rhat(values, **axes), rtol=1e-10)


@pytest.mark.parametrize("which", ["draws", "galaxy_draws"])
def test_ess_of_k_equals_arviz(which, request):
    some = request.getfixturevalue(which)
    chained = pt.Draws(some.labels, chains=np.arange(some.n_draws) * 4 // some.n_draws)
    k = chained.n_clusters.reshape(4, -1)
    row = pt.diagnose(chained).frame.loc["K"]
    axes = {"chain_axis": 0, "draw_axis": 1}
    assert_allclose(row["ess"], array_stats.ess(k, **axes, method="bulk"), rtol=1e-10)
    assert_allclose(row["rhat"], array_stats.rhat(k, **axes), rtol=1e-10)
    assert_allclose(row["mcse"], array_stats.mcse(k, **axes, method="mean"), rtol=1e-10)


def test_many_quantities_at_once_equal_one_by_one():
    values = np.random.default_rng(1).normal(size=(3, 2, 50))
    for function in (rhat, ess_bulk, ess_mean):
        assert_allclose(function(values), [function(one) for one in values], rtol=1e-12)


def test_constants_and_short_chains():
    constant = np.ones((2, 30))
    assert np.isnan(rhat(constant))
    assert ess_bulk(constant) == 60
    assert rhat(constant * [[0], [1]]) == np.inf
    assert np.isnan([rhat(np.ones((2, 3))), ess_bulk(np.ones((2, 3))), ess_mean([[1.0]])]).all()


def two_modes(n_draws, stuck, seed=0):
    """Two chains over two partitions; stuck ones stay where they started."""
    rng = np.random.default_rng(seed)
    modes = np.array([[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 1, 1]])
    chains = np.repeat([0, 1], n_draws)
    which = chains if stuck else rng.integers(2, size=2 * n_draws)
    labels = modes[which]
    moved = rng.random(labels.shape) < 0.05
    return pt.Draws(np.where(moved, rng.integers(3, size=labels.shape), labels), chains=chains)


def test_stuck_chains_are_called_out():
    found = pt.diagnose(two_modes(300, stuck=True))
    assert not found.trusted
    assert found.verdict == "Do not trust these draws: the chains disagree."
    assert found.frame.loc["K", "rhat"] > 1.5
    assert found.gap.difference > 0.8
    assert found.gap.between == ("chain 0", "chain 1")
    assert any("R-hat" in text for text in found.disagreements)
    assert any("chain 0 and chain 1 differ" in text for text in found.disagreements)


@pytest.mark.parametrize("seed", range(8))
def test_mixed_chains_are_not(seed):
    found = pt.diagnose(two_modes(300, stuck=False, seed=seed))
    assert found.trusted, str(found)
    assert found.verdict == "Nothing speaks against these draws."
    assert str(found).startswith(found.verdict)


def test_few_independent_draws_raise_no_false_alarm():
    """By chance alone R-hat of 2 x 20 draws passes 1.05 all the time; the limit knows."""
    for seed in range(60):
        some = pt.datasets.simulate_draws(20, 40, n_clusters=3, noise=0.3, rng=seed)
        assert disagreement(pt.Draws(some.labels, chains=np.arange(40) % 2)) is None


def test_a_chain_that_drifts_disagrees_with_itself():
    drifting = pt.Draws(np.repeat([[0, 0, 1, 1], [0, 1, 1, 1]], 200, axis=0))
    found = pt.diagnose(drifting)
    assert not found.trusted
    assert "the halves of the chain disagree" in found.disagreements[0]
    assert found.gap.between == ("the first half", "the second half")


def test_the_gap_is_the_largest_difference_of_the_matrices(draws):
    chained = pt.Draws(draws.labels, chains=np.arange(400) % 3)
    gap = pt.diagnose(chained).gap
    each = np.stack([naive.similarity(draws.labels[c::3]) for c in range(3)])
    spread = each.max(axis=0) - each.min(axis=0)
    assert_allclose(gap.difference, spread.max(), atol=1e-12)
    assert_allclose(spread[gap.items], spread.max(), atol=1e-12)
    of = [int(name.split()[1]) for name in gap.between]
    assert_allclose(gap.similarities, each[of, gap.items[0], gap.items[1]], atol=1e-12)


def test_pairs_in_doubt_are_near_one_half_and_disjoint(draws):
    found = pt.diagnose(draws, n_pairs=6)
    pairs = [name.split(" with ") for name in found.frame.index if " with " in name]
    assert len({item for pair in pairs for item in pair}) == 12
    matrix = naive.similarity(draws.labels)
    first = matrix[int(pairs[0][0]), int(pairs[0][1])]
    off = matrix[~np.eye(60, dtype=bool)]
    assert_allclose(abs(first - 0.5), np.abs(off - 0.5).min(), atol=1e-12)


def test_traces_names_unequal_chains_and_an_estimate(draws):
    named = pt.Draws(
        draws.labels,
        chains=np.repeat([3, 7], [150, 250]),
        item_names=[f"gene{i}" for i in range(60)],
        traces={"log joint": np.random.default_rng(0).normal(size=400)},
    )
    best = pt.estimate(draws, method="minvi")
    found = pt.diagnose(named, best, loss="binder")
    assert {"K", "binder to the estimate", "trace log joint"} < set(found.frame.index)
    assert any(name.startswith("gene") for name in found.frame.index)
    mean = found.frame.loc["binder to the estimate", "mean"]
    assert_allclose(mean, pt.expected_loss(best.labels, draws, loss="binder"), rtol=1e-12)
    assert any("150 to 250 draws" in note for note in found.notes)
    assert [k.size for k in found.n_clusters.values()] == [150, 250]
    trace = found.trace_frame()
    assert trace["K"].tolist() == draws.n_clusters.tolist()
    assert trace["chain"].unique().tolist() == ["chain 0", "chain 1"]


def test_weighted_draws_have_kish_s_effective_size(draws):
    weights = np.arange(400.0)
    found = pt.diagnose(pt.Draws(draws.labels, weights=weights))
    assert found.frame["rhat"].isna().all()
    assert_allclose(found.frame["ess"], weights.sum() ** 2 / (weights**2).sum())
    assert any("weighted" in note for note in found.notes)
    equal = pt.diagnose(pt.Draws(draws.labels, weights=np.full(400, 2.5)))
    assert_allclose(equal.frame["rhat"].iloc[:2], pt.diagnose(draws).frame["rhat"].iloc[:2])


@pytest.mark.parametrize(
    "labels", [[[0, 0, 1]], [[0, 0, 1]] * 3, np.zeros((1, 1), int), np.zeros((3, 4), int)]
)
def test_too_few_draws_say_so(labels):
    found = pt.diagnose(labels)
    assert not found.trusted
    assert found.verdict == "Do not trust these draws yet: there are too few."
    assert "too short" in found.shortages[0]


def test_one_cluster_everywhere_is_no_reason_for_distrust():
    found = pt.diagnose(pt.Draws(np.zeros((400, 5), int), chains=np.arange(400) % 2))
    assert found.trusted
    assert found.gap.difference == 0
    assert found.frame.loc["K", "ess"] == 400


def test_draws_that_hardly_move_are_too_few():
    slow = np.repeat([[0, 0, 1, 1], [0, 1, 1, 1]] * 4, 100, axis=0)
    found = pt.diagnose(slow)
    assert any("effective sample size" in text for text in found.shortages)


def test_estimate_and_compare_warn_when_chains_disagree(draws):
    stuck, mixed = two_modes(100, stuck=True), two_modes(100, stuck=False)
    with pytest.warns(PartitaWarning, match=r"chains disagree .* See partita.diagnose"):
        pt.estimate(stuck, rng=0)
    with pytest.warns(PartitaWarning) as seen:
        pt.compare(stuck, methods=["minvi", "minbinder"])
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pt.estimate(mixed, rng=0)
        pt.estimate(pt.Draws(stuck.labels), rng=0)
        pt.estimate(draws, method="minvi")


def test_a_warning_looks_at_a_part_of_many_items_and_draws():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=(4000, 700))
    labels[2000:, :400] = 0
    names = [f"i{j}" for j in range(700)]
    stuck = pt.Draws(labels, chains=np.repeat([0, 1], 2000), item_names=names)
    assert "chains disagree" in disagreement(stuck)
    assert disagreement(pt.Draws(rng.integers(0, 3, size=(4000, 700)), chains=stuck.chains)) is None


def test_monte_carlo_error_of_a_mean(draws):
    values = draws.n_clusters.astype(float)
    mean, error, ess = monte_carlo_error(values, draws)
    theirs = array_stats.mcse(values[None, :], chain_axis=0, draw_axis=1, method="mean")
    assert_allclose(mean, values.mean())
    assert_allclose(error, theirs, rtol=1e-10)
    assert_allclose(ess, array_stats.ess(values[None, :], chain_axis=0, draw_axis=1, method="mean"))
    assert np.isnan(monte_carlo_error([1.0], pt.Draws([[0, 1]]))[1])


def test_of_very_many_items_some_stand_for_all(draws, monkeypatch):
    from partita.diagnostics import _pairs, _verdict

    monkeypatch.setattr(_pairs, "MOST_ITEMS", 20)
    monkeypatch.setattr(_verdict, "MOST_ITEMS", 20)
    found = pt.diagnose(pt.Draws(draws.labels, chains=np.arange(400) % 2))
    items = np.linspace(0, 59, 20).round().astype(int)
    each = [naive.similarity(draws.labels[c::2][:, items]) for c in range(2)]
    gaps = np.abs(each[0] - each[1])
    assert_allclose(found.gap.difference, gaps.max(), atol=1e-12)
    assert set(found.gap.items) <= set(items.tolist())
    i, j = (items.tolist().index(item) for item in found.gap.items)
    assert_allclose(gaps[i, j], gaps.max(), atol=1e-12)
    assert "of 60 items, the pairs of 20 were compared." in found.notes


def test_threads_change_nothing(draws):
    chained = pt.Draws(draws.labels, chains=np.arange(400) % 2)
    one, two = (pt.diagnose(chained, n_jobs=j) for j in (1, 2))
    assert one.frame.equals(two.frame)
    assert one.gap == two.gap


def test_what_cannot_be_is_refused(draws):
    with pytest.raises(ValueError, match="Use 'vi'"):
        pt.diagnose(draws, loss="vi-lower-bound")
    with pytest.raises(ValueError, match="one label for each of the 60 items"):
        pt.diagnose(draws, [0, 1])
    with pytest.raises(ValueError, match="`n_pairs` must be at least 0"):
        pt.diagnose(draws, n_pairs=-1)


def test_chains_of_zero_weight_are_no_chains(draws):
    weights = np.repeat([1.0, 0.0], 200)
    chains = Chains.of(pt.Draws(draws.labels, weights=weights, chains=np.repeat([0, 1], 200)))
    assert (chains.n_chains, chains.is_weighted) == (1, False)
