"""The greedy search: totals that are kept up to date, minima that enumeration confirms, limits."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import partita as pt
from partita import kernels, losses
from partita.evidence import Evidence
from partita.partitions import canonical, enumerate_partitions
from partita.search import Greedy, Linkage, polish
from partita.search._greedy_blocks import recombine
from partita.search._greedy_clock import Clock
from partita.search._greedy_draws import DrawsProblem
from partita.search._greedy_kinds import Starts
from partita.search._greedy_plan import Plan
from partita.search._greedy_problem import problem
from partita.search._greedy_proposals import attempted
from partita.search._greedy_run import Run
from partita.search._greedy_similarity import SimilarityProblem, SimilarityState
from partita.search._greedy_starts import KINDS, from_draws
from partita.search._greedy_state import DrawsState

NAMED = {name: loss for name, loss in losses.NAMES.items() if isinstance(loss, losses.RatioLoss)}


@dataclass(frozen=True)
class Root(losses.RatioLoss):
    """A loss of a user's own: x to the power 3/2, on draws."""

    needs = "draws"

    def cell(self, x):
        return np.asarray(x, dtype=float) ** 1.5

    @property
    def numerator(self):
        return losses.Combination(t=1, e=1, j=-2)

    @property
    def denominator(self):
        return losses.Combination(w=1)


@dataclass(frozen=True)
class RootOnPairs(Root):
    """The same on the similarity, where h is neither affine nor a logarithm."""

    needs = "similarity"


ALL = [*NAMED.values(), losses.Binder(0.6), losses.VI(1.4), Root(), RootOnPairs()]


def problems(loss, evidence):
    """Every way in which the loss can be searched."""
    if loss.needs != "draws":
        yield SimilarityProblem(evidence.similarity, loss)
        yield SimilarityProblem(evidence.similarity, loss, merge=True)
    if loss.needs != "similarity":
        yield DrawsProblem(evidence.distinct, loss)
        yield DrawsProblem(evidence.distinct, loss, merge=False)


def value_of(state, loss, evidence):
    labels = state.problem.items.expand(state.labels)
    return losses.expected(loss, labels[None, :], evidence)[0]


@st.composite
def weighted_draws(draw, most_items=14):
    n, m = draw(st.integers(1, most_items)), draw(st.integers(1, 8))
    rows = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    labels = draw(st.lists(rows, min_size=m, max_size=m))
    weights = draw(st.lists(st.floats(0.1, 5), min_size=m, max_size=m))
    return pt.Draws(labels, weights=weights)


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(draws=weighted_draws(), seed=st.integers(0, 99), steps=st.lists(st.integers(0, 9)))
def test_running_totals_equal_recomputed_ones_after_any_moves(loss, draws, seed, steps):
    evidence = Evidence(draws=draws)
    for shared in problems(loss, evidence):
        state, rng = shared.state(), np.random.default_rng(seed)
        other = canonical(shared.items.compress(draws.labels[0]))
        run = Run(state, rng, draws.n_items, Clock(), others=[other])
        run.grow()
        for step in steps:
            if step == 0:
                state.sweep(rng.permutation(shared.n), draws.n_items)
            elif step == 1:
                run.shake(0.5)
            elif step == 2:
                items = rng.permutation(shared.n)[: rng.integers(1, shared.n + 1)]
                state.move(items, rng.choice(np.flatnonzero(state.sizes), items.size))
            elif step == 3:
                run.merge()
            elif step == 4:
                run.shake(0.5, ["graft"])
            elif step == 5 and state.has_chains:
                run.chain()
            elif step == 6:
                run.join()
            elif step == 7 and state.is_rough:
                run.cross(other)
            elif step == 8 and state.is_rough:
                recombine(run)
            else:
                saved = state.save()
                run.shake(0.5, ["split"])
                state.restore(saved)
        assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
        kept = state.value
        state.refresh()
        assert_allclose(state.value, kept, atol=1e-9)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_the_last_recomputation_is_from_the_labels_and_trusts_no_table(loss):
    evidence = Evidence(draws=pt.Draws([[0, 0, 1, 1, 2], [0, 1, 1, 2, 2], [0, 0, 0, 1, 1]]))
    for shared in problems(loss, evidence):
        state = shared.state()
        state.load(np.arange(shared.n) % 2)
        state.labels[:] = 0  # behind the back of the counts and sums
        assert_allclose(state.recomputed(), value_of(state, loss, evidence), atol=1e-12)


@pytest.mark.parametrize("name", ["vi", "nvi", "id", "nid", "omari"])
@given(draws=weighted_draws(), seed=st.integers(0, 99))
def test_totals_are_right_after_softened_sweeps(name, draws, seed):
    evidence, loss = Evidence(draws=draws), NAMED[name]
    state, rng = DrawsProblem(evidence.distinct, loss).state(), np.random.default_rng(seed)
    run = Run(state, rng, draws.n_items, Clock())
    run.grow()
    order = rng.permutation(state.labels.size)
    state.soften(order, draws.n_items, np.array([2.0, 1.0]))
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    before = state.value
    run.soften()
    assert state.value <= before + 1e-12
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    before = state.value
    run.exchange()
    assert state.value <= before + 1e-12
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    run.shake(1.0)
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)


@pytest.mark.parametrize("name", ["id", "nid"])
def test_two_items_change_places_where_neither_would_go_alone(name):
    truth = np.repeat([0, 1], 15)
    draws = pt.Draws([truth, truth, truth, np.where(np.arange(30) == 7, 1, truth)])
    evidence, loss = Evidence(draws=draws), NAMED[name]
    state = DrawsProblem(draws, loss, merge=False).state()
    swapped = truth.copy()
    swapped[[0, 29]] = 1, 0
    state.load(swapped)
    run = Run(state, np.random.default_rng(0), 30, Clock())
    assert state.exchange(30, 16)
    assert np.array_equal(state.labels, truth)
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    run.exchange()
    assert np.array_equal(state.labels, truth)


