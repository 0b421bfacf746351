"""``device=``: what a GPU runs, run by PyTorch on the CPU; and what is said without one."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import partita as pt
from partita import devices
from partita.cli import main
from partita.errors import InvalidTypeError, InvalidValueError, MissingDependencyError
from partita.nmf import NAMES, Factors, factorize_ranks
from partita.similarity import _device

MODELS = sorted(NAMES)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


class TestNames:
    @pytest.mark.parametrize("name", [None, "cpu"])
    def test_the_host(self, name):
        assert devices.resolve(name) is None

    @pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cupy:cpu", "jax:cuda", "", "CUDA"])
    def test_no_such_name(self, name):
        with pytest.raises(InvalidValueError, match="`device` must be 'cpu', 'cuda'"):
            devices.resolve(name)

    def test_no_string(self):
        with pytest.raises(InvalidTypeError, match="`device` must be a string"):
            devices.resolve(0)

    def test_no_library(self, monkeypatch):
        monkeypatch.setattr(devices, "find_spec", lambda name: None)
        with pytest.raises(MissingDependencyError, match=r"needs PyTorch or CuPy.*partita\[gpu\]"):
            pt.posterior_similarity([[0, 1]], device="cuda")
        with pytest.raises(MissingDependencyError, match="names CuPy, which is not installed"):
            devices.resolve("cupy:cuda")

    def test_no_card(self, torch):
        if torch.cuda.is_available():
            with pytest.raises(InvalidValueError, match="counted from 0; got number 99"):
                devices.resolve("cuda:99")
            return
        calls = [
            lambda: pt.posterior_similarity([[0, 1]], device="cuda"),
            lambda: pt.factorize(np.eye(3), rank=2, device="torch:cuda"),
            lambda: pt.estimate([[0, 0, 1]], search="nmf-kl", device="cuda:0"),
        ]
        for call in calls:
            with pytest.raises(InvalidValueError, match="sees no GPU here .* leave `device` out"):
                call()

    def test_nothing_is_imported_before_it_is_asked_for(self):
        import subprocess

        code = (
            "import sys\nimport partita as pt\n"
            "pt.factorize([[1.0]], rank=1)\nprint('torch' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "False", done.stderr


class TestSimilarity:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_it_is_the_hosts(self, draws, weighted, torch, monkeypatch):
        if weighted:
            weights = np.random.default_rng(0).random(draws.n_draws)
            draws = pt.Draws(draws.labels, weights=weights)
        ours = pt.posterior_similarity(draws)
        monkeypatch.setattr(_device, "_BLOCK", 7 * draws.n_items)
        theirs = pt.posterior_similarity(draws, device="torch:cpu", dtype="float64")
        assert theirs.device == "torch:cpu"
        assert not theirs.is_dense
        assert "on torch:cpu" in repr(theirs)
        assert_allclose(theirs.to_dense(), ours.to_dense(), atol=1e-14, rtol=0)
        if not weighted:
            assert np.array_equal(theirs.to_dense(), ours.to_dense())
        x = np.random.default_rng(1).random((draws.n_items, 3))
        labels = draws.labels[0]
        assert_allclose(theirs @ x, ours @ x)
        assert_allclose(theirs.row_sums, ours.row_sums)
        assert_allclose(theirs.own_sums(labels), ours.own_sums(labels))
        assert_allclose(theirs.frobenius2(), ours.frobenius2())
        assert_allclose(theirs.block([1, 5], slice(3, 9)), ours.block([1, 5], slice(3, 9)))

    def test_many_clusters_in_some_draws(self, torch, monkeypatch):
        rng = np.random.default_rng(2)
        tops = np.repeat([2, 3, 300], [5, 5, 2])
        labels = np.stack([rng.integers(0, top, 310) for top in tops])
        ours = pt.posterior_similarity(labels)
        monkeypatch.setattr(_device, "_BLOCK", 3000)
        theirs = pt.posterior_similarity(labels, device="torch:cpu", dtype="float64")
        assert np.array_equal(theirs.to_dense(), ours.to_dense())

    def test_there_and_back(self, psm, torch):
        there = pt.Similarity(psm).to_device("torch:cpu")
        assert there.on_device.dtype == torch.float32
        assert there.to_device("torch:cpu") is there
        double = there.to_device("torch:cpu", dtype="float64")
        assert double.on_device.dtype == torch.float64
        back = there.to_device("cpu")
        assert back.device is None
        assert back.is_dense
        assert_allclose(back.to_dense(), psm, atol=1e-7)

    def test_implicit_stays_on_the_host(self, draws, torch):
        with pytest.raises(InvalidValueError, match="`kind` must be 'dense' with a `device`"):
            pt.posterior_similarity(draws, kind="implicit", device="torch:cpu")

    def test_too_large(self, torch):
        with pytest.raises(pt.errors.OutOfMemoryError, match="leave `device` out"):
            pt.posterior_similarity(np.zeros((1, 3_000_000), np.uint8), device="torch:cpu")


class TestFactors:
    @pytest.mark.parametrize("name", ["ls", "kl", "ns", "offset"])
    def test_stacked_restarts_are_the_hosts_one_by_one(self, name, psm, torch):
        """Every restart of R's updates: the same stop, objective and labels."""
        words = {
            "model": name,
            "ranks": [2, 5],
            "n_init": 2,
            "solver": "mu",
            "seed": 1,
            "n_jobs": 1,
        }
        psm = psm[:30, :30]
        ours = list(factorize_ranks(psm, **words))
        theirs = list(factorize_ranks(psm, **words, device="torch:cpu", dtype="float64"))
        assert [fit.rank for fit in theirs] == [2, 5]
        for one, other in zip(ours, theirs, strict=True):
            assert other.H.shape == one.H.shape
            assert other.n_iter == one.n_iter
            assert_allclose(other.restart_objectives, one.restart_objectives, rtol=1e-9)
            assert np.array_equal(other.read_restarts("as-is"), one.read_restarts("as-is"))

    @pytest.mark.parametrize("rank", [4, 9])
    @pytest.mark.parametrize("name", MODELS)
    def test_the_updates_of_r_in_single_precision(self, name, rank, torch):
        """Whole fits of the default precision: what R floors at its machine ε is floored there."""
        draws = pt.datasets.simulate_draws(60, 200, n_clusters=6, noise=0.3, rng=0)
        similarity = pt.posterior_similarity(draws)
        words = {"model": name, "rank": rank, "n_init": 2, "solver": "mu", "rng": 0}
        ours = pt.factorize(similarity, **words)
        theirs = pt.factorize(similarity, **words, device="torch:cpu")
        assert theirs.W.dtype == torch.float32
        assert_allclose(theirs.restart_objectives, ours.restart_objectives, rtol=1e-5)
        assert np.array_equal(theirs.restart_labels, ours.restart_labels)

    @pytest.mark.parametrize("name", MODELS)
    def test_blocks_change_nothing(self, name, psm, torch, monkeypatch):
        V = torch.asarray(psm)
        words = {"model": name, "rank": 3, "n_init": 1, "rng": 0, "solver": "mu"}
        monkeypatch.setattr("partita.nmf.updates.MAX_ITERATIONS", 30)
        whole = pt.factorize(V, **words)
        monkeypatch.setattr("partita.nmf.model.DEVICE_BLOCK", 7 * psm.shape[0])
        parts = pt.factorize(V, **words)
        assert_allclose(parts.objective, whole.objective, rtol=1e-9)

    @pytest.mark.parametrize("rank", [4, 9])
    @pytest.mark.parametrize("name", MODELS)
    def test_the_fast_solver_ends_where_the_hosts_does(self, name, rank, torch):
        """From the same starts, in single precision: 1e-5, and at nine factors for six clusters,
        where minima lie close together, the same one."""
        draws = pt.datasets.simulate_draws(300, 200, n_clusters=6, rng=0)
        similarity = pt.posterior_similarity(draws)
        words = {"model": name, "rank": rank, "n_init": 3, "rng": 0}
        ours = pt.factorize(similarity, **words)
        theirs = pt.factorize(similarity, **words, device="torch:cpu")
        assert theirs.W.dtype == torch.float32
        assert abs(theirs.objective / ours.objective - 1) < 1e-5
        assert np.mean(theirs.labels == ours.labels) >= 0.999

    @pytest.mark.parametrize("name", MODELS)
    def test_objectives_of_single_precision_are_those_of_its_factors(self, name, torch):
        """Of a fit so good that single precision could not tell what is left of the objective."""
        rng = np.random.default_rng(0)
        labels = np.where(
            rng.random((100, 60)) < 0.005, rng.integers(0, 4, (100, 60)), rng.integers(0, 4, 60)
        )
        similarity = pt.posterior_similarity(labels)
        fit = pt.factorize(
            similarity, model=name, rank=6, n_init=2, solver="mu", rng=0, device="torch:cpu"
        )
        matrix = similarity.to_dense().astype(np.float32).astype(np.float64)
        for value, found in zip(fit.restart_objectives, fit.restarts, strict=True):
            there = (None if x is None else devices.to_host(x).astype(float) for x in found)
            exact = NAMES[name].objective(matrix, Factors(*there))
            assert_allclose(value, exact, rtol=1e-7)

    def test_dtype(self, psm, torch):
        fit = pt.factorize(psm, model="ls", rank=2, n_init=1, rng=0, device="torch:cpu")
        assert fit.W.dtype == torch.float32
        array = torch.asarray(psm)
        fit = pt.factorize(array, model="ls", rank=2, n_init=1, rng=0, dtype="float32")
        assert fit.W.dtype == torch.float32
        fit = pt.factorize(array, model="ls", rank=2, n_init=1, rng=0, device="cpu")
        assert isinstance(fit.W, np.ndarray)
        with pytest.raises(InvalidValueError, match="`dtype` must be float64 on the host"):
            pt.factorize(psm, rank=2, dtype="float32")

    def test_a_similarity_is_factorised_where_it_is(self, draws, torch):
        there = pt.posterior_similarity(draws, device="torch:cpu")
        fit = pt.factorize(there, model="ls", rank=3, n_init=2, rng=0)
        assert fit.W.dtype == torch.float32
        host = pt.factorize(there, model="ls", rank=3, n_init=2, rng=0, device="cpu")
        assert isinstance(host.W, np.ndarray)
        assert_allclose(fit.objective, host.objective, rtol=1e-4)
        assert np.array_equal(fit.labels, host.labels)


