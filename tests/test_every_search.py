"""What must hold for every search there is, found in the namespace."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_allclose

import naive
import partita as pt
from partita import losses, search
from partita.evidence import as_evidence
from partita.losses import _ratio
from partita.partitions import canonical, enumerate_partitions

SEARCHES = sorted(search.NAMES)
if find_spec("leidenalg") is None:
    SEARCHES.remove("community")
LOSSES = sorted(losses.NAMES)


def serves(name, loss):
    """Greedy moves need a loss that can be followed from one partition to the next."""
    is_greedy = isinstance(search.NAMES[name], search.Greedy)
    return not is_greedy or isinstance(losses.NAMES[loss], losses.RatioLoss)


PAIRS = [(name, loss) for name in SEARCHES for loss in LOSSES if serves(name, loss)]
REFUSED = [(name, loss) for name in SEARCHES for loss in LOSSES if not serves(name, loss)]


def default_loss(name):
    """Beyond a few items the exact search has an answer for one loss only."""
    return "binder" if name == "exact" else None


def offered(name, draws, loss, seed=0):
    """What ``estimate`` is offered for that seed: each search has a stream of its own."""
    evidence = as_evidence(draws)
    parts = search.resolve(name)
    return [
        candidate
        for part, child in zip(parts, np.random.SeedSequence(seed).spawn(len(parts)), strict=True)
        for candidate in part.candidates(
            evidence, losses.NAMES[loss], rng=np.random.default_rng(child), n_jobs=1
        )
    ]


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_the_estimate_is_the_least_of_what_was_offered(name, loss):
    draws = pt.datasets.simulate_draws(7, 12, n_clusters=3, noise=0.4, rng=3)
    best = pt.estimate(draws, loss=loss, search=name, rng=0)
    values = [naive.expected(loss, c.labels, draws.labels) for c in offered(name, draws, loss)]
    assert_allclose(best.expected_loss, min(values), atol=1e-12)
    assert_allclose(best.expected_loss, naive.expected(loss, best.labels, draws.labels), atol=1e-12)
    every = pt.expected_loss(enumerate_partitions(7), draws, loss=loss)
    assert best.expected_loss >= every.min() - 1e-12


@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_a_score_that_a_search_knows_is_right(name, loss):
    n_items = 9 if name == "exact" else 20
    draws = pt.datasets.simulate_draws(n_items, 30, n_clusters=3, noise=0.3, rng=1)
    candidates = offered(name, draws, loss)
    known = [c for c in candidates if c.expected_loss is not None]
    if not known:
        assert candidates
        return
    values = pt.expected_loss(np.stack([c.labels for c in known]), draws, loss=loss)
    assert_allclose([c.expected_loss for c in known], values, atol=1e-9)


@pytest.mark.parametrize("name", SEARCHES)
def test_labels_are_canonical_and_threads_change_nothing(name, draws, monkeypatch):
    monkeypatch.setattr(_ratio, "_WORK", 100_000)  # so that there are many blocks
    loss = default_loss(name)
    one, two = (pt.estimate(draws, loss=loss, search=name, rng=5, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.expected_loss == two.expected_loss
    assert np.array_equal(one.labels, canonical(one.labels))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_certain_posterior_gives_its_partition(name):
    truth = np.repeat([0, 1, 2], [4, 3, 2])
    best = pt.estimate(np.tile(truth, (6, 1)), search=name, rng=0)
    assert np.array_equal(best.labels, truth)
    assert best.expected_loss == 0


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(
    "rows", [[[0]], [[0], [0]], [[0, 1]], [[0, 0], [0, 1]], [[0, 0, 0]], [[0, 1, 2]]]
)
def test_tiny_posteriors_have_answers(name, rows):
    best = pt.estimate(rows, search=name, loss="binder", rng=0)
    values = pt.expected_loss(enumerate_partitions(len(rows[0])), rows, loss="binder")
    assert best.labels.shape == (len(rows[0]),)
    assert best.expected_loss >= values.min() - 1e-12


@pytest.mark.parametrize("name", SEARCHES)
def test_relabelling_and_reordering_draws_change_nothing(name):
    draws = pt.datasets.simulate_draws(25, 40, n_clusters=3, noise=0.2, rng=2)
    shuffled = draws.labels[::-1].astype(int) * -7 + 3
    loss = default_loss(name)
    one = pt.estimate(draws, loss=loss, search=name, rng=0)
    two = pt.estimate(shuffled, loss=loss, search=name, rng=0)
    assert_allclose(one.expected_loss, two.expected_loss, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in SEARCHES if n != "draws"])
def test_a_similarity_alone_is_enough(name, draws):
    psm = pt.posterior_similarity(draws)
    bare = pt.Similarity(psm.to_dense())
    loss = default_loss(name)
    best = pt.estimate(bare, loss=loss, search=name, rng=0)
    loss = loss or "vi-lower-bound"
    assert best.loss == losses.NAMES[loss]
    assert_allclose(best.expected_loss, pt.expected_loss(best.labels, draws, loss=loss), atol=1e-12)


@pytest.mark.parametrize(("name", "loss"), REFUSED)
def test_a_loss_that_cannot_be_followed_is_refused(name, loss):
    with pytest.raises(pt.errors.InvalidTypeError, match="RatioLoss"):
        pt.estimate([[0, 0, 1], [0, 1, 1]], loss=loss, search=name)
