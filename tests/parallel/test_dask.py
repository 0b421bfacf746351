"""Labels in a Dask array give what the same labels in memory give, on a cluster or on threads.

One small cluster serves the whole module; it is the slow part.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
import shutil
import signal
import sys

import joblib
import numpy as np
import pytest

import dask_work
import partita as pt
from partita import io
from partita.cli import main
from partita.draws._stored import StoredLabels
from partita.parallel import DaskLabels, OnWorkers, sum_items

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N_ITEMS, N_DRAWS = 5_000, 24  # five blocks


@pytest.fixture(scope="module")
def client():
    """Two worker processes of one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="1GiB",
            silence_logs=logging.ERROR,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Labels so few would be brought here; these stand for many."""
    monkeypatch.setattr("partita.draws._blocks._LARGE", 0)
    monkeypatch.setattr("partita.evidence.LARGE", 100)


@pytest.fixture(scope="module")
def array():
    """Five clusters, a fifth of the labels wrong, numbered from -3 and in no order."""
    random = np.random.default_rng(3)
    truth = np.arange(N_ITEMS) * 5 // N_ITEMS
    labels = np.tile(truth, (N_DRAWS, 1))
    wrong = random.random(labels.shape) < 0.2
    labels[wrong] = random.integers(0, 5, wrong.sum())
    return random.permutation(5)[labels] - 3


@pytest.fixture(scope="module")
def here(array):
    return pt.Draws(array)


@pytest.fixture(scope="module")
def there(client, array):
    return pt.Draws(da.from_array(array, chunks=(-1, 1_700)))


def _kill_a_worker(client):
    process = next(iter(client.run(os.getpid).values()))
    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def test_draws_are_those_in_memory(there, here):
    assert isinstance(there.labels, StoredLabels)
    assert isinstance(there.labels.source, DaskLabels)
    assert there == here
    np.testing.assert_array_equal(there.n_clusters, here.n_clusters)
    np.testing.assert_array_equal(there.labels[3], here.labels[3])
    assert there.take([5, 5, 2]).unique() == here.take([5, 5, 2]).unique()


@pytest.fixture(scope="module")
def store(array, tmp_path_factory):
    """The labels in a Zarr store whose chunks are not our blocks."""
    path = tmp_path_factory.mktemp("stores") / "draws.zarr"
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(path, shape=array.shape, chunks=(N_DRAWS, 700), dtype=array.dtype)
    made[:] = array
    return path


@pytest.mark.parametrize("kind", ["zarr", "npy", "dask"])
def test_workers_read_files_themselves(client, array, here, store, tmp_path, kind):
    if kind == "zarr":
        source = OnWorkers(io.open_stored(store))
    elif kind == "dask":
        source = da.from_zarr(str(store))
    else:
        np.save(tmp_path / "draws.npy", array)
        source = OnWorkers(io.open_stored(tmp_path / "draws.npy"))
    draws = pt.Draws(source)
    assert len(pickle.dumps(draws.labels.source)) < 10_000
    assert draws == here


def test_this_process_reads_no_block(client, store, monkeypatch):
    """Opening and finding equal draws is the workers' work; not a label comes here."""

    def refuse(*_):
        raise AssertionError("a block was read here")

    monkeypatch.setattr("partita.io.stored.StoredBlocks.read", refuse)
    draws = pt.Draws(OnWorkers(io.open_stored(store)))
    assert draws.unique().n_draws == N_DRAWS


def test_a_corrupt_block_is_an_error_that_names_its_file(client, store, tmp_path):
    broken = tmp_path / "broken.zarr"
    shutil.copytree(store, broken)
    chunk = broken / "c" / "0" / "4"
    chunk.write_bytes(chunk.read_bytes()[:-20])
    with pytest.raises(pt.errors.FileError, match="broken.zarr.*truncated or corrupt"):
        pt.Draws(OnWorkers(io.open_stored(broken)))
    assert len(client.nthreads()) == 2


def test_without_a_cluster_threads_of_dask_do_it(array, here):
    import dask

    with dask.config.set(scheduler="threads"):
        assert pt.Draws(da.from_array(array, chunks=(-1, 999))) == here


