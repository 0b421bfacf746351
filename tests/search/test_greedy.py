"""The greedy search: minima that enumeration confirms, limits, starts, and how it ends."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import partita as pt
from partita import losses
from partita.evidence import Evidence
from partita.partitions import canonical, enumerate_partitions
from partita.search import Greedy, Linkage, Sampled, polish

NAMED = {name: loss for name, loss in losses.NAMES.items() if isinstance(loss, losses.RatioLoss)}
RECIPES = ("salso", "rastelli-friel", "wade-ghahramani", "lau-green")


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


ALL = [*NAMED.values(), losses.Binder(0.6), losses.VI(1.4), Root()]


@st.composite
def weighted_draws(draw, most_items=14):
    n, m = draw(st.integers(1, most_items)), draw(st.integers(1, 8))
    rows = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    labels = draw(st.lists(rows, min_size=m, max_size=m))
    weights = draw(st.lists(st.floats(0.1, 5), min_size=m, max_size=m))
    return pt.Draws(labels, weights=weights)


def candidates(search, draws, loss, seed=0):
    """What a search supplies."""
    how = {"rng": np.random.default_rng(seed), "n_jobs": 1}
    return list(search.candidates(Evidence(draws=draws), loss, **how))


def expected(labels, draws, loss):
    return losses.expected(loss, np.atleast_2d(labels), Evidence(draws=draws))


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(draws=weighted_draws(), seed=st.integers(0, 99), limit=st.integers(1, 14))
def test_the_loss_that_is_said_is_that_of_the_labels(loss, draws, seed, limit):
    start = np.random.default_rng(seed).integers(0, limit, draws.n_items)
    search = Greedy(max_clusters=limit, starts=(start,))
    *others, best = candidates(search, draws, loss, seed)
    assert_array_equal(best.labels, canonical(best.labels))
    assert best.labels.max() < limit
    assert_allclose(best.expected_loss, expected(best.labels, draws, loss)[0], atol=1e-9)
    for other in others:
        assert best.expected_loss <= expected(other.labels, draws, loss)[0] + 1e-9


@pytest.mark.parametrize("loss", ALL, ids=repr)
@given(draws=weighted_draws(), seed=st.integers(0, 99), data=st.data())
def test_exactly_as_many_clusters_as_asked_for(loss, draws, seed, data):
    k = data.draw(st.integers(1, draws.n_items))
    start = np.random.default_rng(seed).integers(0, 5, draws.n_items)
    best = candidates(Greedy(n_clusters=k, starts=(start,)), draws, loss, seed)[-1]
    assert best.labels.max() + 1 == k
    assert_allclose(best.expected_loss, expected(best.labels, draws, loss)[0], atol=1e-9)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_no_item_would_be_better_placed_elsewhere(loss):
    rng = np.random.default_rng(3)
    labels = np.where(rng.random((20, 25)) < 0.5, rng.integers(0, 4, (20, 25)), np.arange(25) % 4)
    draws = pt.Draws(labels)
    best = candidates(Greedy(), draws, loss)[-1]
    n_clusters = int(best.labels.max()) + 1
    moved = [
        np.where(np.arange(25) == i, k, best.labels)
        for i in range(25)
        for k in range(n_clusters + 1)
    ]
    values = expected(np.stack([canonical(one) for one in moved]), draws, loss)
    assert values.min() >= best.expected_loss - 1e-10


def least_of_seeds(draws, n_seeds=5, **how):
    return min(
        pt.estimate(draws, search=Greedy(), rng=seed, **how).expected_loss
        for seed in range(n_seeds)
    )


@pytest.mark.parametrize("name", sorted(NAMED))
@pytest.mark.parametrize("n_posteriors", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_the_enumerated_minimum_is_found(name, n_posteriors):
    rng, missed = np.random.default_rng(n_posteriors), 0
    for _ in range(n_posteriors):
        n, m = int(rng.integers(2, 9)), int(rng.integers(1, 30))
        labels = rng.integers(0, rng.integers(1, n + 1), (m, n))
        draws = pt.Draws(labels, weights=rng.dirichlet(np.ones(m)))
        every, k = enumerate_partitions(n), int(rng.integers(1, n + 1))
        values = pt.expected_loss(every, draws, loss=name)
        missed += least_of_seeds(draws, loss=name) > values.min() + 1e-9
        least = values[every.max(axis=1) == k - 1].min()
        missed += least_of_seeds(draws, loss=name, n_clusters=k) > least + 1e-9
    assert missed <= max(1, 0.01 * n_posteriors)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_no_reference_partition_is_better(name, draws, reference):
    rivals = [entry["labels"] for entry in reference["estimates"].values()]
    least = pt.expected_loss(np.array(rivals), draws, loss=name).min()
    assert pt.estimate(draws, loss=name, rng=0).expected_loss <= least + 1e-12


@pytest.mark.parametrize("name", sorted(NAMED))
def test_nothing_that_other_searches_find_is_better(name):
    draws = pt.datasets.simulate_draws(90, 200, n_clusters=6, noise=0.35, rng=4)
    best = pt.estimate(draws, loss=name, rng=0).expected_loss
    for other in ("draws", "average", "complete", "spectral", *RECIPES):
        rival = pt.estimate(draws, loss=name, search=other, rng=0).expected_loss
        assert best <= rival * (1 + 1e-3)  # which the search is above in one cell of fifty


def test_a_loss_from_a_users_own_file_is_searched():
    draws = pt.datasets.simulate_draws(7, 20, n_clusters=3, noise=0.4, rng=0)
    best = pt.estimate(draws, loss=Root(), search=Greedy(), rng=0)
    least = pt.expected_loss(enumerate_partitions(7), draws, loss=Root()).min()
    assert_allclose(best.expected_loss, least, atol=1e-9)


def test_a_loss_that_cannot_be_followed_says_what_to_do():
    draws = pt.datasets.simulate_draws(7, 20, n_clusters=3, noise=0.4, rng=0)
    for loss, says in (
        (RootOnPairs(), "RootOnPairs.*Let it need 'draws'"),
        ("zero-one", "'zero-o"),
    ):
        with pytest.raises(pt.errors.InvalidTypeError, match=says):
            pt.estimate(draws, loss=loss, search=Greedy())


def test_items_that_are_always_together_stay_together():
    few = pt.datasets.simulate_draws(12, 40, n_clusters=3, noise=0.4, rng=1)
    many = pt.Draws(np.repeat(few.labels, 3, axis=1))
    for name in NAMED:
        one = pt.estimate(many, loss=name, rng=0)
        assert_allclose(one.expected_loss, pt.expected_loss(one.labels, many, loss=name))
        assert (np.ptp(canonical(one.labels).reshape(12, 3), axis=1) == 0).all()
    # unless more clusters are asked for than there are such sets
    assert pt.estimate(many, n_clusters=20, rng=0).n_clusters == 20


def test_a_draw_that_is_repeated_is_one_that_weighs_more():
    rng = np.random.default_rng(0)
    labels, times = rng.integers(0, 3, (30, 15)), rng.integers(1, 5, 30)
    weighted = pt.estimate(pt.Draws(labels, weights=times), loss="nid", search=Greedy(), rng=0)
    repeated = pt.estimate(np.repeat(labels, times, axis=0), loss="nid", search=Greedy(), rng=0)
    assert_allclose(weighted.expected_loss, repeated.expected_loss, atol=1e-12)


@pytest.mark.parametrize("name", ["vi", "nid", "binder", "vi-lower-bound"])
@pytest.mark.parametrize("search", [Greedy(), *(pt.search.NAMES[name] for name in RECIPES)])
def test_no_more_clusters_than_asked_for(name, search):
    draws = pt.datasets.simulate_draws(60, 100, n_clusters=8, noise=0.1, rng=0)
    (capped,) = pt.search.adapted(search, max_clusters=3)
    assert pt.estimate(draws, loss=name, search=capped, rng=0).n_clusters <= 3


@pytest.mark.parametrize("name", sorted(NAMED))
def test_the_cap_and_the_exact_number_agree(name):
    draws = pt.datasets.simulate_draws(40, 120, n_clusters=6, noise=0.2, rng=5)
    capped = pt.estimate(draws, loss=name, search=Greedy(max_clusters=3), rng=0)
    exact = [pt.estimate(draws, loss=name, n_clusters=k, rng=0).expected_loss for k in (1, 2, 3)]
    assert_allclose(capped.expected_loss, min(exact), rtol=1e-9)


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_a_cap_that_binds_costs_no_seed_the_best(loss):
    """Random tessellations, three clusters at most."""
    rng = np.random.default_rng(21)
    items = rng.random((60, 2))
    draws = np.empty((100, 60), dtype=np.int64)
    for draw in draws:
        centres = rng.random((rng.integers(2, 9), 2))
        draw[:] = ((items[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    found = [
        pt.estimate(draws, loss=loss, search=Greedy(max_clusters=3), rng=seed) for seed in range(4)
    ]
    values = [best.expected_loss for best in found]
    assert max(best.n_clusters for best in found) == 3
    assert max(values) == pytest.approx(min(values), rel=1e-9)


@pytest.mark.parametrize("search", ["auto", "greedy", "average", "salso", "spectral"])
def test_other_searches_keep_to_the_number_too(draws, search):
    assert pt.estimate(draws, search=search, n_clusters=5, rng=0).n_clusters == 5


@pytest.mark.parametrize("search", ["draws", "nmf-ls", "medvedovic"])
def test_a_search_without_such_a_candidate_names_greedy(draws, search):
    with pytest.raises(pt.errors.InvalidValueError, match=f"'{search}' had none with 55. Use 'gre"):
        pt.estimate(draws, search=search, n_clusters=55, rng=0)


def test_more_clusters_than_items_are_refused(draws):
    for search in ("auto", "average", Greedy(), Greedy(n_clusters=61)):
        with pytest.raises(pt.errors.InvalidValueError, match="`n_clusters` must be at most 60"):
            pt.estimate(draws, search=search, n_clusters=61)
    with pytest.raises(pt.errors.InvalidValueError, match="`n_clusters` must be at most 60"):
        pt.estimate(draws, search=Greedy(n_clusters=61))


@pytest.mark.parametrize(("loss", "k"), [(losses.VI, 2), (losses.VI, 6), (losses.Binder, 3)])
def test_a_weight_is_found_for_a_number_of_clusters(loss, k):
    draws = pt.datasets.simulate_draws(60, 100, n_clusters=4, noise=0.3, rng=0)
    best = pt.estimate(draws, loss=loss(a=None), n_clusters=k, rng=0)
    assert best.n_clusters == k
    assert 0 < best.loss.a < 2
    assert_allclose(best.expected_loss, pt.expected_loss(best.labels, draws, loss=best.loss))


def test_a_weight_that_is_to_be_chosen_needs_a_number_of_clusters():
    with pytest.raises(pt.errors.InvalidValueError, match="needs `n_clusters`"):
        pt.estimate([[0, 0, 1]], loss=losses.VI(a=None))
    with pytest.raises(pt.errors.InvalidValueError, match="`a` must be a number here"):
        losses.Binder(a=None)([0, 0, 1], [0, 1, 1])


def test_a_number_that_no_weight_gives_is_a_warning():
    with pytest.warns(pt.errors.PartitaWarning, match="No weight of Binder"):
        best = pt.estimate([[0, 0, 1, 1]] * 3, loss=losses.Binder(a=None), n_clusters=3, rng=0)
    assert best.n_clusters in (2, 4)


@pytest.mark.parametrize("name", ["vi", "nid", "binder", "pear"])
def test_labels_are_a_start_beside_others_under_every_loss(name):
    draws = pt.datasets.simulate_draws(40, 50, n_clusters=3, rng=0)
    labels = np.arange(40) % 3
    for starts in ((labels, "average"), (Linkage("complete"), labels, "draws")):
        best = pt.estimate(draws, loss=name, search=Greedy(starts=starts), rng=0)
        check_answer(best, draws, name)
        assert best.expected_loss <= pt.expected_loss(labels, draws, loss=name)


def check_answer(best, draws, loss):
    """The labels are a partition in its usual form, of the loss that is said, no worse than one."""
    assert best.labels.shape == (draws.n_items,)
    assert np.array_equal(best.labels, canonical(best.labels))
    here, one = pt.expected_loss([best.labels, np.zeros_like(best.labels)], draws, loss=loss)
    assert_allclose(best.expected_loss, here, atol=1e-12)
    assert here <= one + 1e-12


@pytest.mark.parametrize("options", [{"effort": 0.1}, {"time_limit": 1e-9}])
def test_no_answer_is_worse_than_the_labels_it_was_given(options):
    draws = pt.datasets.simulate_draws(60, 300, n_clusters=6, noise=0.45, rng=3)
    best = pt.estimate(draws, loss="id", rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.errors.PartitaWarning)
        again = pt.estimate(draws, loss="id", search=Greedy(starts=(best,), **options), rng=1)
    assert again.expected_loss <= best.expected_loss + 1e-12


def test_other_searches_as_starts_end_with_the_limit():
    draws = pt.datasets.simulate_draws(60, 50, n_clusters=3, rng=0)
    seen = []

    @dataclass
    class Watched:
        time_limit: float | None = None

        def candidates(self, evidence, loss, *, rng, n_jobs):
            seen.append(self.time_limit)
            yield pt.search.Candidate(np.arange(60) % 3)

    pt.estimate(draws, search=Greedy(starts=(Watched(), "nmf-ls"), time_limit=20.0), rng=0)
    pt.estimate(draws, search=Greedy(starts=(Watched(),)), rng=0)
    assert 0 < seen[0] <= 20
    assert seen[1] is None


def hard(n_items=1_000, n_draws=1_000):
    """Draws that agree on nothing, which take long to search."""
    return pt.Draws(np.random.default_rng(0).integers(0, 8, (n_draws, n_items)))


def test_a_time_limit_still_gives_an_answer():
    draws = hard()
    with pytest.warns(pt.errors.PartitaWarning, match="`time_limit` was too short for all that"):
        best = pt.estimate(draws, loss="nid", search=Greedy(effort=100, time_limit=0.3), rng=0)
    assert best.info["cut_short"]
    check_answer(best, draws, "nid")


def interrupted_after(seconds, *args, **kwargs):
    """The estimate that Ctrl-C after some time leaves."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.warns(pt.errors.PartitaWarning, match="The search was interrupted") as said:
            best = pt.estimate(*args, **kwargs)
    finally:
        timer.cancel()
        timer.join()
    assert [one.filename for one in said] == [__file__]
    return best


