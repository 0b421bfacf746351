"""What figures rest on: the order, the averages, the colours."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import partita as pt
from partita import plots
from partita.errors import InvalidTypeError, InvalidValueError, MissingDependencyError


def by_hand(matrix, order, cells):
    n = len(matrix)
    edges = np.arange(cells + 1) * n // cells
    shown = matrix[np.ix_(order, order)]
    return np.array(
        [
            [shown[a:b, c:d].mean() for c, d in itertools.pairwise(edges)]
            for a, b in itertools.pairwise(edges)
        ]
    )


@pytest.mark.parametrize("cells", [7, 20, 60])
def test_averages_are_means_of_the_matrix(draws, psm, cells):
    order = np.random.default_rng(0).permutation(draws.n_items)
    expected = by_hand(psm, order, cells)
    for data in (draws, pt.Similarity(psm)):
        found = plots.average_similarity(data, order, max_cells=cells)
        np.testing.assert_allclose(found.values, expected, atol=1e-5)


def test_averages_respect_weights(reference_arrays):
    weights = np.random.default_rng(1).random(400)
    draws = pt.Draws(reference_arrays["labels"], weights=weights)
    dense = pt.posterior_similarity(draws).to_dense()
    found = plots.average_similarity(draws, max_cells=11).values
    np.testing.assert_allclose(found, by_hand(dense, np.arange(60), 11), atol=1e-5)


def test_very_many_clusters_go_through_in_parts():
    labels = np.arange(30_000) // 2
    draws = pt.Draws([labels, labels])
    found = plots.average_similarity(draws, max_cells=10).values
    np.testing.assert_allclose(found, np.eye(10) * 2 / 3_000, atol=1e-9)


def test_never_n_by_n():
    draws = pt.datasets.simulate_draws(20_000, 30, n_clusters=10, rng=0)
    labels = np.arange(20_000) // 2_000
    tracemalloc.start()
    plots.average_similarity(draws, plots.item_order(labels, draws))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30  # a matrix of bytes alone would be 400 MB, of floats 3.2 GB


def test_order_keeps_clusters_together_and_every_item(draws, truth):
    labels = pt.estimate(draws, method="minvi").labels
    order = plots.item_order(labels, draws, truth=truth)
    assert sorted(order.tolist()) == list(range(draws.n_items))
    assert np.count_nonzero(np.diff(labels[order])) == labels.max()
    within = np.count_nonzero(np.diff(labels[order]) | np.diff(truth[order]))
    assert within + 1 == len(set(zip(labels.tolist(), truth.tolist(), strict=True)))


def test_order_by_truth_keeps_classes_together(draws, truth):
    order = plots.item_order(np.zeros(60, int), draws, order="truth", truth=truth)
    assert np.count_nonzero(np.diff(truth[order])) == len(set(truth.tolist())) - 1


def test_order_puts_the_alike_side_by_side():
    """Items along a line, shuffled: neighbours are the most similar, and the order finds them."""
    n = 40
    place = np.random.default_rng(0).permutation(n)
    matrix = np.exp(-((place[:, None] - place[None, :]) ** 2) / 50.0)
    order = plots.item_order(np.zeros(n, int), pt.Similarity(matrix))
    assert np.abs(np.diff(place[order])).mean() < 1.5


def test_large_clusters_are_ordered_around_some_items():
    """A large cluster of two halves that are less alike: the halves end up apart."""
    n = 3_000
    half = np.random.default_rng(0).integers(0, 2, n)
    draws = pt.Draws([np.zeros(n, int), half])
    order = plots.item_order(np.zeros(n, int), draws)
    assert np.count_nonzero(np.diff(half[order])) == 1


def test_order_is_checked(draws):
    with pytest.raises(InvalidValueError, match="order"):
        plots.item_order(np.zeros(60, int), draws, order=[0, 1])
    with pytest.raises(InvalidValueError, match="order"):
        plots.item_order(np.zeros(60, int), draws, order="name")


def test_matched_labels_keep_most_items_their_number():
    reference = np.repeat([0, 1, 2], 10)
    other = np.repeat([5, 3, 9, 3], [10, 9, 10, 1])
    found = plots.matched_labels(reference, other)
    assert np.mean(found == reference) == 28 / 30
    assert plots.matched_labels([0, 0], [0, 1]).tolist() == [0, 1]
    assert plots.matched_labels([4, 4, 2], [0, 0, 1]).tolist() == [4, 4, 2]


def test_a_cluster_keeps_its_colour():
    assert plots.palette(30)[:5] == plots.palette(5)
    assert len(set(plots.palette(36))) == 36


# Machado, Oliveira & Fernandes (2009), severity 1.0, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colours, blindness):
    """CIE L*a*b* (D65) of hex colours as someone with that colour blindness sees them."""
    srgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.asarray(BLINDNESS[blindness]).T, 0, 1)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    xyz = seen @ to_xyz.T / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_the_first_eight_colours_are_told_apart(blindness):
    seen = lab(plots.palette(8), blindness)
    apart = np.linalg.norm(seen[:, None] - seen[None, :], axis=2)
    assert apart[np.triu_indices(8, 1)].min() > 12


def test_figures_say_what_they_need():
    best = pt.estimate([[0, 0, 1], [0, 1, 1]], search="draws")
    with pytest.raises(InvalidValueError, match="path of ranks"):
        plots.loss_by_rank(best)
    with pytest.raises(InvalidValueError, match="pass `draws`"):
        plots.memberships(best)
    with pytest.raises(InvalidTypeError, match="pt.factorize"):
        plots.reconstruction(best, [[0, 0, 1]])
    with pytest.raises(InvalidValueError, match="one number for each"):
        plots.scatter([0.0, 1.0, 2.0], best, certainty=[1.0])
    with pytest.raises(InvalidValueError, match="axes of its own"):
        plots.scatter(np.eye(3), {"a": best, "b": best})
    with pytest.raises(InvalidValueError, match="names"):
        plots.traces([[0, 0, 1]], ["nothing"])
    with pytest.raises(InvalidValueError, match="`names` must be a list of at least one"):
        plots.traces([[0, 0, 1]], [])
    with pytest.raises(InvalidValueError, match="`table` must be a Comparison"):
        plots.comparison({}, [[0, 0, 1]])


def test_labels_of_any_kind_and_orders_of_any_make():
    draws = pt.datasets.simulate_draws(20, 30, n_clusters=2, rng=0)
    words = np.where(np.arange(20) < 10, "low", "high")
    assert plots.n_clusters(draws, words).get_title() == "the estimate has 2 clusters"
    assert plots.comparison({"words": words}, draws)[1].get_title() == "words (K = 2)"
    best = pt.estimate(draws, search="nmf-kl", rng=0)
    axes = plots.memberships_by_rank(best, [2], order=np.arange(20)[::-1])
    assert axes[0].get_xlabel() == "item"


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"partita\[plots\]"):
        plots.n_clusters([[0, 0, 1]])