def test_chunks_over_draws_are_put_together_with_a_word(array, here):
    import dask

    with dask.config.set(scheduler="sync"):
        with pytest.warns(pt.errors.PartitaWarning, match="chunked over draws, 3 chunks"):
            draws = pt.Draws(da.from_array(array, chunks=(8, 2_000)))
        assert draws == here


def test_shapes_that_cannot_be_are_refused():
    with pytest.raises(pt.errors.InvalidValueError, match="a row for each draw"):
        pt.Draws(da.zeros((2, 3, 4), dtype=int))
    unknown = da.ones((4, 6), dtype=int)
    with pytest.raises(pt.errors.InvalidValueError, match="compute_chunk_sizes"):
        pt.Draws(unknown[:, da.ones(6, dtype=int) > 0])
    with pytest.raises(pt.errors.InvalidTypeError, match="must be integers"):
        pt.Draws(da.ones((4, 6)))


def test_an_error_on_a_worker_is_the_same_error_here(client, array):
    with pytest.raises(pt.errors.InvalidValueError, match="within a range of"):
        pt.Draws(da.from_array(array * (1 << 30), chunks=(-1, 2_000)))


def test_workers_that_keep_dying_are_said_to_lack_memory(array):
    import dask

    labels = da.from_array(array, chunks=(-1, 1_700)).map_blocks(dask_work.die, dtype=array.dtype)
    with (
        dask.config.set(scheduler="sync"),
        pytest.raises(pt.errors.OutOfMemoryError, match="again and again"),
    ):
        pt.Draws(labels)


def test_restarts_and_ranks_run_on_the_cluster_through_joblib(client, draws):
    search = pt.search.NMF("kl", ranks=(2, 3), n_init=3)
    alone = pt.estimate(draws, search=search, rng=0)
    with joblib.parallel_config(backend="dask"):
        spread = pt.estimate(draws, search=search, rng=0, n_jobs=2)
        fit = pt.factorize(pt.posterior_similarity(draws), rank=3, n_init=3, rng=0, n_jobs=2)
    np.testing.assert_array_equal(spread.labels, alone.labels)
    np.testing.assert_array_equal(spread.memberships, alone.memberships)
    same = pt.factorize(pt.posterior_similarity(draws), rank=3, n_init=3, rng=0)
    np.testing.assert_array_equal(fit.H, same.H)


def test_the_shell_shares_restarts_out_over_a_scheduler(client, draws, tmp_path, capsys):
    draws.save(tmp_path / "draws.npz")
    words = ["estimate", str(tmp_path / "draws.npz"), "--search", "nmf-ls", "--seed", "1"]
    assert main(words) == 0
    alone = capsys.readouterr().out
    assert main([*words, "--scheduler", client.scheduler.address]) == 0
    assert capsys.readouterr().out == alone


@pytest.mark.parametrize(
    "words",
    [
        ["estimate", "--search", "average", "--format", "csv"],
        ["uncertainty", "--table", "ball", "--format", "csv"],
        ["diagnose", "--format", "csv"],
        ["compare", "--methods", "minvi,map", "--format", "json"],
    ],
)
def test_the_shell_has_workers_read_a_store(client, store, capsys, words):
    words = [words[0], str(store), *words[1:]]
    words += ["--seed", "1"] if words[0] != "diagnose" else []
    assert main([*words, "--stored"]) == 0
    alone = capsys.readouterr().out
    assert main([*words, "--scheduler", client.scheduler.address]) == 0
    assert _but_seconds(capsys.readouterr().out) == _but_seconds(alone)


def _but_seconds(text):
    return re.sub(r'"seconds": [0-9.e-]+', "", text)


@pytest.mark.filterwarnings("default::partita.errors.PartitaWarning")
def test_the_shell_says_where_it_works_when_workers_cannot_read(client, draws, tmp_path, capsys):
    draws.save(tmp_path / "draws.npz")
    words = ["estimate", str(tmp_path / "draws.npz"), "--search", "average"]
    assert main([*words, "--scheduler", client.scheduler.address]) == 0
    assert "all the work is done on this machine. Put the draws into" in capsys.readouterr().err