@pytest.mark.parametrize("name", ["id", "nid"])
def test_pairs_move_until_none_gains_where_a_call_has_time_for_one_round(name, monkeypatch):
    """Of many draws a call looks at all pairs once; that was the end of it, with pairs left."""
    monkeypatch.setattr(DrawsState, "visits", 1)
    monkeypatch.setattr(DrawsState, "_is_long", False)
    monkeypatch.setattr("partita.search._greedy_run.PAIRS", 1)
    truth = np.repeat([0, 1], 15)
    draws = pt.Draws([truth, truth, truth, np.where(np.arange(30) == 7, 1, truth)])
    state = DrawsProblem(draws, NAMED[name], merge=False).state()
    swapped = truth.copy()
    swapped[[0, 29, 1, 28]] = 1, 0, 1, 0
    state.load(swapped)
    run = Run(state, np.random.default_rng(0), 30, Clock())
    monkeypatch.setattr(run, "settle", lambda: None)  # single items would follow
    run.exchange()
    assert np.array_equal(state.labels, truth)
    assert state.has_exchanged


def parts(state):
    """What a state consists of."""
    if isinstance(state, SimilarityState):
        return state.sizes, state.sums.T, state.own, state.totals
    return state.sizes, state._tables.counts.T, state.j


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(draws=weighted_draws(30), seed=st.integers(0, 99), share=st.floats(-0.2, 0.2))
def test_an_attempt_is_below_its_bar_or_leaves_all_as_it_was(loss, draws, seed, share):
    evidence = Evidence(draws=draws)
    for shared in problems(loss, evidence):
        check_attempt(shared.state(), loss, evidence, np.random.default_rng(seed), share)


def check_attempt(state, loss, evidence, rng, share):
    state.load(canonical(rng.integers(0, 4, state.labels.size)))
    order = rng.permutation(np.flatnonzero(state.labels <= rng.integers(0, 2)))
    targets = rng.choice([-1, 0, int(np.flatnonzero(state.sizes == 0)[0])], order.size)
    before, bar = state.value, state.value + share
    kept = [state.labels.copy(), *(x.copy() for x in parts(state))]
    is_below = attempted(state, order, targets, order, evidence.n_items, bar)
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    if is_below:
        assert state.value < bar
    elif np.array_equal(state.labels, kept[0]):
        for now, then in zip(parts(state), kept[1:], strict=True):
            assert_allclose(now[..., : then.shape[-1]], then, atol=1e-9)
    else:  # the same clusters in other columns
        assert_allclose(state.value, before, atol=1e-9)


@pytest.mark.parametrize("name", ["vi", "nvi", "id", "nid", "omari"])
def test_splitting_a_block_off_gains_what_was_foretold(name):
    draws = pt.datasets.simulate_draws(20, 15, n_clusters=3, noise=0.4, rng=4)
    state = DrawsProblem(draws, NAMED[name], merge=False).state()
    state.load(np.repeat([0, 1], [12, 8]))
    saved, e, p = state.save(), float(state.totals[0]), state.problem
    for block in (np.arange(5), np.array([13, 17, 19])):
        shared, more = np.zeros(int(p.offsets[-1]), dtype=np.int64), np.full(p.m, np.nan)
        rise = kernels.greedy_recombine.split_gain(block, p.given, state.held, shared, more)
        assert not shared.any()
        state.move(block, np.full(block.size, 2))
        assert_allclose(rise, state.totals[0] - e, atol=1e-9)
        assert_allclose(more, state.j - saved[1], atol=1e-9)
        state.restore(saved)


@pytest.mark.parametrize("name", ["vi", "nvi", "id", "nid", "omari"])
def test_splits_and_moves_of_blocks_that_are_proposed_cost_no_more_than_they_may(name):
    draws = pt.datasets.simulate_draws(40, 30, n_clusters=4, noise=0.3, rng=4)
    state = DrawsProblem(draws, NAMED[name], merge=False).state()
    rng, kinds = np.random.default_rng(0), set()
    for _ in range(20):
        state.load(canonical(rng.integers(0, 3, 40)))
        before, saved = state.value, state.save()
        seed = rng.integers(0, 1 << 64, 4, dtype=np.uint64)
        for block, pair in state.recombinations(seed, [], 40, 16, 0.0, 0.5):
            kinds.add(pair.size)
            if pair.size == 2:
                continue
            assert np.unique(state.labels[block]).size == 1
            state.grow(state.sizes.size)
            free = int(np.flatnonzero(state.sizes == 0)[0])
            target = state.labels[pair[0]] if pair.size else free
            state.move(block, np.full(block.size, target))
            assert state.value <= before + 0.5 * before / 40 + 1e-9
            state.load(saved[0])
    assert {0, 1} <= kinds


def test_two_mates_begin_a_cluster_where_one_alone_would_not():
    """Each is with a third of the others in every draw, and both are always together."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (90, 12))
    labels[:, :10] = np.where(rng.random((90, 1)) < 0.9, 0, labels[:, :10])
    labels[:, 11] = labels[:, 10]
    state = DrawsProblem(pt.Draws(labels), NAMED["nvi"], merge=False).state()
    state.load(np.zeros(12, dtype=np.int64))
    seed = rng.integers(0, 1 << 64, 4, dtype=np.uint64)
    plans = state.recombinations(seed, [], 12, 8, 0.0, 0.0)
    assert any(set(block) == {10, 11} for block, _ in plans)


@pytest.mark.slow
def test_parts_of_one_cluster_are_looked_for_within_the_tables(tmp_path):
    """There is no other cluster for a half to go to."""
    code = """
import numpy as np, partita as pt
from partita.search._greedy_draws import DrawsProblem
for n in (3, 20):
    draws = pt.datasets.simulate_draws(n, 30, n_clusters=3, noise=0.3, rng=4)
    state = DrawsProblem(draws, pt.losses.NID(), merge=False).state()
    for k in (1, 2):
        state.load(np.arange(n) % k)
        state.recombinations(np.arange(1, 5, dtype=np.uint64), [np.arange(n) % 2], n, 8, 1.0, 1.0)
