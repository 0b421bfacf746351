"""The exact search, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.partitions import enumerate_partitions
from partita.search import Exact


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
    monkeypatch.setattr("partita.search.exact._STARTS", 1)
    monkeypatch.setattr("partita.search._greedy_run.Run.go", lambda *_: None)
    branched = pt.estimate(draws, loss="binder", search="exact", rng=seed)
    assert_allclose(branched.expected_loss, every, atol=1e-12)
    assert branched.info["is_optimal"]


def test_beyond_a_few_items_other_losses_are_refused(draws):
    with pytest.raises(pt.errors.InvalidValueError, match="Binder"):
        pt.estimate(draws, loss="vi", search="exact")


def test_time_may_run_out():
    draws = pt.Draws(np.random.default_rng(0).integers(0, 4, (300, 12)))
    best = pt.estimate(draws, loss="vi", search=Exact(time_limit=0.05))
    assert not best.info["is_optimal"]
    assert best.n_clusters >= 1


def test_time_may_run_out_before_the_first_bound():
    pytest.importorskip("highspy")
    draws = pt.Draws(np.random.default_rng(3).integers(0, 3, (9, 30)))
    best = pt.estimate(draws, loss="binder", search=Exact(time_limit=1e-9))
    assert not best.info["is_optimal"]
    assert best.n_clusters >= 1


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
    ("n", "place"), [(9, "kernels.exact.search_draws"), (30, "_cliques.minimise")]
)
def test_an_interrupt_gives_the_best_so_far(monkeypatch, n, place):
    draws = pt.Draws(np.random.default_rng(n).integers(0, 3, (15, n)))
    calls = []

    def interrupted(*args):
        calls.append(1)
        raise KeyboardInterrupt

    loss = "nid" if n == 9 else "binder"
    pt.estimate(draws, loss=loss, search="exact")
    monkeypatch.setattr(f"partita.search.exact.{place}", interrupted)
    with pytest.warns(pt.errors.PartitaWarning, match="interrupted"):
        best = pt.estimate(draws, loss=loss, search="exact")
    assert calls
    assert not best.info["is_optimal"]
    assert_allclose(best.expected_loss, pt.expected_loss(best.labels, draws, loss=loss))
