"""The exact search, against enumeration."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.cli import main
from partita.partitions import canonical, enumerate_partitions
from partita.search import Exact, Greedy

LATE = "`time_limit` was too short to prove that no partition is better"


def check_answer(best, draws, loss):
    """The labels are a partition in its usual form, of the loss that is said, no worse than one."""
    assert np.array_equal(best.labels, canonical(best.labels))
    here, one = pt.expected_loss([best.labels, np.zeros_like(best.labels)], draws, loss=loss)
    assert_allclose(best.expected_loss, here, atol=1e-12)
    assert here <= one + 1e-12


@pytest.mark.parametrize("name", sorted(pt.losses.NAMES))
@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_it_finds_the_least_of_all_partitions(name, n):
    draws = pt.Draws(np.random.default_rng(n).integers(0, 3, (15, n)))
    best = pt.estimate(draws, loss=name, search="exact")
    least = pt.expected_loss(enumerate_partitions(n), draws, loss=name).min()
    assert_allclose(best.expected_loss, least, atol=1e-12)
    assert best.info["is_optimal"]


@pytest.mark.parametrize("loss", ["vi", "pear", "zero-one"])
def test_no_more_clusters_than_asked_for(loss):
    draws = pt.Draws(np.random.default_rng(0).integers(0, 5, (15, 7)))
    best = pt.estimate(draws, loss=loss, search=Exact(max_clusters=2))
    partitions = enumerate_partitions(7)
    few = partitions[partitions.max(axis=1) < 2]
    assert_allclose(best.expected_loss, pt.expected_loss(few, draws, loss=loss).min(), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_agrees_with_enumeration(seed, monkeypatch):
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(seed).integers(0, 3, (5, 9)))
    every = pt.estimate(draws, loss="binder", search="exact").expected_loss
    monkeypatch.setattr("partita.search.exact.MOST_ITEMS", 3)
    start = [pt.search.Candidate(np.arange(9))]  # far off
    monkeypatch.setattr("partita.search.exact.Greedy.candidates", lambda *_, **__: start)
    branched = pt.estimate(draws, loss="binder", search="exact", rng=seed)
    assert_allclose(branched.expected_loss, every, atol=1e-12)
    assert branched.info["is_optimal"]


def test_beyond_a_few_items_other_losses_are_refused(draws):
    with pytest.raises(pt.errors.InvalidValueError, match="Binder"):
        pt.estimate(draws, loss="vi", search="exact")


def test_time_may_run_out():
    draws = pt.Draws(np.random.default_rng(0).integers(0, 4, (300, 12)))
    with pytest.warns(pt.errors.PartitaWarning, match=LATE):
        best = pt.estimate(draws, loss="nid", search=Exact(time_limit=0.05))
    assert not best.info["is_optimal"]
    check_answer(best, draws, "nid")


def test_time_may_run_out_before_the_first_bound():
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(3).integers(0, 3, (9, 30)))
    with pytest.warns(pt.errors.PartitaWarning, match=LATE):
        best = pt.estimate(draws, loss="binder", search=Exact(time_limit=1e-9))
    assert not best.info["is_optimal"]
    check_answer(best, draws, "binder")
    least = pt.estimate(draws, loss="binder", search="exact").expected_loss
    assert 0 <= best.info["lower_bound"] <= least + 1e-12
    assert_allclose(best.info["gap"], best.expected_loss - best.info["lower_bound"], atol=1e-12)


@pytest.mark.parametrize("a", [0.7, 1.0, 1.2])
def test_a_proof_that_was_cut_short_leaves_a_gap(monkeypatch, a):
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(5).integers(0, 3, (9, 40)))
    loss = pt.losses.Binder(a)
    whole = pt.estimate(draws, loss=loss, search="exact", rng=0)
    assert whole.info["is_optimal"]
    assert whole.info["gap"] == 0
    assert_allclose(whole.info["lower_bound"], whole.expected_loss, rtol=1e-12)
    monkeypatch.setattr("partita.search._cliques._branch", lambda *_: False)
    some = pt.estimate(draws, loss=loss, search="exact", rng=0)
    assert not some.info["is_optimal"]
    assert some.info["lower_bound"] <= whole.expected_loss + 1e-9
    assert 0 <= some.info["gap"] < 0.1 * some.expected_loss
    bound = pt.certify(some, draws, loss=loss).lower_bound
    assert_allclose(some.info["lower_bound"], bound, rtol=0.05)


def test_a_cap_beyond_a_few_items_is_what_is_refused(draws):
    with pytest.raises(pt.errors.InvalidValueError, match=r"use search.Greedy\(max_clusters=2\)"):
        pt.estimate(draws, loss="binder", search=Exact(max_clusters=2))


def test_the_shell_says_what_was_proved(capsys, monkeypatch, tmp_path):
    pytest.importorskip("highspy")
    np.save(tmp_path / "a.npy", np.random.default_rng(5).integers(0, 3, (9, 30)))
    words = ["estimate", str(tmp_path / "a.npy"), "--search", "exact", "--loss", "binder"]
    assert main(words) == 0
    assert "\nproved: no partition is better\n" in capsys.readouterr().out
    monkeypatch.setattr("partita.search._cliques._branch", lambda *_: False)
    assert main(words) == 0
    assert "\nnot proved to be the best: another is better by at" in capsys.readouterr().out
    assert main([*words, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["is_optimal"] is False
    assert_allclose(answer["gap"], answer["expected_loss"] - answer["lower_bound"], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_better_is_found_by_other_searches(seed):
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(seed).integers(0, 3, (9, 40)))
    best = pt.estimate(draws, loss="binder", search=Exact(), rng=seed)
    assert best.info["is_optimal"]
    for other in range(4):
        greedy = pt.estimate(draws, loss="binder", rng=other)
        assert greedy.expected_loss >= best.expected_loss - 1e-12
    assert pt.certify(best, draws).lower_bound <= best.expected_loss + 1e-14


@pytest.mark.parametrize(
    ("n", "loss", "place"),
    [
        (11, "nid", "_core.visit_draws"),
        (9, "zero-one", "extended"),
        (30, "binder", "_cliques.minimise"),
    ],
)
def test_an_interrupt_gives_the_best_so_far(monkeypatch, n, loss, place):
    draws = pt.Draws(np.random.default_rng(n).integers(0, 3, (15, n)))
    calls = []

    def interrupted(*_, branches=True):
        if not branches:
            return canonical(_[1]), False, -np.inf
        calls.append(1)
        raise KeyboardInterrupt

    pt.estimate(draws, loss=loss, search="exact")
    monkeypatch.setattr(f"partita.search.exact.{place}", interrupted)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        best = pt.estimate(draws, loss=loss, search="exact", rng=0)
    assert calls
    auto = pt.estimate(draws, loss=loss, rng=0)
    assert best.expected_loss <= auto.expected_loss + 1e-12
    assert not best.info["is_optimal"]
    assert_allclose(best.expected_loss, pt.expected_loss(best.labels, draws, loss=loss))


@pytest.mark.parametrize(("n", "loss"), [(12, "nid"), (12, "pear"), (40, "binder")])
def test_cut_short_it_is_no_worse_than_auto(monkeypatch, n, loss):
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(n).integers(0, 3, (9, n)))
    auto = pt.estimate(draws, loss=loss, search=Greedy(), rng=5)
    for name in ("visit_draws", "visit_clusters"):
        monkeypatch.setattr(f"partita._core.{name}", lambda *_: False)
    monkeypatch.setattr(
        "partita.search.exact._cliques.minimise", lambda _, own, *__, **___: (own, False, -np.inf)
    )
    best = pt.estimate(draws, loss=loss, search=Exact(time_limit=60), rng=5)
    assert not best.info["is_optimal"]
    assert best.expected_loss <= auto.expected_loss + 1e-12


class Slow:
    """A loss that can only be taken whole, and takes a while."""

    needs = "draws"

    def __call__(self, one, other):
        time.sleep(2e-4)
        return float(np.mean(np.asarray(one) != np.asarray(other)))


def test_a_loss_taken_whole_heeds_the_limit():
    draws = pt.Draws(np.random.default_rng(0).integers(0, 3, (5, 12)))
    with pytest.warns(pt.errors.PartitaWarning, match=LATE):
        best = pt.estimate(draws, loss=Slow(), search=Exact(time_limit=0.2), rng=0)
    assert not best.info["is_optimal"]
    assert best.info["cut_short"]
    every = pt.expected_loss(draws.labels, draws, loss=Slow())
    assert best.expected_loss <= every.min() + 1e-12


def test_with_time_enough_there_is_no_warning():
    draws = pt.Draws(np.random.default_rng(0).integers(0, 3, (5, 6)))
    for loss in ("vi", "pear", "zero-one"):
        best = pt.estimate(draws, loss=loss, search=Exact(time_limit=600), rng=0)
        assert best.info["is_optimal"]
        assert "cut_short" not in best.info


@pytest.mark.parametrize("time_limit", [None, 60])
def test_without_a_solver_the_best_is_given_with_its_bound_and_a_warning(monkeypatch, time_limit):
    monkeypatch.setitem(sys.modules, "highspy", None)
    draws = pt.Draws(np.random.default_rng(3).integers(0, 3, (9, 30)))
    with pytest.warns(pt.errors.PartitaWarning, match=r"proved optimal.*partita\[certify\]"):
        best = pt.estimate(draws, loss="binder", search=Exact(time_limit=time_limit), rng=0)
    auto = pt.estimate(draws, loss="binder", rng=0)
    assert best.expected_loss <= auto.expected_loss + 1e-12
    assert not best.info["is_optimal"]
    assert 0 < best.info["lower_bound"] < best.expected_loss