def test_sums_on_the_workers_are_those_of_one_machine(client, array):
    there = pt.Draws(da.from_array(array, chunks=(-1, 1_700))).labels
    x = np.random.default_rng(0).random((N_ITEMS, 3))
    words = {"along": (x,), "shared": (2.0,)}
    here = sum_items(dask_work.tally, pt.Draws(array).labels, **words)
    for one, other in zip(here, sum_items(dask_work.tally, there, **words), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("address", "said"),
    [("nowhere", "must be an address"), ("tcp://127.0.0.1:9", "did not answer")],
)
def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch, capsys, tmp_path, address, said):
    monkeypatch.setattr("partita.cli.cluster.SECONDS", 0.5)
    pt.datasets.simulate_draws(9, 5, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    assert main(["estimate", str(tmp_path / "draws.npz"), "--scheduler", address]) == 2
    assert said in capsys.readouterr().err


def test_without_dask_the_shell_says_what_to_install(monkeypatch, capsys, tmp_path):
    pt.datasets.simulate_draws(9, 5, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    monkeypatch.setitem(sys.modules, "distributed", None)
    address = "tcp://127.0.0.1:9"
    assert main(["estimate", str(tmp_path / "draws.npz"), "--scheduler", address]) == 2
    assert "pip install 'partita[dask]'" in capsys.readouterr().err


class Disturbed:
    """A search during which something happens, when its first candidate is there."""

    def __init__(self, search, happens):
        self.search, self.happens = search, happens

    def candidates(self, *args, **options):
        found = self.search.candidates(*args, **options)
        yield next(found)
        self.happens()
        yield from found


def test_an_estimate_is_that_of_one_machine_when_a_worker_dies_on_the_way(client, store, here):
    search = pt.search.NMF("ls", ranks=(3, 5), n_init=1, polish=True)
    died = []

    def dies():
        died.append(_kill_a_worker(client))

    there = pt.Draws(OnWorkers(io.open_stored(store)))
    found = pt.estimate(there, search=Disturbed(search, dies), rng=0)
    alone = pt.estimate(here, search=search, rng=0)
    assert len(died) == 1
    np.testing.assert_array_equal(found.labels, alone.labels)
    np.testing.assert_array_equal(found.memberships, alone.memberships)
    assert found.expected_loss == alone.expected_loss
    assert [step.objective for step in found.path] == [step.objective for step in alone.path]


def test_many_clusters_are_counted_on_the_workers_without_empty_cells(client, monkeypatch):
    random = np.random.default_rng(0)
    truth = random.integers(0, 300, N_ITEMS)
    wrong = random.random((8, N_ITEMS)) < 0.1
    array = np.where(wrong, random.integers(0, 300, wrong.shape), truth)
    monkeypatch.setattr("partita.draws._counts._CELLS", 0)
    monkeypatch.setattr("partita.search._large._WORK", 0)
    there = pt.Draws(da.from_array(array, chunks=(-1, 1_700)))
    found, alone = (pt.estimate(one, rng=0) for one in (there, pt.Draws(array)))
    assert found.info["start"] == "draws"
    np.testing.assert_array_equal(found.labels, alone.labels)
    assert found.expected_loss == alone.expected_loss
    assert pt.adjusted_rand_index(found.labels, truth) > 0.9


@pytest.mark.slow
def test_every_answer_is_that_of_one_machine_when_a_worker_dies_too(client, store):
    search = pt.search.NMF("ls", ranks=(3, 5), n_init=2, polish=True)

    def answers(source, between=lambda: None):
        draws = pt.Draws(source)
        best = pt.estimate(draws, search=Disturbed(search, between), rng=0)
        between()
        ball = pt.credible_ball(best, draws)
        table = pt.item_uncertainty(best, draws).to_numpy(dtype=float)
        similarity = pt.posterior_similarity(draws, kind="implicit")
        near = similarity.block(np.arange(3), np.arange(N_ITEMS - 4, N_ITEMS))
        nid = pt.expected_loss(best.labels, draws, loss="nid")
        objectives = [step.objective for step in best.path]
        return best.labels, best.memberships, objectives, ball.distances, table, near, nid

    alone = answers(io.open_stored(store))
    there = answers(OnWorkers(io.open_stored(store)), lambda: _kill_a_worker(client))
    for a, b in zip(there, alone, strict=True):
        np.testing.assert_array_equal(a, b)