class TestEstimate:
    def test_it_is_the_hosts(self, draws, torch):
        words = {"loss": "vi", "search": pt.search.NMF("ls", ranks=(3, 4), n_init=3), "rng": 0}
        ours = pt.estimate(draws, **words)
        theirs = pt.estimate(draws, **words, device="torch:cpu")
        assert np.array_equal(ours.labels, theirs.labels)
        assert theirs.search.device == "torch:cpu"

    def test_the_name_is_that_of_the_search(self, torch):
        best = pt.estimate([[0, 0, 1, 1]] * 3, search="nmf-ls", device="torch:cpu", rng=0)
        assert best.search_name == "nmf-ls"

    def test_a_search_that_has_no_use_for_it(self, draws, torch):
        with pytest.raises(
            InvalidValueError, match=r"`device` must go with a search.*got 'greedy'"
        ):
            pt.estimate(draws, search="greedy", device="torch:cpu")


class TestShell:
    def test_similarity(self, draws, tmp_path, torch):
        np.save(tmp_path / "draws.npy", draws.labels)
        file = str(tmp_path / "draws.npy")
        for name, words in (("a", []), ("b", ["--device", "torch:cpu"])):
            assert main(["similarity", file, *words, "-o", str(tmp_path / f"{name}.npy")]) == 0
        assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))

    def test_estimate(self, draws, tmp_path, torch, capsys):
        np.save(tmp_path / "draws.npy", draws.labels[:, :5])
        words = ["estimate", str(tmp_path / "draws.npy"), "--search", "nmf-ls", "--seed", "0"]
        assert main([*words, "--device", "torch:cpu"]) == 0
        assert "found by nmf-ls" in capsys.readouterr().out
        if not torch.cuda.is_available():
            assert main([*words, "--device", "cuda"]) != 0
            assert "sees no GPU here" in capsys.readouterr().err

    def test_every_command_that_estimates_takes_one(self, draws, tmp_path, torch, capsys):
        np.save(tmp_path / "draws.npy", draws.labels[:, :8])
        file = str(tmp_path / "draws.npy")
        how = ["--search", "nmf-ls", "--ranks", "2,3", "--n-init", "2", "--seed", "0"]
        said = []
        for words in ([], ["--device", "torch:cpu"]):
            assert main(["uncertainty", file, *how, *words]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]
        page = str(tmp_path / "page.html")
        assert main(["report", file, *how, "--no-comparison", "--device", "tpu", "-o", page]) == 2
        assert "`device` must be 'cpu', 'cuda'" in capsys.readouterr().err
        assert main(["uncertainty", file, "--device", "torch:cpu"]) == 2
        assert "`device` must go with a search" in capsys.readouterr().err
        words = ["--device", "cuda", "--scheduler", "tcp://a:1"]
        plot = ["plot", "similarity", file, *how[:2], "-o", str(tmp_path / "a.svg")]
        similarity = ["similarity", file]
        for command in (["uncertainty", file, *how], ["report", file, *how], plot, similarity):
            assert main([*command, *words]) == 2
            assert "give one of the two" in capsys.readouterr().err

    def test_compare(self, draws, tmp_path, torch, capsys):
        np.save(tmp_path / "draws.npy", draws.labels[:40, :8])
        words = ["compare", str(tmp_path / "draws.npy"), "--seed", "0", "--format", "csv"]
        said = []
        for more in ([], ["--device", "torch:cpu"]):
            assert main([*words, *more]) == 0
            rows = [line.split(",")[:-1] for line in capsys.readouterr().out.splitlines()]
            said.append({row[0]: row[1:] for row in rows})
        assert said[0] == said[1]  # so few items are fitted by the host's loops
        assert main([*words, "--methods", "minvi", "--device", "torch:cpu"]) == 2
        assert "`device` must go with a method that can use one" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["file", "dask"])