"""
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=checked)


def test_draws_whose_sizes_are_the_same_bend_at_one_place():
    """Their t differ by rounding alone, so that e is any number of these differences away."""
    rng, sizes = np.random.default_rng(0), [1] * 20 + [2] * 8 + [3] * 8
    labels = np.stack([rng.permutation(np.repeat(np.arange(36), sizes)) for _ in range(40)])
    evidence = Evidence(draws=pt.Draws(labels))
    state = DrawsProblem(evidence.distinct, NAMED["id"], merge=False).state()
    for start in (np.zeros(60, dtype=int), np.arange(60), labels[0]):
        state.load(canonical(start))
        run = Run(state, np.random.default_rng(0), 60, Clock())
        run.settle()
        assert_allclose(state.value, value_of(state, NAMED["id"], evidence), atol=1e-9)


def test_items_go_to_a_cluster_together_where_none_would_alone():
    with_first = np.repeat([0, 1], [12, 10])
    with_second = np.where(np.arange(22) < 10, 0, 1)
    draws = pt.Draws([with_first] * 4 + [with_second] * 5)
    evidence, loss = Evidence(draws=draws), NAMED["vi"]
    state = DrawsProblem(draws, loss, merge=False).state()
    run = Run(state, np.random.default_rng(0), 22, Clock())
    state.load(with_first)
    one_alone = np.where(np.arange(22) == 11, 1, with_first)
    values = losses.expected(loss, np.stack([with_first, one_alone, with_second]), evidence)
    assert values[1] > values[0] > values[2]
    run.settle()
    assert np.array_equal(state.labels, with_first)
    assert state.chain(22, 4, 4, np.inf)
    assert np.array_equal(canonical(state.labels), with_second)
    assert_allclose(state.value, values[2], atol=1e-9)
    assert not state.chain(22, 4, 4, np.inf)
    state.load(with_first)
    assert not state.chain(22, 4, 1, np.inf)
    assert np.array_equal(state.labels, with_first)
    assert_allclose(state.value, values[0], atol=1e-9)


def test_two_clusters_are_merged_where_that_pays_with_those_that_follow():
    draws = pt.datasets.simulate_draws(30, 12, n_clusters=4, noise=0.35, rng=21)
    evidence, loss = Evidence(draws=draws), NAMED["vi"]
    state = DrawsProblem(draws, loss, merge=False).state()
    run = Run(state, np.random.default_rng(0), 30, Clock())
    run.grow()
    run.go(("sweep", "merge"), 1.0)
    before = state.value
    assert state.merge_values()[1].min() > before  # no merger pays by itself
    assert run.join()
    assert state.value < before
    found = losses.expected(loss, canonical(state.labels)[None], evidence)
    assert_allclose(state.value, found[0], atol=1e-9)


@pytest.mark.parametrize("name", ["vi", "nid"])
def test_columns_put_together_hold_the_same_partition(name):
    draws = pt.datasets.simulate_draws(40, 15, n_clusters=3, noise=0.4, rng=4)
    evidence = Evidence(draws=draws)
    state = DrawsProblem(draws, NAMED[name], merge=False).state()
    state.load(np.arange(40))
    state.move(np.arange(40), np.arange(40) % 3 + 30)
    before = state.value
    state.fit()
    assert set(state.labels) == {0, 1, 2}
    assert np.array_equal(canonical(state.labels), np.arange(40) % 3)
    assert_allclose([state.value, value_of(state, NAMED[name], evidence)], before, atol=1e-9)


@pytest.mark.parametrize("name", ["id", "nid"])
def test_two_clusters_are_merged_and_a_third_split_at_once(name):
    truth = np.repeat([0, 1], [12, 12])
    draws = pt.Draws([truth] * 4 + [np.where(np.arange(24) == 3, 1, truth)])
    evidence, loss = Evidence(draws=draws), NAMED[name]
    state = DrawsProblem(draws, loss, merge=False).state()
    wrong = np.repeat([0, 1, 2], [6, 6, 12])  # as if the first cluster were two
    wrong[12:18] = 1
    state.load(wrong)
    run = Run(state, np.random.default_rng(0), 24, Clock(), sweeps=False, others=[truth])
    before = state.value
    assert recombine(run)
    assert state.value < before
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    state.load(truth)
    assert not recombine(run)
    assert np.array_equal(state.labels, truth)


@pytest.mark.parametrize("name", ["id", "nid"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_split_is_found_where_no_other_partition_shows_it(name, seed):
    truth = np.repeat([0, 1, 2], [20, 20, 20])
    rng = np.random.default_rng(seed)
    moved = rng.random((30, 60)) < 0.05
    draws = pt.Draws(np.where(moved, rng.integers(0, 3, (30, 60)), truth))
    state = DrawsProblem(draws, NAMED[name], merge=False).state()
    wrong = np.repeat([0, 1, 2], [40, 10, 10])  # two together, the third in halves
    state.load(wrong)
    run = Run(state, np.random.default_rng(seed), 60, Clock())
    assert recombine(run)
    assert np.array_equal(canonical(state.labels), truth)
    assert_allclose(state.value, value_of(state, NAMED[name], Evidence(draws=draws)), atol=1e-9)


@pytest.mark.parametrize("name", ["nvi", "id", "nid", "omari"])
def test_items_are_put_in_by_the_loss_of_those_put_in_before(name):
    draws = pt.datasets.simulate_draws(30, 40, n_clusters=3, noise=0.2, rng=1)
    evidence, loss = Evidence(draws=draws), NAMED[name]
    state = DrawsProblem(evidence.distinct, loss, merge=False).state()
    order = np.random.default_rng(0).permutation(30)
    state.load(np.full(30, -1))
    state.sequence(order, 30)
    assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)
    choices = np.stack([np.where(np.arange(30) == order[-1], k, state.labels) for k in range(9)])
    values = losses.expected(loss, choices, evidence)  # the last item had all the others to go by
    assert state.value <= values.min() + 0.02 * values.min()


class UpAfter(Clock):
    """A clock that is up when it was asked so many times."""

    def __init__(self, n):
        super().__init__()
        self.n = n

    def is_up(self):
        self.n -= 1
        return self.n < 0


@pytest.mark.parametrize("is_stepwise", [False, True])
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_items_that_there_is_no_time_to_put_in_go_to_the_largest_cluster(
    loss, is_stepwise, monkeypatch
):
    draws = pt.datasets.simulate_draws(40, 30, n_clusters=8, noise=0.4, rng=1)
    evidence = Evidence(draws=draws)
    monkeypatch.setattr("partita.search._greedy_counts.CALL", 1)  # items are put in one by one
    monkeypatch.setattr("partita.search._greedy_similarity._CALL", 1)
    for shared in problems(loss, evidence):
        found = []
        for clock in (Clock(), UpAfter(25)):
            run = Run(shared.state(), np.random.default_rng(3), 9, clock, is_stepwise=is_stepwise)
            run.grow()
            found.append(run.state.labels.copy())
            kept = run.state.value
            assert_allclose(kept, value_of(run.state, loss, evidence), atol=1e-9)
            assert_allclose(run.state.recomputed(), kept, atol=1e-9)
        whole, part = found
        order = np.random.default_rng(3).permutation(shared.n)
        put_in, rest = order[:20], order[30:]  # one may be asked again where columns are added
        assert np.array_equal(whole[put_in], part[put_in])
        assert len(set(part[rest].tolist())) == 1
        assert len(set(whole[rest].tolist())) > 1
        assert np.bincount(part).argmax() == part[rest[0]]
        assert np.unique(part).size <= 9


@pytest.mark.parametrize("name", ["vi", "omari", "pear"])
def test_a_cluster_of_a_draw_is_taken_over_if_that_helps(name):
    truth = np.repeat(np.arange(4), 6)
    evidence, loss = Evidence(draws=pt.Draws([truth] * 5)), NAMED[name]
    for shared in problems(loss, evidence):
        if shared.n < 24:
            continue
        state = shared.state()
        run = Run(state, np.random.default_rng(0), 24, Clock(), sweeps=False)
        state.load(np.where(truth == 2, 1, truth))
        run.shake(4.0, ["graft"])
        assert np.array_equal(canonical(state.labels), truth)
        assert_allclose(state.value, value_of(state, loss, evidence), atol=1e-9)


@pytest.mark.parametrize("name", ["id", "nid"])
def test_draws_that_all_agree_leave_nothing_to_soften(name):
    truth = np.arange(12) % 4
    evidence, loss = Evidence(draws=pt.Draws([truth] * 3)), NAMED[name]
    state, rng = DrawsProblem(evidence.distinct, loss).state(), np.random.default_rng(0)
    state.load(truth[: state.labels.size])
    run = Run(state, rng, 12, Clock())
    assert state.value == 0.0
    assert not run.soften()
    state.soften(np.arange(state.labels.size), 12, np.ones(3))
    assert (state.labels == truth[: state.labels.size]).all()


def test_a_softened_sweep_puts_an_item_where_the_loss_is_least():
    draws = pt.datasets.simulate_draws(12, 30, n_clusters=3, noise=0.4, rng=0)
    evidence, loss = Evidence(draws=draws), NAMED["vi"]
    state = DrawsProblem(evidence.distinct, loss, merge=False).state()
    labels = np.repeat(np.arange(3), 4)
    for item in range(12):
        state.load(labels)
        state.soften(np.array([item]), 12, np.ones(1))
        choices = np.stack([np.where(np.arange(12) == item, k, labels) for k in range(4)])
        values = pt.losses.expected(loss, choices, evidence)
        assert min(state.labels[item], 3) == np.argmin(values)


def test_blocks_are_moved_together_as_in_another_partition_if_that_helps():
    truth = np.repeat(np.arange(4), 10)
    other = np.repeat([0, 1, 2, 2], 10)
    swapped = np.where(np.arange(40) % 10 < 5, truth, (truth + 1) % 4)
    evidence = Evidence(draws=pt.Draws([truth] * 3 + [other]))
    state = DrawsProblem(evidence.distinct, NAMED["id"], merge=False).state()
    run = Run(state, np.random.default_rng(0), 40, Clock(), sweeps=False)
    state.load(swapped)
    run.cross(swapped)
    assert (state.labels == swapped).all()
    run.cross(truth)
    assert_allclose(state.value, value_of(state, NAMED["id"], evidence), atol=1e-9)
    assert np.array_equal(canonical(state.labels), truth)


@pytest.mark.parametrize("name", ["vi", "nvi", "id", "nid", "omari"])
@pytest.mark.parametrize("width", [0.0, 4.0])
def test_slopes_are_those_of_the_loss_with_its_bends_rounded_off(name, width):
    shared = DrawsProblem(pt.datasets.simulate_draws(30, 50, noise=0.3, rng=0), NAMED[name])
    state, e = shared.state(), float(np.median(shared.t)) + 0.25
    state.load(np.arange(shared.n) % 3)

    def rounded(j, e):
        near = np.clip(shared.t - e, -width, width)
        least = np.minimum(shared.t, e)
        if width:
            least -= (width - np.abs(near)) ** 2 / (4 * width)
        t, w, n = shared.t, shared.w, shared.total
        basis = np.stack([t, e + 0 * t, j, w + 0 * t, least, t * e / w, n + 0 * t])
        return float(shared.p @ ((shared.num @ basis) / (shared.den @ basis)))

    state.totals[0], h = e, 1e-5
    slope, rise = kernels.greedy_draws.slopes(
        state.j, e, width, shared.shape, state.slant, state.held[6]
    )
    up, down = rounded(state.j, e + h), rounded(state.j, e - h)
    assert_allclose(slope, (up - down) / (2 * h), rtol=1e-5, atol=1e-9)
    for m in (0, 7):
        dj = h * (np.arange(shared.m) == m)
        change = rounded(state.j + dj, e) - rounded(state.j - dj, e)
        assert_allclose(state.slant[0][m], -change / (2 * h), rtol=1e-4, atol=1e-9)
    assert (rise > 0) == (width > 0 and state.is_rough)


def test_rounding_bends_off_gets_out_where_sweeps_stick_and_never_ends_higher():
    rng = np.random.default_rng(0)
    halves = [pt.datasets.simulate_draws(60, 40, n_clusters=k, noise=0.5, rng=k) for k in (5, 6)]
    evidence = Evidence(draws=pt.Draws(np.vstack([half.labels for half in halves])))
    run = Run(DrawsProblem(evidence.distinct, NAMED["id"]).state(), rng, 60, Clock())
    falls = []
    for _ in range(8):
        run.grow()
        run.settle()
        before = run.state.value
        run.soften()
        falls.append(before - run.state.value)
    assert min(falls) > -1e-12
    assert max(falls) > 1e-3


def test_draws_to_start_from_come_from_different_modes():
    halves = [pt.datasets.simulate_draws(40, 30, n_clusters=k, noise=0.1, rng=k) for k in (3, 6)]
    labels = np.vstack([half.labels for half in halves])
    for name in ("vi", "binder", "nid", "pear"):
        first, second = from_draws(NAMED[name], Evidence(draws=pt.Draws(labels)), 2)
        modes = [
            np.argmin([losses.VI()(half.labels[0], x) for half in halves]) for x in (first, second)
        ]
        assert sorted(modes) == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_start_gives_an_answer(kind):
    draws = pt.datasets.simulate_draws(20, 30, n_clusters=3, noise=0.1, rng=0)
    best = pt.estimate(draws, loss="vi", search=Greedy(starts=(kind,)), rng=0)
    assert (
        best.expected_loss <= pt.estimate(draws, loss="vi", search="average").expected_loss + 1e-9
    )


def test_starts_that_no_run_begins_from_are_not_made(monkeypatch):
    draws = pt.datasets.simulate_draws(20, 30, n_clusters=3, noise=0.1, rng=0)
    made, plain = [], Starts._made
    monkeypatch.setattr(
        Starts, "_made", lambda self, kind, *args: made.append(kind) or plain(self, kind, *args)
    )
    for n_runs, kinds in ((1, []), (2, ["average"]), (3, ["average", "one"]), (9, None)):
        made.clear()
        search = Greedy(n_runs=n_runs, starts=("sequential", "average", "one", "nmf"))
        pt.estimate(draws, loss="vi", search=search, rng=0)
        assert made == (["average", "one", "nmf"] if kinds is None else kinds)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_merging_costs_what_was_foretold(loss):
    evidence = Evidence(draws=pt.datasets.simulate_draws(15, 12, n_clusters=4, noise=0.4, rng=2))
    for shared in problems(loss, evidence):
        state = shared.state()
        Run(state, np.random.default_rng(0), 15, Clock()).grow()
        pairs, values = state.merge_values()
        for (a, b), value in zip(pairs.tolist(), values, strict=True):
            labels = shared.items.expand(state.labels)
            labels[labels == a] = b
            assert_allclose(value, losses.expected(loss, labels[None, :], evidence)[0], atol=1e-9)


@pytest.mark.parametrize("name", sorted(NAMED))
@pytest.mark.parametrize("n_posteriors", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_sixteen_runs_find_the_enumerated_minimum(name, n_posteriors):
    rng = np.random.default_rng(n_posteriors)
    search = Greedy(n_runs=16, starts=("sequential", "draws", "random", "average", "one"))
    for _ in range(n_posteriors):
        n, m = int(rng.integers(2, 9)), int(rng.integers(1, 30))
        draws = pt.Draws(rng.integers(0, rng.integers(1, n + 1), (m, n)))
        found = pt.estimate(draws, loss=name, search=search, rng=0).expected_loss
        least = pt.expected_loss(enumerate_partitions(n), draws, loss=name).min()
        assert_allclose(found, least, atol=1e-9)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_no_reference_partition_is_better(name, draws, reference):
    rivals = [entry["labels"] for entry in reference["estimates"].values()]
    least = pt.expected_loss(np.array(rivals), draws, loss=name).min()
    assert pt.estimate(draws, loss=name, rng=0).expected_loss <= least + 1e-12


@pytest.mark.parametrize("name", sorted(NAMED))
def test_nothing_that_other_searches_find_is_better(name):
    draws = pt.datasets.simulate_draws(90, 200, n_clusters=6, noise=0.35, rng=4)
    best = pt.estimate(draws, loss=name, rng=0).expected_loss
    for other in ("draws", "average", "complete", "spectral"):
        assert best <= pt.estimate(draws, loss=name, search=other, rng=0).expected_loss + 1e-12


@pytest.mark.parametrize("loss", [Root(), RootOnPairs()], ids=repr)
def test_a_loss_from_a_users_own_file_is_searched(loss):
    draws = pt.datasets.simulate_draws(7, 20, n_clusters=3, noise=0.4, rng=0)
    best = pt.estimate(draws, loss=loss, search=Greedy(n_runs=8), rng=0)
    least = pt.expected_loss(enumerate_partitions(7), draws, loss=loss).min()
    assert_allclose(best.expected_loss, least, atol=1e-9)


def test_items_with_the_same_columns_are_one_weighted_item():
    few = pt.datasets.simulate_draws(12, 40, n_clusters=3, noise=0.4, rng=1)
    many = pt.Draws(np.repeat(few.labels, 3, axis=1))
    shared = DrawsProblem(many.unique(), losses.VI())
    assert shared.n <= 12
    assert shared.weight.sum() == 36
    one = pt.estimate(many, loss="vi", rng=0)
    assert_allclose(one.expected_loss, pt.expected_loss(one.labels, many, loss="vi"), atol=1e-12)
    assert (np.ptp(canonical(one.labels).reshape(12, 3), axis=1) == 0).all()


@pytest.mark.parametrize("name", ["vi", "nid", "binder", "vi-lower-bound"])
def test_no_more_clusters_than_asked_for(name):
    draws = pt.datasets.simulate_draws(60, 100, n_clusters=8, noise=0.1, rng=0)
    best = pt.estimate(draws, loss=name, search=Greedy(n_runs=6, max_clusters=3), rng=0)
    assert best.n_clusters <= 3


def test_starts_may_be_searches_and_labels(draws):
    start = np.arange(60) % 4
    search = Greedy(n_runs=3, starts=(Linkage("average"), start, "one"))
    assert pt.estimate(draws, search=search, rng=0).info["start"] in ("Linkage", "labels", "one")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n_runs": 0}, "n_runs"),
        ({"starts": ()}, "starts"),
        ({"starts": ("nowhere",)}, "starts"),
        ({"starts": (3,)}, "starts"),
        ({"moves": ("jump",)}, "moves"),
        ({"moves": ()}, "moves"),
        ({"time_limit": 0}, "time_limit"),
        ({"patience": -1}, "patience"),
    ],
)
def test_settings_are_checked(wrong, says):
    with pytest.raises(pt.errors.PartitaError, match=says):
        Greedy(**wrong)


def test_a_search_on_few_draws_is_polished_on_all():
    draws = pt.datasets.simulate_draws(50, 2000, n_clusters=4, noise=0.3, rng=3)
    few = pt.estimate(draws, loss="vi", search=Greedy(n_runs=2, max_draws=100), rng=0)
    assert_allclose(few.expected_loss, pt.expected_loss(few.labels, draws, loss="vi"), atol=1e-12)
    polished = polish(few.labels, Evidence(draws=draws), losses.VI(), rng=np.random.default_rng(0))
    assert pt.expected_loss(polished, draws, loss="vi") <= few.expected_loss + 1e-12


def test_polish_never_makes_worse(draws):
    evidence = Evidence(draws=draws)
    for k in (1, 5, 20):
        start = np.arange(60) * k // 60
        better = polish(start, evidence, losses.NID(), rng=np.random.default_rng(k))
        before, after = pt.expected_loss([start, better], draws, loss="nid")
        assert after <= before


def check_answer(best, draws, loss):
    """The labels are a partition in its usual form, of the loss that is said, no worse than one."""
    assert best.labels.shape == (draws.n_items,)
    assert np.array_equal(best.labels, canonical(best.labels))
    here, one = pt.expected_loss([best.labels, np.zeros_like(best.labels)], draws, loss=loss)
    assert_allclose(best.expected_loss, here, atol=1e-12)
    assert here <= one + 1e-12


def test_a_time_limit_still_gives_an_answer(monkeypatch):
    draws = pt.datasets.simulate_draws(60, 40, n_clusters=10, noise=0.5, rng=0)
    runs, asked = [], []
    go = Run.go
    monkeypatch.setattr(Run, "go", lambda self, *args: (runs.append(1), go(self, *args)))

    def is_up(self):
        asked.append(1)
        return len(asked) > 200

    monkeypatch.setattr("partita.distributed.Clock.is_up", is_up)
    search = Greedy(n_runs=10_000, starts=("sequential",), time_limit=600.0)
    with pytest.warns(pt.errors.PartitaWarning, match="`time_limit` was too short for all that"):
        best = pt.estimate(draws, loss="nid", search=search, rng=0)
    assert best.info["cut_short"]
    assert 1 < len(runs) < 200
    check_answer(best, draws, "nid")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_returns_the_best_so_far_with_a_warning(monkeypatch, n_jobs):
    draws = pt.datasets.simulate_draws(40, 50, n_clusters=3, rng=0)
    shake, calls = Run.shake, []

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        shake(self, *args, **kwargs)

    monkeypatch.setattr(Run, "shake", interrupted)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        best = pt.estimate(draws, search=Greedy(n_runs=30), rng=0, n_jobs=n_jobs)
    assert_allclose(best.expected_loss, pt.expected_loss(best.labels, draws), atol=1e-12)


def test_an_interrupt_between_few_draws_and_all_keeps_what_was_found(monkeypatch):
    draws = pt.datasets.simulate_draws(80, 800, n_clusters=3, rng=0)
    turned, plain = [], Plan._stage
    monkeypatch.setattr(Plan, "_stage", lambda self: (turned.append(1), plain(self))[1])
    keep = Run.keep

    def interrupted(self):
        if len(turned) > 1:
            raise KeyboardInterrupt
        keep(self)

    monkeypatch.setattr(Run, "keep", interrupted)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        best = pt.estimate(draws, search=Greedy(), rng=0)
    assert len(turned) > 1
    assert best.n_clusters > 1


@pytest.mark.parametrize("name", ["vi", "nid", "binder", "pear"])
def test_labels_are_a_start_beside_others_under_every_loss(name):
    draws = pt.datasets.simulate_draws(40, 50, n_clusters=3, rng=0)
    labels = np.arange(40) % 3
    for starts in ((labels, "sequential"), ("sequential", labels, "draws")):
        best = pt.estimate(draws, loss=name, search=Greedy(starts=starts), rng=0)
        check_answer(best, draws, name)
        assert best.expected_loss <= pt.expected_loss(labels, draws, loss=name)


def test_other_searches_as_starts_end_with_the_limit():
    draws = pt.datasets.simulate_draws(60, 50, n_clusters=3, rng=0)
    seen = []

    @dataclass
    class Watched:
        time_limit: float | None = None

        def candidates(self, evidence, loss, *, rng, n_jobs):
            seen.append(self.time_limit)
            yield pt.search.Candidate(np.arange(60) % 3)

    pt.estimate(draws, search=Greedy(starts=(Watched(), "nmf"), time_limit=20.0), rng=0)
    pt.estimate(draws, search=Greedy(starts=(Watched(),)), rng=0)
    assert 0 < seen[0] <= 20
    assert seen[1] is None


def test_after_an_interrupt_no_other_search_is_made(monkeypatch, tmp_path):
    draws = pt.datasets.simulate_draws(40, 50, n_clusters=3, rng=0)
    plain = Plan.run

    class Never:
        def candidates(self, *_, **__):
            pytest.fail("It went on.")

    def interrupted(plan):
        yield from plain(plan)
        raise KeyboardInterrupt

    monkeypatch.setattr(Plan, "run", interrupted)
    for more in ({"search": [Greedy(), Never()]}, {"n_clusters": 30}):
        with pytest.warns(pt.errors.PartitaWarning, match="The search was interrupted") as said:
            best = pt.estimate(draws, rng=0, **more)
        assert [one.filename for one in said] == [__file__]
        assert best.info["interrupted"]
    best.save(tmp_path / "best.npz")
    assert pt.Estimate.load(tmp_path / "best.npz").info["interrupted"]


def test_an_interrupt_elsewhere_keeps_what_was_scored():
    class Slow:
        def candidates(self, evidence, loss, *, rng, n_jobs):
            yield pt.search.Candidate(np.array([0, 0, 1]), expected_loss=0.5)
            raise KeyboardInterrupt

    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        best = pt.estimate([[0, 0, 1], [0, 1, 1]], search=Slow())
    assert best.labels.tolist() == [0, 0, 1]


def test_many_items_search_binder_through_the_draws(monkeypatch):
    draws = pt.datasets.simulate_draws(80, 60, n_clusters=4, noise=0.2, rng=0)
    dense = pt.estimate(draws, loss="binder", rng=0).expected_loss
    monkeypatch.setattr("partita.search._greedy_problem._DENSE_ITEMS", 10)
    assert isinstance(problem(losses.Binder(), Evidence(draws=draws)), DrawsProblem)
    search = Greedy(n_runs=8, starts=("sequential", "draws"))
    through = pt.estimate(draws, loss="binder", search=search, rng=0).expected_loss
    assert_allclose(through, dense, rtol=2e-3)


@pytest.mark.parametrize(("loss", "k"), [("vi", 2), ("vi", 6), ("binder", 3)])
def test_a_weight_is_found_for_a_number_of_clusters(loss, k):
    draws = pt.datasets.simulate_draws(60, 100, n_clusters=4, noise=0.3, rng=0)
    best = pt.estimate(draws, loss=loss, n_clusters=k, rng=0)
    assert best.n_clusters == k
    assert_allclose(best.expected_loss, pt.expected_loss(best.labels, draws, loss=best.loss))


def test_a_number_of_clusters_needs_a_weight():
    with pytest.raises(pt.errors.InvalidTypeError, match="weight"):
        pt.estimate([[0, 0, 1]], loss="nid", n_clusters=2)


def test_a_number_that_no_weight_gives_is_a_warning():
    with pytest.warns(pt.errors.PartitaWarning, match="No weight"):
        best = pt.estimate([[0, 0, 1, 1]] * 3, loss="binder", n_clusters=3, rng=0)
    assert best.n_clusters in (2, 4)


def test_a_search_from_labels_has_a_name():
    draws = pt.datasets.simulate_draws(20, 30, n_clusters=2, rng=0)
    best = pt.estimate(draws, search=Greedy(starts=(np.arange(20) % 3,)), rng=0)
    assert "starts=(<20 labels>,)" in repr(best)
    assert repr(Greedy()) == "Greedy()"
    assert repr(Greedy(n_runs=3, starts=("one", [0] * 5))) == (
        "Greedy(n_runs=3, starts=('one', <5 labels>))"
    )


@pytest.mark.parametrize("name", ["vi", "pear"])
def test_a_change_that_never_finds_room_in_one_call_is_left_to_be_made_in_parts(name, monkeypatch):
    truth = np.repeat(np.arange(4), 6)
    evidence = Evidence(draws=pt.Draws([truth, np.roll(truth, 1), np.roll(truth, 2)]))
    for shared in problems(NAMED[name], evidence):
        state, items = shared.state(), np.arange(shared.n)
        state.load(shared.items.compress(truth))
        monkeypatch.setattr(type(state), "shake", lambda *_: kernels.greedy_proposals.ASKED)
        assert attempted(state, items, np.full(items.size, -1), items, shared.n, 0.0) is None


@pytest.mark.parametrize(
    "options", [{"moves": ("sweep",)}, {"time_limit": 1e-9}, {"max_draws": 20}]
)
def test_no_answer_is_worse_than_the_labels_it_was_given(options):
    draws = pt.datasets.simulate_draws(60, 300, n_clusters=6, noise=0.45, rng=3)
    best = pt.estimate(draws, loss="id", rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.errors.PartitaWarning)
        again = pt.estimate(
            draws, loss="id", search=Greedy(starts=(best.labels,), **options), rng=1
        )
    assert again.expected_loss <= best.expected_loss + 1e-12


def test_no_limit_gives_worse_than_one_cluster():
    draws = pt.Draws(np.random.default_rng(0).integers(0, 2, (400, 300)))
    with pytest.warns(pt.errors.PartitaWarning, match="time"):
        best = pt.estimate(draws, loss="vi", search=Greedy(time_limit=1e-9), rng=0)
    assert best.expected_loss <= pt.expected_loss(np.zeros(300, int), draws, loss="vi") + 1e-12


def test_an_estimate_may_have_a_limit_of_its_own():
    draws = pt.datasets.simulate_draws(60, 200, n_clusters=4, noise=0.5, rng=0)
    with pytest.warns(pt.errors.PartitaWarning, match="time"):
        best = pt.estimate(draws, time_limit=1e-9, rng=0)
    assert best.info["cut_short"]
    assert not pt.estimate(draws, time_limit=600, rng=0).info.get("cut_short")
    for wrong in (0, -1.0, "soon"):
        with pytest.raises(pt.errors.PartitaError, match="time_limit"):
            pt.estimate(draws, time_limit=wrong)
    with pytest.raises(pt.errors.PartitaError, match=r"knows when to stop.*average"):
        pt.estimate(draws, search="average", time_limit=3)


@pytest.mark.parametrize("name", ["binder", "pear", "vi"])
def test_what_a_state_held_before_does_not_matter(name):
    draws = pt.datasets.simulate_draws(80, 120, n_clusters=7, noise=0.4, rng=1)
    for shared in problems(NAMED[name], Evidence(draws=draws)):
        used, ends = shared.state(), []
        used.load(shared.items.compress(np.arange(80) % 40))
        for state in (used, shared.state()):
            state.load(canonical(shared.items.compress(draws.labels[0])))
            run = Run(state, np.random.default_rng(0), 80, Clock())
            run.go(("sweep", "split"), 4.0)
            ends.append((state.sizes.size, state.value, canonical(state.labels).tolist()))
        assert ends[0] == ends[1]


@pytest.mark.parametrize("name", ["binder", "vi", "nid", "pear"])
def test_a_cap_on_clusters_is_kept_and_searched_under(name):
    draws = pt.datasets.simulate_draws(40, 120, n_clusters=6, noise=0.2, rng=5)
    labels = np.arange(40) % 12
    polished = polish(
        labels, Evidence(draws=draws), NAMED[name], rng=np.random.default_rng(0), max_clusters=3
    )
    assert canonical(polished).max() < 3
    values = [
        pt.estimate(draws, loss=name, search=Greedy(max_clusters=3), rng=s).expected_loss
        for s in range(3)
    ]
    often = Greedy(max_clusters=3, n_runs=24, patience=4)
    least = pt.estimate(draws, loss=name, search=often, rng=0).expected_loss
    assert min(values) <= least + 1e-12


@pytest.mark.parametrize(
    ("n_draws", "is_anew"), [(140, False), (300, False), (1_000, True), (4_000, True)]
)
def test_where_few_of_the_draws_agree_some_runs_begin_anew_on_more(monkeypatch, n_draws, is_anew):
    rng, seen = np.random.default_rng(5), []
    truth = np.repeat([0, 1, 2], 20)
    mixed = rng.random((n_draws, 60)) < 0.2
    draws = pt.Draws(np.where(mixed, rng.integers(0, 3, (n_draws, 60)), truth))
    runs = Plan._runs

    def watched(self, shared, tasks, *args, **how):
        seen.extend((shared.m, name, labels is None) for name, labels, _ in tasks)
        return runs(self, shared, tasks, *args, **how)

    monkeypatch.setattr(Plan, "_runs", watched)
    assert pt.estimate(draws, loss="vi", rng=0).n_clusters == 3
    assert any(m > 150 and name == "sequential" and new for m, name, new in seen) is is_anew


def with_a_group(n_items, n_group, n_draws, n_labels, share, seed):
    """Items labelled by chance, but for some that are together in a share of the draws."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_labels, (n_draws, n_items))
    apart = rng.random((n_draws, 1)) < share
    labels[:, :n_group] = np.where(apart, n_labels, labels[:, :n_group])
    return pt.Draws(labels)