@pytest.mark.parametrize("loss", ["vi", "pear"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_returns_the_best_so_far_with_a_warning(n_jobs, loss, tmp_path):
    class Never:
        def candidates(self, *_, **__):
            pytest.fail("It went on.")

    draws = hard()
    search = [Greedy(effort=100), Never()]
    best = interrupted_after(1.0, draws, loss=loss, search=search, rng=0, n_jobs=n_jobs)
    assert best.info["interrupted"]
    assert "cut_short" not in best.info
    check_answer(best, draws, loss)
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
    draws = pt.datasets.simulate_draws(120, 60, n_clusters=4, noise=0.2, rng=0)
    dense = pt.estimate(draws, loss="binder", rng=0)
    monkeypatch.setattr("partita.search._problem._DENSE_ITEMS", 10)
    evidence = Evidence(draws=draws)
    through = pt.estimate(evidence, loss="binder", rng=0)
    assert not evidence.has_dense
    assert_allclose(through.expected_loss, dense.expected_loss, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_threads_change_nothing(name):
    draws = pt.datasets.simulate_draws(80, 150, n_clusters=5, noise=0.5, rng=2)
    one, two = (pt.estimate(draws, loss=name, rng=3, n_jobs=n) for n in (1, 2))
    assert_array_equal(one.labels, two.labels)
    assert one.expected_loss == two.expected_loss


def test_polish_never_makes_worse(draws):
    evidence = Evidence(draws=draws)
    for k in (1, 5, 20):
        start = np.arange(60) * k // 60
        better = polish(start, evidence, losses.NID(), rng=np.random.default_rng(k))
        before, after = pt.expected_loss([start, better], draws, loss="nid")
        assert after <= before
        few = polish(start, evidence, losses.VI(), rng=np.random.default_rng(0), max_clusters=3)
        assert few.max() < 3


def test_a_search_has_a_name():
    draws = pt.datasets.simulate_draws(20, 30, n_clusters=2, rng=0)
    best = pt.estimate(draws, search=Greedy(starts=(np.arange(20) % 3,)), rng=0)
    assert "starts=(<20 labels>,)" in repr(best)
    assert repr(Greedy()) == "Greedy()"
    assert repr(Greedy(effort=3, starts=("average", [0] * 5))) == (
        "Greedy(effort=3.0, starts=('average', <5 labels>))"
    )
    assert pt.estimate(draws, search="salso", n_clusters=2, rng=0).search_name == "salso"


def test_searches_that_start_from_labels_are_compared_by_these():
    labels = np.repeat(np.arange(3), 4)
    one, same = Greedy(starts=(labels, "draws")), Greedy(starts=(labels.tolist(), "draws"))
    assert one == same == Greedy(starts=(tuple(labels), "draws"))
    assert hash(one) == hash(same)
    assert one != Greedy(starts=(labels[::-1], "draws"))
    assert one != Greedy(starts=("draws",))
    assert one != labels.tolist()
    assert Greedy(effort=2) != Greedy(effort=3)
    assert Greedy(starts=(Sampled(), labels)) == Greedy(starts=(Sampled(), labels))
    assert Greedy() in [one, Greedy()]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"effort": 0}, "effort"),
        ({"max_clusters": 0}, "max_clusters"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 4, "max_clusters": 3}, "`n_clusters` must be at most 3"),
        ({"starts": ("nowhere",)}, "starts"),
        ({"starts": (3,)}, "starts"),
        ({"starts": np.arange(3)}, "one partition alone"),
        ({"starts": 3}, "must be a tuple"),
        ({"time_limit": 0}, "time_limit"),
        ({"recipe": "grandmother"}, "recipe"),
    ],
)
def test_settings_are_checked(wrong, says):
    with pytest.raises(pt.errors.PartitaError, match=says):
        Greedy(**wrong)


def test_starts_must_have_a_label_for_each_item(draws):
    with pytest.raises(pt.errors.InvalidValueError, match="starts"):
        pt.estimate(draws, search=Greedy(starts=(np.arange(7),)))


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


@pytest.mark.parametrize("name", RECIPES)
def test_the_named_algorithms_do_less_and_find_no_better(name):
    draws = pt.datasets.simulate_draws(60, 150, n_clusters=5, noise=0.5, rng=8)
    best = pt.estimate(draws, loss="nid", rng=0)
    named = pt.estimate(draws, loss="nid", search=name, rng=0)
    check_answer(named, draws, "nid")
    assert named.expected_loss >= best.expected_loss - 1e-12
