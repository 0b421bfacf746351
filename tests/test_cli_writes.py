"""The shell writes to the paths that it was given and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from partita.cli import main
from partita.datasets import load_galaxies, simulate_draws

COMMANDS = {
    "info": ["info", "draws.npz", "-o", "out/info.json"],
    "estimate": ["estimate", "draws.npz", "--search", "average", "-o", "out/estimate.csv"],
    "similarity": ["similarity", "draws.npz", "-o", "out/psm.npy"],
    "plot": ["plot", "similarity", "draws.npz", "-o", "out/figure.svg"],
    "report": ["report", "draws.npz", "-o", "out/report.html"],
    "sample": ["sample", "data.csv", "--draws", "5", "--burn", "5", "-o", "out/draws.npz"],
}


def everything(folder):
    return {
        os.path.join(place, name): os.stat(os.path.join(place, name)).st_mtime_ns
        for place, _, names in os.walk(folder)
        for name in names
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_written_beside_the_output(tmp_path, command):
    home, work = tmp_path / "home", tmp_path / "work"
    (work / "out").mkdir(parents=True)
    home.mkdir()
    simulate_draws(8, 20, n_clusters=2, rng=0).save(work / "draws.npz")
    np.savetxt(work / "data.csv", load_galaxies().data[:20], delimiter=",")
    places = {"HOME": str(home), "TMPDIR": str(home), "MPLCONFIGDIR": str(tmp_path / "mpl")}
    before = everything(home) | everything(work)
    done = subprocess.run(
        [sys.executable, "-m", "partita", *COMMANDS[command]],
        cwd=work,
        env=os.environ | places,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    after = everything(home) | everything(work)
    new = {path for path in after if before.get(path) != after[path]}
    assert new == {os.path.join(work, COMMANDS[command][-1])}


@pytest.fixture
def store(tmp_path):
    """Forty draws of 90 items in a Zarr store of nine chunks."""
    zarr = pytest.importorskip("zarr")
    labels = np.random.default_rng(0).integers(1, 4, (40, 90)).astype(np.uint8)
    made = zarr.create_array(tmp_path / "a.zarr", shape=labels.shape, chunks=(40, 10), dtype="u1")
    made[:] = labels
    return tmp_path / "a.zarr"


def test_a_corrupt_block_in_the_middle_of_a_store_leaves_earlier_results(store, tmp_path, capsys):
    kept = tmp_path / "results"
    kept.mkdir()
    words = ["estimate", str(store), "--stored", "--seed", "0"]
    words += ["-o", str(kept / "best.csv"), "--save", str(kept / "best.npz")]
    assert main(words) == 0
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    chunk = store / "c" / "0" / "4"
    chunk.write_bytes(chunk.read_bytes()[:-3])
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "c/0/4" in said.replace("\\", "/")
    assert "truncated or corrupt" in said
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device here")
def test_a_full_disk_is_one_line(store, capsys):
    words = ["estimate", str(store), "--seed", "0", "-o", "/dev/full", "--format", "csv"]
    assert main(words) == 2
    assert "cannot be written: No space left" in capsys.readouterr().err


WRITES = {
    "estimate": ["estimate", "draws.npz", "--search", "average", "-o", "out.csv"],
    "saved": ["estimate", "draws.npz", "--search", "average", "--save", "out.npz"],
    "npy": ["similarity", "draws.npz", "-o", "out.npy"],
    "npz": ["similarity", "draws.npz", "-o", "out.npz"],
    "csv": ["similarity", "draws.npz", "-o", "out.csv"],
    "uncertainty": ["uncertainty", "draws.npz", "--search", "average", "-o", "out.csv"],
    "sample": ["sample", "data.csv", "--draws", "5", "--burn", "5", "-o", "out.npz"],
    "report": ["report", "draws.npz", "--no-compare", "-o", "out.html"],
    "plot": ["plot", "similarity", "draws.npz", "-o", "out.svg"],
}


@pytest.mark.filterwarnings("ignore::partita.errors.PartitaWarning")
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("command", WRITES)
def test_what_was_there_is_kept_when_a_write_breaks_off(
    tmp_path, monkeypatch, capsys, command, error
):
    """A full disk and Ctrl-C, after all that is to be written was written beside."""
    words = WRITES[command]
    monkeypatch.chdir(tmp_path)
    simulate_draws(8, 20, n_clusters=2, rng=0).save("draws.npz")
    np.savetxt("data.csv", load_galaxies().data[:20], delimiter=",")
    (tmp_path / words[-1]).write_bytes(b"earlier")
    before = sorted(os.listdir())

    def broken(*_):
        raise error

    monkeypatch.setattr("partita.io._write.os.replace", broken)
    code = main([*words, "--seed", "0"] if words[0] not in ("similarity",) else words)
    said = capsys.readouterr().err
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert ("interrupted" if code == 130 else f"{words[-1]}' cannot be written: No space") in said
    assert (tmp_path / words[-1]).read_bytes() == b"earlier"
    assert sorted(os.listdir()) == before


def never(*_, **__):
    pytest.fail("The work was done.")


@pytest.mark.parametrize("option", ["-o", "--save"])
def test_a_place_that_is_not_there_is_said_before_the_work(tmp_path, capsys, monkeypatch, option):
    simulate_draws(8, 20, n_clusters=2, rng=0).save(tmp_path / "draws.npz")
    monkeypatch.setattr("partita.estimation.estimate", never)
    monkeypatch.setattr("partita.similarity.posterior_similarity", never)
    place = str(tmp_path / "nowhere" / "a.csv")
    assert main(["estimate", str(tmp_path / "draws.npz"), option, place]) == 2
    assert "there is no directory" in capsys.readouterr().err
    if option == "-o":
        assert main(["similarity", str(tmp_path / "draws.npz"), "-o", place[:-4] + ".npy"]) == 2
        assert main(["similarity", str(tmp_path / "draws.npz"), "-o", "a.zarr"]) == 2