@pytest.mark.parametrize("loss", ["vi", "vi-lower-bound"])
@pytest.mark.parametrize("n_draws", [300, 4_000])
def test_items_without_structure_are_left_together_where_that_is_better(loss, n_draws):
    """Alone each is held there: only many together are better than every one alone."""
    draws = with_a_group(40, 4, n_draws, 6, 0.75, 5)
    two, alone = (np.arange(40) < 4).astype(int), np.maximum(np.arange(40) - 3, 0)
    best = pt.estimate(draws, loss=loss, rng=0)
    assert best.expected_loss <= pt.expected_loss(two, draws, loss=loss) + 1e-12
    assert best.expected_loss < 0.95 * pt.expected_loss(alone, draws, loss=loss)


def test_under_nid_most_items_without_structure_are_together():
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, (500, 71))
    labels[:, :9] = np.where(rng.random((500, 9)) < 0.39, 2, labels[:, :9])
    draws = pt.Draws(labels)
    best = pt.estimate(draws, loss="nid", rng=0)
    assert best.expected_loss < 0.95 * pt.expected_loss(np.arange(71), draws, loss="nid")
    assert np.bincount(best.labels).max() > 35


def test_searches_that_start_from_labels_are_compared_by_these():
    labels = np.repeat(np.arange(3), 4)
    one, same = Greedy(starts=(labels, "draws")), Greedy(starts=(labels.tolist(), "draws"))
    assert one == same == Greedy(starts=(tuple(labels), "draws"))
    assert hash(one) == hash(same)
    assert one != Greedy(starts=(labels[::-1], "draws"))
    assert one != Greedy(starts=("draws",))
    assert one != labels.tolist()
    assert Greedy(n_runs=2) != Greedy(n_runs=3)
    assert Greedy() in [one, Greedy()]


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_a_cap_that_binds_costs_no_seed_the_best(loss):
    """Random tessellations, three clusters at most: first runs that agree may be wrong."""
    rng = np.random.default_rng(21)
    items = rng.random((60, 2))
    draws = np.empty((100, 60), dtype=np.int64)
    for draw in draws:
        centres = rng.random((rng.integers(2, 9), 2))
        draw[:] = ((items[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    found = [
        pt.estimate(draws, loss=loss, search=Greedy(max_clusters=3), rng=seed) for seed in range(8)
    ]
    values = [best.expected_loss for best in found]
    assert max(best.n_clusters for best in found) == 3
    assert max(values) == pytest.approx(min(values), rel=1e-9)
