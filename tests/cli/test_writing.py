"""Where results go, and what is said of it; test_faults and test_read_only have the rest."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from partita.datasets import load_galaxies, simulate_draws


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with draws and data, and an empty one in it for what is written."""
    (tmp_path / "work" / "out").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    simulate_draws(8, 20, n_clusters=2, rng=0).save("draws.npz")
    np.savetxt("data.csv", load_galaxies().data[:20], delimiter=",")
    return tmp_path / "work"


@pytest.fixture
def store(tmp_path):
    """Forty draws of 90 items in a Zarr store of nine chunks."""
    zarr = pytest.importorskip("zarr")
    labels = np.random.default_rng(0).integers(1, 4, (40, 90)).astype(np.uint8)
    made = zarr.create_array(tmp_path / "a.zarr", shape=labels.shape, chunks=(40, 10), dtype="u1")
    made[:] = labels
    return tmp_path / "a.zarr"


def test_a_corrupt_block_in_the_middle_of_a_store_leaves_earlier_results(shell, store, tmp_path):
    kept = tmp_path / "results"
    kept.mkdir()
    words = ["estimate", store, "--stored", "--seed", 0]
    words += ["-o", kept / "best.csv", "--save", kept / "best.npz"]
    shell(*words)
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    chunk = store / "c" / "0" / "4"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    said = shell.refused(*words)
    assert "a.zarr" in said.replace("\\", "/")
    assert "truncated or corrupt" in said
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


@pytest.mark.parametrize("option", ["-o", "--save"])
def test_a_place_that_is_not_there_is_said_before_the_work(shell, work, option):
    """The draws are missing, too, which would be said second."""
    for place in ("nowhere/a.csv", "data.csv/a.csv"):  # the second: a file, not a folder
        said = shell.refused("estimate", "none.npz", option, place)
        assert "a.csv' cannot be written: there is no directory" in said
    if option == "-o":
        shell.refused("similarity", "none.npz", "-o", "nowhere/a.npy")
        shell.refused("similarity", "draws.npz", "-o", "a.zarr")


def test_what_was_written_where_is_said(shell, work):
    shell("estimate", "draws.npz", "--seed", 0, "-o", "out.csv", "--save", "kept.npz")
    saved, written = shell.err.splitlines()
    assert saved == "The whole estimate written to kept.npz"
    assert re.fullmatch("1 cluster, expected vi .*, written to out.csv", written)
    for words, what in (
        (["compare", "draws.npz", "--methods", "minvi", "-o", "out.csv"], "The result"),
        (["plot", "n-clusters", "draws.npz", "-o", "a.svg"], "The figure"),
    ):
        shell(*words)
        assert shell.err == f"{what} written to {words[-1]}\n"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("sample ../data.csv --n-draws 9 --n-burn 5", "draws.npz"),
        ("report ../draws.npz --method minvi --no-comparison", "report.html"),
    ],
)
def test_default_outputs_are_those_that_are_named(shell, work, monkeypatch, words, name):
    monkeypatch.chdir(work / "out")
    shell(*words.split(), "--seed", 0)
    assert os.listdir(work / "out") == [name]
