"""The search by its name: from Python, from the shell, through a file."""

from __future__ import annotations

import json

import numpy as np
from numpy.testing import assert_allclose

import partita as pt
from partita.cli import main


def test_by_name_and_back_from_a_file(draws, tmp_path):
    best = pt.estimate(draws, loss="vi", search="nmf-kl", rng=0)
    assert best.search_name == "nmf-kl"
    assert best.memberships.shape[0] == 60
    assert best.memberships.shape[1] >= best.n_clusters
    best.save(tmp_path / "best.npz")
    again = pt.Estimate.load(tmp_path / "best.npz")
    assert np.array_equal(again.memberships, best.memberships)
    assert again.search == best.search == pt.search.NMF("kl", ranks=range(2, 13))
    assert again.search_name == "nmf-kl"
    assert len(again.path) == 11
    assert again.info["reading"] == best.info["reading"]
    for one, two in zip(again.path, best.path, strict=True):
        assert np.array_equal(one.restart_labels, two.restart_labels)
        assert one.objective == two.objective
    rerun = pt.estimate(draws, loss="vi", search="nmf-kl", rng=best.seed)
    assert np.array_equal(rerun.memberships, best.memberships)


def test_from_the_shell(draws, tmp_path, capsys):
    np.save(tmp_path / "draws.npy", draws.labels)
    words = ["estimate", str(tmp_path / "draws.npy"), "--search", "nmf-ls", "--seed", "0"]
    assert main([*words, "--format", "json", "--n-jobs", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    best = pt.estimate(draws, search="nmf-ls", rng=0)
    assert [item["cluster"] for item in found["items"]] == best.labels.tolist()
    assert_allclose(found["expected_loss"], best.expected_loss)


def test_on_a_similarity_alone(psm):
    best = pt.estimate(pt.Similarity(psm), search="nmf-symmetric", rng=0)
    assert best.loss_name == "vi-lower-bound"
    assert best.memberships is not None
    implicit = pt.Similarity.from_responsibilities(best.memberships[None])
    soft = pt.estimate(implicit, search=pt.search.NMF("ls", ranks=[2, 3], n_init=2), rng=0)
    assert soft.n_clusters in (2, 3)


def test_a_search_says_what_is_not_as_ever():
    assert repr(pt.search.NMF()) == "NMF('kl')"
    how = pt.search.NMF("ls", ranks=range(3, 5), n_init=4, polish=True)
    assert repr(how) == "NMF('ls', ranks=(3, 4), n_init=4, polish=True)"
    assert eval(repr(how), {"NMF": pt.search.NMF}) == how


def test_where_all_ranks_are_too_many_n_is_the_rank():
    draws = pt.datasets.simulate_draws(6, 20, n_clusters=2, rng=0)
    best = pt.estimate(draws, search=pt.search.NMF("kl", ranks=(40,), n_init=1), rng=0)
    assert [step.rank for step in best.path] == [6]
