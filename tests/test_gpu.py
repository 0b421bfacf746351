"""What only a card can show; skipped where there is none. ``pytest -m gpu`` runs these alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita import devices
from partita.cli import main
from partita.errors import InvalidValueError, PartitaError
from partita.nmf import NAMES, factorize_ranks
from partita.nmf.multiplicative import has_kernel

pytestmark = pytest.mark.gpu

MODELS = sorted(NAMES)


@pytest.fixture(scope="module", params=["torch:cuda", "cupy:cuda"])
def card(request):
    try:
        return devices.resolve(request.param)
    except PartitaError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def posterior():
    return pt.datasets.simulate_draws(300, 200, n_clusters=6, noise=0.3, rng=0)


@pytest.mark.parametrize(
    ("n_fits", "rank", "n"), [(1, 1, 5), (2, 3, 700), (3, 12, 513), (1, 24, 130)]
)
def test_one_kernel_does_what_arrays_do(card, n_fits, rank, n):
    if not card.name.startswith("torch"):
        pytest.skip("Triton serves PyTorch")
    from partita.nmf.gpu import quotient_sums

    rng = np.random.default_rng(rank)
    V, A, B = rng.random((n, n)), rng.random((n_fits, rank, n)), rng.random((n_fits, rank, n))
    V += V.T
    A[:, 0, : n // 2] = 0.0
    there = [card.put(x, "float32") for x in (V, A, B)]
    assert has_kernel(there[0])
    wanted = A @ (V / (B.swapaxes(-1, -2) @ A + 1e-30)).swapaxes(-1, -2)
    found = devices.to_host(quotient_sums(*there))
    assert_allclose(found, wanted, rtol=1e-4)


def test_the_similarity_is_the_hosts(card, posterior):
    ours = pt.posterior_similarity(posterior)
    theirs = pt.posterior_similarity(posterior, device=card.name, dtype="float64")
    assert theirs.device == card.name
    assert np.array_equal(theirs.to_dense(), ours.to_dense())
    labels = posterior.labels[0]
    assert_allclose(theirs.own_sums(labels), ours.own_sums(labels))
    assert_allclose(theirs.row_sums, ours.row_sums)


@pytest.mark.parametrize("model", MODELS)
def test_the_updates_of_r_are_the_hosts(card, posterior, model, monkeypatch):
    """The same stops, objectives and labels."""
    monkeypatch.setattr("partita.nmf.updates.MAX_ITERATIONS", 60)
    psm = pt.posterior_similarity(posterior).to_dense()
    words = {"model": model, "ranks": [2, 5], "n_init": 2, "solver": "mu", "seed": 1, "n_jobs": 1}
    ours = list(factorize_ranks(psm, **words))
    theirs = list(factorize_ranks(psm, **words, device=card.name, dtype="float64"))
    for one, other in zip(ours, theirs, strict=True):
        assert other.n_iter == one.n_iter
        assert_allclose(other.restart_objectives, one.restart_objectives, rtol=1e-9)
        assert np.array_equal(other.read_restarts("as-is"), one.read_restarts("as-is"))


@pytest.mark.parametrize("n_items", [300, 2_000])
@pytest.mark.parametrize("model", MODELS)
def test_the_fast_solver_ends_where_the_host_ends(card, model, n_items):
    """All items of few, and landmarks and one regression of many."""
    draws = pt.datasets.simulate_draws(n_items, 200, n_clusters=6, noise=0.3, rng=0)
    psm = pt.posterior_similarity(draws)
    ours = pt.factorize(psm, model=model, rank=4, n_init=3, rng=0)
    theirs = pt.factorize(psm, model=model, rank=4, n_init=3, rng=0, device=card.name)
    assert str(theirs.W.dtype).endswith("float32")
    assert_allclose(theirs.objective, ours.objective, rtol=1e-5 if n_items == 300 else 1e-3)
    assert np.mean(theirs.labels == ours.labels) >= 0.999


@pytest.mark.parametrize("model", MODELS)
def test_the_updates_of_r_in_single_precision(card, posterior, model):
    psm = pt.posterior_similarity(posterior)
    words = {"model": model, "rank": 9, "n_init": 2, "solver": "mu", "rng": 0}
    ours = pt.factorize(psm, **words)
    theirs = pt.factorize(psm, **words, device=card.name)
    assert_allclose(theirs.restart_objectives, ours.restart_objectives, rtol=1e-5)
    assert np.mean(theirs.restart_labels == ours.restart_labels) >= 0.999


@pytest.mark.parametrize("model", ["kl", "ls"])
def test_an_estimate(card, posterior, model):
    how = pt.search.NMF(model, ranks=(3, 6), n_init=3)
    ours = pt.estimate(posterior, search=how, rng=0)
    theirs = pt.estimate(posterior, search=how, rng=0, device=card.name)
    assert np.array_equal(theirs.labels, ours.labels)
    assert theirs.search.device == card.name


def test_an_estimate_by_name(card):
    best = pt.estimate([[0, 0, 1, 1, 2]] * 3, search="nmf-kl", rng=0, device=card.name)
    assert best.search_name == "nmf-kl"
    assert best.labels.tolist() == [0, 0, 1, 1, 2]


def test_the_shell(card, posterior, tmp_path, capsys):
    np.save(tmp_path / "draws.npy", posterior.labels[:, :5])
    file, out = str(tmp_path / "draws.npy"), str(tmp_path / "psm.npy")
    words = ["estimate", file, "--search", "nmf-kl", "--seed", "0", "--device"]
    assert main([*words, card.name]) == 0
    assert "found by nmf-kl" in capsys.readouterr().out
    assert main(["similarity", file, "--device", card.name, "-o", out]) == 0
    wanted = pt.posterior_similarity(posterior.labels[:, :5]).to_dense()
    assert_allclose(np.load(out), wanted, atol=1e-7)
    library = card.name.partition(":")[0]
    assert main([*words, f"{library}:cuda:99"]) != 0
    assert "counted from 0; got number 99" in capsys.readouterr().err


def test_a_matrix_too_large_is_refused_before_it_is_allocated(card):
    with pytest.raises(pt.errors.OutOfMemoryError, match="are free on"):
        pt.posterior_similarity(np.zeros((1, 3_000_000), np.uint8), device=card.name)


def test_no_such_card(card):
    with pytest.raises(InvalidValueError, match="counted from 0"):
        pt.factorize(np.eye(3), rank=2, device=card.name.rpartition(":")[0] + ":99")