def test_labels_in_a_store_are_counted_on_a_device(tmp_path, monkeypatch, where):
    pytest.importorskip("torch")
    from partita.draws import _blocks

    labels = np.random.default_rng(0).integers(0, 4, (30, 60))
    monkeypatch.setattr(_blocks, "_LARGE", 0)
    if where == "file":
        np.save(tmp_path / "a.npy", labels.astype(np.uint8))
        stored = pt.read_draws(tmp_path / "a.npy", stored=True)
    else:
        stored = pt.Draws(pytest.importorskip("dask.array").from_array(labels, chunks=(-1, 25)))
    assert not isinstance(stored.labels, np.ndarray)
    held = pt.posterior_similarity(labels, device="torch:cpu")
    there = pt.posterior_similarity(stored, device="torch:cpu")
    assert there.device == held.device
    np.testing.assert_array_equal(there.to_dense(), held.to_dense())
    search = pt.search.NMF("kl", ranks=(3, 4), n_init=2, device="torch:cpu")
    one, two = (pt.estimate(data, search=search, rng=0) for data in (labels, stored))
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.memberships, two.memberships)


def test_a_device_is_not_forgotten_where_items_are_many(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("partita.evidence.LARGE", 40)
    draws = pt.datasets.simulate_draws(60, 20, n_clusters=3, rng=0)
    how = pt.search.NMF("ls", ranks=(3,), n_init=2, device="torch:cpu")
    assert pt.estimate(draws, loss="binder", search=how, rng=0).n_clusters == 3
    there = pt.posterior_similarity(draws, device="torch:cpu")
    how = pt.search.NMF("ls", ranks=(3,), n_init=2)
    assert pt.estimate(there, loss="binder", search=how, rng=0).n_clusters == 3
    assert type(pt.factorize(there, model="ls", rank=3, rng=0).H).__module__ == "torch"
