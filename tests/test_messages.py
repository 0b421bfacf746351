"""What is said of a slip names what was given and what to do about it."""

from __future__ import annotations

import numpy as np
import pytest

import partita as pt
from partita.search import NMF, Exact, Greedy, adapted


def test_a_comparison_takes_the_names_of_its_rows(draws):
    table = pt.compare(draws, methods=["auto-vi", "minvi", "nmf-ls"], rng=0)
    assert list(table.frame.index) == ["auto-vi", "minvi", "nmf-ls"]
    assert table.estimates["auto-vi"].search_name == "auto"
    assert table.estimates["nmf-ls"].loss_name == "vi-lower-bound"
    with pytest.raises(pt.errors.InvalidValueError, match="Did you mean 'nmf-kl'"):
        pt.compare(draws, methods=["nmfkl"])


@pytest.mark.parametrize("wrong", ["1", True, b"1"])
def test_a_limit_must_be_a_number(wrong, draws):
    together = np.zeros(draws.n_items)
    calls = (
        lambda: Greedy(time_limit=wrong),
        lambda: Exact(time_limit=wrong),
        lambda: NMF(time_limit=wrong),
        lambda: adapted("auto", time_limit=wrong),
        lambda: pt.certify(together, draws, time_limit=wrong),
    )
    for call in calls:
        with pytest.raises(pt.errors.InvalidTypeError, match="`time_limit` must be a number"):
            call()


def test_starts_are_a_tuple_and_an_estimate_may_be_one(draws):
    best = pt.estimate(draws, search="average", rng=0)
    for alone in (best, best.labels, best.labels.tolist()):
        with pytest.raises(pt.errors.InvalidTypeError, match=r"into a tuple: starts=\(labels,\)"):
            Greedy(starts=alone)
    for wrong in (5, draws):
        with pytest.raises(pt.errors.InvalidTypeError, match="`starts` must be a tuple; got"):
            Greedy(starts=wrong)
    found, same = (
        pt.estimate(draws, search=Greedy(starts=(start,)), rng=0) for start in (best, best.labels)
    )
    np.testing.assert_array_equal(found.labels, same.labels)
    assert found.expected_loss <= best.expected_loss
    with pytest.raises(pt.errors.InvalidValueError, match="`starts` must be one label per item"):
        Greedy(starts=(draws,))


def test_a_certificate_far_off_is_in_plain_figures():
    apart = pt.certificates.Certificate(0.5, 0.0, "triangles")
    assert repr(apart) == "Certificate(within 100%, Binder 0.5 ≥ 0)"
    proof = pt.certify(np.zeros(4, dtype=int), np.eye(4), loss=pt.losses.Binder(a=2))
    assert proof.lower_bound >= 0.0
    assert str(proof.lower_bound)[0] != "-"


def test_draws_in_place_of_a_similarity_are_to_be_called_so(draws):
    with pytest.raises(pt.errors.InvalidValueError, match=r"If these are draws, say so: Draws\("):
        pt.certify(draws.labels[0], draws.labels)


def test_the_expected_loss_of_an_estimate_is_that_of_its_labels(draws):
    best = pt.estimate(draws, search="draws", rng=0)
    assert pt.expected_loss(best, draws) == pt.expected_loss(best.labels, draws)


@pytest.mark.parametrize(
    ("search", "known"), [("community", ""), ("greedy", "`time_limit`"), ("nmf-kl", "`ranks`")]
)
def test_an_interrupt_advises_only_what_the_search_takes(draws, monkeypatch, search, known):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(pt.search.NAMES[search]), "candidates", interrupted)
    with pytest.raises(KeyboardInterrupt, match="no partition had been found yet") as ended:
        pt.estimate(draws, search=search)
    assert known in str(ended.value)
    assert ("time_limit" in str(ended.value)) == (search != "community")
    assert ("ranks" in str(ended.value)) == (search == "nmf-kl")


def test_a_wanted_number_of_clusters_on_a_similarity(psm):
    assert pt.estimate(pt.Similarity(psm), n_clusters=3, rng=0).n_clusters == 3
