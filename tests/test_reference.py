"""The R peers' numbers, each to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita import losses, search

OURS = {
    "binder": losses.Binder(),
    "VI": losses.VI(),
    "NVI": losses.NVI(),
    "ID": losses.ID(),
    "NID": losses.NID(),
    "omARI": losses.OMARI(),
    "vi_lb": losses.VILowerBound(),
    "binder_a0.4": losses.Binder(a=0.4),
    "VI_a0.6": losses.VI(a=0.6),
    "VI_a1.5": losses.VI(a=1.5),
}


def test_similarity_sum(draws, reference):
    matrix = pt.posterior_similarity(draws).to_dense()
    assert_allclose(np.triu(matrix, 1).sum(), reference["psm_sum_upper"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("theirs", [*OURS, "binder_sum", "pear"])
def test_every_loss_at_every_partition(theirs, draws, reference):
    rows = [e["labels"] for e in reference["estimates"].values()]
    expected = [e["losses"][theirs] for e in reference["estimates"].values()]
    n = draws.n_items
    if theirs == "binder_sum":
        ours = pt.expected_loss(rows, draws, loss="binder") * n**2 / 2
    elif theirs == "pear":
        ours = 1 - pt.expected_loss(rows, draws, loss="pear")
    else:
        ours = pt.expected_loss(rows, draws, loss=OURS[theirs])
    assert len(rows) > 15
    assert_allclose(ours, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("how", ["avg", "comp", "draws"])
@pytest.mark.parametrize(
    ("what", "loss"), [("minbinder", "binder"), ("maxpear", "pear"), ("minVI", "vi-lower-bound")]
)
def test_point_estimates(what, how, loss, draws, reference):
    theirs = reference["estimates"][f"{what}_{how}"]["labels"]
    names = {"avg": "average", "comp": "complete", "draws": "draws"}
    ours = pt.estimate(draws, loss=loss, search=names[how], rng=0)
    same = pt.variation_of_information(theirs, ours.labels) == 0
    equal = abs(ours.expected_loss - pt.expected_loss(theirs, draws, loss=loss)) < 1e-10
    assert same or equal


def test_the_paper_s_method_names(draws, reference):
    for method, theirs in [
        ("minbinder", "minbinder_avg"),
        ("maxpear", "maxpear_avg"),
        ("minvi", "minVI_avg"),
        ("medv", "medvedovic"),
    ]:
        ours = pt.estimate(draws, method=method)
        loss = search.METHODS[method][0] or "vi"
        expected = pt.expected_loss(reference["estimates"][theirs]["labels"], draws, loss=loss)
        assert_allclose(ours.expected_loss, expected, rtol=0, atol=1e-10)


def test_galaxy_as_in_the_paper(galaxy_draws):
    assert galaxy_draws.labels.shape == (10_000, 82)
    assert galaxy_draws.unique().n_draws == 9_636
    found = {m: pt.estimate(galaxy_draws, method=m) for m in search.METHODS}
    clusters = {m: e.n_clusters for m, e in found.items()}
    assert clusters | {"map": 0} == {"minbinder": 7, "maxpear": 7, "minvi": 3, "medv": 2, "map": 0}
    assert_allclose(found["minbinder"].expected_loss * 82**2 / 2, 733.732, atol=5e-4)
    assert_allclose(found["minvi"].expected_loss, 0.572872, atol=5e-7)
    assert np.array_equal(found["minbinder"].labels, found["maxpear"].labels)
    outliers = np.flatnonzero(found["medv"].labels == found["medv"].labels[0]) + 1
    assert outliers.tolist() == [1, 2, 3, 4, 5, 6, 7, 78, 79, 80, 81, 82]
