"""Choosing K over a path, and the search that makes one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita.errors import InvalidTypeError, InvalidValueError
from partita.evidence import as_evidence
from partita.nmf import cophenetic_correlation, inflection_rank, rank_before_fall


@pytest.fixture(scope="module")
def planted():
    return pt.datasets.simulate_draws(60, 200, n_clusters=4, noise=0.15, rng=0)


@pytest.fixture(scope="module")
def best(planted):
    search = pt.search.NMF("ls", ranks=range(2, 8), n_init=6)
    return pt.estimate(planted, loss="vi", search=search, rng=0)


def test_the_path_carries_every_rank(best):
    assert [step.rank for step in best.path] == [2, 3, 4, 5, 6, 7]
    for step in best.path:
        assert step.memberships.shape == (60, step.rank)
        assert step.restart_labels.shape == (6, 60)
        assert step.objective in step.restart_objectives
        assert_allclose(step.objective, step.restart_objectives.min(), rtol=1e-7)
    assert (np.diff([step.objective for step in best.path]) < 0).all()
    least = min(step.expected_loss for step in best.path)
    assert_allclose(best.expected_loss, least, rtol=1e-12)
    assert best.info["reading"] in pt.nmf.READINGS


def test_all_ways_find_the_planted_number(best):
    assert best.n_clusters == 4
    assert inflection_rank(best.path) == 4
    assert cophenetic_correlation(best.path)[4] == pytest.approx(1.0)


def test_cophenetic_correlation_by_hand():
    """Three items; consensus distances 1/3, 2/3, 1; merged at 1/3 and at the mean of the rest."""
    step = SimpleNamespace(rank=2, restart_labels=[[0, 0, 1], [0, 0, 1], [0, 1, 1]])
    distance, along = [1 / 3, 1.0, 2 / 3], [1 / 3, 5 / 6, 5 / 6]
    assert_allclose(
        cophenetic_correlation([step])[2], np.corrcoef(distance, along)[0, 1], rtol=1e-12
    )
    with pytest.raises(InvalidValueError, match="every restart"):
        cophenetic_correlation([SimpleNamespace(rank=2, restart_labels=None)])
    with pytest.raises(InvalidValueError, match="three ranks"):
        inflection_rank([])


def test_the_rank_before_the_fall():
    agree = [[0, 0, 1, 1], [0, 0, 1, 1]]
    differ = [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]]
    steps = [
        SimpleNamespace(rank=k, restart_labels=labels)
        for k, labels in ((2, agree), (3, agree), (4, differ), (5, agree))
    ]
    assert rank_before_fall(steps) == 3
    with pytest.raises(InvalidValueError, match="at least one step"):
        rank_before_fall([])


def test_readings_are_all_scored(planted):
    evidence = as_evidence(planted)
    search = pt.search.NMF("kl", ranks=[3, 4], n_init=2)
    offered = list(
        search.candidates(evidence, pt.losses.VI(), rng=np.random.default_rng(0), n_jobs=1)
    )
    assert [(c.info["rank"], c.info["reading"]) for c in offered] == [
        (k, how) for k in (3, 4) for how in pt.nmf.READINGS
    ]
    one = pt.search.NMF("kl", ranks=[3], n_init=2, normalize="balance")
    assert one.normalize == ("balance",)


def test_ranks_beyond_the_items_are_left_out():
    draws = [[0, 0, 1], [0, 1, 1], [0, 0, 1]]
    best = pt.estimate(draws, search="nmf-ls", rng=0)
    assert [step.rank for step in best.path] == [2, 3]
    assert pt.estimate([[0], [0]], search="nmf-kl", rng=0).labels.tolist() == [0]


def test_refusals():
    with pytest.raises(InvalidValueError, match="model"):
        pt.search.NMF("als")
    with pytest.raises(InvalidValueError, match="ranks"):
        pt.search.NMF("ls", ranks=[])
    with pytest.raises(InvalidValueError, match="ranks"):
        pt.search.NMF("ls", ranks=[0])
    with pytest.raises(InvalidTypeError, match="ranks"):
        pt.search.NMF("ls", ranks=[2.5])
    with pytest.raises(InvalidValueError, match="normalize"):
        pt.search.NMF("ls", normalize="rows")


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_every_backend_of_joblib_answers_alike(planted, backend):
    joblib = pytest.importorskip("joblib")
    search = pt.search.NMF("kl", ranks=[3, 4], n_init=2)
    here = pt.estimate(planted, search=search, rng=1, n_jobs=1)
    with joblib.parallel_config(backend):
        there = pt.estimate(planted, search=search, rng=1, n_jobs=2)
    assert np.array_equal(here.labels, there.labels)
    assert np.array_equal(here.memberships, there.memberships)
    for one, two in zip(here.path, there.path, strict=True):
        assert_allclose(one.restart_objectives, two.restart_objectives, rtol=1e-6)
